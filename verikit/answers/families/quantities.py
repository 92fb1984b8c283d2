"""Quantities: a number with its unit, money, a percentage, an angle, a duration, an increase or a decrease.

If both sides have a unit, the units must agree. Convertible units are converted, and a converted value may be rounded
to the digits shown. Unknown units in words must be the same words.
"""

from __future__ import annotations

import re
from fractions import Fraction

from verikit.answers.algebra.equality import Equality, EqualityResult, different, equal
from verikit.answers.algebra.scalar import compare_scalars
from verikit.answers.families.amounts import CHANGE, Quantity, read_change, read_quantity
from verikit.answers.families.base import Context, Family
from verikit.answers.families.measures import SAME, Conversion, conversions
from verikit.answers.families.numerals import number, significant
from verikit.answers.families.plain import flat, led, plain
from verikit.answers.parser.tree import Node, num

_TEXT_UNIT = re.compile(r"\\(?:text|mathrm|textrm|mbox|unit|si)|\d\s?(?:\\ |\\,|~|\s)\s?[^\W\d_]{2}|[/°%$€£¥₹]|\\circ")
_MAY_BE = re.compile(r"\d[^\d]{0,8}[^\W\d_]|[$€£¥₹%°]|\\circ|^[^\W\d_]{1,20}[ -]", re.UNICODE)


def _gold(text: str) -> Quantity | None:
    if len(text) > 120 or not _MAY_BE.search(text):
        return None
    shown = flat(plain(text))
    if not shown:
        return None
    quantity = read_quantity(shown)
    if quantity is None:
        return read_change(shown) if CHANGE.search(shown) else None
    sure = _TEXT_UNIT.search(text) is not None
    if quantity.unit[0].unit is None and not sure and shown[0].isdigit():
        return None
    return quantity._replace(sure=sure)


def _match(gold: Quantity, text: str, context: Context) -> EqualityResult | None:
    shown = flat(plain(text))
    way = CHANGE.search(shown)
    if way is not None and (result := _as_change(gold, shown, way.end(), context)) is not None:
        return result
    for index, part in enumerate(led(shown, context.equality.assignment)):
        answer = read_quantity(part)
        if answer is not None:
            match = _compare(gold, answer, context.equality)
            unknown = answer.unit[0].unit is None
            return None if unknown and index and not match else match
        value = number(part)
        if value is not None:
            return _bare(gold, value, context.equality)
        if _PAIR.fullmatch(part):
            return different("two numbers against a quantity")
    return None


def _as_change(gold: Quantity, shown: str, end: int, context: Context) -> EqualityResult | None:
    """Compare a text in which the word for a change ends at `end`. None if it is not understood as a change."""
    if (change := read_change(shown)) is not None:
        return _compare_change(gold, change, context)
    return different("a change with a sign of its own") if shown[end:].lstrip()[:1] in ("+", "-") else None


_PAIR = re.compile(r"[\d.,]{1,20}\s?(?::|\bto\b)\s?[\d.,]{1,20}")


def _bare(gold: Quantity, value: Node, equality: Equality) -> EqualityResult | None:
    """Compare an answer that has no unit."""
    if equality.units == "required":
        return different("the gold's unit is missing")
    if not gold.sure or gold.direction < 0:
        return None
    return equal("same number, the unit left out") if compare_scalars(gold.value, value, equality) else None


def _compare_change(gold: Quantity, change: Quantity, context: Context) -> EqualityResult | None:
    if not gold.direction and change.direction < 0 and gold.value.op == "num" and gold.value.args[0] > 0:
        asked = CHANGE.search(context.question)
        if asked is None or not asked["down"]:
            return different("a change the other way")
        change = change._replace(value=num(-Fraction(change.value.args[0]), change.value.args[1]))
    return _compare(gold, change, context.equality)


def _is_positive(answer: Quantity) -> bool:
    """Whether a quantity is a positive number without a direction of change."""
    return not answer.direction and answer.value.op == "num" and bool(answer.value.args[0] > 0)


def _compare(gold: Quantity, answer: Quantity, equality: Equality) -> EqualityResult | None:
    if equality.units == "ignored":
        return compare_scalars(gold.value, answer.value, equality)
    if gold.direction < 0 and _is_positive(answer):
        return None
    agreeing = False
    doubt: EqualityResult | None = None
    for conversion in conversions(gold.unit, answer.unit):
        agreeing = True
        match = _converted(gold.value, answer.value, conversion, equality)
        if match:
            return match
        doubt = match if match.outcome == "undecided" else doubt
    if agreeing:
        return doubt or different("another quantity")
    return None if equality.lenient else different("units that disagree")


_PI_VALUE = Fraction("3.14159265358979323846264338327950288419716939937511")


def _converted(gold: Node, answer: Node, conversion: Conversion, equality: Equality) -> EqualityResult:
    """Compare a gold answer with a value in another unit."""
    if conversion == SAME:
        return compare_scalars(gold, answer, equality)
    value = Node("mul", (answer, num(conversion.factor)))
    if conversion.pi:
        value = Node("mul", (*value.args, Node("pow", (Node("const", ("pi",)), num(conversion.pi)))))
    if conversion.offset:
        value = Node("add", (value, num(conversion.offset)))
    match = compare_scalars(gold, value, equality)
    if match or gold.op != "num" or answer.op != "num" or equality.rounding != "gold":
        return equal("same quantity in another unit") if match else match
    return equal("same quantity in another unit, rounded") if _is_rounded(gold, answer, conversion) else match


def _is_rounded(gold: Node, answer: Node, conversion: Conversion) -> bool:
    """Whether a number is what another one rounds to in its unit."""
    slope = conversion.factor * _PI_VALUE**conversion.pi
    if _is_power_of_ten(slope) and not conversion.offset:
        return False
    wanted = (Fraction(gold.args[0]) - conversion.offset) / slope
    shown = Fraction(answer.args[0]) * slope + conversion.offset
    shorter = gold.args[1] is not None and significant(answer) <= significant(gold)
    return _rounds(answer, wanted) or (shorter and _rounds(gold, shown))


def _rounds(value: Node, wanted: Fraction) -> bool:
    """Whether a number of three digits or more is what another rounds to."""
    half = Fraction(1, 2 * 10 ** (value.args[1] or 0))
    return significant(value) >= 3 and abs(value.args[0] - wanted) <= half


def _is_power_of_ten(value: Fraction) -> bool:
    top, bottom = value.numerator, value.denominator
    return (top == 1 and str(bottom).strip("0") == "1") or (bottom == 1 and str(top).strip("0") == "1")


FAMILY = Family("quantity", _gold, _match)
