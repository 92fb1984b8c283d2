"""Number formats: the text that a cell shows."""

from __future__ import annotations

import datetime
import math
import re
from decimal import ROUND_HALF_UP, Decimal
from itertools import takewhile
from typing import Literal

Locale = Literal["en", "de"]
_MARKS = {"en": (".", ","), "de": (",", ".")}
_TOKEN = re.compile(
    r'"[^"]*"|\\.|_.|\*.|\[[^\]]*\]|General|[Ee][+-]0+|A/P|AM/PM|y+|m+|d+|h+|s+(?:\.0+)?|[0#?]|[.,%@]|.', re.I | re.S
)
_MONTHS = ("January", "February", "March", "April", "May", "June", "July", "August", "September", "October",
           "November", "December")  # fmt: skip
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_CONDITION = re.compile(r"\[(<=|>=|<>|<|>|=)(-?[0-9.]+)\]")


def sections(code: str) -> list[list[str]]:
    """The tokens of each section of a format."""
    parts: list[list[str]] = [[]]
    for token in _TOKEN.findall(code[:500]):
        if token == ";":
            parts.append([])
        else:
            parts[-1].append(token)
    return parts


def section_of(value: float, code: str) -> tuple[list[str], float]:
    """The section that shows a number, and the number as it shows it (without its sign, if the section omits it)."""
    parts = sections(code)[:3]
    for part in parts:
        for token in part:
            if match := _CONDITION.fullmatch(token):
                if _holds(value, match[1], float(match[2])):
                    return part, value
                break
    if any(_CONDITION.fullmatch(token) for part in parts for token in part):
        return parts[-1], value
    if value < 0 and len(parts) > 1:
        return parts[1], -value
    if value == 0 and len(parts) > 2:
        return parts[2], value
    return parts[0], value


def _holds(value: float, sign: str, bound: float) -> bool:
    return {"<": value < bound, ">": value > bound, "=": value == bound, "<=": value <= bound, ">=": value >= bound,
            "<>": value != bound}[sign]  # fmt: skip


def lies(value: float, code: str) -> str:
    """Why a number's format does not show the number: it shows nothing, or literal digits. Empty if it does."""
    part, _ = section_of(value, code)
    shown = [token for token in part if not token.startswith(("[", "_", "*"))]
    if not any(_is_placeholder(token) for token in shown) and not _elapsed(part):
        return "the number format hides the value"
    own = [token for token in shown if token.startswith(('"', "\\")) or not _is_placeholder(token)]
    if any(_looks_like_digits(token) for token in own if not _is_scientific(token)):
        return "the number format prints extra digits"
    return ""


_COLOURS = ("[black", "[blue", "[cyan", "[green", "[magenta", "[red", "[white", "[yellow", "[color")
_SMALL_DATE = 5000
"""Dates of smaller numbers are before 1914."""


def disguises(number: float, code: str) -> str:
    """Why a format shows a number of another size or sign, or a plain number as a date. Empty if it does not."""
    part, written = section_of(number, code)
    if any(token.lower() in _WHITE for token in part):
        return "the number format is white"
    if _has_own_mark(part):
        return "the number format prints an extra separator"
    if is_date(number, code):
        return "the number format shows a date" if 1 <= number < _SMALL_DATE and number == int(number) else ""
    if _is_scaled(part):
        return "the number format shows thousands or millions without a word"
    signed = _is_signed(part)
    if number < 0 <= written and not signed and not _has_colour(part):
        return "the number format omits the sign"
    return "the number format adds a sign" if number > 0 and signed else ""


_WHITE = ("[white]", "[color2]", "[color 2]")


def _has_own_mark(part: list[str]) -> bool:
    """Whether a point or comma between digits is no separator of the number."""
    places = _places(part)
    between = part[places[0] : places[-1]] if places else []
    return any(token[0] in '"\\' and not {".", ","}.isdisjoint(token) for token in between)


def _has_colour(part: list[str]) -> bool:
    """Whether a section has a colour, as that of negative numbers may be red."""
    return any(token.lower().startswith(_COLOURS) for token in part)


def _places(part: list[str]) -> list[int]:
    return [index for index, token in enumerate(part) if token in ("0", "#", "?")]


def _is_scaled(part: list[str]) -> bool:
    """Whether a section divides by thousands (a comma after digits), and has no letter that says so."""
    places = _places(part)
    scaled = any(part[index + 1 : index + 2] == [","] and index + 2 not in places for index in places)
    words = "".join(token for token in part if token[0] in '"\\')
    return scaled and not any(map(str.isalpha, words))


def _is_signed(part: list[str]) -> bool:
    """Whether a section prints a sign of its own before the digits."""
    before = part[: min(_places(part), default=len(part))]
    literal = "".join(_plain(token) for token in before if not _is_placeholder(token))
    return not set("-(−").isdisjoint(literal)


def lies_of_text(text: str, code: str) -> str:
    """Why the format of a string does not show the string alone. Empty if it does."""
    parts = sections(code)
    part = parts[3] if len(parts) > 3 else parts[-1]
    if len(parts) < 4 and "@" not in part:
        return ""
    shown = "".join(text if token.lower() in ("@", "general") else _plain(token) for token in part)
    return "" if shown.strip() == text.strip() else "the number format shows another text"


def _looks_like_digits(token: str) -> bool:
    """Whether a literal of a format could pass for a part of the number; `"Q1 "` could not."""
    return any(letter.isdigit() for letter in token) and not any(letter.isalpha() for letter in token)


def _is_scientific(token: str) -> bool:
    return token[0] in "Ee" and len(token) > 2 and token[1] in "+-"


def _is_placeholder(token: str) -> bool:
    return token.lower() == "general" or token[0] in "0#?@" or _is_date(token)


def _elapsed(part: list[str]) -> bool:
    return any(token.lower().strip("[]") in ("h", "hh", "m", "mm", "s", "ss") for token in part if token[0] == "[")


def _is_date(token: str) -> bool:
    return (token[0].lower() in "ymdhs" and set(token.lower()) <= set("ymdhs.0")) or token.upper() in ("AM/PM", "A/P")


def is_date(value: float, code: str) -> bool:
    """Whether a format shows a number as a date or time."""
    return any(_is_date(token) for token in section_of(value, code)[0])


def shown(
    value: str | bool | float | None, code: str, *, epoch_1904: bool = False, locale: Locale = "en"
) -> str | None:
    """The text that a cell shows; None for a format that is not read (fractions)."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, str):
        parts = sections(code)
        return _literal(parts[3], value) if len(parts) > 3 else value
    part, number = section_of(value, code)
    if _elapsed(part):
        return None
    if any(_is_date(token) for token in part):
        return _dated(number, part, epoch_1904)
    if not part or not any(_is_placeholder(token) for token in part):
        return _literal(part, "")
    if any(token.lower() == "general" for token in part) or "@" in part:
        text = _general(number, locale)
        return "".join(text if token.lower() in ("general", "@") else _plain(token) for token in part)
    if "/" in part:
        return None
    return _number(number, part, locale)


def _literal(part: list[str], text: str) -> str:
    return "".join(text if token == "@" else _plain(token) for token in part)


def _plain(token: str) -> str:
    if token.startswith('"'):
        return token[1:-1]
    if token.startswith("\\"):
        return token[1:]
    if token.startswith("[$"):
        return token[2:-1].partition("-")[0]
    if token[0] in "[*":
        return ""
    return " " if token[0] == "_" else token


def _general(number: float, locale: Locale) -> str:
    text = f"{number:.10g}" if abs(number) < 1e11 else f"{number:.5E}"
    return text.replace(".", _MARKS[locale][0])


def _is_of_number(token: str) -> bool:
    return token in ("0", "#", "?", ".", ",") or _is_scientific(token)


def _number(number: float, part: list[str], locale: Locale) -> str | None:
    """A number by a section of digits; None if there are other characters among its digits (telephone numbers)."""
    places = [index for index, token in enumerate(part) if token in ("0", "#", "?")]
    point = part.index(".") if "." in part else None
    power = next((index for index, token in enumerate(part) if _is_scientific(token)), None)
    marks = [index for index in (point, power) if index is not None]
    start, end = min([*places, *marks]), max([*places, *marks])
    inner = part[start : end + 1]
    if not all(map(_is_of_number, inner)):
        return None
    split = end + 1 if point is None else point
    of_number = [index for index in places if power is None or index < power]
    before = [part[index] for index in of_number if index < split]
    after = [part[index] for index in of_number if index > split]
    trailing = part[end + 1 :]
    scaling = len(list(takewhile(lambda token: token == ",", trailing)))
    exact = Decimal(repr(number)) * 100 ** part.count("%") / Decimal(1000) ** scaling
    exponent = ""
    if power is not None:
        exact, exponent = _scientific(exact, part[power])
    text = _digits(exact, before, after, grouped="," in inner, locale=locale) + exponent
    sign, text = ("-", text[1:]) if text.startswith("-") else ("", text)
    return sign + "".join(map(_plain, part[:start])) + text + "".join(map(_plain, trailing[scaling:]))


def _scientific(exact: Decimal, token: str) -> tuple[Decimal, str]:
    size = exact.adjusted() if exact else 0
    plus = "+" if token[1] == "+" else ""
    sign = "-" if size < 0 else plus
    return exact.scaleb(-size), f"E{sign}{abs(size):0{len(token) - 2}d}"


def _digits(exact: Decimal, before: list[str], after: list[str], *, grouped: bool, locale: Locale) -> str:
    rounded = abs(exact).quantize(Decimal(1).scaleb(-len(after)), rounding=ROUND_HALF_UP)
    whole, _, part = f"{rounded:f}".partition(".")
    whole = "" if whole == "0" and "0" not in before else whole.rjust(before.count("0"), "0")
    for place in reversed(after):
        if place == "0" or not part.endswith("0"):
            break
        part = part[:-1]
    point, comma = _MARKS[locale]
    if grouped and whole:
        whole = f"{int(whole):,}".replace(",", comma)
    sign = "-" if exact < 0 and rounded else ""
    return f"{sign}{whole}{point if after else ''}{part}"


def _dated(number: float, part: list[str], epoch_1904: bool) -> str | None:
    start = datetime.datetime(1904, 1, 1) if epoch_1904 else datetime.datetime(1899, 12, 30)
    if not 0 <= number < 2_900_000 or not math.isfinite(number):
        return "#" * 8
    moment = start + datetime.timedelta(seconds=round(number * 86400))
    half = any(token.upper() in ("AM/PM", "A/P") for token in part)
    tokens = [token.lower() if _is_date(token) else token for token in part]
    dates = [index for index, token in enumerate(tokens) if _is_date(token)]
    out = []
    for index, token in enumerate(tokens):
        if index not in dates:
            out.append("" if token.startswith("[") else _plain(token))
            continue
        near = dates.index(index)
        minute = token[0] == "m" and len(token) < 3 and (
            (near > 0 and tokens[dates[near - 1]][0] == "h")
            or (near + 1 < len(dates) and tokens[dates[near + 1]][0] == "s")
        )  # fmt: skip
        out.append(_part_of_date(moment, token, minute=minute, half=half))
    return "".join(out)


def _part_of_date(moment: datetime.datetime, token: str, *, minute: bool, half: bool) -> str:
    if token in ("am/pm", "a/p"):
        return ("AM" if moment.hour < 12 else "PM")[: 2 if token == "am/pm" else 1]
    letter, size = token[0], len(token)
    if letter == "y":
        return f"{moment.year:04d}" if size > 2 else f"{moment.year % 100:02d}"
    if letter == "m" and not minute and size > 2:
        return {3: _MONTHS[moment.month - 1][:3], 5: _MONTHS[moment.month - 1][0]}.get(size, _MONTHS[moment.month - 1])
    if letter == "d" and size > 2:
        return _DAYS[moment.weekday()][: 3 if size == 3 else None]
    hour = (moment.hour % 12 or 12) if half else moment.hour
    number = {"m": moment.minute if minute else moment.month, "d": moment.day, "h": hour, "s": moment.second}[letter]
    return f"{number:0{min(size, 2)}d}"
