"""Times of the day: 3:45 pm, 15:45, 15h45, noon, half past three."""

from __future__ import annotations

import re
from typing import NamedTuple

from verikit.answers.algebra.equality import EqualityResult, different, equal
from verikit.answers.families.base import Context, Family
from verikit.answers.families.plain import flat, has_digit, plain, states_plainly
from verikit.answers.families.spelled import in_words
from verikit.answers.parser.operations import is_affixed


class ClockTime(NamedTuple):
    """Seconds since midnight, whether am or pm is known, and whether the text can only be a time."""

    seconds: int
    half: bool
    sure: bool
    zone: str = ""


_HALF = r"(?:\s?(?P<half>a\.?\s?m|p\.?\s?m)\b\.?|\s(?:in the |at )(?P<part>morning|afternoon|evening|night)|"
_MARK = r"\s?(?P<mark>uhr|hrs|h|hours|o'clock)(?![^\W\d_]))?"
_ZONE = r"(?:\s\(?(?P<zone>gmt|utc|est|edt|cst|cdt|mst|mdt|pst|pdt|cet|cest|ist|jst|bst)\)?)?"
_CLOCK = re.compile(
    rf"(?<![\d:.])(?P<hour>\d{{1,2}})(?:(?P<sign>[:h.]|\sh\s)(?P<minute>[0-5]\d)(?::(?P<second>[0-5]\d))?)?(?![\d:])"
    rf"{_HALF}{_MARK}{_ZONE}",
    re.IGNORECASE,
)
_NAMED = re.compile(r"\b(?:12 ?)?(noon|midday|midnight)\b", re.IGNORECASE)
_PAST = re.compile(
    r"\b(?P<minutes>half|(?:a )?quarter|[a-z-]{3,12}(?: minutes?)?|\d{1,2}(?: minutes?)?)"
    rf" (?P<way>past|to|after|before) (?P<of>[a-z]{{3,6}}|\d{{1,2}})(?![\d:-]){_HALF}\s?(?P<mark>o'clock))?",
    re.IGNORECASE,
)
_ASKED = re.compile(r"\btimes?\b(?! as)|\bwhen\b|clock|\bhour\b|uhr|heure|hora|几点|时间", re.IGNORECASE)
_TWELVE = re.compile(r"[ap]\.?\s?m\b|noon|midnight|midday|morning|evening|night|o'clock", re.IGNORECASE)
_DAY = 86_400


def read_clock(text: str) -> ClockTime | None:
    """The only time of day in a plain text."""
    for pattern, read in ((_NAMED, _named), (_PAST, _past), (_CLOCK, _digits)):
        found = list(pattern.finditer(text[:200]))
        if len(found) != 1:
            if found:
                return None
            continue
        match = found[0]
        before, after = text[: match.start()], text[match.end() :]
        rest = f"{before} {after}"
        if has_digit(rest) or is_affixed(before, after) or (rest.strip() and not states_plainly(rest)):
            continue
        if (clock := read(match)) is not None:
            return clock
    return None


def _named(match: re.Match[str]) -> ClockTime:
    return ClockTime(0 if match[1].lower() == "midnight" else _DAY // 2, True, True)


def _digits(match: re.Match[str]) -> ClockTime | None:
    marked = match["half"] or match["part"] or match["mark"]
    if not marked and (match["minute"] is None or match["sign"] == "."):
        return None
    if match["minute"] is None and (match["mark"] or "").lower() in ("h", "hrs", "hours"):
        return None  # A duration.
    hour, minute = int(match["hour"]), int(match["minute"] or 0)
    padded = match["hour"].startswith("0") and len(match["hour"]) == 2
    sure = bool(marked or match["second"] or padded or (match["minute"] or "1")[0] == "0" or match["sign"] != ":")
    return _clock(hour, minute, int(match["second"] or 0), match, sure, padded)


def _past(match: re.Match[str]) -> ClockTime | None:
    hour = _small(match["of"])
    words = match["minutes"].lower().removesuffix("minutes").removesuffix("minute").strip()
    minutes = {"half": 30, "quarter": 15, "a quarter": 15}.get(words) or _small(words)
    if hour is None or not minutes or minutes > 59 or not 1 <= hour <= 12:
        return None
    if match["way"].lower() in ("past", "after"):
        return _clock(hour, minutes, 0, match, words in ("half", "quarter", "a quarter"), False)
    if words == "half":
        return None
    return _clock(hour - 1 or 12, 60 - minutes, 0, match, words in ("quarter", "a quarter"), False)


def _small(word: str) -> int | None:
    if word.isdigit():
        return int(word)
    spelled = in_words(word)
    return spelled[0].numerator if spelled and spelled[0].denominator == 1 and not spelled[1] else None


def _clock(hour: int, minute: int, second: int, match: re.Match[str], sure: bool, padded: bool) -> ClockTime | None:
    half = (match["half"] or "")[:1].lower() or {
        "morning": "a", "afternoon": "p", "evening": "p", "night": "p" if hour != 12 else "a",
    }.get((match["part"] or "").lower(), "")  # fmt: skip
    if hour > 24 or (half and hour > 12 and half == "a"):
        return None
    if half and hour <= 12:
        hour = hour % 12 + (12 if half == "p" else 0)
    mark = (match["mark"] or "").lower()
    known = bool(half) or hour >= 12 or hour == 0 or padded or mark in ("uhr", "hrs", "h")
    zone = match["zone"] if "zone" in match.re.groupindex else None
    return ClockTime((hour * 3600 + minute * 60 + second) % _DAY, known, sure, (zone or "").lower())


def _gold(text: str) -> tuple[ClockTime, bool] | None:
    if len(text) > 60:
        return None
    shown = flat(plain(text))
    clock = read_clock(shown)
    if clock is None or re.search(r"\dh|\d h", shown):
        return None
    return clock, _TWELVE.search(shown) is not None


def _match(gold: tuple[ClockTime, bool], text: str, context: Context) -> EqualityResult | None:
    shown = flat(plain(text))
    answer = read_clock(shown)
    time, twelve = gold
    asked = time.sure or _ASKED.search(context.question) is not None
    if answer is None:
        return different("no time of the day") if asked and ":" in shown else None
    if not asked and not answer.sure:
        return None
    if time.zone and answer.zone and time.zone != answer.zone:
        return different("another time zone")
    if time.half == answer.half:
        same = time.seconds == answer.seconds
    elif twelve or _TWELVE.search(shown):
        same = time.seconds % (_DAY // 2) == answer.seconds % (_DAY // 2)
    else:
        same = time.seconds == answer.seconds
    return equal("same time of the day") if same else different("another time of the day")


FAMILY = Family("time", _gold, _match)
FAMILIES = (FAMILY,)
