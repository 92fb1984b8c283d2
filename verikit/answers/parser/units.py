"""Units after a number: their dimension and scale, or the fact that they only name the counted things.

A unit is ``(dimension, scale)``. The dimension consists of sorted ``(base, exponent)`` pairs over metre, gram, second,
ampere, kelvin, mole, degree and one base per currency. The scale is an exact fraction. Words that are not units
("apples", "units") count things. They have no dimension and never disagree.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple


class Unit(NamedTuple):
    """The dimension of a unit and its size in base units. An empty dimension is a mere count."""

    dimension: tuple[tuple[str, int], ...]
    scale: Fraction


COUNT = Unit((), Fraction(1))

_PREFIXES = {"k": 3, "c": -2, "m": -3, "d": -1, "M": 6, "G": 9, "n": -9, "p": -12, "μ": -6, "u": -6}
_LONG = {"kilo": 3, "centi": -2, "milli": -3, "deci": -1, "mega": 6, "giga": 9, "nano": -9, "micro": -6}


_BASE = re.compile(r"[^\d-]+")


def _split(part: str) -> tuple[str, int]:
    """A base unit of one or more letters, and its power."""
    base = _BASE.match(part)
    assert base is not None, "the tables name a base unit in each part"
    return base[0], int(part[base.end() :] or 1)


def _derived(text: str) -> tuple[tuple[str, int], ...]:
    return tuple(sorted(map(_split, text.split())))


# name -> (dimension, size in base units, takes metric prefixes)
_SYMBOLS: dict[str, tuple[str, str, bool]] = {
    "m": ("m", "1", True), "g": ("g", "1", True), "s": ("s", "1", True), "A": ("A", "1", True), "K": ("K", "1", False),
    "mol": ("n", "1", True), "L": ("m3", "1/1000", True), "l": ("m3", "1/1000", True), "N": ("m g s-2", "1000", True),
    "J": ("m2 g s-2", "1000", True), "W": ("m2 g s-3", "1000", True), "Pa": ("m-1 g s-2", "1000", True),
    "Hz": ("s-1", "1", True), "V": ("m2 g s-3 A-1", "1000", True), "eV": ("m2 g s-2", "1.602176634e-16", True),
    "C": ("s A", "1", False), "F": ("m-2 g-1 s4 A2", "1/1000", True), "T": ("g s-2 A-1", "1000", True),
    "h": ("s", "3600", False), "hr": ("s", "3600", False), "hrs": ("s", "3600", False), "min": ("s", "60", False),
    "mins": ("s", "60", False), "sec": ("s", "1", False), "secs": ("s", "1", False), "in": ("m", "0.0254", False),
    "ft": ("m", "0.3048", False), "yd": ("m", "0.9144", False), "mi": ("m", "1609.344", False),
    "lb": ("g", "453.59237", False), "lbs": ("g", "453.59237", False), "oz": ("g", "28.349523125", False),
    "mph": ("m s-1", "0.44704", False), "kph": ("m s-1", "5/18", False), "kmph": ("m s-1", "5/18", False),
    "kmh": ("m s-1", "5/18", False), "deg": ("d", "1", False), "rad": ("r", "1", False),
    "cal": ("m2 g s-2", "4184", True),
    "ha": ("m2", "10000", False), "atm": ("m-1 g s-2", "101325000", False), "ohm": ("m2 g s-3 A-2", "1000", True),
}  # fmt: skip
_WORDS: dict[str, tuple[str, str]] = {
    "meter": ("m", "1"), "metre": ("m", "1"), "gram": ("g", "1"), "second": ("s", "1"), "minute": ("s", "60"),
    "hour": ("s", "3600"), "day": ("s", "86400"), "week": ("s", "604800"), "inch": ("m", "0.0254"),
    "foot": ("m", "0.3048"), "feet": ("m", "0.3048"), "yard": ("m", "0.9144"), "mile": ("m", "1609.344"),
    "liter": ("m3", "1/1000"), "litre": ("m3", "1/1000"), "pound": ("g", "453.59237"), "ounce": ("g", "28.349523125"),
    "ton": ("g", "1000000"), "tonne": ("g", "1000000"), "degree": ("d", "1"), "radian": ("r", "1"),
    "newton": ("m g s-2", "1000"), "joule": ("m2 g s-2", "1000"), "watt": ("m2 g s-3", "1000"),
    "pascal": ("m-1 g s-2", "1000"), "hertz": ("s-1", "1"), "volt": ("m2 g s-3 A-1", "1000"), "ampere": ("A", "1"),
    "amp": ("A", "1"), "kelvin": ("K", "1"), "mole": ("n", "1"), "dollar": ("$", "1"), "usd": ("$", "1"),
    "buck": ("$", "1"), "cent": ("$", "1/100"), "euro": ("€", "1"), "yuan": ("¥", "1"), "rupee": ("₹", "1"),
    "acre": ("m2", "4046.8564224"), "hectare": ("m2", "10000"), "calorie": ("m2 g s-2", "4184"),
    "year": ("y", "1"), "month": ("y", "1/12"), "decade": ("y", "10"), "century": ("y", "100"),
    "centuries": ("y", "100"), "fortnight": ("s", "1209600"), "gradian": ("d", "9/10"), "gallon": ("m3",
    "0.003785411784"),
    "quart": ("m3", "0.000946352946"), "torr": ("m-1 g s-2", "101325000/760"), "atmosphere": ("m-1 g s-2", "101325000"),
    "electronvolt": ("m2 g s-2", "1.602176634e-16"), "knot": ("m s-1", "463/900"), "coulomb": ("s A", "1"),
    "farad": ("m-2 g-1 s4 A2", "1/1000"), "tesla": ("g s-2 A-1", "1000"), "byte": ("byte", "1"),
    "ohm": ("m2 g s-3 A-2", "1000"),
    "lumen": ("lm", "1"), "candela": ("cd", "1"), "siemens": ("m-2 g-1 s3 A2", "1/1000"),
}  # fmt: skip
_CURRENCY = {"money": "$", "€": "€", "£": "£", "¥": "¥", "₹": "₹"}
_POWER_WORDS = {"square": 2, "sq": 2, "squared": 2, "cubic": 3, "cu": 3, "cubed": 3}
_NUMBER = re.compile(r"-?\d+")


_NO_POWER = 10
"""A power beyond the largest one, for a sign of a power without a number."""


def currency(mark: str) -> Unit | None:
    """The unit of a currency sign."""
    base = _CURRENCY.get(mark)
    return Unit(((base, 1),), Fraction(1)) if base else None


@lru_cache(maxsize=1024)
def single(name: str) -> Unit | None:
    """The unit a word or symbol names, with its metric prefix."""
    if name in _SYMBOLS:
        dimension, scale, _ = _SYMBOLS[name]
        return Unit(_derived(dimension), Fraction(scale))
    if name[:1] in _PREFIXES and name[1:] in _SYMBOLS and _SYMBOLS[name[1:]][2]:
        dimension, scale, _ = _SYMBOLS[name[1:]]
        return Unit(_derived(dimension), Fraction(scale) * Fraction(10) ** _PREFIXES[name[0]])
    return _in_words(name.lower())


def _in_words(word: str) -> Unit | None:
    """The unit of a word in the singular or plural: "kilometres"."""
    for form in (word, word.removesuffix("s"), word.removesuffix("es")):
        if form in _WORDS:
            dimension, scale = _WORDS[form]
            return Unit(_derived(dimension), Fraction(scale))
        for prefix, exponent in _LONG.items():
            if form.startswith(prefix) and form[len(prefix) :] in _WORDS:
                dimension, scale = _WORDS[form[len(prefix) :]]
                return Unit(_derived(dimension), Fraction(scale) * Fraction(10) ** exponent)
    return None


def is_unit(name: str) -> bool:
    """Whether a single word or letter names a unit."""
    return single(name) is not None


def _power_after(parts: list[str], index: int, power: int) -> tuple[int, int]:
    """The power of a unit before a position and the position after it: "^ 2", "squared". Else the known power."""
    if index == len(parts):
        return power, index
    if parts[index] != "^":
        word = parts[index].lower()
        return (_POWER_WORDS[word], index + 1) if word in ("squared", "cubed") else (power, index)
    match = _NUMBER.search("".join(parts[index + 1 : index + 5]))
    return (int(match[0]) if match else _NO_POWER), _end_of_power(parts, index + 1)


def _end_of_power(parts: list[str], index: int) -> int:
    """The end of one number, in braces or not."""
    while index < len(parts) and parts[index] in "{-":
        index += 1
    if index < len(parts) and _NUMBER.fullmatch(parts[index]):
        index += 1
    while index < len(parts) and parts[index] == "}":
        index += 1
    return index


def parse_unit(parts: list[str], name: Callable[[str], Unit | None] = single) -> Unit | None:
    """The unit spelled by words, letters, ``/``, ``^`` and integers, or None if some part is not a unit.

    Reads "cm ^ 2", "square feet", "miles per hour", "m / s ^ 2", "kg m s ^ -1". `name` looks up a single part.
    """
    dimension: dict[str, int] = {}
    scale = Fraction(1)
    sign, power_word, index = 1, 1, 0
    while index < len(parts):
        part = parts[index]
        index += 1
        if part in ("/", "per", "a", "an"):
            sign = -1
            continue
        if part in ("*", "cdot", "times", "{", "}", ".", "-"):
            continue
        if part.lower() in _POWER_WORDS and index < len(parts):
            power_word = _POWER_WORDS[part.lower()]
            continue
        unit = name(part)
        if unit is None:
            return None
        exponent, index = _power_after(parts, index, power_word)
        power_word = 1
        if abs(exponent) > 9:
            return None
        for base, times in unit.dimension:
            dimension[base] = dimension.get(base, 0) + times * exponent * sign
        scale *= unit.scale ** (exponent * sign)
    return Unit(tuple(sorted((base, n) for base, n in dimension.items() if n)), scale)
