"""Reads quantities: a number and its unit, money, sums in ever smaller units, increases and decreases."""

from __future__ import annotations

import re
from fractions import Fraction
from itertools import pairwise
from typing import NamedTuple

from verikit.answers.families.measures import Measure, conversions, is_currency, measures
from verikit.answers.families.numerals import multiple_of_pi, number_at
from verikit.answers.families.plain import has_digit, hedged, led
from verikit.answers.families.spelled import in_words, may_begin
from verikit.answers.parser.tree import Node, num


class Quantity(NamedTuple):
    """A value, the readings of its unit, and the direction of change in words (-1, 1, or 0 for none)."""

    value: Node
    unit: tuple[Measure, ...]
    direction: int = 0
    sure: bool = True
    """Whether the text after the number can only be a unit, not a factor."""


_MONEY = re.compile(
    r"(?P<sign>[-+]?)\s?(?P<mark>(?:US|CA|AU|HK|NZ|[AC])?\$|[€£¥₹₩₽₺]|Rs\.?|(?:USD|EUR|GBP|JPY|CNY|RMB|INR|CHF|CAD|AUD)"
    r"(?![A-Za-z]))\s?(?P<rest>-?[\d.].{0,80})",
    re.IGNORECASE,
)
_SHORT_SCALE = re.compile(r"\s?(k|K|M|m|mn|mln|bn|B|b|T|tn)(?![A-Za-z])")
_SHORT = {"k": 10**3, "m": 10**6, "mn": 10**6, "mln": 10**6, "b": 10**9, "bn": 10**9, "t": 10**12, "tn": 10**12}
_PI = re.compile(r"[-\d\s./()*]{0,20}(?:pi\b|π)\s?[\d./()*]{0,12}\s?")
_CLOCK = re.compile(r"(\d{1,4}):([0-5]\d)(?::([0-5]\d))?\s(h|hr|hrs|hours?|min|minutes?)\.?")
_HALF_MORE = re.compile(r"(.{1,40}?) ([^\W\d_]{1,12}) and (a half|three quarters|a quarter)")
_OF_A = re.compile(r"^(?:of )?an? ")
MAX_PARTS = 4


def read_quantity(text: str) -> Quantity | None:
    """The quantity of a plain, flat text. None if it is not one number with one unit, or a sum of such."""
    if money := _MONEY.fullmatch(text):
        return _money(money)
    if clock := _CLOCK.fullmatch(text):
        return _duration(clock)
    if match := _PI.match(text):
        value, unit = multiple_of_pi(match[0].strip()), measures(text[match.end() :])
        return Quantity(value, unit) if value is not None and unit else None
    found = number_at(text)
    if found is not None:
        return _after(found[0], text[found[1] :])
    return _in_words(text)


def _duration(clock: re.Match[str]) -> Quantity:
    """Hours, minutes and seconds, or minutes and seconds, depending on the unit: 1:30:00 h, 2:15 min."""
    first, second, third, name = clock.groups()
    seconds = int(first) * 3600 + int(second) * 60 + int(third or 0)
    if name[0] != "h":
        seconds = int(first) * 60 + int(second)
    return Quantity(num(seconds), measures("s"))


def _money(match: re.Match[str]) -> Quantity | None:
    found = number_at(match["rest"])
    if found is None:
        return None
    value, rest = found[0], match["rest"][found[1] :]
    if scale := _SHORT_SCALE.match(rest):
        value, rest = num(Fraction(value.args[0]) * _SHORT[scale[1].lower()]), rest[scale.end() :]
    unit = _money_unit(match["mark"], rest.strip())
    if match["sign"] == "-":
        value = num(-Fraction(value.args[0]), value.args[1])
    return Quantity(value, unit) if unit else None


def _money_unit(mark: str, rest: str) -> tuple[Measure, ...]:
    """The unit of an amount with a currency's mark before it and words after it. Empty if they don't fit."""
    unit = measures(mark)
    if not rest:
        return unit
    said = measures(rest)
    if said and is_currency(said) and any(True for _ in conversions(unit, said)):
        return said
    if rest[0] == "/":
        return measures(mark + rest)
    return measures(f"{mark} {rest}") if rest.startswith(("per ", "a ", "an ")) else ()


def _after(value: Node, rest: str) -> Quantity | None:
    """The unit after a number, and the smaller units that follow it: 1 h 30 min, 5° 12', 18 dollars and 90 cents."""
    parts: list[tuple[Fraction, tuple[Measure, ...]]] = []
    current = value
    for _ in range(MAX_PARTS):
        digit = _next_number(rest)
        name = rest if digit < 0 else rest[:digit]
        unit = _part_unit(name if digit < 0 else _JOINERS.sub("", name.strip()), parts)
        if not unit and digit < 0 and not parts:
            current, unit = _in_thousands(current, name)
        if not unit:
            return None
        parts.append((Fraction(current.args[0]), unit))
        if digit < 0:
            break
        following = number_at(rest[digit:])
        if following is None:
            return None
        current, rest = following[0], rest[digit + following[1] :]
        if not rest.strip():
            smaller = _bare_part(unit, Fraction(current.args[0]))
            if smaller is None:
                return None
            parts.append((Fraction(current.args[0]), smaller))
            break
    else:
        return None
    return Quantity(value, parts[0][1]) if len(parts) == 1 else _sum(parts)


def _next_number(rest: str) -> int:
    """The start of the next number after a unit, or -1. The power of a unit, as in m2, is not such a number."""
    starts = (i for i, char in enumerate(rest) if char.isdigit() and rest[i - 1 : i] not in ("^", "-", "("))
    digit = next(starts, -1)
    is_power = digit > 0 and rest[digit - 1].isalpha() and rest[digit] in "23"
    if is_power and not rest[digit + 1 :].strip("/ ")[:1].isdigit():
        return next((i for i in range(digit + 1, len(rest)) if rest[i].isdigit()), -1)
    return digit


def _in_thousands(value: Node, name: str) -> tuple[Node, tuple[Measure, ...]]:
    """An amount of money with a short scale, as in 5k dollars. No unit if the name is not a currency."""
    scale = _SHORT_SCALE.match(name)
    unit = measures(name[scale.end() :]) if scale else ()
    if scale is None or not is_currency(unit):
        return value, ()
    return num(Fraction(value.args[0]) * _SHORT[scale[1].lower()]), unit


_DEGREES = measures("degrees")[0]
_JOINERS = re.compile(r"(?:,\s?|\s)(?:and|und|et|y|e)$|,$")
"""Words between a unit and the next number."""


def _part_unit(name: str, before: list[tuple[Fraction, tuple[Measure, ...]]]) -> tuple[Measure, ...]:
    name = name.strip()
    if name in ("'", "''", '"') and before:
        return measures("arcmin" if name == "'" else "arcsec")
    if before and before[0][1][0] == _DEGREES and name in ("minutes", "minute", "seconds", "second", "min", "sec"):
        return measures("arc" + name[:3])
    return measures(_OF_A.sub("", name) if name.startswith(("of a", "a ", "an ")) else name)


def _bare_part(unit: tuple[Measure, ...], value: Fraction) -> tuple[Measure, ...] | None:
    """The unit omitted after a larger one: 1h30, 3 euros 50."""
    if value.denominator != 1:
        return None
    if unit == measures("h"):
        return measures("min") if value < 60 else None
    return measures("cents") if is_currency(unit) and 10 <= value < 100 else None


def _sum(parts: list[tuple[Fraction, tuple[Measure, ...]]]) -> Quantity | None:
    """The sum of parts in ever smaller units of one dimension, each less than one of the unit before."""
    total, scale = abs(parts[0][0]), Fraction(1)
    for (_, larger), (value, smaller) in pairwise(parts):
        found = next((c for c in conversions(larger, smaller) if not c.pi and not c.offset and c.factor < 1), None)
        if found is None or not 0 <= value < 1 / found.factor:
            return None
        scale *= found.factor
        total += value * scale
    return Quantity(num(-total if parts[0][0] < 0 else total), parts[0][1])


def _in_words(text: str) -> Quantity | None:
    if not may_begin(text):
        return None
    words = text.split(" ", 16)
    if (whole := in_words(text)) is not None:
        return Quantity(num(whole[0]), measures("%")) if whole[1] else None
    if more := _HALF_MORE.fullmatch(text):
        base, part = _spelled(more[1]), in_words(more[3])
        unit = measures(more[2])
        return Quantity(num(base + part[0]), unit) if base is not None and part and unit else None
    for size in range(min(len(words) - 1, 12), 0, -1):
        if (value := _spelled(" ".join(words[:size]))) is not None:
            rest = " ".join(words[size:])
            return _after(num(value), " " + _OF_A.sub("", rest))
    return None


def _spelled(text: str) -> Fraction | None:
    if text in ("a", "an", "A", "An", "one", "One"):
        return Fraction(1)
    if text.isdigit():
        return Fraction(int(text)) if len(text) < 20 else None
    spelled = in_words(text)
    return spelled[0] if spelled and not spelled[1] else None


_DOWN = (r"fell|falls?|fallen|falling|drops?|dropped|dropping|decreas(?:e|es|ed|ing)|declin(?:e|es|ed|ing)|"
         r"reduc(?:e|es|ed|tion|ing)|down|lost|los(?:s|es|e)|shrank|shrinks?|shrunk")  # fmt: skip
_UP = r"rose|ris(?:e|es|en|ing)|increas(?:e|es|ed|ing)|gr(?:ew|ows?|own|owth)|gain(?:s|ed)?|up(?! to\b)|climb(?:s|ed)?"
CHANGE = re.compile(rf"\b(?:(?P<down>{_DOWN})|(?P<up>{_UP}))\b(?: (?:by|of|about|approximately))*", re.IGNORECASE)


def read_change(text: str) -> Quantity | None:
    """A quantity with its direction of change: "fell by 3 %", "a 3 % drop", "an increase of 12 kg"."""
    found = list(CHANGE.finditer(text[:200]))
    if len(found) != 1 or hedged(text):
        return None
    before, after = text[: found[0].start()].strip(), text[found[0].end() :].strip()
    if has_digit(before) and has_digit(after):
        return None
    side = after if has_digit(after) else before
    for part in led(side.removeprefix("a ").removeprefix("an ")):
        quantity = read_quantity(part)
        if quantity is not None:
            if quantity.value.op != "num" or part[:1] in "+-":
                return None
            value = Fraction(quantity.value.args[0])
            way = -1 if found[0]["down"] else 1
            return quantity._replace(value=num(way * value, quantity.value.args[1]), direction=way)
    return None
