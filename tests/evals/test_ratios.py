"""Intervals of benchmark figures that are no plain mean over documents."""

import math
import random
from itertools import product

import pytest

pytest.importorskip("lm_eval")

from verikit.evals import instructions, pairs, prmbench, processbench, rewardbench, simpleqa
from verikit.evals.prmbench import StepCounts
from verikit.stats import mean_interval
from verikit.stats.parts import mean_of_parts


def coverage(truth, cases):
    """The probability of the cases whose interval holds the truth; each has its own probability and its interval."""
    return sum(chance for chance, found in cases if found.low <= truth <= found.high)


@pytest.mark.parametrize(("right", "wrong"), [(0.8, 0.1), (0.3, 0.35), (0.05, 0.05), (0.95, 0.04)])
def test_the_f1_of_20_short_questions_is_covered(right, wrong):
    none, n, cases = 1 - right - wrong, 20, []
    for a, b in product(range(n + 1), repeat=2):
        if a + b <= n:
            ways = math.comb(n, a) * math.comb(n - a, b)
            found = simpleqa.f1.estimate([(1.0, 0.0)] * a + [(0.0, 1.0)] * b + [(0.0, 0.0)] * (n - a - b))
            cases.append((ways * right**a * wrong**b * none ** (n - a - b), found))
    assert sum(chance for chance, _ in cases) == pytest.approx(1)
    assert coverage(2 * right / (1 + right + wrong), cases) >= 0.93


@pytest.mark.parametrize("rates", [(0.8, 0.8), (0.95, 0.95), (0.3, 0.9), (0.05, 0.2)])
def test_the_f1_of_20_first_errors_is_covered(rates):
    n, cases = 10, []
    for hits in product(range(n + 1), repeat=2):
        chance = math.prod(
            math.comb(n, k) * rate**k * (1 - rate) ** (n - k) for k, rate in zip(hits, rates, strict=True)
        )
        values = [(bool(kind), float(i < k)) for kind, k in enumerate(hits) for i in range(n)]
        cases.append((chance, processbench.f1_of.estimate(values)))
    assert coverage(processbench.harmonic(*rates), cases) >= 0.93


def test_one_kind_of_instructions_has_the_interval_of_their_mean():
    one = instructions.inst_level.estimate([[1, 1]] * 15 + [[0, 1]] * 5)
    mean = mean_interval([1.0] * 15 + [0.0] * 5)
    assert (one.value, one.low, one.high) == pytest.approx((mean.value, mean.low, mean.high), abs=0.02)


@pytest.mark.parametrize(
    "found",
    [
        instructions.inst_level.estimate([[2, 2]] * 20),
        simpleqa.f1.estimate([(1.0, 0.0)] * 20),
        simpleqa.given_attempted.estimate([(1.0, 0.0)] * 20),
        processbench.f1_of.estimate([(True, 1.0), (False, 1.0)] * 10),
        processbench.auc_of.estimate([[(0.9, True), (0.1, False)]] * 20),
        prmbench.prmscore_of.estimate([StepCounts(3, 0, 1, 0)] * 20),
        rewardbench.score_of.estimate([("Math", f"{i}", 1, [1.0, 0.0, 0.0, 0.0]) for i in range(20)]),
        pairs.length_controlled_rate.estimate([[(1.0, 10.0 + i, 20.0)] for i in range(20)]),
        pairs.length_controlled_rate.estimate([[(1.0, 10.0, 20.0)]] * 20),
    ],
    ids=["instructions", "f1", "attempted", "first error", "auc", "prmscore", "rewardbench", "lengths", "same lengths"],
)
def test_20_perfect_units_prove_no_perfection(found):
    assert found.value == pytest.approx(1.0, abs=1e-4)
    assert found.low < 0.97
    assert found.stderr > 0.005


def test_attempts_that_never_came_leave_the_ratio_open():
    found = simpleqa.given_attempted.estimate([(0.0, 0.0)] * 20)
    assert (found.value, found.low, found.high) == (0.0, 0.0, 1.0)


def test_ties_are_a_mean_over_pairs_of_prompts():
    rng = random.Random(0)
    ranked = []
    for number in range(30):
        ranked.append(("Ties", f"ref:{number}", 1, [rng.random() + 0.5, rng.random()]))
        ranked.append(("Ties", f"tied:{number}", 2, [rng.random() + 0.5, rng.random() + 0.5, rng.random()]))
    found = rewardbench.score_of.estimate(ranked)
    assert found.value == pytest.approx(rewardbench.ties_score(ranked))
    assert found.low < found.value < found.high
    unpaired = rewardbench.score_of.estimate(ranked[:-1])
    assert unpaired.value == pytest.approx(rewardbench.ties_score(ranked[:-1]))
    assert unpaired.low < unpaired.value < unpaired.high
    assert rewardbench.score_of.estimate([ranked[0]]) is None


def test_the_mean_of_parts_is_as_uncertain_as_they_are_together():
    parts = [mean_interval([1.0] * 5 + [0.0] * 5), mean_interval([1.0] * 20)]
    mean = mean_of_parts(parts)
    assert mean.value == 0.75
    assert 2 * (mean.value - mean.low) == pytest.approx(math.hypot(*(part.value - part.low for part in parts)))
    assert mean_of_parts(parts[:1]).low == pytest.approx(parts[0].low)


def test_a_wrong_step_that_no_solution_had_leaves_no_auc():
    assert processbench.auc_of.estimate([[(0.5, True)]] * 3) is None
