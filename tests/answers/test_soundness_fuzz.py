"""Pairs of formulas a small change apart: what is called equal has to be equal at points of any sign and size."""

import os
import random

import pytest

from tests.answers.mutations import differ, pair
from tests.answers.trees import STYLES, Printer
from verikit.answers import verify

PAIRS = int(os.environ.get("VERIKIT_SOUNDNESS_PAIRS", "3_000"))
"""Pairs of the long run."""

BY_CUSTOM = ("same functions for all constants", "same numbers for every integer")
"""What holds because some letters stand for any number."""


def unsound(count, seed):
    """The pairs called equal that differ somewhere, and how many of `count` were called equal."""
    rng = random.Random(seed)
    found, equal = [], 0
    for _ in range(count):
        a, b = pair(rng)
        gold, answer = (Printer(rng.choice(STYLES), rng).text(tree) for tree in (a, b))
        verdict = verify(rf"\boxed{{{answer}}}", gold, letters=False)
        if verdict.equal and verdict.rule not in BY_CUSTOM:
            equal += 1
            if point := differ(a, b, rng):
                found.append((gold, answer, point))
    return found, equal


def test_what_is_called_equal_is_equal_everywhere():
    found, equal = unsound(300, seed=1)
    assert not found
    assert equal > 50


def test_the_oracle_notices_what_holds_on_a_single_side():
    x = ("sym", "x")
    assert differ(("root", 2, ("pow", x, ("num", 2))), x, random.Random(1))
    assert not differ(("root", 2, ("pow", x, ("num", 2))), ("abs", x), random.Random(1))


@pytest.mark.slow(seconds=40)
def test_many_pairs_called_equal_are_equal():
    found, _ = unsound(PAIRS, seed=2)
    assert not found
