"""The end of a text without a marked answer: its last line or list, and the last formula or number there."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from verikit.answers.claims.roles import Role, role
from verikit.answers.claims.tokens import asserts_all
from verikit.answers.parser.operations import MAX_BEFORE, MAX_BEHIND, is_limit, is_operand, is_operated
from verikit.answers.parser.units import is_unit

MAX_LINE = 1_000
"""Maximum number of characters of a stated answer or last line."""
_LABEL = re.compile(
    r"^(?:[^\W\d_][^\W\d_;' ]{0,30}\s*[:：]"
    r"|[a-z]\)|=|(?:Therefore|Thus|Hence|So|Result|Solution)\b[,:]?)\s*(?=[-−$\\\d])"
)
"""Prefixes of a last line that are allowed before a number or a formula: "A: 160", unlike the option "A: red"."""
_CONCLUSION = re.compile(
    r"^(?:(?:Therefore|Thus|Hence|So|Donc|Daher|Somit|Entonces|Quindi|Portanto|Logo|Dus|Zatem|Итак|Значит|Yani)\b[,:]?"
    r"|(?:所以|因此)[,，]?)\s*(?=[-−$\\\d]|[a-z]\s?=)"
)
"""Prefixes of a last line that asserts everything in it, as in "Therefore, x = 128."."""
_BULLET = re.compile(r"[ \t]{0,8}(?:([-*•–])[ \t]+|\(?\d{1,2}[.)][ \t]+|\(?[a-z][.)][ \t]+)(\S.{0,80})")
_FORMULAS = re.compile(
    r"\$\$(.{1,2000}?)\$\$|\$((?:[^$\\]|\\.){1,2000})\$|\\\((.{1,2000}?)\\\)|\\\[(.{1,2000}?)\\\]"
    r"|\*\*([^*\n]{1,200})\*\*|`([^`\n]{1,200})`",
    re.DOTALL,
)
_POINTS = re.compile(
    r"(?<![^\s:：\u2e80-\uffff])[\[(]\s?[-−]?\d[^()\[\]{}\n]{0,100},[^()\[\]{}\n]{0,100}[\])](?=[\s.,;:!?。，)*]|$)"
)
"""Lists of numbers and points in prose: "They meet at (3, 4)."."""
_NUMBERS = re.compile(
    r"(?:(?<=[\s:：$€£¥*(，。是为])|(?<=[^\x00-\x7f])|^)[-−]?(?:\\[dtc]?frac\s*\{[^{}]{1,60}\}\s*\{[^{}]{1,60}\}"
    r"|\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?::\d+){1,9}|\d+(?:[.,]\d+)?(?:\s?/\s?\d+(?:\.\d+)?)?|\.\d+)(?:\s?\\?%)?"
    r"(?![.,]?\d)(?=[\s.,;:!?。，)*$€£]|[^\x00-\x7f]|[a-zA-Z]{1,3}(?![a-zA-Z0-9])|$)"
)
FOREIGN_SCALES = (
    "[十百千万萬亿億兆半分]|(?:[个個天年]|小时)半(?=小时|[钟天月年]|\\W|$)"
    "|тыс|миллион|миллиард|сот|дюжин|процент|полов|만|억|백|천|हज़ार|लाख|करोड़|ألف|مليون"
    "|χιλι|εκατομ|τοις"
)
"""Beginnings of words that change the number before them, in scripts that the parser does not read."""
_GOES_ON = re.compile(
    r"\s+(?:(?:[^\W\d_]{1,20}\s+)?and\s+(?:a|one|two|three)\s+(?:half|third|quarter|fourth|fifth|tenth)"
    rf"|(?:point|hundred|thousand|[mb]illion|trillion|dozen|BCE?)\b"
    r"|(?:[^\W\d_]{1,20}\s+)?(?:minus|plus|mod|negated|below\s+zero"
    rf"|(?:and|or)\s+(?:above|below|more|less|fewer|over|under|up|down))\b)|\s?(?:{FOREIGN_SCALES})"
)
"""Words that change the number before them."""
_NAME = re.compile(r"(?<![^\W\d_])(?:(?:\\(?:angle|triangle)\s?|∠\s?)?[A-Z]{1,4}|[a-zA-Z](?:\(\w{1,3}\))?)\s?=\s?\$?$")
"""A name to which a value is given is part of the value: "at least x = 4", "multiple of AB = 5"."""
_BEFORE_OR_AFTER = re.compile(r"\b(?:before|after|prior\s+to)\s+$", re.IGNORECASE)
_YEAR_AT_END = re.compile(r"(?:1\d|20)\d\d[\s)\"'*]*(?:[.,;!?]|$)")
"""A year that ends a clause. "Before 2024" is a limit, but "after 1500 steps" is not."""
_UNIT = re.compile(r"\s?([^\W\d_]{1,20})(?:/[^\W\d_]{1,20})?(?:\^\{?-?\d\}?)?(?=[\s\-−+*])")
_ONE_THING = re.compile(
    r"\s[^\W\d_]{1,19}s(?=\s(?:is|isn['’]t)(?:\snot)?\s(?:right|correct|wrong|false|enough|too)\b|\s(?:does\snot|doesn['’]t)\s(?:hold|work)\b)"
)
"""A plural with a verb in the singular: a claim about the value, "5 apples is not right"."""
_GLUED = re.compile(r"[a-zA-Z]{1,3}(?![a-zA-Z0-9])")
_ENDINGS = frozenset(("st", "nd", "rd", "th", "am", "pm"))
_TAG_BEFORE, _TAG_AFTER = re.compile(r"</?\w{1,10}>$"), re.compile(r"</?\w{1,10}>")
_PART_BEFORE = re.compile(
    r"(?:(?<!-)[-−]|[+±^_/\d#♯♭∂∫√¬Δ∆]|[∂∫√Δ∆]\s|[\w)}\]$]\s?[+*×·]\s?|[<>≤≥≠≈]\s?|\bd/d[a-z]\s{1,3})\(?(?:\\?\$)?$"
)
_PART_AFTER = re.compile(
    r"[\d^_#♯♭+²³⁰-⁹]|-?(?:ish|like|free)\b|\s(?:ish|-(?:ish|like|free))\b|[-−/*](?=[\d$\\(])|\s?[+*×·-]\s?(?=[\d\\])"
    r"|[einxyz](?![a-zA-Z])|\s(?:[einxyz](?=\W{0,3}$)|e-?\d)"
    r"|\s?(?:[<>≤≥≠]|(?:less|more|greater|fewer)\sthan\b)"
)
"""Text next to a formula that changes its value: "≥$5$", "2$3$", "half $n$"."""
_DECIMAL_COMMA = re.compile(r"[-−]?\d+,(?:\d{1,2}|\d{4,9})\s(?!(?:and|or|und|et|y|e|o|ou|oder)\b)[^\W\d_]")
"""In a sentence, a number with a word after it is one number: 3,5 Euro."""
_COUNTED = re.compile(r"([-−]?\d+(?:[.,]\d+)*(?:/\d+)?)\s*[^\x00-\x7f\d°×·²³½]{1,12}")
_PROSE = re.compile(r"[^\W\d_]+[\s,，]+(?:\d{1,9}\s)?[^\W\d_]{2,}|[^\x00-\u02ff]{3}")
_IN_LIST = re.compile(
    r"\s*(?:[,;，、]\s*(?:and|or|und|et|y)?|and|or|und|oder|et|ou|y|e|和|或|与|及|&)\s*", re.IGNORECASE
)
_BREAK = re.compile(r"[.;。；\n](?!\d)")
_SET_ASIDE = ("denied", "hypothetical")
_FORMULA = re.compile(r"[=^+*<>_\\](?![*$])")
_IN_FORMULA = re.compile(r"[-+*/×÷^_<>(\\]\s*\(?$")


def last_line(text: str) -> tuple[str, str]:
    """The whole of a short text, or its last line or the list in its last lines, with the name of that form."""
    stripped = text.strip()
    if "\n" not in stripped and len(stripped) <= MAX_LINE:
        return _without_label(stripped), "whole text"
    cut = stripped[-MAX_LINE:]
    if items := bullets(cut.split("\n")[::-1]):
        return ", ".join(items[::-1]), "last lines"
    line = cut.rsplit("\n", 1)[-1].strip()
    if line in ("\\]", "$$", "\\)"):
        line = " ".join(cut.rsplit("\n", 3)[-3:])
    return _without_label(line), "last line"


def _without_label(line: str) -> str:
    """A line without the label before its value. A label that denies the value stays: "wrong: 195"."""
    label = _LABEL.match(line)
    if label is not None:
        return line[label.end() :] if asserts_all(label[0]) else line
    conclusion = _CONCLUSION.match(line)
    return line[conclusion.end() :] if conclusion is not None and asserts_all(line) else line


def bullets(lines: list[str]) -> list[str]:
    """The items of the list whose lines come first: two or more short values."""
    items: list[str] = []
    for line in lines:
        match = _BULLET.fullmatch(line.rstrip())
        if match is None or _PROSE.search(match[2]):
            break
        items.append(match[2].rstrip(" .;,"))
    return items if len(items) > 1 else []


class LastValue(NamedTuple):
    """The last value of a text, and its role in its sentence."""

    text: str
    role: Role


def last_item(text: str) -> str | None:
    """The last formula or number, including the list it belongs to. None if its sentence does not assert it."""
    last = last_value(text)
    return last.text if last is not None and last.role == "asserted" else None


def last_value(text: str) -> LastValue | None:
    """The last formula or number, including the list it belongs to."""
    window = text[-MAX_LINE:]
    values = list(_values(window))
    while len(values) > 1 and _is_set_aside(window, values[-2], values[-1]):
        values.pop()
    if not values:
        return None
    item, start, end = values.pop()
    while values and _IN_LIST.fullmatch(window, values[-1][2], start):
        previous, start, _ = values.pop()
        item = f"{previous} , {item}"
    if name := _NAME.search(window, max(0, start - 18), start):
        start = name.start()
    if _is_part(window, start, end):
        return LastValue(item, "bounded")
    return LastValue(item, role(window, start, _end_of_unit(window, end)))


def _end_of_unit(window: str, end: int) -> int:
    """The end of a value including its unit or noun, so that "5 km fails" is read as "5 fails"."""
    unit, noun = _UNIT.match(window, end), _ONE_THING.match(window, end)
    if unit is not None and is_unit(unit[1]):
        return unit.end()
    return end if noun is None else noun.end()


def _is_part(window: str, start: int, end: int) -> bool:
    """Whether a formula or number is part of a larger one: a sign, a digit or "half" is right next to it."""
    before, after = window[max(0, start - MAX_BEFORE) : start], window[end : end + MAX_BEHIND]
    unit_end = _end_of_unit(window, end)
    beyond = window[unit_end : unit_end + MAX_BEHIND] if unit_end > end else ""
    if _TAG_BEFORE.search(before) or _TAG_AFTER.match(after):
        return False
    if _BEFORE_OR_AFTER.search(before) and _YEAR_AT_END.match(window, start):
        return True
    return _is_led(before) or _is_followed(after) or (beyond != "" and _is_followed(beyond))


def _is_led(before: str) -> bool:
    """Whether the text before a value changes it."""
    return _PART_BEFORE.search(before) is not None or is_operand(before) or is_limit(before)


def _is_followed(after: str) -> bool:
    """Whether the text after a value changes it."""
    return any(found(after) for found in (_PART_AFTER.match, _GOES_ON.match, is_operated))


def _is_set_aside(window: str, previous: tuple[str, int, int], last: tuple[str, int, int]) -> bool:
    """Whether the last value is denied or supposed in a sentence that names another one before it: "It is 4, not 3"."""
    between = window[previous[2] : last[1]]
    return _BREAK.search(between) is None and role(window, last[1], last[2]) in _SET_ASIDE


def _values(window: str) -> Iterator[tuple[str, int, int]]:
    """Formulas, bold text, and in prose numbers outside formulas and code, each with its span."""
    end = 0
    prose = _PROSE.search(window) is not None
    for match in _FORMULAS.finditer(window):
        if prose:
            yield from _numbers(window, end, match.start())
        item = next(group for group in match.groups() if group is not None)
        counted = _COUNTED.fullmatch(item) if match[5] else None
        end = match.end()
        yield (counted[1] if counted else item), match.start(), end
    if prose:
        yield from _numbers(window, end, len(window))


def _numbers(window: str, start: int, stop: int) -> Iterator[tuple[str, int, int]]:
    for point in _POINTS.finditer(window, start, stop):
        yield from _plain_numbers(window, start, point.start())
        yield point[0], point.start(), point.end()
        start = point.end()
    yield from _plain_numbers(window, start, stop)


def _plain_numbers(window: str, start: int, stop: int) -> Iterator[tuple[str, int, int]]:
    for match in _NUMBERS.finditer(window, start, stop):
        if match[0][0] != "\\" and _IN_FORMULA.search(window[max(0, match.start() - 40) : match.start()]):
            continue
        if _FORMULA.search(window, match.end(), min(stop, match.end() + 40)):
            continue
        if _is_operation(window, match.start(), match.end()) or _has_factor(window, match.end()):
            continue
        item = match[0].replace(",", ".") if _DECIMAL_COMMA.match(window, match.start()) else match[0]
        yield item, match.start(), match.end()


def _is_operation(window: str, start: int, end: int) -> bool:
    """Whether words next to a number change its value: "half of 8", "8 squared"."""
    if _GOES_ON.match(window, end) or is_operated(window[end : end + MAX_BEHIND]):
        return True
    return is_operand(window[max(0, start - MAX_BEFORE) : start])


def _has_factor(window: str, end: int) -> bool:
    """Whether letters other than a unit are attached to a number: 280x, 12pi, 420ish."""
    glued = _GLUED.match(window, end)
    return glued is not None and glued[0] not in _ENDINGS and not is_unit(glued[0])
