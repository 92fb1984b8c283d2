"""Experts of a mixture follow autocast, as all other products do, and their fp32 weights learn."""

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from transformers.integrations import moe  # noqa: E402

from tests.trainers.conftest import settings  # noqa: E402
from verikit.trainers.policy import PolicyModel  # noqa: E402
from verikit.trainers.precision import prepare_model  # noqa: E402


def mixture():
    config = transformers.Qwen3MoeConfig(
        vocab_size=64, hidden_size=64, intermediate_size=128, moe_intermediate_size=64, num_hidden_layers=2,
        num_attention_heads=4, num_key_value_heads=2, head_dim=16, num_experts=4, num_experts_per_tok=2,
        initializer_range=0.2,
    )  # fmt: skip
    config._experts_implementation = "grouped_mm"
    torch.manual_seed(0)
    return transformers.AutoModelForCausalLM.from_config(config).eval()


def logprobs(policy):
    ids = torch.randint(64, (1, 33), generator=torch.Generator().manual_seed(0))
    return policy(ids, torch.arange(32), ids[0, 1:])[0]


@pytest.mark.parametrize("checkpointing", [False, True])
def test_experts_are_multiplied_in_bf16_over_fp32_weights_that_learn(monkeypatch, checkpointing):
    seen, multiply = [], moe._grouped_mm

    def watched(input, weight, offs):
        seen.append((input.dtype, weight.dtype))
        return multiply(input, weight, offs)

    monkeypatch.setattr(moe, "_grouped_mm", watched)
    config = settings(precision__master="float32", precision__checkpointing=checkpointing)
    policy = PolicyModel(prepare_model(mixture(), config), True)
    seen.clear()
    logprobs(policy).sum().backward()
    assert len(seen) >= 4
    assert {weight for _, weight in seen} == {torch.bfloat16}
    experts = [(name, weight) for name, weight in policy.named_parameters() if ".experts." in name]
    assert len(experts) == 4
    for name, weight in experts:
        assert weight.dtype == weight.grad.dtype == torch.float32, name
        assert weight.grad.abs().max() > 0, name


def test_without_autocast_experts_are_what_they_were():
    config = settings(precision__master="same")
    plain = logprobs(PolicyModel(prepare_model(mixture(), config)))
    PolicyModel(mixture(), True)  # installs
    assert torch.equal(logprobs(PolicyModel(prepare_model(mixture(), config))), plain)
    assert plain.dtype == torch.float32
