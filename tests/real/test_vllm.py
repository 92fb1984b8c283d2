"""A pretrained model under vLLM, in process and served: the tokens and log-probabilities of hf and of `generate`.

Runs where vLLM is installed, as the tests of `tests/engines/test_same_weights.py` do: marked `slow`, not `real`.
"""

import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ROOT
from tests.engines.vllm_processes import ENVIRONMENT, ask, served
from verikit.engines import Request, load_engine

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(find_spec("vllm") is None, reason="vllm is not installed"),
    pytest.mark.filterwarnings("ignore"),
]
VLLM = {"dtype": "float32", "max_model_len": 512, "enforce_eager": True}
NEAR = 2e-4
"""Rounding of fp32 over 30 layers: what hf and `generate` are held to among themselves."""


def as_chat(text: str) -> Any:
    return [{"role": "user", "content": text}]


@pytest.fixture(scope="module")
def hf(smollm2: str) -> Any:
    import torch

    torch.set_num_threads(1)
    return load_engine(f"hf:{smollm2}", dtype="float32")


@pytest.fixture(scope="module")
def requests(hf: Any) -> Any:
    """Chats, plain text, and 300 tokens of English by their ids."""
    licence = hf.tokenizer((ROOT / "LICENSE").read_text("utf-8")).input_ids[:300]
    chats = [as_chat(f"What is {17 + 3 * n} plus {90 - n}?") for n in range(4)]
    asked = [Request(prompt, max_tokens=16, logprobs=0) for prompt in [*chats, "The capital of France is", licence]]
    return [*asked, Request(licence, max_tokens=1, prompt_logprobs=0)]


@pytest.fixture(scope="module")
def of_hf(hf: Any, requests: Any) -> Any:
    return hf.generate(requests)


def same(ours: Any, theirs: Any) -> None:
    """Prompt, tokens, how it ended, and every log-probability."""
    for our, their in zip(ours, theirs, strict=True):
        assert (our.error, their.error) == (None, None)
        assert their.prompt_ids == our.prompt_ids
        assert list(their.prompt_logprobs[1:]) == pytest.approx(list(our.prompt_logprobs[1:]), abs=NEAR)
        [a], [b] = our.outputs, their.outputs
        assert (b.ids, b.finish_reason) == (a.ids, a.finish_reason)
        assert list(b.logprobs) == pytest.approx(list(a.logprobs), abs=NEAR)


def test_hf_gives_the_tokens_of_generate_with_this_transformers(hf: Any, of_hf: Any) -> None:
    import torch

    for result in of_hf[:-1]:
        ids = torch.tensor([list(result.prompt_ids)])
        with torch.inference_mode():
            made = hf.model.generate(ids, attention_mask=torch.ones_like(ids), max_new_tokens=16, do_sample=False)
        assert tuple(made[0, ids.shape[1] :].tolist()) == result.outputs[0].ids


def test_a_vllm_server_gives_hfs_tokens_and_log_probabilities(
    smollm2: str, requests: Any, of_hf: Any, tmp_path: Path
) -> None:
    with served(smollm2, "smollm2", 512, tmp_path / "log") as address:
        same(of_hf, ask(tmp_path, f"openai:{address}#smollm2", {}, requests))


def test_what_training_exports_is_one_model_under_hf_and_vllm_in_process(
    smollm2: str, requests: Any, of_hf: Any, folder: Path
) -> None:
    from tests.real.test_train import settings, train
    from verikit.trainers.export import export_run

    small = ["run.steps=1", "optimizer.lr=1e-4", "run.evaluate_every=0", "options.prompts=1"]
    config = settings(folder, smollm2, *small)
    [step], changed, _ = train(folder, config)
    assert step["rows_learnt"] > 0
    assert any(changed)
    export_run(folder / "run", config, folder / "out")
    ours = load_engine(f"hf:{folder / 'out'}", dtype="float32").generate(requests)
    first = [[row.outputs[0].logprobs[0] for row in rows[:-1]] for rows in (of_hf, ours)]
    assert any(abs(before - after) > 10 * NEAR for before, after in zip(*first, strict=True))
    same(ours, ask(folder, f"vllm:{folder / 'out'}", VLLM, requests))
    assert json.loads((folder / "out/config.json").read_text())["tie_word_embeddings"]


def test_a_config_for_8_gpus_takes_a_step_as_two_processes(smollm2: str, folder: Path) -> None:
    """FSDP2 shares the policy out, and each process's vLLM samples its share with the policy's weights."""
    (folder / "corpus.jsonl").write_text(
        "".join(json.dumps({"text": f"Bridge {n} has {n + 3} arches."}) + "\n" for n in range(4)), "utf-8"
    )
    sets = [
        f'model.path="{smollm2}"', f'options.corpus=["{folder / "corpus.jsonl"}"]', "options.documents=2",
        "options.attempts=2", "options.group=2", "options.max_tokens=16", "options.formats=free_form",
        "run.steps=1", "run.evaluate_every=0", "run.samples_every=1", "loss.length=16", "batch.minibatches=1",
        "engine.options={max_model_len = 1024, enforce_eager = true, dtype = 'float32'}",
    ]  # fmt: skip
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", "-m", "verikit"]
    command += ["train", "spice-paper-8gpu", "-q", "-o", str(folder / "run")]
    for change in sets:
        command += ["--set", change]
    environment = {key: value for key, value in ENVIRONMENT.items() if key != "VLLM_ENABLE_V1_MULTIPROCESSING"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr[-3000:]
    rows = [json.loads(line) for line in (folder / "run/metrics.jsonl").read_text().splitlines()]
    [row] = [row for row in rows if "attempts" in row]
    assert row["attempts"] == 2
    samples = [json.loads(line) for line in (folder / "run/samples.jsonl").read_text().splitlines()]
    assert {sample["role"] for sample in samples} >= {"challenger"}
    assert len({sample["completion"] for sample in samples}) > 1
