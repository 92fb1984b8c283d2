"""Kinds of answers with an equality of their own: what a gold of such a kind means, and which answers mean the same.

A family is one module: a reader that says what a gold means (None for every gold that is not of the kind), and a
comparison of that meaning with an answer's text. The first family that can say anything decides; where none can, the
trees are compared. A gold is read once, however many answers are held against it. Rare families are in
`verikit.answers.extra`.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING, Any

from verikit.answers.algebra.equality import EqualityResult
from verikit.answers.families import (
    assignments,
    bases,
    dates,
    numbers,
    progressions,
    quantities,
    ranges,
    ratios,
    words,
)
from verikit.answers.families.base import Context, Family
from verikit.names.registry import answer_families

if TYPE_CHECKING:
    from verikit.answers.extra import Extra

FAMILIES: tuple[Family, ...] = (
    words.FAMILY,
    progressions.FAMILY,
    assignments.FAMILY,
    bases.FAMILY,
    dates.FAMILY,
    ranges.FAMILY,
    ratios.FAMILY,
    quantities.FAMILY,
    numbers.FAMILY,
)
"""In the order in which they are asked."""


@cache
def _extras() -> dict[str, list[Extra]]:
    """The rare families, by the family that they come before, in the order of their names."""
    found: dict[str, list[Extra]] = {}
    for entry in answer_families().values():
        extra = entry.load()
        found.setdefault(extra.before, []).append(extra)
    return found


def _families(text: str) -> Iterator[Family]:
    """The families that a gold may belong to, in the order in which they are asked."""
    extras = _extras()
    for family in FAMILIES:
        for extra in extras.get(family.name, ()):
            if extra.looks_like(text):
                yield from extra.families
        yield family


def meanings(text: str) -> tuple[tuple[Family, Any], ...]:
    """The families a gold belongs to, each with what the gold means in it."""
    found = ((family, family.gold(text)) for family in _families(text))
    return tuple((family, meaning) for family, meaning in found if meaning is not None)


def number_meanings(text: str) -> tuple[tuple[Family, Any], ...]:
    """The same for a number in plain digits, which can only be a number."""
    meaning = numbers.FAMILY.gold(text)
    return () if meaning is None else ((numbers.FAMILY, meaning),)


def compare_meanings(gold: tuple[tuple[Family, Any], ...], text: str, context: Context) -> EqualityResult | None:
    """What the first family that can tell says of an answer; None if none can."""
    for family, meaning in gold:
        if (match := family.match(meaning, text, context)) is not None:
            return match
    return None
