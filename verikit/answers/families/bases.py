r"""Numbers in another base: 1101_4, (1101)_4, 1101_{\text{four}}, 1101 (base 4), 0x1F, 1F_{16}."""

from __future__ import annotations

import re
from typing import NamedTuple

from verikit.answers.algebra.equality import EqualityResult, different, equal
from verikit.answers.families.base import Context, Family
from verikit.answers.families.plain import flat, plain, stated
from verikit.answers.families.spelled import in_words

_NAMES = {"bin": 2, "binary": 2, "oct": 8, "octal": 8, "dec": 10, "decimal": 10, "hex": 16, "hexadecimal": 16}
_PREFIXES = {"0b": 2, "0o": 8, "0x": 16}
_PREFIXED = re.compile(r"(-?)(0[box])([0-9a-f]{1,200})", re.IGNORECASE)
_DIGITS = r"(-?)\(?\s?(-?[0-9][0-9A-Za-z]{0,200}|[0-9A-Fa-f]{2,200}|\d{1,3}(?: \d{3,4}){1,40})\s?\)?"
_BASED = re.compile(
    _DIGITS + r"\s?(?:_\s?\(?\s?(?:(?:in )?base[- ]?)?([a-z]{2,14}|\d{1,2})\s?\)?"
    r"|\(?\s?(?:in |in the |to )?base[- ]?(?:_\s?)?\(?([a-z]{3,14}|\d{1,2})\)?\s?\)?"
    r"|\(?\s?(?:in )?(binary|octal|hexadecimal|hex)\s?\)?)",
    re.IGNORECASE,
)
_LED = re.compile(r"(?:in )?base[- ]?([a-z]{3,14}|\d{1,2})[:,]?\s(.{1,200})", re.IGNORECASE)
_MAY_BE = re.compile(r"_|0[box]|base|binary|octal|hex", re.IGNORECASE)
_PLAIN = re.compile(r"-?\d{1,400}")


class Based(NamedTuple):
    """An integer and the base in which it is written."""

    value: int
    digits: str
    base: int


def read_based(text: str) -> Based | None:
    """The number of a plain text in another base."""
    if match := _PREFIXED.fullmatch(text):
        return _based(match[1], match[3], _PREFIXES[match[2].lower()])
    if match := _LED.fullmatch(text):
        return _based("", match[2].strip("()"), _radix(match[1]))
    match = _BASED.fullmatch(text)
    if match is None or text.count("(") != text.count(")"):
        return None
    return _based(match[1], match[2], _radix(match[3] or match[4] or match[5]))


def _radix(name: str) -> int | None:
    if name.isdigit():
        return int(name)
    spelled = in_words(name)
    return _NAMES.get(name.lower()) or (spelled[0].numerator if spelled and spelled[0].denominator == 1 else None)


def _based(sign: str, digits: str, base: int | None) -> Based | None:
    digits = digits.replace(" ", "")
    if digits.startswith("-"):
        sign, digits = "-", digits[1:]
    if base is None or not 2 <= base <= 36:
        return None
    try:
        value = int(digits, base)
    except ValueError:
        return None
    return Based(-value if sign else value, sign + (digits.lstrip("0") or "0").upper(), base)


def _gold(text: str) -> Based | None:
    return read_based(flat(plain(text))) if _MAY_BE.search(text) else None


def _match(gold: Based, text: str, context: Context) -> EqualityResult | None:
    for part in stated(flat(plain(text)), context.equality.assignment):
        answer = read_based(part)
        if answer is not None:
            return equal("same number") if answer.value == gold.value else different("another number in a base")
        if part.upper().lstrip("0") == gold.digits and part[:1].isalnum():
            return equal("the base left out")
        if _PLAIN.fullmatch(part):
            return equal("same number, written decimally") if int(part) == gold.value else None
    return different("another number in a base") if _is_another(gold, text) else None  # A3_16 is read as a product


def _is_another(gold: Based, text: str) -> bool:
    """Whether a text's only number in a base is not the gold, which may still end it without its base."""
    based = _based_values(text)  # several may be a calculation: 58_9 - 18_9
    last = text.rsplit(maxsplit=1)[-1:]
    is_left_out = bool(last) and last[0].strip(".,;:!?$").upper() == gold.digits
    return len(based) == 1 and gold.value not in based and not is_left_out


def _based_values(text: str) -> set[int]:
    """The values of all words of a text that are numbers in a base."""
    numbers = (read_based(part.strip(",;:")) for part in flat(plain(text)).split())
    return {number.value for number in numbers if number is not None}


FAMILY = Family("base", _gold, _match)
