"""Intervals of figures that are no plain mean of their units."""

import math

import pytest

from verikit.errors import UsageError
from verikit.stats import mean_interval
from verikit.stats.drawn import drawn_estimate, typical


def mean(units):
    return math.fsum(unit * weight for unit, weight in units) / math.fsum(weight for _, weight in units)


def estimate(values, **options):
    return drawn_estimate(values, mean, worst=[0.0], best=[1.0], **options)


@pytest.mark.parametrize(("n", "right"), [(20, 0), (20, 10), (20, 19), (100, 3), (200, 200)])
def test_the_mean_of_zeros_and_ones_has_the_beta_interval(n, right):
    values = [1.0] * right + [0.0] * (n - right)
    drawn, beta = estimate(values, draws=4000), mean_interval(values)
    assert drawn.value == pytest.approx(beta.value)
    assert (drawn.low, drawn.high) == pytest.approx((beta.low, beta.high), abs=0.1 * (beta.high - beta.low))
    assert (drawn.n, drawn.method) == (n, "draws")
    assert drawn.stderr > 0


def test_the_same_units_have_the_same_interval():
    assert estimate([0.0, 1.0, 1.0]) == estimate([0.0, 1.0, 1.0])


def test_units_without_a_figure_have_no_interval():
    assert estimate([]) is None
    assert drawn_estimate([1.0], lambda units: math.nan, worst=[0.0], best=[1.0]) is None


@pytest.mark.parametrize("options", [{"level": 95}, {"draws": 0}])
def test_a_level_outside_0_and_1_and_no_draws_are_refused(options):
    with pytest.raises(UsageError):
        estimate([1.0], **options)


def test_the_typical_size_counts_larger_units_more():
    assert typical([2, 2, 2]) == 2
    assert typical([1, 3]) == 2.5
    assert typical([]) == typical([0]) == 0
