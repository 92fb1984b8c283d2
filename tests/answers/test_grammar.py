"""Random trees in many notations, read back, against the same trees built in sympy."""

import os
import random

import pytest

from tests.answers import trees
from verikit.answers.parser import parse
from verikit.answers.parser.tree import NotMath, TooBig
from verikit.answers.tail import build

TREES = int(os.environ.get("VERIKIT_GRAMMAR_TREES", "4_000"))
"""Trees of the long run; each is read in every notation."""
MAX_NODES = 60


def unlike(got, want, rng):
    """Whether two sympy objects are no rearrangement of one another: they differ, also at a random point."""
    import sympy

    if got == want:
        return False
    point = {name: sympy.Rational(rng.randint(1, 99), 37) for name in (got - want).free_symbols}
    gap, size = (abs(sympy.N(part.subs(point), 30)) for part in (got - want, want))
    return not gap < 1e-15 * (1 + size)


def misread(count, seed):
    """The texts of `count` trees that are read as something else."""
    import sympy

    rng = random.Random(seed)
    found, texts = [], 0
    while count:
        tree = trees.grow(rng, rng.randint(1, 4))
        if str(tree).count("(") > MAX_NODES:
            continue
        want = trees.to_sympy(tree)
        if want.has(sympy.zoo, sympy.nan, sympy.oo):
            continue
        count -= 1
        for style in trees.STYLES:
            text = trees.Printer(style, rng).text(tree)
            texts += 1
            try:
                wrong = unlike(build(parse(text)), want, rng)
            except (NotMath, TooBig, ValueError):
                wrong = True
            if wrong:
                found.append((style, text, tree))
    return found, texts


def test_each_notation_is_read_as_the_tree_it_prints():
    found, texts = misread(350, seed=1)
    assert texts == 350 * len(trees.STYLES)
    assert not found


def test_the_comparison_notices_a_misreading():
    rng = random.Random(2)
    tree = ("mul", ("sym", "x"), ("pow", ("sym", "y"), ("num", 2)))
    assert unlike(build(parse("(xy)^2")), trees.to_sympy(tree), rng)
    assert not unlike(build(parse("y*xy")), trees.to_sympy(tree), rng)


@pytest.mark.slow
def test_many_trees_are_read_as_they_are_printed():
    found, _ = misread(TREES, seed=2)
    assert not found
