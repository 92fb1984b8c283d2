"""Compares numbers in different notations: in words, as ordinals, as Roman numerals, with foreign separators."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import NamedTuple

from verikit.answers.algebra.equality import EqualityResult, different, equal
from verikit.answers.claims.closing import FOREIGN_SCALES
from verikit.answers.families.base import Context, Family
from verikit.answers.families.numerals import number, number_at, roman, same_number
from verikit.answers.families.plain import flat, has_digit, plain, stated
from verikit.answers.families.spelled import in_words, ordinal_in_words
from verikit.answers.parser.labels import NO_NOUN
from verikit.answers.parser.tree import Node, num


class NumericGold(NamedTuple):
    """A gold answer that is a number, and its notation."""

    value: Node
    look: str
    text: str
    foreign: bool = False
    """Whether its separators differ from the parser's."""


_DIGITS = re.compile(r"[-+\u2212]?[\d.](?:[\d.,' \u202f\xa0]|\\[,! ;]|\{,\}|\\?times|\\cdot|[\u00d7*x^{}()eE+-]){0,80}")
_NUMERAL = re.compile(r"-?\d{1,40}(?:\.\d{1,40})?")
_DECIMAL_COMMA = re.compile(r"[-+]?\d{1,40},(?:\d{1,2}|\d{4,40})")
_SCALED = re.compile(r"(?:illion|housand|undred|lakh|crore|dozen|[万亿])s?\s?\}?$")
_FOREIGN = re.compile(r"\d'\d|\d\.\d+[.,]\d|\d \d+,\d|\d,\d\d,\d")
_ORDINAL = re.compile(r"(\d{1,9})\s?-?\^?[({]?\s?(st|nd|rd|th|[eºª]|er|ème|eme)[)}]?", re.IGNORECASE)
_PLACE = re.compile(r"\d+(?:st|nd|rd|th)")
_MAY_BE_ORDINAL = re.compile(r"\d.{0,12}(?:st|nd|rd|th|[eºª]|er|ème|eme)\W{0,2}$", re.IGNORECASE)
_ENDINGS = {1: "st", 2: "nd", 3: "rd"}
_NOUN = re.compile(r"[^\W\d_]{2,20}|[^\x00-\u02ff]")
_FOREIGN_NOUN = re.compile(rf" ?(?!.*(?:{FOREIGN_SCALES}))[^\W\d_]{{1,20}}(?: [^\W\d_]{{1,20}}){{0,3}}")
"""Letters of any script, without a scale or a percentage among them."""
_THOUSANDS = re.compile(r"(\d{1,9}(?:\.\d{1,6})?)K")
_LETTER = re.compile(r"[IVX]")
_NO_NOUN = NO_NOUN | frozenset(
    "percent per point and or half times point quarter quarters thirds to pp degree degrees".split()
)


def ordinal(text: str) -> int | None:
    """The value of an ordinal: 11th, 11^{th}, the eleventh."""
    text = text.removeprefix("the ").removeprefix("The ")
    if match := _ORDINAL.fullmatch(text):
        value, ending = int(match[1]), match[2].lower()
        right = "th" if value % 100 in (11, 12, 13) else _ENDINGS.get(value % 10, "th")
        return value if ending == right or ending not in ("st", "nd", "rd", "th") else None
    return None if text[:1].isdigit() else ordinal_in_words(text)


def _gold(text: str) -> NumericGold | None:
    if len(text) > 120:
        return None
    if _NUMERAL.fullmatch(text):
        return _digits(text)
    if _DIGITS.fullmatch(text):
        return None if _DECIMAL_COMMA.fullmatch(text) else _digits(flat(plain(text)))
    if _MAY_BE_ORDINAL.search(text) and (rank := ordinal(flat(plain(text)))) is not None:
        return NumericGold(num(rank), "ordinal", str(rank))
    if has_digit(text):
        return _digits(flat(plain(text))) if _SCALED.search(text) else None
    shown = plain(text)
    return _without_digits(shown) if shown else None


def _without_digits(shown: str) -> NumericGold | None:
    """A number in words, an ordinal in words, or a Roman numeral."""
    if spelled := in_words(shown):
        value = spelled[0] / 100 if spelled[1] else spelled[0]
        return NumericGold(num(value), "words", _latex(spelled[0]) + (r"\%" if spelled[1] else ""))
    if (rank := ordinal_in_words(shown)) is not None:
        return NumericGold(num(rank), "ordinal", str(rank))
    if (value_of := roman(shown)) is not None:
        return NumericGold(num(value_of), "roman", shown)
    return None


def _digits(text: str) -> NumericGold | None:
    found = number_at(text)
    if found is None or found[1] != len(text):
        return None
    return NumericGold(found[0], "digits", _latex_number(found[0]), _FOREIGN.search(text) is not None)


def _latex(value: Fraction) -> str:
    return str(value) if value.denominator == 1 else rf"\frac{{{value.numerator}}}{{{value.denominator}}}"


def _latex_number(value: Node) -> str:
    amount, places = Fraction(value.args[0]), value.args[1]
    if places is None:
        return _latex(amount)
    sign, digits = "-" if amount < 0 else "", str(abs(int(amount * 10**places))).rjust(places + 1, "0")
    return f"{sign}{digits[:-places]}.{digits[-places:]}"


def _match(gold: NumericGold, text: str, context: Context) -> EqualityResult | None:
    if _NUMERAL.fullmatch(text):
        if gold.look == "digits" and not gold.foreign:
            return None  # The trees decide on two plain numbers.
        other = number(text)
        assert other is not None
        return equal("same number") if same_number(gold.value, other, context.equality) else None
    for part in stated(flat(plain(text)), context.equality.assignment):
        if (match := _compare(gold, part, context)) is not None:
            return match
    return context.same(gold.text, text) if gold.look == "words" or gold.foreign else None


def _compare(gold: NumericGold, part: str, context: Context) -> EqualityResult | None:
    """Compare a part of the answer. Only equality is decided, unless both are numerals of one kind."""
    if (rank := ordinal(part)) is not None and gold.look == "ordinal":
        return equal("same ordinal") if gold.value == num(rank) else different("another ordinal")
    if gold.look == "digits" and rank is not None and _PLACE.fullmatch(part) and gold.value == num(rank):
        return equal("same number, as an ordinal")
    if (numeral := roman(part)) is not None:
        return _compare_roman(gold, numeral)
    if _is_other_notation(part):
        return None
    value = number(part) or _counted(part) or _thousands(part)
    return equal("same number") if value is not None and same_number(gold.value, value, context.equality) else None


def _compare_roman(gold: NumericGold, numeral: int) -> EqualityResult | None:
    if gold.value == num(numeral):
        return equal("same Roman numeral")
    several = gold.look == "roman" and len(_LETTER.findall(gold.text.upper())) > 1
    return different("another Roman numeral") if several else None


def _is_other_notation(part: str) -> bool:
    """Whether a text is a number in another base or a list. The trees or the family of bases decide."""
    is_based = part[:2].lower() in ("0x", "0b", "0o") or "_" in part or "base" in part
    return is_based or _DECIMAL_COMMA.fullmatch(part) is not None


def _counted(part: str) -> Node | None:
    """A number in words with a counted noun, "thirty-three apples". In digits if the parser can't read the noun."""
    if part[:1].isdigit():
        found = None if part.isascii() else number_at(part)
        return found[0] if found and _FOREIGN_NOUN.fullmatch(part, found[1]) else None
    words = part.split(" ", 12)
    for size in range(min(len(words) - 1, 10), 0, -1):
        spelled = in_words(" ".join(words[:size]))
        if spelled is not None:
            return num(spelled[0]) if not spelled[1] and _are_nouns(words[size:]) else None
    return None


def _are_nouns(words: list[str]) -> bool:
    """Whether words may name what is counted, without being numbers themselves."""
    if len(words) > 4 or not all(_NOUN.fullmatch(word) and word.lower() not in _NO_NOUN for word in words):
        return False
    return not any(in_words(word) or ordinal_in_words(word) for word in words)


def _thousands(part: str) -> Node | None:
    """35K. With a small letter or a space it is a product, or kelvins."""
    match = _THOUSANDS.fullmatch(part)
    return num(Fraction(match[1]) * 1000) if match else None


FAMILY = Family("number", _gold, _match)
