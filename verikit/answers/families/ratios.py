"""Ratios in words and parts: 2:3 as "2 to 3", 9:3:3:1 as parts of a whole."""

from __future__ import annotations

import re
from fractions import Fraction

from verikit.answers.algebra.equality import EqualityResult, different, equal
from verikit.answers.families.base import Context, Family
from verikit.answers.families.numerals import number
from verikit.answers.families.plain import flat, plain, stated

_SPLIT = re.compile(r"\s?:\s?|\s(?:is )?to\s")
_SHARES = re.compile(r"\s?[,;]\s?(?:and\s)?|\sand\s")


def read_ratio(text: str) -> list[Fraction] | None:
    """The terms of a ratio. Three or more fractions of a whole must total one."""
    if not re.search(r"\d", text) and " to " not in text:
        return None
    parts = _SPLIT.split(text)
    if len(parts) > 1:
        return _numbers(parts[:8])
    return _whole(_SHARES.split(text))


def _whole(shares: list[str]) -> list[Fraction] | None:
    """Three or more fractions or percentages, if they total the whole."""
    if len(shares) < 3 or len(shares) > 8 or not all("/" in share or share.endswith("%") for share in shares):
        return None
    values = _numbers([share.removesuffix("%").strip() for share in shares])
    if values is None or sum(values) != (100 if shares[0].endswith("%") else 1):
        return None
    return values


def _numbers(parts: list[str]) -> list[Fraction] | None:
    values = [number(part) for part in parts]
    if any(value is None or value.op != "num" or value.args[0] < 0 for value in values):
        return None
    return [Fraction(value.args[0]) for value in values if value is not None]


def proportional(gold: list[Fraction], answer: list[Fraction]) -> bool:
    """Whether two lists of parts are equal up to one positive factor."""
    if 0 in (*gold, *answer):
        return gold == answer
    if len(gold) != len(answer):
        return False
    return all(g * sum(answer) == a * sum(gold) for g, a in zip(gold, answer, strict=True))


def _gold(text: str) -> list[Fraction] | None:
    return read_ratio(flat(plain(text))) if ":" in text or "\u2236" in text or "colon" in text else None


def _match(gold: list[Fraction], text: str, context: Context) -> EqualityResult | None:
    for part in stated(flat(plain(text)), context.equality.assignment):
        answer = read_ratio(part)
        if answer is not None:
            return equal("same ratio") if proportional(gold, answer) else different("another ratio")
    return None


FAMILY = Family("ratio", _gold, _match)
