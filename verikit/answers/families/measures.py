"""Units of everyday answers: the possible meanings of a unit's text, with all readings of an ambiguous one.

`verikit.answers.parser.units` has the units of formulas. This module has those that only a whole text identifies:
temperatures with their zero, currencies by sign, code and name, percent and percentage points, unknown units in words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

from verikit.answers.families.plain import denies
from verikit.answers.parser.operations import AFTER, NO_CLAIM
from verikit.answers.parser.units import Unit, parse_unit, single


class Measure(NamedTuple):
    """One reading of a unit's text: a known unit, or the words of an unknown one."""

    unit: Unit | None
    name: str = ""


def _unit(dimension: str, scale: str = "1") -> Unit:
    return Unit(tuple(sorted((part.split("^")[0], int(part.partition("^")[2] or 1)) for part in dimension.split())),
                Fraction(scale))  # fmt: skip


# Names that formulas use for something else, so that only a whole unit may have them: (dimension, size in base units).
_SYMBOLS = {
    "gon": ("d", "9/10"), "gons": ("d", "9/10"), "grad": ("d", "9/10"), "grads": ("d", "9/10"), "rev": ("d", "360"),
    "°": ("d", "1"), "arcmin": ("d", "1/60"), "arcsec": ("d", "1/3600"), "rpm": ("d s^-1", "6"), "rads": ("r", "1"),
    "bar": ("m^-1 g s^-2", "100000000"), "mbar": ("m^-1 g s^-2", "100000"), "mmHg": ("m^-1 g s^-2", "101325000/760"),
    "psi": ("m^-1 g s^-2", "6894757.293168"), "cc": ("m^3", "1/1000000"), "Wh": ("m^2 g s^-2", "3600000"),
    "kWh": ("m^2 g s^-2", "3600000000"), "MWh": ("m^2 g s^-2", "3600000000000"), "BTU": ("m^2 g s^-2", "1055055.85262"),
    "erg": ("m^2 g s^-2", "1/10000"), "dyn": ("m g s^-2", "1/100"), "AU": ("m", "149597870700"), "ly": ("m",
    "9460730472580800"), "Å": ("m", "1/10000000000"), "u": ("g", "1.66053906660e-24"), "Da": ("g", "1.66053906660e-24"),
    "amu": ("g", "1.66053906660e-24"), "M": ("n m^-3", "1000"), "mM": ("n m^-3", "1"), "nM": ("n m^-3", "1/1000000"),
    "μM": ("n m^-3", "1/1000"), "Bq": ("bq", "1"), "Sv": ("sv", "1"), "Gy": ("gy", "1"), "H": ("m^2 g s^-2 A^-2",
    "1000"),
    "mH": ("m^2 g s^-2 A^-2", "1"), "Wb": ("m^2 g s^-2 A^-1", "1000"), "S": ("m^-2 g^-1 s^3 A^2", "1/1000"),
    "lm": ("lm", "1"), "lx": ("lm m^-2", "1"), "cd": ("cd", "1"), "dB": ("dB", "1"), "Ω": ("m^2 g s^-3 A^-2", "1000"),
    "kΩ": ("m^2 g s^-3 A^-2", "1000000"), "MΩ": ("m^2 g s^-3 A^-2", "1000000000"), "t": ("g", "1000000"),
    "yr": ("y", "1"), "yrs": ("y", "1"), "wk": ("s", "604800"), "d": ("s", "86400"), "GB": ("byte", "1000000000"),
    "MB": ("byte", "1000000"), "kB": ("byte", "1000"), "KB": ("byte", "1000"), "TB": ("byte", "1000000000000"),
    "B": ("byte", "1"), "hp": ("m^2 g s^-3", "745699.87158227022"), "Cal": ("m^2 g s^-2", "4184000"),
    "gal": ("m^3", "0.003785411784"), "qt": ("m^3", "0.000946352946"), "pt": ("m^3", "0.000473176473"),
    "kn": ("m s^-1", "463/900"), "%": ("%", "1"), "‰": ("%", "1/10"), "ppm": ("%", "1/10000"), "pp": ("pp", "1"),
    "bp": ("pp", "1/100"), "bps": ("pp", "1/100"), "sec": ("s", "1"), "Std": ("s", "3600"), "mL": ("m^3", "1/1000000"),
    "cL": ("m^3", "1/100000"), "dL": ("m^3", "1/10000"), "hPa": ("m^-1 g s^-2", "100000"), "THz": ("s^-1", "1e12"),
}  # fmt: skip
_PHRASES = {
    "%": "percent", "pp": "percentage points|percentage point|percent points|pct points|p.p.|p.p|ppt|ppts|pct. points",
    "bp": "basis points|basis point", "mmHg": "mm hg|millimeters of mercury|mm of mercury", "°C": "degrees celsius|"
    "degree celsius|celsius|degrees c|degrees centigrade|deg c|° c|ºc|grad celsius|degrés celsius|grados celsius",
    "°F": "degrees fahrenheit|degree fahrenheit|fahrenheit|degrees f|deg f|° f|ºf",
    "K": "kelvin|kelvins|degrees kelvin",
    "eV": "electron volt|electron volts|electronvolt|electronvolts", "rev": "revolution|revolutions|turn|turns",
    "arcmin": "arcminute|arcminutes|arc minutes", "arcsec": "arcsecond|arcseconds|arc seconds",
    "hp": "horsepower", "AU": "astronomical units", "ly": "light years|light-years|light year",
    "Å": "angstrom|angstroms",
    "M": "molar|mol/liter", "psi": "pounds per square inch", "kWh": "kilowatt hours|kilowatt-hours|kilowatt hour",
}  # fmt: skip
_PHRASE = {phrase: name for name, phrases in _PHRASES.items() for phrase in phrases.split("|")}
_PHRASE |= {"pct": "%", "per cent": "%", "prozent": "%", "pour cent": "%", "por ciento": "%", "per cento": "%"}
_CURRENCIES = {
    "US$": "us$|usd|us dollar|us dollars|u.s. dollars|american dollars", "$": "$|dollar|dollars|buck|bucks",
    "A$": "a$|au$|aud|australian dollar|australian dollars", "C$": "c$|ca$|cad|canadian dollar|canadian dollars",
    "HK$": "hk$|hkd|hong kong dollars", "€": "€|eur|euro|euros", "£": "£|gbp|pound sterling|pounds sterling|quid",
    "JPY": "jpy|yen|円|日元", "CNY": "cny|rmb|yuan|renminbi|元|人民币", "₹": "₹|inr|rs|rs.|rupee|rupees",
    "CHF": "chf|swiss franc|swiss francs|franken", "₩": "₩|krw|won", "₽": "₽|rub|ruble|rubles|roubles",
    "SEK": "sek|swedish kronor", "MXN": "mxn", "BRL": "brl|r$|reais|real", "₺": "₺|try|lira", "peso": "peso|pesos",
    "franc": "franc|francs",
}  # fmt: skip
_CURRENCY = {name: base for base, names in _CURRENCIES.items() for name in names.split("|")}
_CENTS = {
    "¢": ("$", "€"), "cent": ("$", "€"), "cents": ("$", "€"), "penny": ("£", "$"), "pence": ("£",), "p": ("£",),
    "pennies": ("£", "$"), "paise": ("₹",),
}  # fmt: skip
_ALSO = {
    "pound": ("£",), "pounds": ("£",), "¥": ("JPY", "CNY"), "degrees": ("°C", "°F"), "degree": ("°C", "°F"),
    "°": ("°C", "°F"), "c": ("°C",), "f": ("°F",),
}  # fmt: skip
_TEMPERATURES = {"°C": (Fraction(1), Fraction("273.15")), "°F": (Fraction(5, 9), Fraction("459.67") * 5 / 9),
                 "K": (Fraction(1), Fraction(0))}  # fmt: skip
"""Kelvins per degree, and kelvins at zero."""
_PARTS = re.compile(r"\^\(?-?\d{1,2}\)?|\d{1,2}|[^\W\d_]{1,24}[.']?|[°%‰/*·.\-()]|'{1,2}|\s")
_FOREIGN = {
    "stunden": "hours", "stunde": "hour", "std": "h", "minuten": "minutes", "sekunden": "seconds", "tage": "days",
    "jahre": "years", "jahren": "years", "heures": "hours", "heure": "hour", "jours": "days", "horas": "hours",
    "hora": "hour", "minutos": "minutes", "segundos": "seconds", "metros": "meters", "mètres": "meters", "ans": "years",
    "años": "years", "grad": "gon", "degrés": "degrees", "grados": "degrees", "米": "m", "千米": "km", "公里": "km",
    "厘米": "cm", "千克": "kg", "公斤": "kg", "克": "g", "秒": "s", "分钟": "min", "小时": "h", "天": "days",
    "年": "years",
    "度": "degrees", "升": "L", "毫升": "mL",
}  # fmt: skip
MAX_CHARS = 60


@lru_cache(maxsize=2048)
def measures(text: str) -> tuple[Measure, ...]:
    """The possible meanings of a unit's plain text. Empty if it is not a unit."""
    text = text.strip()
    if not text or len(text) > MAX_CHARS:
        return ()
    folded = text.casefold()
    found = [Measure(_unit(base)) for base in _ALSO.get(folded, ())]
    if folded in _CURRENCY:
        return (*found, Measure(_unit(_CURRENCY[folded])))
    if folded in _CENTS:
        return tuple(Measure(_unit(base, "1/100")) for base in _CENTS[folded])
    if found and folded == "¥":
        return tuple(found)
    known = _known(text)
    if known is not None:
        return (Measure(known), *found)
    words = text.split(" ")
    if any(_known(" ".join(words[:size])) is not None for size in range(1, min(len(words), 4))):
        return ()
    name = _noun(folded)
    return (Measure(None, name),) if name else ()


def _known(text: str) -> Unit | None:
    """The single unit that a text spells, except for currencies."""
    folded = _FOREIGN.get(text.casefold(), text).casefold()
    name = _PHRASE.get(folded, _FOREIGN.get(text.casefold(), text))
    if name in ("°C", "°F", "° C", "° F", "K"):
        return _unit(name.replace(" ", ""))
    parts = _parts(name)
    whole = name[:1] not in "*·" and name[-1:] not in "*·" and name.count("(") == name.count(")")
    if not parts or not whole or _dangling(parts):
        return None
    unit = parse_unit([_PHRASE.get(p.casefold(), p) for p in parts if p], _single)
    return unit if unit is not None and unit.dimension else None


def _parts(name: str) -> list[str]:
    """The parts of a unit's text: names, powers and fraction bars. Empty if it is not made of them."""
    parts: list[str] = []
    end = 0
    for match in _PARTS.finditer(name):
        part = match[0]
        is_sign = part == "-" and name[: match.start()].rstrip()[-1:] in ("", "/", "(", "*")
        if match.start() != end or is_sign:
            return []
        end = match.end()
        if part[0] == "^":
            parts += ["^", part[1:].strip("()")]
        elif part.isdigit():
            parts += ["^", part] if parts else ["?"]
        elif part not in (" ", "(", ")", "*", "·"):
            parts.append(part.rstrip("."))
    return parts if end == len(name) else []


def _dangling(parts: list[str]) -> bool:
    """Whether a unit's text ends in a sign, or has a power without a unit before it."""
    return parts[-1] in ("/", "per", "-", "'", "''", "times") or parts[0] in ("^", "-", "?") or "''" in parts


def _single(name: str) -> Unit | None:
    if name in _SYMBOLS:
        return _unit(*_SYMBOLS[name])
    if name in ("°C", "°F"):
        return None
    if (base := _CURRENCY.get(name.casefold())) is not None and (len(name) > 3 or name in ("$", "€", "£", "₹", "¥")):
        return _unit(base)
    if name == "C":
        return single(name)
    return single(_FOREIGN.get(name.casefold(), name))


_WORDS = re.compile(r"[^\W\d_]+(?:[-'][^\W\d_]+)*(?: (?:of |per )?[^\W\d_]+(?:[-'][^\W\d_]+)*){0,4}")
_NOT_NAMES = AFTER | (NO_CLAIM - {"too", "hold", "holds", "do", "did", "does"}) | frozenset(
    "is are was were and or not but to from by than then if so because which that who as at in on with per point half "
    "quarter am pm bc ad ce bce january february march april may june july august september october november december "
    "st nd rd th pi e i x y z n k t a b below above zero dozen".split()
)  # fmt: skip


def _noun(folded: str) -> str:
    """The words of an unknown unit in the singular. Empty if they are not a unit."""
    if not _WORDS.fullmatch(folded) or denies(folded):
        return ""
    words = folded.split(" ")
    if any(word in _NOT_NAMES for word in words) or "times" in words[:-1]:
        return ""
    return " ".join(_singular(word) for word in words)


def _singular(word: str) -> str:
    if word in ("people", "persons"):
        return "person"
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith(("ches", "shes", "xes", "sses")):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith("ss") and len(word) > 3 else word


class Conversion(NamedTuple):
    """Converts one unit to another: times `factor` and pi to the power `pi`, plus `offset`."""

    factor: Fraction
    pi: int = 0
    offset: Fraction = Fraction(0)


SAME = Conversion(Fraction(1))


def conversions(gold: tuple[Measure, ...], answer: tuple[Measure, ...]) -> Iterator[Conversion]:
    """The conversions from the answer's unit to the gold answer's, for each pair of compatible readings.

    A unit with several readings means the same on both sides: 95° is never 35°.
    """
    if gold == answer:
        yield SAME
        return
    for g in gold:
        for a in answer:
            if (found := _convert(a, g)) is not None:
                yield found


def _convert(a: Measure, g: Measure) -> Conversion | None:
    if a.unit is None or g.unit is None:
        if a.unit is not g.unit:
            return None
        return SAME if _same_noun(a.name, g.name) else None
    if a.unit == g.unit:
        return SAME
    (dimension, scale), (other, other_scale) = _without_radians(a.unit), _without_radians(g.unit)
    if dimension == other:
        pi = _radians(g.unit) - _radians(a.unit)
        return Conversion(scale / other_scale, pi)
    here, there = _temperature(a.unit), _temperature(g.unit)
    if here and there:
        return Conversion(here[0] / there[0], 0, (here[1] - there[1]) / there[0])
    return None


def _is_latin(text: str) -> bool:
    """Whether a text only contains letters of the Latin alphabets, including accented ones."""
    return text.isascii() or all(ord(char) < 0x250 for char in text)


def _same_noun(a: str, g: str) -> bool:
    """Whether two names differ only in words before the last ("red apples"), or their scripts can't be compared."""
    if _is_latin(a) != _is_latin(g):
        return True
    short, long = sorted((a, g), key=len)
    return long == short or long.endswith(" " + short)


def _temperature(unit: Unit) -> tuple[Fraction, Fraction] | None:
    return _TEMPERATURES.get(unit.dimension[0][0]) if len(unit.dimension) == 1 and unit.dimension[0][1] == 1 else None


def _radians(unit: Unit) -> int:
    return next((power for base, power in unit.dimension if base == "r"), 0)


def _without_radians(unit: Unit) -> tuple[tuple[tuple[str, int], ...], Fraction]:
    """The dimension with radians as degrees over pi, and dollars of an unspecified country as US dollars."""
    found: dict[str, int] = {}
    scale = unit.scale
    for base, power in unit.dimension:
        if base == "r":
            base, scale = "d", scale * Fraction(180) ** power
        elif base == "US$":
            base = "$"
        found[base] = found.get(base, 0) + power
    return tuple(sorted((base, power) for base, power in found.items() if power)), scale


def is_currency(found: tuple[Measure, ...]) -> bool:
    """Whether a unit is money."""
    return any(
        m.unit is not None and len(m.unit.dimension) == 1 and m.unit.dimension[0][0] in _CURRENCIES for m in found
    )
