"""Kinds of answers with an equality of their own: what a gold of such a kind means, and which answers mean the same.

A family is one module: a reader that says what a gold means (None for every gold that is not of the kind), and a
comparison of that meaning with an answer's text. The first family that can say anything decides; where none can, the
trees are compared. A gold is read once, however many answers are held against it.
"""

from __future__ import annotations

from typing import Any

from verikit.answers.equality import EqualityResult
from verikit.answers.families import (
    assignments,
    bases,
    chemistry,
    constants,
    dates,
    flats,
    genotypes,
    numbers,
    parts,
    permutations,
    piecewise,
    progressions,
    quantities,
    ranges,
    ratios,
    times,
    words,
)
from verikit.answers.families.base import Context, Family

FAMILIES: tuple[Family, ...] = (
    words.FAMILY,
    parts.FAMILY,
    piecewise.FAMILY,
    progressions.FAMILY,
    constants.FAMILY,
    flats.FAMILY,
    permutations.FAMILY,
    assignments.FAMILY,
    bases.FAMILY,
    chemistry.CONFIGURATION,
    chemistry.EQUATION,
    chemistry.FORMULA,
    genotypes.GENOTYPE,
    genotypes.SHARES,
    dates.FAMILY,
    times.FAMILY,
    ranges.FAMILY,
    ratios.FAMILY,
    quantities.FAMILY,
    numbers.FAMILY,
)
"""In the order in which they are asked."""


NUMERIC: tuple[Family, ...] = (numbers.FAMILY,)
"""Those a number in plain digits may belong to."""


def meanings(text: str, families: tuple[Family, ...] = FAMILIES) -> tuple[tuple[Family, Any], ...]:
    """The families a gold belongs to, each with what the gold means in it."""
    found = ((family, family.gold(text)) for family in families)
    return tuple((family, meaning) for family, meaning in found if meaning is not None)


def compare_meanings(gold: tuple[tuple[Family, Any], ...], text: str, context: Context) -> EqualityResult | None:
    """What the first family that can tell says of an answer; None if none can."""
    for family, meaning in gold:
        if (match := family.match(meaning, text, context)) is not None:
            return match
    return None
