"""Numbers as people write them: digits with the separators of any country, powers of ten, fractions, words, Roman.

A reading is a tree of `verikit.answers.parser.tree`, so that the comparison of scalars decides rounding and tolerance.
"""

from __future__ import annotations

import re
from fractions import Fraction

from verikit.answers.algebra.equality import Equality, EqualityResult
from verikit.answers.algebra.scalar import compare_scalars
from verikit.answers.families.spelled import in_words
from verikit.answers.parser.tree import Node, num

_GROUPED = (
    r"[1-9]\d{0,2}(?:,\d{3}){1,12}(?:\.\d{1,20})?"  # 1,234.5
    r"|\d{1,2}(?:,\d{2}){1,12},\d{3}(?:\.\d{1,20})?"  # 12,34,567
    r"|[1-9]\d{0,2}(?:'\d{3}){1,12}(?:[.,]\d{1,20})?"  # 1'234.5
    r"|[1-9]\d{0,2}(?:\.\d{3}){1,12},\d{1,20}|[1-9]\d{0,2}(?:\.\d{3}){2,12}"  # 1.234,5
    r"|[1-9]\d{0,2}(?: \d{3}){1,12}(?:[.,]\d{1,20})?"  # 1 234,5
)
DIGITS = rf"(?:{_GROUPED}|\d{{1,40}}\.\d{{0,40}}|\d{{1,40}}(?:,(?=\d{{0,19}}[1-9])\d{{1,20}})?|\.\d{{1,40}})(?!\d)"
"""A number in digits that is not followed by another digit."""
_POWER = r"(?:\s?[*x]\s?10\s?\^\s?[({]?\s?(?P<power>[-+]?\d{1,3})\s?[)}]?|[eE](?P<exponent>[-+]?\d{1,3})(?![\d.]))"
SCALES = {
    "hundred": 100, "thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12, "lakh": 10**5,
    "lakhs": 10**5, "crore": 10**7, "crores": 10**7, "dozen": 12, "mille": 10**3, "millions": 10**6, "mio": 10**6,
    "millionen": 10**6, "millones": 10**6, "mrd": 10**9, "milliarden": 10**9, "milliards": 10**9, "tausend": 10**3,
    "千": 10**3, "万": 10**4, "亿": 10**8, "million's": 10**6,
}  # fmt: skip
_SCALE = r"\s?(?P<scale>(?:" + "|".join(sorted(SCALES, key=len, reverse=True)) + r")(?![a-zA-Z]))"
_SIGN = r"(?P<sign>[-+]?)\s?"
NUMBER = re.compile(
    rf"{_SIGN}(?:(?P<whole>\d{{1,9}})\s(?:and )?(?P<top>\d{{1,9}})/(?P<bottom>\d{{1,9}})(?![\d.,])"
    rf"|(?P<up>{DIGITS})\s?/\s?(?P<down>\d{{1,20}})(?![\d.,])|10\s?\^\s?[({{]?(?P<ten>[-+]?\d{{1,3}})[)}}]?"
    rf"|(?P<digits>{DIGITS})(?:{_POWER})?(?:{_SCALE})?)",
    re.IGNORECASE,
)
"""A number at the start of a plain text: mixed, a quotient, a power of ten, or digits with a power or a scale."""
MAX_EXPONENT = 400
_PI = re.compile(r"[-\d\s./()*]{0,20}(?:\bpi\b|π)[-\d\s./()*]{0,20}")


def decimal(digits: str) -> tuple[Fraction, int | None] | None:
    """The value and the decimal places of digits with separators. A comma before three digits separates thousands."""
    digits = digits.replace(" ", "").replace("'", "")
    comma, point = digits.rfind(","), digits.rfind(".")
    if comma > point and (point >= 0 or not re.fullmatch(r"[1-9]\d{0,2}(?:,\d{3})+|\d{1,2}(?:,\d{2})+,\d{3}", digits)):
        digits = digits.replace(".", "").replace(",", ".")
    elif comma >= 0:
        digits = digits.replace(",", "")
    elif digits.count(".") > 1:
        digits = digits.replace(".", "")
    whole, dot, places = digits.partition(".")
    if not (whole + places).isdigit():
        return None
    return Fraction(int(whole + places), 10 ** len(places)), len(places) if dot and places else None


def number_at(text: str) -> tuple[Node, int] | None:
    """The number at the start of a plain text, and its end."""
    match = NUMBER.match(text)
    if match is None:
        return None
    value, places = _value(match)
    if value is None:
        return None
    return num(-value if match["sign"] == "-" else value, places), match.end()


def _value(match: re.Match[str]) -> tuple[Fraction | None, int | None]:
    if match["whole"]:
        over, under = int(match["top"]), int(match["bottom"])
        return (int(match["whole"]) + Fraction(over, under), None) if 0 < over < under else (None, None)
    if match["up"]:
        top = decimal(match["up"])
        return (top[0] / int(match["down"]), None) if top and int(match["down"]) else (None, None)
    if match["ten"]:
        power = int(match["ten"])
        return (Fraction(10) ** power, None) if abs(power) <= MAX_EXPONENT else (None, None)
    found = decimal(match["digits"])
    if found is None:
        return None, None
    value, places = found
    power = int(match["power"] or match["exponent"] or 0)
    scale = SCALES[match["scale"].lower()] if match["scale"] else 1
    if abs(power) > MAX_EXPONENT:
        return None, None
    if power or scale > 1:
        value = value * Fraction(10) ** power * scale
        shown = (places or 0) - power if scale == 1 else 0
        places = shown if shown > 0 else None
    return value, places


def number(text: str) -> Node | None:
    """The number that a whole plain text is: in digits, in words, or a multiple of pi."""
    if found := number_at(text):
        if found[1] == len(text):
            return found[0]
    elif spelled := in_words(text):
        return num(spelled[0]) if not spelled[1] else None
    return multiple_of_pi(text) if "pi" in text or "π" in text else None


def multiple_of_pi(text: str) -> Node | None:
    """A rational multiple of pi: ``5 pi/12``, ``2/3 pi``."""
    if not _PI.fullmatch(text):
        return None
    from verikit.answers.parser import parse
    from verikit.answers.parser.tree import NotMath, TooBig

    try:
        return parse(text)
    except (NotMath, TooBig):
        return None


def significant(value: Node) -> int:
    """The number of significant digits shown, without trailing zeros of an integer."""
    amount, places = Fraction(value.args[0]), value.args[1]
    digits = str(abs(int(amount * 10 ** (places or 0)))).lstrip("0")
    return len(digits) if places else len(digits.rstrip("0"))


def same_number(gold: Node, answer: Node, equality: Equality) -> EqualityResult:
    """Compare two numbers as scalars."""
    return compare_scalars(gold, answer, equality)


_ROMAN = re.compile(r"(M{0,3})(CM|CD|D?C{0,3})(XC|XL|L?X{0,3})(IX|IV|V?I{0,3})")
_ROMAN_VALUES = {"I": 1, "V": 5, "X": 10, "L": 50, "C": 100, "D": 500, "M": 1000}


def roman(text: str) -> int | None:
    """The value of a Roman numeral of two letters or more, all capitals or all small."""
    if not 2 <= len(text) <= 15 or not (text.isupper() or text.islower()) or not text.isascii():
        return None
    letters = text.upper()
    if not _ROMAN.fullmatch(letters):
        return None
    values = [_ROMAN_VALUES[c] for c in letters]
    return sum(-v if v < max(values[i:]) else v for i, v in enumerate(values))
