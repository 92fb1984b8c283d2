"""Kinds of answers with their own equality: the meaning of a gold answer of that kind, and which answers mean the same.

A family is one module with a reader and a comparison. The reader returns the meaning of a gold answer, or None if it is
of another kind. The comparison compares that meaning with an answer's text. The first family that can decide is used.
If none can, the trees are compared. A gold answer is read once, regardless of the number of answers. Rare families are
in `verikit.answers.extra`.
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
"""The families in the order in which they are tried."""


@cache
def _extras() -> dict[str, list[Extra]]:
    """The rare families, grouped by the family that they precede, in the order of their names."""
    found: dict[str, list[Extra]] = {}
    for entry in answer_families().values():
        extra = entry.load()
        found.setdefault(extra.before, []).append(extra)
    return found


def _families(text: str) -> Iterator[Family]:
    """The families to which a gold answer may belong, in the order in which they are tried."""
    extras = _extras()
    for family in FAMILIES:
        for extra in extras.get(family.name, ()):
            if extra.looks_like(text):
                yield from extra.families
        yield family


def meanings(text: str) -> tuple[tuple[Family, Any], ...]:
    """The families to which a gold answer belongs, each with its meaning there."""
    found = ((family, family.gold(text)) for family in _families(text))
    return tuple((family, meaning) for family, meaning in found if meaning is not None)


def number_meanings(text: str) -> tuple[tuple[Family, Any], ...]:
    """The same for a number in plain digits, which can only be a number."""
    meaning = numbers.FAMILY.gold(text)
    return () if meaning is None else ((numbers.FAMILY, meaning),)


def compare_meanings(gold: tuple[tuple[Family, Any], ...], text: str, context: Context) -> EqualityResult | None:
    """The result of the first family that can compare an answer, or None if none can."""
    for family, meaning in gold:
        if (match := family.match(meaning, text, context)) is not None:
            return match
    return None
