"""What every family of answers is made of: `Family`, and what its comparison may ask, `Context`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

from verikit.answers.algebra.equality import Equality, EqualityResult, different, equal

V = TypeVar("V")


class Context(NamedTuple):
    """What a family may ask beside the two texts."""

    question: str
    equality: Equality
    same: Callable[[str, str], EqualityResult]
    """Compares a part of the gold with a part of the answer as `answer` compares whole ones."""


class Family(NamedTuple):
    """A kind of answers."""

    name: str
    gold: Callable[[str], Any]
    """What a gold's text means, None if it is not of this kind. Asked of every gold: has to say None fast."""
    match: Callable[[Any, str, Context], EqualityResult | None]
    """The gold's meaning against an answer's text; None where this family can't tell."""


def by_reading(name: str, read: Callable[[str], V | None], same: Callable[[V, V], bool]) -> Family:
    """A family whose golds and answers are read alike; an answer that is not of the kind is left to others."""

    def match(gold: V, text: str, context: Context) -> EqualityResult | None:
        answer = read(text)
        if answer is None:
            return None
        return equal(name) if same(gold, answer) else different(f"another value: {name}")

    return Family(name, read, match)
