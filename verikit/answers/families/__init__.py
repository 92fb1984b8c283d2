"""Kinds of answers with an equality of their own: what a gold of such a kind means, and which answers mean the same.

A family is one module: a reader that says what a gold means (None for every gold that is not of the kind), and a
comparison of that meaning with an answer's text. The first family that can say anything decides; where none can, the
trees are compared. A gold is read once, however many answers are held against it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

from verikit.answers.policy import Match, Policy, different, equal

V = TypeVar("V")


class Context(NamedTuple):
    """What a family may ask beside the two texts."""

    question: str
    policy: Policy
    same: Callable[[str, str], Match]
    """Compares a part of the gold with a part of the answer as `answer` compares whole ones."""


class Family(NamedTuple):
    """A kind of answers."""

    name: str
    gold: Callable[[str], Any]
    """What a gold's text means, None if it is not of this kind. Asked of every gold: has to say None fast."""
    match: Callable[[Any, str, Context], Match | None]
    """The gold's meaning against an answer's text; None where this family can't tell."""


def by_reading(name: str, read: Callable[[str], V | None], same: Callable[[V, V], bool]) -> Family:
    """A family whose golds and answers are read alike; an answer that is not of the kind is left to others."""

    def match(gold: V, text: str, context: Context) -> Match | None:
        answer = read(text)
        if answer is None:
            return None
        return equal(name) if same(gold, answer) else different(f"another value: {name}")

    return Family(name, read, match)


FAMILIES: tuple[Family, ...] = ()
"""In the order in which they are asked."""


def meanings(text: str) -> tuple[tuple[Family, Any], ...]:
    """The families a gold belongs to, each with what the gold means in it."""
    found = ((family, family.gold(text)) for family in FAMILIES)
    return tuple((family, meaning) for family, meaning in found if meaning is not None)


def compare_meanings(gold: tuple[tuple[Family, Any], ...], text: str, context: Context) -> Match | None:
    """What the first family that can tell says of an answer; None if none can."""
    for family, meaning in gold:
        if (match := family.match(meaning, text, context)) is not None:
            return match
    return None
