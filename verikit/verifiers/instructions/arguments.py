"""The arguments of an instruction, read strictly: missing or mistyped arguments are row errors.

If a row lacks an argument, the official scorers use a random one. Here such a row is unscored.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import regex

Arguments = Mapping[str, Any]
Check = Callable[[str, Arguments], bool]
"""Whether text follows an instruction under its arguments; linear in the text."""

LESS, LEAST = "less than", "at least"
PATTERN_S = 1.0
"""Seconds for one row pattern with a repetition; text that exceeds it does not follow the instruction."""
_REPEATS = re.compile(r"[*+?{]")


class BadArgument(Exception):
    """The row's arguments don't fit its instruction."""


def text(arguments: Arguments, key: str) -> str:
    """A string, or the only string of a list."""
    value = arguments.get(key)
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if not isinstance(value, str) or not value.strip():
        raise BadArgument(f"{key!r} is {value!r}, not a string")
    return value


def texts(arguments: Arguments, key: str) -> list[str]:
    """One or more strings."""
    value = arguments.get(key)
    if isinstance(value, list) and value and all(isinstance(item, str) and item for item in value):
        return value
    raise BadArgument(f"{key!r} is {value!r}, not a list of strings")


def number(arguments: Arguments, key: str) -> int:
    """An integer >= 0, which a dataset may have turned into a float or a string."""
    value = arguments.get(key)
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 10:
        return int(value)
    if isinstance(value, (int, float)) and not isinstance(value, bool) and value >= 0 and value == value // 1:
        return int(value)
    raise BadArgument(f"{key!r} is {value!r}, not an integer >= 0")


def position(arguments: Arguments, key: str) -> int:
    """An integer >= 1."""
    if (value := number(arguments, key)) == 0:
        raise BadArgument(f"{key!r} is 0: it counts from 1")
    return value


def relation(arguments: Arguments, key: str) -> str:
    """How a count is compared."""
    if (how := text(arguments, key)) not in (LESS, LEAST):
        raise BadArgument(f"{key!r} is {how!r}, not {LESS!r} or {LEAST!r}")
    return how


def letter(arguments: Arguments, key: str) -> str:
    """One character, in small letters."""
    value = text(arguments, key).strip().lower()
    if len(value) != 1:
        raise BadArgument(f"{key!r} is {value!r}, not one character")
    return value


READERS: dict[str, Callable[[Arguments, str], Any]] = (
    {"letter": letter}
    | dict.fromkeys(("keywords", "forbidden_words"), texts)
    | dict.fromkeys(("relation", "let_relation", "capital_relation"), relation)
    | dict.fromkeys(
        """
        frequency let_frequency capital_frequency num_sentences num_paragraphs num_words num_placeholders num_bullets
        num_highlights num_sections nth_paragraph min_words max_words small_n percentage N n m n_start n_end n_sent
        n_words
        """.split(),
        number,
    )
)
"""The reader of each argument, by its key; all others are strings."""


def holds(count: int, arguments: Arguments, threshold: str, how: str = "relation") -> bool:
    """Whether a count is `less than` or `at least` its threshold."""
    return (count < number(arguments, threshold)) == (relation(arguments, how) == LESS)


def occurrences(pattern: str, value: str, *, cased: bool = False, then: str = "") -> Iterator[Any]:
    """The matches of a row's pattern followed by verikit's `then`; a pattern with repetitions has a time limit.

    Raises:
        TimeoutError: The time is up, so possible matches are unknown.
        BadArgument: It is not a pattern.
    """
    try:
        if _REPEATS.search(pattern):
            flags = 0 if cased else regex.IGNORECASE
            yield from regex.finditer(pattern + then, value, flags=flags, timeout=PATTERN_S)
        else:
            yield from re.finditer(pattern + then, value, flags=0 if cased else re.IGNORECASE)
    except (re.error, regex.error, OverflowError, RecursionError) as error:
        raise BadArgument(f"{pattern!r} is not a valid pattern: {error}") from None


def check_pattern(pattern: str) -> None:
    """Reject an invalid pattern, regardless of the text.

    Raises:
        BadArgument: It is not a pattern.
    """
    next(occurrences(pattern, ""), None)


def occurs(pattern: str, value: str) -> bool:
    """Whether a row's own pattern occurs."""
    return next(occurrences(pattern, value), None) is not None


def count(pattern: str, value: str) -> int:
    """How often a row's own pattern occurs."""
    return sum(1 for _ in occurrences(pattern, value))


def whole(words: str) -> str:
    """A pattern of whole words, not inside longer ones."""
    left, right = (r"(?<!\w)" if words[:1].isalnum() else ""), (r"(?!\w)" if words[-1:].isalnum() else "")
    return left + re.escape(words) + right
