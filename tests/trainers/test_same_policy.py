"""What samples is the policy that learns: in bf16, with checkpointed activations; where it is not, the run stops."""

import math
from copy import deepcopy
from types import SimpleNamespace

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from tests.trainers.conftest import make, settings, train  # noqa: E402
from tests.trainers.test_grpo import JITTER  # noqa: E402
from verikit.engines.hf.generate import GenerateDecoder  # noqa: E402
from verikit.engines.hf.sampler import SamplingGroup  # noqa: E402
from verikit.errors import ConfigError, TrainerError  # noqa: E402
from verikit.trainers.precision import in_bf16  # noqa: E402


def phi3():
    torch.manual_seed(0)
    config = transformers.Phi3Config(
        vocab_size=64, hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, max_position_embeddings=256, pad_token_id=0, bos_token_id=1, eos_token_id=2,
    )  # fmt: skip
    return transformers.Phi3ForCausalLM(config)


def test_bf16_rounds_weights_and_leaves_buffers_alone():
    model = phi3()
    before = {name: buffer.clone() for name, buffer in model.named_buffers()}
    assert before
    in_bf16(model)
    assert {weight.dtype for weight in model.parameters()} == {torch.bfloat16}
    assert all(torch.equal(before[name], buffer) for name, buffer in model.named_buffers())


def greedy(model, n=24):
    ids = [5, 9, 13, 7]
    with torch.no_grad():
        for _ in range(n):
            ids.append(int(model(input_ids=torch.tensor([ids])).logits[0, -1].argmax()))
    return ids[4:]


def test_generate_samples_the_model_itself_while_its_activations_are_checkpointed():
    model = phi3().eval()
    expected = greedy(model)
    model.activation_checkpointing_enable({"use_reentrant": False})
    model.train()
    group = SamplingGroup([5, 9, 13, 7], (0,), n=1, max_tokens=24, temperature=0.0)
    [[row]] = GenerateDecoder(model, []).decode([group])
    assert list(row.ids) == expected
    assert model.training


def test_a_sampler_that_is_another_policy_stops_the_run(tmp_path, monkeypatch):
    from verikit.trainers import weights

    def other(policy, world, apart):
        model = deepcopy(policy.model)
        with torch.no_grad():
            for weight in model.parameters():
                weight.add_(torch.randn_like(weight))
        return SimpleNamespace(model=model, fill=lambda found: None, rest=lambda: None)

    monkeypatch.setattr(weights, "sampling_copy", other)
    with pytest.raises(TrainerError, match=r"step 1: sampler and trainer differ by .* nats .* run.max_mismatch = 0.5"):
        train(tmp_path / "stops", settings(**JITTER))
    train(tmp_path / "goes", settings(run__max_mismatch=0, run__steps=1, **JITTER))


def test_a_single_policy_does_not_stop(tmp_path):
    trainer = make(tmp_path / "run", settings(run__steps=1, run__max_mismatch=1e-3, **JITTER))
    try:
        trainer.run()
    finally:
        trainer.close()
        trainer.folder.close()
    assert math.isfinite(trainer.seconds)


@pytest.mark.parametrize(
    "changes", [{"engine__options": {"dtype": "float32"}}, {"engine__kind": "vllm", "engine__rows": 8}]
)
def test_engine_settings_that_nothing_reads_are_refused(changes):
    from verikit.trainers.config import read_config

    table = {"recipe": "arithmetic", "engine": {key.removeprefix("engine__"): v for key, v in changes.items()}}
    with pytest.raises(ConfigError, match="engine"):
        read_config(table)


@pytest.mark.parametrize(
    "name",
    ["mistral with a window", "qwen3 moe", "gemma2", "gemma3 with a cap", "phi3", "olmo2", "smollm3 with windows"],
)
def test_every_family_samples_what_learns_while_its_activations_are_checkpointed(name, tmp_path, monkeypatch):
    from tests.engines.test_families import made
    from verikit.engines.hf.batch import Batch
    from verikit.engines.hf.decoder import Decoder
    from verikit.trainers.recipes.arithmetic import Arithmetic
    from verikit.trainers.run import read_log

    tokenizer = Arithmetic.make_model(None, 0)[1]
    ends = {"pad_token_id": tokenizer.eos_token_id, "eos_token_id": tokenizer.eos_token_id, "bos_token_id": None}
    model = made(name, vocab_size=len(tokenizer), initializer_range=0.1, **ends)
    monkeypatch.setattr(Arithmetic, "make_model", lambda options, seed: (model, tokenizer))
    kinds = set()
    begin = Batch.run

    def run(self, rows):
        kinds.add(type(self._decoder))
        return begin(self, rows)

    monkeypatch.setattr(Batch, "run", run)
    config = settings(run__steps=2, warmup__steps=1, precision__checkpointing=True, run__max_mismatch=1e-3, **JITTER)
    train(tmp_path / "run", config)
    rows = [row for row in read_log(tmp_path / "run/metrics.jsonl") if "mismatch" in row and row["tokens"]]
    assert rows
    assert max(row["mismatch"] for row in rows) < 1e-4
    assert kinds == {Decoder}
