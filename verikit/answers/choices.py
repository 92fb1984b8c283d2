"""Option letters: which one a gold names, and which one a text settles on."""

from __future__ import annotations

import re
from collections.abc import Sequence

_WRAP = re.compile(r"\\(?:text|textbf|mathrm|mathbf|textrm|mbox|textit|rm|bf)\s*\{([^{}]*)\}")
_LETTER_GOLD = re.compile(r"\(?([A-Z])\)?[.:)]?")
_LETTER_TEXT_GOLD = re.compile(r"\(([A-Z])\)\s*(\S.{0,300})", re.DOTALL)
_OPEN = (
    r"[\s:*$\"'`]*(?:(?:option|choice|letter)\s*)?(?:\\\(|\\\[|\\boxed\{|\\text\{|\\textbf\{|\\mathrm\{|[(\[{$*\s])*"
)
_ALONE_AFTER = r"(?![A-Za-z0-9'’_^!]|\)?\s*[-+*/=<>^])"
_LETTER = _OPEN + r"([A-Z])" + _ALONE_AFTER
_STATED = re.compile(
    r"(?:\b(?i:answer|option|choice|selection|solution)s?\s*(?:(?i:is|was|would be|should be|must be|are)\b|[:：=])"
    r"(?:\s*(?i:therefore|thus|clearly|likely|probably|option|choice))?|答案(?:是|为|[:：]))" + _LETTER
)
_MOST = re.compile(
    r"\b(?i:answer|option|choice|characteristic|it'?s|it is|choose|select|pick)\b[^.\n]{0,60}?"
    r"(?:\(|\b)([A-Z])(?:\)|\b(?=[.,;:]|\s*$))"
)
_SEVERAL = re.compile(r"\(?[A-J]\)?(?:\s*(?:[,;]|and)?\s*\(?[A-J]\)?){1,9}")
_LEADING = re.compile(r"\W*\(?([A-Z])(?:[).:,]|\s*$|(?=[^\x00-\x7f]))")
_ALONE = re.compile(r"(?<![A-Za-z0-9'’\\+*/=-])(?<![-+*/=]\()([A-Z])" + _ALONE_AFTER)
_MORE = re.compile(r"\s*(?:\)|\})?\s*(?:,|and|or|&|/|\bor\b)\s*\(?([A-Z])(?![A-Za-z0-9'’])")
_DENIED = re.compile(r"(?:\bnot|n['’]t|\bnever|\bexcept|\bbut)\s+(?:[a-z]+\s+)?\(?$", re.IGNORECASE)
_LETTERS = re.compile(r"[\sA-Z().,;:/&]*")
_CAPITAL = re.compile(r"[A-Z]")
_PRONOUN = re.compile(
    r"\s+(?:am|can|cannot|think|believe|do|don|will|would|could|have|need|was|'|’|see|get|got|chose|a?m)\b|['’]"
)
_ARTICLE = re.compile(r"\s+[a-z]+")
_NOT_ARTICLE = re.compile(r"\s+(?:because|since|as|is|and|or|with|for|by|due|it|the|which|that|not)\b")


def unwrap(text: str) -> str:
    """The text without LaTeX text commands, dollar signs and surrounding punctuation."""
    text = text.strip().strip("$").strip()
    for _ in range(3):
        text, count = _WRAP.subn(r"\1", text)
        if not count:
            break
    return text.strip()


def gold_letter(gold: str) -> tuple[str, str]:
    """The letter a gold names and the text it gives with it; ('', '') if it names none."""
    text = unwrap(gold)
    if match := _LETTER_GOLD.fullmatch(text):
        return match[1], ""
    if match := _LETTER_TEXT_GOLD.fullmatch(text):
        return match[1], match[2].strip()
    return "", ""


def several_letters(text: str) -> frozenset[str]:
    """The letters of an answer that names several options ("A, C" or "ACD"); empty if it is no such answer."""
    letters = _SEVERAL.fullmatch(unwrap(text)) and re.findall(r"[A-J]", unwrap(text).replace("and", ""))
    return frozenset(letters) if letters and len(set(letters)) == len(letters) else frozenset()


def letter_in(text: str) -> str:
    """The letter a short answer consists of or begins with ("(B)", "B. because …"); '' if it does neither."""
    short = unwrap(text)
    if match := _LETTER_GOLD.fullmatch(short.rstrip(".")):
        return match[1]
    match = _LEADING.match(short)
    if match is None or short[0] in "-+=\\" or (_LETTERS.fullmatch(short) and len(set(_CAPITAL.findall(short))) > 1):
        return ""
    if _MORE.match(short, match.end(1)):
        return ""
    return match[1]


def stated_letter(text: str) -> str:
    """The letter of the last statement ("the answer is (C)"); '' if there is none, or it names several."""
    last, end = "", -9
    for match in _STATED.finditer(text):
        letter = match[1]
        after = match.end(1)
        if letter == "I" and _PRONOUN.match(text, after):
            continue
        if letter == "A" and _ARTICLE.match(text, after) and not _NOT_ARTICLE.match(text, after):
            continue
        guesses = match.start() - end <= 8 and last != letter
        last, end = "" if guesses or _MORE.match(text, after) else letter, after
    return last


def closing_letter(text: str) -> str:
    """The letter a last line settles on; '' if none."""
    line = text.strip().rsplit("\n", 1)[-1][-400:]
    letter = letter_in(line)
    if letter:
        return letter
    found = [
        m
        for m in _MOST.finditer(line)
        if (m[1] != "I" or not _PRONOUN.match(line, m.end(1))) and not _DENIED.search(line[: m.start(1)])
    ]
    if found and not _MORE.match(line, found[-1].end(1)):
        return found[-1][1]
    alone = [
        m[1]
        for m in _ALONE.finditer(line)
        if (m[1] != "I" or not _PRONOUN.match(line, m.end())) and not _DENIED.search(line[: m.start(1)])
    ]
    return alone[0] if len(alone) == 1 and len(line.split()) <= 6 else ""


def option_letter(text: str, options: Sequence[str]) -> str:
    """The letter of the option a text repeats word for word; '' if it repeats none or several."""
    wanted = _plain(text)
    hits = [index for index, option in enumerate(options) if wanted and _plain(str(option)) == wanted]
    return chr(ord("A") + hits[0]) if len(hits) == 1 else ""


def _plain(text: str) -> str:
    return " ".join(re.sub(r"[^\w.%/+\-]+", " ", unwrap(text).lower()).split()).rstrip(".")
