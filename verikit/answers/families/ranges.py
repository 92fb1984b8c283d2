"""Ranges with a unit, and pairs of integers that are not a difference: 6-9 kg, 1990-1995, 3-1, 120/80 mmHg, 2 : 3.

Both ends are compared, in order. A single value is never a range.
"""

from __future__ import annotations

import re
from fractions import Fraction
from typing import NamedTuple

from verikit.answers.algebra.equality import EqualityResult, different, equal
from verikit.answers.families.amounts import read_quantity
from verikit.answers.families.base import Context, Family
from verikit.answers.families.measures import Measure, conversions, measures
from verikit.answers.families.numerals import number, number_at
from verikit.answers.families.plain import flat, has_digit, plain, stated
from verikit.answers.families.spelled import in_words


class Range(NamedTuple):
    """The two ends, their unit (none: a score, years, a ratio) and the sign between them."""

    low: Fraction
    high: Fraction
    unit: tuple[Measure, ...]
    sign: str


_BETWEEN = re.compile(r"(?:between|from|entre|zwischen|von)\s", re.IGNORECASE)
_JOIN = re.compile(
    r"\s?(?P<unit>[^\d:\[\]]{0,24}?)\s?(?P<sign>-{1,2}|:|~|\.\.\.?|(?<![^\W\d_])(?:to|and|bis|und|à|et|y|a|until|through|vs)"
    r"(?![^\W\d_]))\s?(?P<mark>(?:US)?[$€£¥₹])?\s?(?=[-+\d.])",
    re.IGNORECASE,
)
_INTERVAL = re.compile(r"\[\s?([^\[\],]{1,30}?)\s?,\s?([^\[\],]{1,30}?)\s?\]\s?(.{0,30})")
_MARK = re.compile(r"(?:(?:US)?[$€£¥₹]|(?:USD|EUR|GBP|INR)\s)\s?")
_MAY_BE = re.compile(
    r"\d[^\d,;=<>]{0,24}(?:-|\\?text\{-+\}|[\u2010-\u2015~:]|\bto\b|\band\b|\.\.)[^\d,;=<>]{0,12}\d|\d/\d|\d over \d"
)
_PRESSURE = re.compile(r"(\d{2,3})\s?(?:/|over)\s?(\d{2,3})(\s?mm\s?hg)?", re.IGNORECASE)
_PAIR = re.compile(r"(\d{1,4})\s?-\s?(\d{1,4})")


def read_range(text: str) -> Range | None:
    """The range or pair in a plain, flat text."""
    opening = _BETWEEN.match(text)
    rest = text[opening.end() :] if opening else text
    if interval := _INTERVAL.fullmatch(text):
        return _ends(interval[1], interval[2], measures(interval[3]), "[") if interval[3] else None
    mark = _MARK.match(rest)
    rest = rest[mark.end() :] if mark else rest
    low = number_at(rest)
    if low is None:
        return None
    join = _JOIN.match(rest, low[1])
    if join is None or (join["sign"].lower() in ("and", "und", "et", "y") and not opening):
        return None
    high = number_at(rest[join.end() :])
    if high is None or (join["sign"] in ("-", "--") and rest[join.end() : join.end() + 1] in "-+"):
        return None
    units = _units(mark[0].strip() if mark else "", join, rest[join.end() + high[1] :].strip())
    factor = None if units is None else _factor(*units)
    if units is None or factor is None:
        return None
    first, last = units
    low_end, high_end = Fraction(low[0].args[0]) * factor, Fraction(high[0].args[0])
    return Range(low_end, high_end, last or first, join["sign"].lower())


def _units(mark: str, join: re.Match[str], after: str) -> tuple[tuple[Measure, ...], tuple[Measure, ...]] | None:
    """The units of both ends of a range, or None if a unit is unknown.

    Args:
        mark: A currency before the first number.
        join: The text between both numbers, optionally with a unit before the sign and a currency after it.
        after: The unit after the second number.
    """
    money = measures(mark or join["mark"]) if mark or join["mark"] else ()
    last = measures(after) if after else money
    first = measures(join["unit"]) if join["unit"] else last
    unknown = (after and not last) or (join["unit"] and not first)
    return None if unknown else (first, last)


def _factor(first: tuple[Measure, ...], last: tuple[Measure, ...]) -> Fraction | None:
    """The factor that converts a range's first number to the unit of the last, or None if there is none."""
    if not last or first == last:
        return Fraction(1)
    conversion = next(conversions(last, first), None)
    if conversion is None or conversion.pi or conversion.offset:
        return None
    return conversion.factor


def _ends(low: str, high: str, unit: tuple[Measure, ...], sign: str) -> Range | None:
    first, last = number_at(low), number_at(high)
    if first is None or last is None or first[1] != len(low) or last[1] != len(high) or not unit:
        return None
    return Range(Fraction(first[0].args[0]), Fraction(last[0].args[0]), unit, sign)


def _gold(text: str) -> Range | None:
    if len(text) > 80 or not _MAY_BE.search(text):
        return None
    shown = flat(plain(text))
    found = read_range(shown)
    if found is None:
        return _blood_pressure(shown)
    if found.unit:
        return found if found.low < found.high and found.sign != ":" else None
    return found if found.sign in ("to", "vs") or _PAIR.fullmatch(shown) else None


def _blood_pressure(shown: str) -> Range | None:
    found = _PRESSURE.fullmatch(shown)
    return found and Range(Fraction(found[1]), Fraction(found[2]), (), "mmHg" if found[3] else "/")


def _match(gold: Range, text: str, context: Context) -> EqualityResult | None:
    shown = flat(plain(text))
    if gold.sign in ("mmHg", "/"):
        return _pressure(gold, shown, context)
    for part in stated(shown, context.equality.assignment):
        answer = read_range(part) or _in_words(part)
        if answer is not None:
            return _compare(gold, answer, context)
        if read_quantity(part) is not None or number(part) is not None:
            return different("a single value against a pair")
    return None


def _compare(gold: Range, answer: Range, context: Context) -> EqualityResult | None:
    if not gold.unit or not answer.unit:
        if bool(gold.unit) != bool(answer.unit) and context.equality.units == "required":
            return different("the gold's unit is missing")
        return _compare_pairs(gold, answer)
    if context.equality.units == "ignored":
        return equal("same range") if gold[:2] == answer[:2] else different("another range")
    for conversion in conversions(gold.unit, answer.unit):
        if conversion.pi:
            return None
        ends = [end * conversion.factor + conversion.offset for end in answer[:2]]
        if ends == list(gold[:2]):
            return equal("same range")
    return different("another range")


def _compare_pairs(gold: Range, answer: Range) -> EqualityResult:
    same = gold[:2] == answer[:2] or _short_year(gold) == answer[:2] or gold[:2] == _short_year(answer)
    return equal("same two numbers in order") if same else different("another pair")


def _short_year(pair: Range) -> tuple[Fraction, Fraction] | None:
    """1990-95 as 1990-1995."""
    if pair.sign in ("-", "--") and 1000 <= pair.low <= 2100 and 10 <= pair.high <= 99 and pair.low % 100 < pair.high:
        return pair.low, pair.low - pair.low % 100 + pair.high
    return None


def _in_words(text: str) -> Range | None:
    """Two to three; three to one."""
    first, found, last = text.partition(" to ")
    if not found or len(text) > 80 or first[:1].isdigit():
        return None
    low, high = in_words(first), in_words(last)
    return Range(low[0], high[0], (), "to") if low and high and not low[1] and not high[1] else None


def _pressure(gold: Range, shown: str, context: Context) -> EqualityResult | None:
    """Compare blood pressure, which is not a fraction. Its unit may be omitted only if the question asks for it."""
    if gold.sign == "/" and "blood pressure" not in context.question.lower():
        return None
    for part in stated(shown):
        if answer := _PRESSURE.fullmatch(part):
            same = (Fraction(answer[1]), Fraction(answer[2])) == gold[:2]
            return equal("same pressures") if same else different("other pressures")
    return different("no pair of pressures") if has_digit(shown) else None


FAMILY = Family("range", _gold, _match)
