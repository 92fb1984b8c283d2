"""What a vLLM beside a policy is told, and how weights reach its process; without vLLM itself."""

import os
import pickle
import subprocess
import sys
from types import SimpleNamespace

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from tests.conftest import ROOT  # noqa: E402
from tests.trainers.conftest import make, settings  # noqa: E402
from tests.trainers.counted import LiveBytes  # noqa: E402
from verikit.errors import ConfigError, TrainerError  # noqa: E402
from verikit.trainers import vllm_worker  # noqa: E402
from verikit.trainers.config import load_config  # noqa: E402
from verikit.trainers.merge import plain_weights  # noqa: E402
from verikit.trainers.policy import PolicyModel  # noqa: E402
from verikit.trainers.vllm_engine import own_process, vllm_options  # noqa: E402
from verikit.trainers.vllm_worker import WeightSender  # noqa: E402
from verikit.trainers.weights import save_shape  # noqa: E402

CPU = torch.device("cpu")


@pytest.fixture(scope="module")
def policy():
    from tests.engines import tiny

    return PolicyModel(tiny.model())


def world(size=1, device=CPU):
    return SimpleNamespace(size=size, device=device)


def config(**options):
    return load_config("arithmetic", ["engine.kind=vllm"]).model_copy(
        update={"engine": SimpleNamespace(kind="vllm", options=options)}
    )


RECEIVE = """
import pickle, sys
from verikit.trainers.vllm_worker import open_buffer, unpacked

found, buffer = {}, None
while (call := pickle.load(sys.stdin.buffer)) is not None:
    if call[0] == "verikit_begin":
        buffer = open_buffer(*call[1])
    elif call[0] == "verikit_load":
        found |= {name: tensor.clone() for name, tensor in unpacked(buffer, *call[1])}
    print(flush=True)
told = {name: (str(tensor.dtype), tensor.float().tolist()) for name, tensor in found.items()}
sys.stdout.buffer.write(pickle.dumps(told))
"""
"""vLLM's end, in a process of its own: names and places by a pipe, weights by the shared memory."""


def sent(weights):
    """What another process reads of weights that are sent to it, and how many buckets it took."""
    pipe = subprocess.PIPE
    process = subprocess.Popen([sys.executable, "-c", RECEIVE], stdin=pipe, stdout=pipe, cwd=ROOT)
    calls = []

    def tell(what):
        process.stdin.write(pickle.dumps(what))
        process.stdin.flush()

    def call(method, args=()):
        calls.append(method)
        tell((method, args))
        assert process.stdout.readline() == b"\n"
        return [[] if method == "verikit_end" else None]

    WeightSender(call, CPU).send(weights)
    tell(None)
    found = pickle.loads(process.communicate(timeout=60)[0])
    return found, calls.count("verikit_load")


class Holder(torch.nn.Module):  # type: ignore[name-defined, misc]
    """Weights of many kinds: tied, scalar, larger than a bucket, already narrow, not contiguous; buffers."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        made = {
            "embed": torch.randn(7, 5), "scalar": torch.tensor(3.25), "large": torch.randn(40, 40),
            "narrow": torch.randn(3, 3).bfloat16(), "across": torch.randn(4, 6).T,
        }  # fmt: skip
        for name, value in made.items():
            setattr(self, name, torch.nn.Parameter(value))
        self.head = self.embed
        self.register_buffer("count", torch.tensor([1, 2, 3]))
        self.register_buffer("routing_bias", torch.tensor([0.1, 0.1001]))
        self.register_buffer("frequencies", torch.randn(3), persistent=False)


def test_weights_reach_another_process_bucket_by_bucket_in_the_samplers_format(monkeypatch):
    monkeypatch.setattr(vllm_worker, "BUCKET", 256)
    model = Holder()
    found, buckets = sent(list(plain_weights(model, torch.bfloat16)))
    assert buckets > 1
    # What is tied goes once, and what the sampler makes itself not at all.
    assert found.keys() == {"embed", "scalar", "large", "narrow", "across", "count", "routing_bias"}
    for name, (dtype, values) in found.items():
        own = model.state_dict()[name]
        # A router's bias decides between experts by its last digits: the policy routes by all of them.
        expected = own.bfloat16() if own.is_floating_point() and name != "routing_bias" else own
        assert dtype == str(expected.dtype)
        assert values == expected.float().tolist()


def test_no_more_than_a_bucket_and_a_weight_are_held_while_weights_are_sent(monkeypatch):
    monkeypatch.setattr(vllm_worker, "BUCKET", 4096)
    model = torch.nn.Sequential(*(torch.nn.Linear(32, 32, bias=False) for _ in range(50)))
    weights = list(plain_weights(model, torch.bfloat16))
    with LiveBytes() as counter:
        WeightSender(lambda method, args=(): [[]], CPU).send(weights)
    assert counter.peak <= 4096 + 2 * 32 * 32 * 2  # of 100 kB


def test_a_weight_that_the_policy_lacks_stops_the_run():
    def call(method, args=()):
        return [["model.gate.weight"] if method == "verikit_end" else None]

    with pytest.raises(TrainerError, match=r"model\.gate\.weight"):
        WeightSender(call, CPU).send(list(plain_weights(torch.nn.Linear(2, 2))))


def test_vllm_samples_in_the_format_the_policy_computes_in(policy):
    assert vllm_options(config(), policy, world())["dtype"] == "float32"
    bf16 = PolicyModel(policy.model, bf16=True)
    assert vllm_options(config(), bf16, world())["dtype"] == "bfloat16"
    assert vllm_options(config(dtype="float16"), policy, world())["dtype"] == "float16"


def test_each_process_takes_its_own_gpu_and_what_is_free_beside_the_policy(policy, monkeypatch):
    numbers = sum(weight.numel() for weight in policy.parameters())
    free, total = 60 * 2**30, 80 * 2**30
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (free, total))
    made = vllm_options(config(), policy, world(8, torch.device("cuda", 3)))
    assert made["device_ids"] == [3]
    assert made["enable_sleep_mode"]
    assert made["gpu_memory_utilization"] == pytest.approx(0.9 * (free - 8 * numbers) / total, abs=0.01)
    awake = vllm_options(config(enable_sleep_mode=False), policy, world(1, torch.device("cuda", 0)))
    assert awake["gpu_memory_utilization"] == pytest.approx(0.45 * (free - 8 * numbers) / total, abs=0.01)
    asked = vllm_options(config(gpu_memory_utilization=0.2), policy, world(1, torch.device("cuda", 0)))
    assert asked["gpu_memory_utilization"] == 0.2
    assert "kv_cache_memory_bytes" in vllm_options(config(), policy, world())


def test_a_model_shared_out_is_refused_where_each_process_has_a_vllm_of_its_own(policy):
    with pytest.raises(ConfigError, match=r"tensor_parallel_size: each of the 2 processes"):
        vllm_options(config(tensor_parallel_size=2), policy, world(2))
    made = vllm_options(config(tensor_parallel_size=2), policy, world())
    assert made["tensor_parallel_size"] == 2
    assert "device_ids" not in made


def test_vllms_process_does_not_take_itself_for_one_of_torchruns(monkeypatch):
    told = {"RANK": "1", "LOCAL_RANK": "1", "WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": "2", "MASTER_PORT": "1"}
    for name, value in (told | {"TORCHELASTIC_USE_AGENT_STORE": "True", "OWN": "kept"}).items():
        monkeypatch.setenv(name, value)
    before = dict(os.environ)
    with own_process(world(2)):
        assert not {*told, "TORCHELASTIC_USE_AGENT_STORE"} & os.environ.keys()
        assert os.environ["OWN"] == "kept"
        assert os.environ["VLLM_ENABLE_V1_MULTIPROCESSING"] == "1"
        assert "VLLM_CPU_OMP_THREADS_BIND" in os.environ
    assert dict(os.environ) == before


def test_what_vllm_starts_from_holds_no_weights(policy, tmp_path):
    from tests.engines import tiny

    save_shape(policy.model, tiny.tokenizer(), tmp_path)
    assert {"config.json", "tokenizer.json", "generation_config.json"} <= {path.name for path in tmp_path.iterdir()}
    assert not list(tmp_path.glob("*.safetensors"))


def test_an_engine_is_told_whether_the_policy_changed(tmp_path, monkeypatch):
    trainer = make(tmp_path / "run", settings(run__steps=1))
    told = []
    monkeypatch.setattr(trainer.engine, "refresh", lambda changed=True: told.append(changed))
    try:
        trainer.run()
        updates = trainer.learner.updates
        monkeypatch.setattr(
            trainer.learner, "learn", lambda rows, step: {"mismatch": 0.0, "tokens": 0.0, "rows_learnt": 0.0}
        )
        trainer._train_step(2)
    finally:
        trainer.close()
        trainer.folder.close()
    gate, warm, step, idle = told
    assert (gate, warm) == (True, False)  # for the gate after the warm-up's last step, then for the first step
    assert (step, idle) == (updates > 0, False)
