"""Sampling by vLLM: its weights follow the policy's, its log-probabilities are the trainer's. Needs vllm-cpu."""

import json
import os
import subprocess
import sys
import threading
from contextlib import ExitStack
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from pathlib import Path

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


VLLM = "{max_model_len = 64, enforce_eager = true}"


def sets(changes):
    return [part for key, value in changes.items() for part in ("--set", f"{key}={value}")]


def train(folder, processes=1, config="arithmetic", **changes):
    """Train by vLLM in a process of its own, as `verikit train` starts it; return the steps' metrics."""
    start = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(processes)] if processes > 1 else []
    command = [sys.executable, *start, "-m", "verikit", "train", config, "-q", "-o", str(folder)]
    command += sets(SETS | {"engine.kind": "vllm", "engine.options": VLLM} | changes)
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


TOOLS = {"warmup.steps": 150, "options.prompts": 4, "options.samples": 4, "options.calling": 0.7, "run.steps": 4}
"""Changes that make `tools-tiny` call from the start."""


@pytest.fixture(scope="module")
def tool_world(tmp_path_factory):
    """The folder of a model for `tools-tiny`.

    On some CPUs vLLM can't run heads as small as those of its own model, and its server keeps a tied head as it was.
    """
    from verikit.trainers.config import find_recipe, load_config
    from verikit.trainers.recipes.tiny_model import make_llama

    kind = find_recipe(load_config("tools-tiny").recipe)
    _, tokenizer = kind.make_model(kind.Options(), 0)
    folder = tmp_path_factory.mktemp("world")
    small = make_llama(tokenizer, 0, positions=96, heads=2)
    small.config.tie_word_embeddings = False
    torch.manual_seed(0)
    for part in (type(small)(small.config), tokenizer):
        part.save_pretrained(folder)
    return folder


@pytest.mark.slow
@pytest.mark.skipif(find_spec("vllm") is None, reason="vllm is not installed")
@pytest.mark.parametrize("kind", ["vllm", "server"])
def test_turns_with_tools_are_sampled_from_the_last_weights(tool_world, tmp_path, kind):
    from tests.engines.vllm_processes import served

    with ExitStack() as stack:
        changes = TOOLS | {"model.path": tool_world, "engine.options": VLLM.replace("64", "96")}
        if kind == "server":
            url = stack.enter_context(served(str(tool_world), "world", 96, tmp_path / "log", trains=True))
            options = f'{{url = "{url}#world", folder = "{tmp_path / "weights"}"}}'
            changes |= {"engine.kind": "server", "engine.options": options}
        steps = train(tmp_path / "run", config="tools-tiny", **changes)
    assert len(steps) == 4
    assert all(row["mismatch"] < 1e-4 and row["calls"] > 0 for row in steps)
    assert any(row["rows_learnt"] > 0 for row in steps[:-1])  # so a later step samples from new weights


OVER = """
import json, sys
from vllm import LLM, SamplingParams
from vllm.lora.request import LoRARequest
if __name__ == "__main__":
    base, merged, adapter, out = sys.argv[1:]
    prompts = [{"prompt_token_ids": [3, 4, 5, 6, 7]}, {"prompt_token_ids": [9, 3, 11]}]
    asked = SamplingParams(max_tokens=4, logprobs=15, temperature=0, ignore_eos=True)
    how = {"dtype": "float32", "max_model_len": 64, "enforce_eager": True}
    def told(model, lora=None, **more):
        found = LLM(model, **how, **more).generate(prompts, asked, lora_request=lora)
        steps = [at for each in found for at in each.outputs[0].logprobs]
        return [[value.logprob for _, value in sorted(at.items())] for at in steps]
    values = [told(base), told(merged), told(base, LoRARequest("mine", 1, adapter), enable_lora=True, max_lora_rank=8)]
    json.dump(values, open(out, "w"))
"""


@pytest.mark.slow
@pytest.mark.skipif(find_spec("vllm") is None, reason="vllm is not installed")
def test_vllm_puts_an_exported_adapter_over_its_base_as_if_it_were_merged(tmp_path):
    pytest.importorskip("peft")
    from tests.trainers.conftest import settings
    from tests.trainers.conftest import train as train_here
    from tests.trainers.test_grpo import JITTER
    from verikit.trainers.export import export_run

    first = settings()
    train_here(tmp_path / "first", first)
    base, merged, adapter = (tmp_path / name for name in ("base", "merged", "adapter"))
    export_run(tmp_path / "first", first, base)
    config = settings(model__path=str(base), precision__lora_rank=8, optimizer__lr=3e-2, **JITTER)
    config = config.model_copy(update={"warmup": None})
    train_here(tmp_path / "run", config)
    export_run(tmp_path / "run", config, merged)
    export_run(tmp_path / "run", config, adapter, adapter=True)
    command = [sys.executable, "-c", OVER, *map(str, (base, merged, adapter, tmp_path / "out.json"))]
    environment = ENVIRONMENT | {"VLLM_ENABLE_V1_MULTIPROCESSING": "0"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=900, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    before, whole, over = json.loads((tmp_path / "out.json").read_bytes())
    for expected, found in zip(whole, over, strict=True):
        assert found == pytest.approx(expected, abs=1e-4)
    assert max(abs(a - b) for a, b in zip(before[0], whole[0], strict=True)) > 1e-2


def test_adapters_are_merged_into_what_an_engine_gets(tmp_path):
    pytest.importorskip("peft")
    from tests.trainers.conftest import make, settings
    from verikit.trainers.merge import plain_weights
    from verikit.trainers.weights import save

    trainer = make(tmp_path / "run", settings(precision__lora_rank=4))
    for name, parameter in trainer.policy.named_parameters():
        if "lora_B" in name:
            torch.nn.init.normal_(parameter, std=0.1)
    save(trainer.policy, trainer.sampler.tokenizer, tmp_path / "model")
    from transformers import AutoModelForCausalLM

    loaded = AutoModelForCausalLM.from_pretrained(tmp_path / "model")
    ids = torch.tensor([[3, 4, 5]])
    with torch.no_grad():
        assert torch.allclose(loaded(input_ids=ids).logits, trainer.policy.model(input_ids=ids).logits, atol=1e-4)
    assert not any("lora" in weight.name for weight in plain_weights(trainer.policy.model))
    trainer.close()
    trainer.folder.close()


def test_weights_that_adapters_are_over_stay_what_they_are_when_an_engine_gets_them_merged(tmp_path):
    pytest.importorskip("peft")
    from tests.trainers.conftest import make, settings
    from verikit.trainers.merge import plain_weights
    from verikit.trainers.precision import in_bf16

    trainer = make(tmp_path / "run", settings(precision__lora_rank=4))
    in_bf16(trainer.policy)
    for name, parameter in trainer.policy.named_parameters():
        if "lora_B" in name:
            torch.nn.init.normal_(parameter, std=0.001)
    before = {name: tensor.clone() for name, tensor in trainer.policy.state_dict().items()}
    whole = {weight.name: weight.whole() for weight in plain_weights(trainer.policy.model)}
    assert all(torch.equal(before[name], tensor) for name, tensor in trainer.policy.state_dict().items())
    base = {name.partition("base_model.model.")[2].replace(".base_layer", ""): old for name, old in before.items()}
    moved = [name for name, tensor in whole.items() if not torch.equal(tensor, base[name])]
    assert moved
    assert all("proj" in name for name in moved)
    trainer.close()
    trainer.folder.close()


def test_a_large_model_is_written_in_several_files_of_whole_blocks(tmp_path, monkeypatch):
    from tests.engines import tiny
    from verikit.trainers import weights
    from verikit.trainers.policy import PolicyModel

    policy = PolicyModel(tiny.model())
    weights.save(policy, tiny.tokenizer(), tmp_path)
    assert [path.name for path in tmp_path.glob("model*")] == ["model.safetensors"]
    monkeypatch.setattr(weights, "FILE", 1)
    weights.save(policy, tiny.tokenizer(), tmp_path)
    index = json.loads((tmp_path / "model.safetensors.index.json").read_text())
    names = {path.name for path in tmp_path.glob("model*.safetensors")}
    assert len(names) > 2
    assert set(index["weight_map"].values()) == names
    for block in range(policy.model.config.num_hidden_layers):
        own = {file for name, file in index["weight_map"].items() if name.startswith(f"model.layers.{block}.")}
        assert len(own) == 1
    from transformers import AutoModelForCausalLM

    again = AutoModelForCausalLM.from_pretrained(tmp_path).state_dict()
    assert all(torch.equal(again[name], weight) for name, weight in policy.model.state_dict().items())


def test_experts_reach_a_server_under_the_names_that_the_family_publishes(tmp_path):
    import transformers
    from safetensors.torch import load_file

    from tests.engines import tiny
    from verikit.trainers import weights
    from verikit.trainers.policy import PolicyModel

    torch.manual_seed(0)
    shape = transformers.Qwen3MoeConfig(
        vocab_size=40, hidden_size=16, intermediate_size=32, moe_intermediate_size=8, num_hidden_layers=2,
        num_attention_heads=2, num_key_value_heads=2, head_dim=8, num_experts=4, num_experts_per_tok=2,
    )  # fmt: skip
    model = transformers.Qwen3MoeForCausalLM(shape).eval()
    weights.save(PolicyModel(model), tiny.tokenizer(), tmp_path / "ours")
    model.save_pretrained(tmp_path / "theirs")
    ours, theirs = (load_file(tmp_path / name / "model.safetensors") for name in ("ours", "theirs"))
    assert ours.keys() == theirs.keys()
    assert all(torch.equal(weight, theirs[name]) for name, weight in ours.items())


def test_a_server_without_its_folder_is_named(tmp_path):
    from tests.trainers.conftest import make
    from verikit.errors import ConfigError
    from verikit.trainers.config import load_config

    url = 'engine.options={url = "http://127.0.0.1:1/v1#m"}'
    with pytest.raises(ConfigError, match=r"engine\.options\.folder is missing"):
        make(tmp_path / "run", load_config("arithmetic", ["engine.kind=server", url]))


class Server(ThreadingHTTPServer):
    """Takes what a vLLM server is told, and notes the number formats of the folder it is to read."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Told)
        self.told = []


class Told(BaseHTTPRequestHandler):
    def do_POST(self):
        from safetensors.torch import load_file

        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path == "/collective_rpc":
            weights = load_file(Path(body["kwargs"]["weights_path"]) / "model.safetensors")
            self.server.told.append((body["method"], {str(weight.dtype) for weight in weights.values()}))
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *arguments):
        """Nothing."""


def test_a_server_gets_weights_in_the_policys_format_at_the_start_and_after_changes_only(tmp_path):
    from tests.engines import tiny
    from verikit.trainers.distributed import World
    from verikit.trainers.policy import PolicyModel
    from verikit.trainers.weights import ServerEngine

    with Server() as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        options = {"url": f"http://127.0.0.1:{server.server_port}/v1#m", "folder": str(tmp_path)}
        policy = PolicyModel(tiny.model(), bf16=True)
        engine = ServerEngine(policy, tiny.tokenizer(), World(), options)
        sent = ("reload_weights", {"torch.bfloat16"})
        assert server.told == [sent]
        engine.refresh(changed=False)
        assert server.told == [sent]
        engine.refresh()
        assert server.told == [sent, sent]
        assert {weight.dtype for weight in policy.parameters()} == {torch.float32}
        engine.close()
        server.shutdown()
