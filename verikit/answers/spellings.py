"""Converts other spellings of mathematics to the parser's notation. Used only if the parser can't read a text."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from verikit.answers import inequalities, notations
from verikit.answers.families.plain import plain
from verikit.answers.families.spelled import MAX_CHARS, in_words


def number_words(text: str) -> str | None:
    """A number or percentage spelled in words: "three quarters", "thirty-five percent", dreiunddreißig."""
    if len(text) > MAX_CHARS or text[-1:].isdigit():
        return None
    spelled = in_words(plain(text))
    if spelled is None:
        return None
    value, percent = spelled
    shown = str(value) if value.denominator == 1 else rf"\frac{{{value.numerator}}}{{{value.denominator}}}"
    return shown + r"\%" if percent else shown


SPELLINGS: tuple[Callable[[str], str | None], ...] = (
    number_words, notations.code_matrix, notations.row_matrix, notations.choose, notations.maps_to,
    notations.outward_bracket, notations.reals, inequalities.respelled,
)  # fmt: skip
"""Each converts a text to the parser's notation, or returns None for other spellings."""


def respelled(text: str) -> Iterator[str]:
    """Possible conversions of an unreadable text to the parser's notation."""
    for spelling in SPELLINGS:
        if (other := spelling(text)) is not None and other != text:
            yield other
