"""Scores of given tokens are the model's own, whatever its logits are made of."""

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from verikit.engines.hf.score import score_tokens  # noqa: E402


def test_scores_of_a_capped_model_stay_its_own_when_its_logits_grow() -> None:
    """A policy's held-out losses are computed from its first step on, when a cap may not show yet."""
    torch.manual_seed(0)
    config = transformers.Gemma2Config(
        vocab_size=50, hidden_size=32, intermediate_size=48, num_hidden_layers=1, num_attention_heads=2,
        num_key_value_heads=1, head_dim=16, final_logit_softcapping=5.0, initializer_range=1e-4,
    )  # fmt: skip
    model = transformers.Gemma2ForCausalLM(config).eval()
    ids = [3, 4, 5, 6]
    score_tokens(model, [ids])
    with torch.no_grad():
        model.lm_head.weight.mul_(1e5)
        logits = model(torch.tensor([ids])).logits[0].float()
        assert logits.abs().max() > 4.5
        expected = logits.log_softmax(-1)[range(3), ids[1:]].tolist()
    assert score_tokens(model, [ids])[0][0] == pytest.approx(expected, abs=1e-4)
