"""The interface of answer families: `Family`, and the `Context` that its comparison may use."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

from verikit.answers.algebra.equality import Equality, EqualityResult, different, equal

V = TypeVar("V")


class Context(NamedTuple):
    """The information that a family may use in addition to the two texts."""

    question: str
    equality: Equality
    same: Callable[[str, str], EqualityResult]
    """Compares a part of the gold answer with a part of the answer, in the same way as `answer` compares whole ones."""


class Family(NamedTuple):
    """A kind of answers."""

    name: str
    gold: Callable[[str], Any]
    """The meaning of a gold answer, or None for other kinds. Called for every gold answer, so None must be fast."""
    match: Callable[[Any, str, Context], EqualityResult | None]
    """Compares the gold answer's meaning with an answer's text. None if this family can't decide."""


def by_reading(name: str, read: Callable[[str], V | None], same: Callable[[V, V], bool]) -> Family:
    """A family that reads gold answers and answers in the same way. Other answers are left to other families."""

    def match(gold: V, text: str, context: Context) -> EqualityResult | None:
        answer = read(text)
        if answer is None:
            return None
        return equal(name) if same(gold, answer) else different(f"another value: {name}")

    return Family(name, read, match)
