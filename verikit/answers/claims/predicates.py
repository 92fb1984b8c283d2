"""The predicate of a sentence: after "the answer is …", a value, the denial of a value, or a value after a denial."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Literal, NamedTuple

from verikit.answers.claims.roles import Role, role_after
from verikit.answers.claims.tokens import ClaimToken, holds_no, tokens
from verikit.answers.claims.words import PROPERTIES, ROLES

_MAY_BEGIN = ("not", "except", "wrong", "sure", "does", "is", "all")
_FIRST_WORD = re.compile(
    r"[\s$*\"'(]*(?:\\(?:text|mathrm|textbf)\s*\{)?\s*([^\W\d_]+(?:n['’]t)?)(?:(?=\}?\s)|(?<=[^\x00-\x7f]))"
)
MAX_PROPERTY = 60
"""Maximum number of characters of the description of a value."""
MAX_NAME = 8
"""Maximum number of words of a name that can be separated from its predicate."""
_AROUND_PROPERTIES = ("filler", "sure", "and", "comma")
_KINDS = frozenset(("number", "value", "fraction", "quantity"))
_ENDS = ("because", "comma", "so", "but")


class Predicate(NamedTuple):
    """The status of a predicate."""

    role: Role | Literal["negation"]
    """`negation` means that it begins with the denial of a value and is itself one: "not independent"."""
    start: int = 0
    """Start of the decisive value, after "not … but"."""


def predicate(said: str) -> Predicate:
    """Read the words after a subject's verb as a claim about that subject."""
    found = tokens(said)
    if any(token.text in ("?", "？") for token in found[-1:]):
        return Predicate("hypothetical")
    at = negation_at(found)
    if at is not None:
        turn = next((token for token in found[at + 1 :] if token.role == "but"), None)
        if turn is not None and said[turn.start + len(turn.text) :].strip():
            return Predicate("asserted", turn.start + len(turn.text))
        return Predicate("negation")
    said_of_it = role_after(found[_end_of_value(found) :])
    return Predicate(said_of_it if said_of_it in ("denied", "quoted") else "asserted")


def _end_of_value(found: tuple[ClaimToken, ...]) -> int:
    """The end of the value at the start of a predicate: before a comma followed by words, otherwise after a word."""
    for at, token in enumerate(found[:MAX_NAME], 1):
        if token.role in ("is", "does", "not", "because"):
            break
        if found[at : at + 1] and found[at].role == "comma" and not _goes_on(found[at + 1 :]):
            return at
    return 1


def _goes_on(found: tuple[ClaimToken, ...]) -> bool:
    return bool(found) and found[0].role in ("number", "letter")


def negation_at(found: tuple[ClaimToken, ...]) -> int | None:
    """Position of a denial of the value that follows. None if there is no denial, and if "No" is the value."""
    at = next((i for i, token in enumerate(found) if token.role not in ("sure", "does", "is")), len(found))
    if at >= len(found):
        return None
    if found[at].role == "all":  # anything but
        return at + 1 if any(token.role == "but" for token in found[at + 1 : at + 2]) else None
    if found[at].role not in ("not", "except", "wrong"):
        return None
    following = next((token.role for token in found[at + 1 :] if token.role != "is"), "comma")
    return None if following in _ENDS else at


def is_negation(text: str) -> bool:
    """Whether a whole text is the denial of a value. It can only equal another denial."""
    first = _FIRST_WORD.match(text)
    if first is None or (
        first[1].isascii() and ROLES.get(first[1].lower(), "") not in _MAY_BEGIN and "'t" not in first[1]
    ):
        return False
    return predicate(text[:200]).role == "negation"


def is_property(text: str) -> bool:
    """Whether a text only describes a value, as in "positive" or "indeed an even number", and names none."""
    if len(text) > MAX_PROPERTY or holds_no(PROPERTIES, text):
        return False
    said = tokens(text)
    words = {token.text for token in said if token.role not in _AROUND_PROPERTIES} - _KINDS
    return bool(words) and words <= PROPERTIES


def applies(said: str, value: Fraction) -> bool:
    """Whether the description of a value applies to a number: "even" does not to 5."""
    kinds = {
        "positive": value > 0, "negative": value < 0, "nonnegative": value >= 0, "non-negative": value >= 0,
        "nonzero": value != 0, "non-zero": value != 0, "even": value % 2 == 0, "odd": value % 2 == 1,
        "integer": value.denominator == 1, "whole": value.denominator == 1 and value >= 0,
    }  # fmt: skip
    return all(kinds.get(token.text, True) for token in tokens(said))
