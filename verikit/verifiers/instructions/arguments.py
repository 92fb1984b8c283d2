"""The arguments of an instruction, read with care: what is missing or of the wrong kind is the row's fault.

The official scorers draw a random argument where a row gives none; here such a row has no score.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import regex

Arguments = Mapping[str, Any]
Check = Callable[[str, Arguments], bool]
"""Whether a text follows an instruction under its arguments; linear in the text."""

LESS, LEAST = "less than", "at least"
PATTERN_S = 1.0
"""Time for one pattern of a row's own that repeats something; a text that runs it out follows no instruction by it."""
_REPEATS = re.compile(r"[*+?{]")


class BadArgument(Exception):
    """The row's arguments don't say what its instruction asks for."""


def text(arguments: Arguments, key: str) -> str:
    """A text; the only one of a list will do."""
    value = arguments.get(key)
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if not isinstance(value, str) or not value.strip():
        raise BadArgument(f"{key!r} is {value!r}, not a text")
    return value


def texts(arguments: Arguments, key: str) -> list[str]:
    """Texts, at least one."""
    value = arguments.get(key)
    if isinstance(value, list) and value and all(isinstance(item, str) and item for item in value):
        return value
    raise BadArgument(f"{key!r} is {value!r}, not a list of texts")


def number(arguments: Arguments, key: str) -> int:
    """A whole number of at least 0, which a data set may have turned into a float or a text."""
    value = arguments.get(key)
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 10:
        return int(value)
    if isinstance(value, (int, float)) and not isinstance(value, bool) and value >= 0 and value == value // 1:
        return int(value)
    raise BadArgument(f"{key!r} is {value!r}, not a whole number of at least 0")


def position(arguments: Arguments, key: str) -> int:
    """A whole number of at least 1."""
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
"""How an argument is read, by its key; all others are texts."""


def holds(count: int, arguments: Arguments, threshold: str, how: str = "relation") -> bool:
    """Whether a count is `less than` or `at least` its threshold."""
    return (count < number(arguments, threshold)) == (relation(arguments, how) == LESS)


def occurrences(pattern: str, value: str, *, cased: bool = False, then: str = "") -> Iterator[Any]:
    """The matches of a row's own pattern, and of ours `then`; one that repeats something runs under a time limit.

    Raises:
        TimeoutError: the time is up: nothing is known of what may match.
        BadArgument: it is no pattern.
    """
    try:
        if _REPEATS.search(pattern):
            flags = 0 if cased else regex.IGNORECASE
            yield from regex.finditer(pattern + then, value, flags=flags, timeout=PATTERN_S)
        else:
            yield from re.finditer(pattern + then, value, flags=0 if cased else re.IGNORECASE)
    except (re.error, regex.error, OverflowError, RecursionError) as error:
        raise BadArgument(f"{pattern!r} is no pattern: {error}") from None


def check_pattern(pattern: str) -> None:
    """Refuse what is no pattern, whatever the text.

    Raises:
        BadArgument: it is none.
    """
    next(occurrences(pattern, ""), None)


def occurs(pattern: str, value: str) -> bool:
    """Whether a row's own pattern occurs."""
    return next(occurrences(pattern, value), None) is not None


def count(pattern: str, value: str) -> int:
    """How often a row's own pattern occurs."""
    return sum(1 for _ in occurrences(pattern, value))


def whole(words: str) -> str:
    """A pattern of words as they stand, not inside longer ones."""
    left, right = (r"(?<!\w)" if words[:1].isalnum() else ""), (r"(?!\w)" if words[-1:].isalnum() else "")
    return left + re.escape(words) + right
