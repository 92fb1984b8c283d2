"""Calendar dates in many formats: March 5, 2021; 5. März 2021; 2021-03-05; 25/03/2021; 2021年3月5日.

An ambiguous numeric day and month are read in the order of the gold answer, if it shows one. If it shows none, the two
texts must agree as written.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from verikit.answers.algebra.equality import EqualityResult, different, equal
from verikit.answers.families.base import Context, Family
from verikit.answers.families.plain import flat, has_digit, plain, states_plainly
from verikit.answers.families.text import is_signed
from verikit.answers.parser.operations import is_affixed


class Date(NamedTuple):
    """Year, month and day, with 0 for omitted parts, and the order in which day and month were written."""

    year: int
    month: int
    day: int
    order: str = ""
    """`md` or `dm` if the text shows which comes first, `?` if day and month may be swapped."""


_MONTH_NAMES = (
    "january jan januar janvier enero gennaio janeiro", "february feb februar février febrero febbraio fevereiro",
    "march mar märz mars marzo março", "april apr avril abril aprile", "may mai mayo maggio maio",
    "june jun juni juin junio giugno junho", "july jul juli juillet julio luglio julho",
    "august aug août agosto", "september sep sept septembre septiembre settembre setembro",
    "october oct oktober octobre octubre ottobre outubro", "november nov novembre noviembre novembro",
    "december dec dezember décembre diciembre dicembre dezembro",
)  # fmt: skip
_MONTHS = {name: i for i, names in enumerate(_MONTH_NAMES, 1) for name in names.split()}
_DAYS = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_NAME = r"\b(" + "|".join(sorted(_MONTHS, key=len, reverse=True)) + r")(?![^\W\d_])\.?"
_DAY = r"(\d{1,2})(?:\s?(?:st|nd|rd|th)|\.|º|er)?(?![\d:])"
_YEAR = r"(\d{3,4})(?![\d:])(?:\s?(ad|ce|bce|bc)\b)?"
_OF = r"\s?(?:of|de|del|di)?\s?"
_WEEKDAY = (
    r"(?:(?:mon|tues|wednes|thurs|fri|satur|sun)day|(?:mon|diens|donners|frei|sams|sonn)tag|mittwoch|"
    r"lundi|mardi|mercredi|jeudi|vendredi|samedi|dimanche)\s?,?\s"
)
_FORMATS = (
    ("md", re.compile(rf"{_NAME}\s?(?:the )?{_DAY}(?:\s?,?{_OF}{_YEAR})?", re.IGNORECASE)),
    ("dm", re.compile(rf"\b{_DAY}[\s-]?{_OF}{_NAME}(?:[\s-]?,?{_OF}{_YEAR})?", re.IGNORECASE)),
    ("m", re.compile(rf"{_NAME}\s?,?{_OF}{_YEAR}", re.IGNORECASE)),
    ("ymd", re.compile(r"(\d{4})([-/.])(\d{1,2})\2(\d{1,2})(?!\d)")),
    ("n", re.compile(r"(\d{1,2})([-/.])(\d{1,2})\2(\d{4})(?!\d)")),
    ("han", re.compile(r"(?:(\d{3,4})\s?年\s?)?(\d{1,2})\s?月(?:\s?(\d{1,2})\s?[日号])?")),
)
_SHORT = (("ym", re.compile(r"(\d{4})(?:-|/(?=0))(\d{1,2})")),
          ("my", re.compile(r"(0\d|\d{1,2}(?=-))[-/.](\d{4})")))  # fmt: skip
_GLUED_BEFORE = re.compile(r"[A-Za-z]-?$")
_GLUED_AFTER = re.compile(r"-?[A-Za-z]")
"""Attached text that changes the meaning of a date: "mid-December 1974", "May 1968ers"."""
_DIGITS = re.compile(r"\d{1,4}([-/.])\d{1,2}\1\d{1,4}")
_MAY_BE = re.compile(
    r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}|[月]|\d.{0,16}[A-Za-zäéû]{3}|[A-Za-zäéû]{3}.{0,10}\d"
)  # fmt: skip


def read_date(text: str) -> Date | None:
    """The only date of a plain text that contains no other number."""
    text = re.sub(rf"\b{_WEEKDAY}", "", text, flags=re.IGNORECASE)
    for kind, pattern in _FORMATS:
        match = pattern.search(text)
        if match is None:
            continue
        before, after = text[: match.start()], text[match.end() :]
        if _GLUED_BEFORE.search(before) or _GLUED_AFTER.match(after) or is_affixed(before, after):
            return None
        rest = f"{before} {after}"
        if has_digit(rest) or (rest.strip() and not states_plainly(rest)):
            return None
        return _date(kind, match)
    return None


def _with_month(kind: str, parts: list[str]) -> Date | None:
    """A date with its month in words, from the parts of a match."""
    era = parts.pop().lower() if parts[-1].lower() in ("ad", "ce", "bc", "bce") else ""
    name = next(part for part in parts if part.lower() in _MONTHS)
    numbers = [int(part) for part in parts if part.isdigit()]
    day = 0 if kind == "m" else numbers.pop(0)
    year = numbers[0] if numbers else 0
    return _valid(-year if era.startswith("b") else year, _MONTHS[name.lower()], day, kind if day else "")


def _date(kind: str, match: re.Match[str]) -> Date | None:
    if kind in ("md", "dm", "m"):
        return _with_month(kind, [group for group in match.groups() if group])
    if kind == "ymd":
        return _valid(int(match[1]), int(match[3]), int(match[4]))
    if kind == "han":
        return _valid(int(match[1] or 0), int(match[2]), int(match[3] or 0)) if match[1] or match[3] else None
    return _either(int(match[1]), int(match[3]), int(match[4]))


def _either(first: int, second: int, year: int) -> Date | None:
    """A date with a numeric day and month in either order."""
    if first == second or second > 12:
        return _valid(year, first, second, "" if first == second else "md")
    if first > 12:
        return _valid(year, second, first, "dm")
    return _valid(year, first, second, "?")


def _valid(year: int, month: int, day: int, order: str = "") -> Date | None:
    return Date(year, month, day, order) if 1 <= month <= 12 and 0 <= day <= _DAYS[month - 1] else None


def _short(text: str) -> Date | None:
    """A month with its year in digits only. 3/4 and 3/2021 are fractions, 03/2021 is a month."""
    for kind, pattern in _SHORT:
        if match := pattern.fullmatch(text):
            first, second = int(match[1]), int(match[2])
            return _valid(*((first, second) if kind == "ym" else (second, first)), 0)
    return None


def _gold(text: str) -> Date | None:
    if len(text) > 80 or not _MAY_BE.search(text):
        return None
    shown = flat(plain(text))
    date = read_date(shown)
    return date if date and len(shown) < 40 else None


def _match(gold: Date, text: str, context: Context) -> EqualityResult | None:
    shown = flat(plain(text))
    answer = read_date(shown) or _short(shown)
    if answer is None:
        return different("no date") if _DIGITS.fullmatch(shown) else None
    if is_signed(shown):
        return different("a sign before a date")
    if "?" in (answer.order, gold.order) and answer.order != gold.order:
        answer, gold = _ordered(answer, gold), _ordered(gold, answer)
        if "?" in (answer.order, gold.order):
            return different("day and month could be either")
    if gold[:3] == answer[:3]:
        return equal("same date")
    return different("another date") if _contradict(gold, answer) else None


def _contradict(date: Date, other: Date) -> bool:
    """Whether a part that both dates have differs."""
    return any(a and b and a != b for a, b in zip(date[:3], other[:3], strict=True))


def _ordered(date: Date, other: Date) -> Date:
    """A date of unknown order, read in the order of the other date."""
    if date.order != "?" or other.order not in ("md", "dm"):
        return date
    first, second = date.month, date.day
    return (
        date._replace(order=other.order) if other.order == "md" else date._replace(month=second, day=first, order="dm")
    )


FAMILY = Family("date", _gold, _match)
