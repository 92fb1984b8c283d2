"""Each loss and its gradient against a plain float64 reference, written token by token."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

torch = pytest.importorskip("torch")

from verikit.trainers import losses  # noqa: E402

LOGPS = st.floats(-4, -0.01)
TOKENS = st.lists(st.tuples(LOGPS, LOGPS, st.floats(-2, 2), st.integers(0, 2), LOGPS), min_size=1, max_size=10)


def columns(tokens):
    tokens = sorted(tokens, key=lambda t: t[3])
    order = {}
    rows = [order.setdefault(t[3], len(order)) for t in tokens]
    logp, old, advantage, reference = (torch.tensor([t[i] for t in tokens], dtype=torch.float64) for i in (0, 1, 2, 4))
    return logp.requires_grad_(), old, advantage, torch.tensor(rows), reference


def gradient(loss, logp):
    return torch.autograd.grad(loss.sum(), logp)[0].tolist()


def clip(x, low, high):
    return min(max(x, low), high)


@settings(max_examples=60)
@given(TOKENS, st.booleans())
def test_ppo_clip_higher_and_dual_clip(tokens, dual):
    logp, old, advantage, _, _ = columns(tokens)
    loss, clipped = losses.ppo(logp, old, advantage, 0.2, 0.28, 3.0 if dual else None)
    slopes = gradient(loss, logp)
    for i, (a, b, adv) in enumerate(zip(logp.tolist(), old.tolist(), advantage.tolist(), strict=True)):
        ratio = math.exp(a - b)
        bounded = clip(ratio, 0.8, 1.28)
        value, moves = ratio * adv, True
        if bounded * adv < value:
            value, moves = bounded * adv, False
        if dual and adv < 0 and value < 3.0 * adv:
            value, moves = 3.0 * adv, False
        assert math.isclose(loss[i].item(), -value, rel_tol=1e-9, abs_tol=1e-12)
        assert math.isclose(slopes[i], -ratio * adv if moves else 0.0, rel_tol=1e-9, abs_tol=1e-12)
        assert bool(clipped[i]) == (not moves)


@settings(max_examples=60)
@given(TOKENS)
def test_gspo_has_the_gradient_of_the_sequences_ratio(tokens):
    logp, old, advantage, rows, _ = columns(tokens)
    advantage = advantage[[rows.tolist().index(r) for r in rows.tolist()]]  # one for a sequence
    low, high = 0.1, 0.2
    loss, _ = losses.gspo(logp, old, advantage, rows, low, high)
    slopes = gradient(losses.row_mean(loss, rows), logp)
    for row in set(rows.tolist()):
        own = [i for i, r in enumerate(rows.tolist()) if r == row]
        ratio = math.exp(sum(logp[i].item() - old[i].item() for i in own) / len(own))
        adv = advantage[own[0]].item()
        moves = not clip(ratio, 1 - low, 1 + high) * adv < ratio * adv
        value = min(ratio * adv, clip(ratio, 1 - low, 1 + high) * adv)
        for i in own:
            assert math.isclose(loss[i].item(), -value, rel_tol=1e-9, abs_tol=1e-12)
            expected = -adv * ratio / len(own) if moves else 0.0
            assert math.isclose(slopes[i], expected, rel_tol=1e-9, abs_tol=1e-12)


@settings(max_examples=60)
@given(TOKENS)
def test_cispo_never_loses_a_gradient_by_clipping(tokens):
    logp, old, advantage, _, _ = columns(tokens)
    loss, _ = losses.cispo(logp, old, advantage, 0.2, 0.28)
    slopes = gradient(loss, logp)
    for i, (a, b, adv) in enumerate(zip(logp.tolist(), old.tolist(), advantage.tolist(), strict=True)):
        expected = -clip(math.exp(a - b), 0.8, 1.28) * adv
        assert math.isclose(slopes[i], expected, rel_tol=1e-9, abs_tol=1e-12)
        assert (slopes[i] == 0) == (adv == 0)


@settings(max_examples=60)
@given(TOKENS)
def test_kl_estimators_and_their_straight_through_forms(tokens):
    logp, _, _, _, reference = columns(tokens)
    d = (logp - reference).detach()
    values = {"k1": d, "k2": d**2 / 2, "k3": torch.exp(-d) + d - 1}
    slopes = {"k1": torch.ones_like(d), "k2": d, "k3": 1 - torch.exp(-d), "k1+": d, "k3+": d}
    for name, slope in slopes.items():
        found = losses.kl(logp, reference, name)
        assert torch.allclose(found.detach(), values[name.rstrip("+")], rtol=1e-9, atol=1e-12)
        assert gradient(found, logp) == pytest.approx(slope.tolist(), rel=1e-9, abs=1e-12)


def test_the_reference_implementations_values():
    logp, reference = torch.tensor([-1.0]).double(), torch.tensor([-1.5]).double()
    found = [losses.kl(logp, reference, name).item() for name in ("k1", "k2", "k3")]
    assert found == pytest.approx([0.5, 0.125, 0.1065], abs=1e-4)


def test_the_four_aggregations():
    lengths = torch.tensor([4, 2, 0])
    assert losses.token_weights(lengths, "token-mean").tolist()[:2] == pytest.approx([1 / 6] * 2)
    assert losses.token_weights(lengths, "seq-mean-token-sum").tolist()[:2] == pytest.approx([1 / 2] * 2)
    assert losses.token_weights(lengths, "seq-mean-token-mean").tolist()[:2] == pytest.approx([1 / 8, 1 / 4])
    assert losses.token_weights(lengths, "seq-mean-token-sum-norm", 10).tolist()[:2] == pytest.approx([1 / 20] * 2)


def test_the_soft_penalty_falls_from_the_margin_to_the_limit():
    found = [losses.overlong_penalty(length, 20_480, 4_096) for length in (16_384, 18_432, 20_480, 20_481, 3)]
    assert found == [0.0, -0.5, -1.0, -1.0, 0.0]


def test_the_three_weights_for_a_mismatch():
    old, sampled = torch.tensor([0.0, -1.0, -3.0, -1.0]).double(), torch.tensor([-2.0, -1.1, -1.0, -1.0]).double()
    rows = torch.tensor([0, 0, 1, 1])
    ratio = (old - sampled).exp()
    assert losses.mismatch_weight(old, sampled, rows, "truncate", 2.0).tolist() == pytest.approx(
        [2.0, ratio[1].item(), ratio[2].item(), 1.0]
    )
    assert losses.mismatch_weight(old, sampled, rows, "icepop", 2.0).tolist() == pytest.approx(
        [0.0, ratio[1].item(), 0.0, 1.0]
    )
    assert losses.mismatch_weight(old, sampled, rows, "sequence-mask", 2.0).tolist() == [0, 0, 0, 0]
    assert losses.mismatch_weight(old, sampled, rows, "sequence-mask", 3.0).tolist() == [1, 1, 1, 1]
    assert not losses.mismatch_weight(old.requires_grad_(), sampled, rows, "truncate", 2.0).requires_grad


def test_ratios_far_out_stay_finite():
    logp, old = torch.tensor([0.0, -900.0]).double().requires_grad_(), torch.tensor([-900.0, 0.0]).double()
    for loss in (
        losses.ppo(logp, old, torch.ones(2).double(), 0.2, 0.28)[0],
        losses.cispo(logp, old, -torch.ones(2).double(), 0.2, 0.28)[0],
        losses.kl(logp, old, "k3"),
    ):
        assert torch.isfinite(loss).all()
        assert torch.isfinite(torch.autograd.grad(loss.sum(), logp)[0]).all()


@pytest.mark.parametrize(
    "asked",
    [
        lambda: losses.token_weights(torch.tensor([2, 3]), "token_mean"),
        lambda: losses.token_weights(torch.tensor([2, 3]), "seq-mean-token-sum-norm"),
        lambda: losses.kl(torch.zeros(2), torch.zeros(2), "K1"),
        lambda: losses.mismatch_weight(torch.zeros(2), torch.zeros(2), torch.zeros(2, dtype=torch.long), "tis", 2.0),
    ],
)
def test_a_formula_that_is_not_there_is_refused(asked):
    with pytest.raises(ValueError, match="there is no"):
        asked()
