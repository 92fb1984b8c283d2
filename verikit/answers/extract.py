"""Finds the final answer in a model's text, in time linear in the text.

In order of trust: an ``<answer>`` tag, a box, a stated answer ("the answer is …", "#### …", 答案…), the last line. What
counts is the last one of the most trusted form; boxes or statements that follow one another without an argument
between them are one list, so a list of guesses can't pass for an answer. Thoughts are never read.
"""

from __future__ import annotations

import re
from collections import deque
from typing import NamedTuple

from verikit.answers.tree import MAX_CHARS
from verikit.reply import split


class Found(NamedTuple):
    """An extracted answer: its text, the form it was found in, where it starts, and whether the text negates it."""

    text: str
    form: str
    start: int = 0
    negated: bool = False


MAX_KEPT = 24
"""Boxes or statements looked at, from the end."""
MAX_LINE = 1_000
"""Characters of a stated answer or last line."""

_MARKS = ("\\boxed", "\\fbox", "\\framebox")
_BOX = re.compile(r"\\(?:boxed|fbox|framebox)\s*")
_BETWEEN = re.compile(
    r"(?:[\s$,;.&~]|\\q?quad|\\(?:text|mbox)\{\s*,?\s*(?:and|or|,)?\s*,?\s*\}|\band\b|\bor\b|\bthus\b|\\[()\[\],;:! ])*"
)
_MAY_BE_UNIT = re.compile(r"[%^°]|p[ce]|deg|circ")
_MAY_NEGATE = re.compile(r"n[o'e]t?|NOT|≠|!=")
_SEPARATORS = " \n\t$,;&~\\(["
_NEIGHBOURS = ("}", ")", "]", ".", "and", "or", "thus", "quad")
_BRACES = re.compile(r"[{}]")
_BARE_CONTENT = re.compile(r"[\w.\-]{1,40}")
_AFTER_BOX = re.compile(r"\s*(?:\$|\\\)|\\\])?\s*(\\?%|percent\b|pct\b|\^?\{?\\circ\}?|°|degrees\b)")
_NEGATION = re.compile(r"(?:\bnot|n't|\bnever|\\neq?|≠|!=)\s*(?:\\?[$(\[]\s*)*(?:\\text\{)?\s*$", re.IGNORECASE)
_KEYWORD = re.compile(
    r"(?P<final>final\s+(?:answer|result))|\banswers?|答案|答え|réponse|respuesta|risposta|antwort|ответ|الجواب",
    re.IGNORECASE,
)
_CONNECTOR = re.compile(
    r"(?:[^.\n:：=$\\*]{0,60}?(?:\b(?:is|are|was|be|becomes|equals|est|es|ist)\b|[:：=]|为|是)|(?=\s*(?:\\\(|\\\[|\$)))"
    r"[\s*:：]*",
    re.IGNORECASE,
)
_KEYS = ("answer", "final", "答", "réponse", "respuesta", "risposta", "antwort", "ответ", "الجواب")
_LABEL = re.compile(
    r"^(?:(?:[aA]ns|[a-zA-Z])\s*[:：]|[a-z]\)|=|(?:Therefore|Thus|Hence|So|Result|Solution)\b[,:]?)\s*(?=[-−$\\\d])"
)
"""What a last line may begin with before a number or a formula: "A: 160", as against the option "A: red"."""
_HASHES = re.compile(r"####(?!#)[ \t]*([^\n]{1,400})")
_STOP = re.compile(r"\n|(?<![A-Z])[.。!](?=\s+(?:\S)|\s*$|</)|[。！]|\s+I hope\b|</")
_NOT = re.compile(r"\s*(?:definitely |certainly )?(?:not|n't|never|neither|none of)\b", re.IGNORECASE)
_MATHS = re.compile(
    r"\$\$(.{1,2000}?)\$\$|\$((?:[^$\\]|\\.){1,2000})\$|\\\((.{1,2000}?)\\\)|\\\[(.{1,2000}?)\\\]|\*\*([^*\n]{1,200})\*\*",
    re.DOTALL,
)
_NUMBERS = re.compile(
    r"(?:(?<=[\s:：$€£¥*(，。是为])|(?<=[^\x00-\x7f])|^)[-−]?(?:\\[dtc]?frac\s*\{[^{}]{1,60}\}\s*\{[^{}]{1,60}\}"
    r"|\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?(?:\s?/\s?\d+(?:\.\d+)?)?|\.\d+)(?:\s?\\?%)?"
    r"(?![.,]?\d)(?=[\s.,;:!?。，)*$€£]|[^\x00-\x7f]|[a-zA-Z]{1,3}(?![a-zA-Z0-9])|$)"
)
_PROSE = re.compile(r"[^\W\d_]{2,}[\s,，]+[^\W\d_]{2,}|[^\x00-\u02ff]{3}")
_DENIED = re.compile(
    r"(?:(?:\b(?:not|never|neither|nor|no|except|but)|n['’]t)\s+(?:[a-z]+\s+){0,3}"
    r"|\b(?:at\s+(?:least|most)|(?:more|less|fewer|greater|smaller|larger)\s+than|between)\s+)$",
    re.IGNORECASE,
)
_HEDGED = re.compile(r"\s*,?\s*or\b", re.IGNORECASE)
_FORMULA = re.compile(r"[=^+*<>_\\](?![*$])")
_IN_FORMULA = re.compile(r"[-+*/×÷^_<>(\\]\s*\(?$")


def final_part(text: str) -> str:
    """The reply without the thoughts, or the content of its last answer tag."""
    text = split(text).reply
    start = text.rfind("<answer>")
    if start >= 0:
        stop = text.find("</answer>", start)
        inner = text[start + 8 : stop if stop >= 0 else None]
        if inner.strip():
            return inner
    return text


def boxes(text: str, every: bool = False) -> list[Found]:
    """The last box, or `every` one up to `MAX_KEPT`; neighbours are joined into one list."""
    groups: list[Found] = []
    pieces: list[str] = []
    following, start = -1, len(text)
    rare = "\\fbox" in text or "\\framebox" in text
    for _ in range(64):
        start = max(text.rfind(mark, 0, start) for mark in _MARKS) if rare else text.rfind("\\boxed", 0, start)
        match = _BOX.match(text, start) if start >= 0 else None
        if match is None:
            break
        content, end = _content(text, match.end())
        if content is None or (following >= 0 and end > following):
            continue  # Nothing in it, or it holds the box just read.
        tail = text[end : end + 12]
        if _MAY_BE_UNIT.search(tail) and (after := _AFTER_BOX.match(text, end, end + 30)):
            content += " " + after[1]
        if following >= 0 and not _adjacent(text, end, following):
            groups.append(_joined(text, pieces, following))
            pieces = []
            if not every or len(groups) >= MAX_KEPT:
                return groups[::-1]
        pieces.append(content)
        following = start
        if not every and not text[max(0, start - 80) : start].rstrip(_SEPARATORS).endswith(_NEIGHBOURS):
            break
    if following >= 0:
        groups.append(_joined(text, pieces, following))
    return groups[::-1]


def _adjacent(text: str, end: int, start: int) -> bool:
    """Whether nothing but separators stands between two boxes."""
    return start - end <= 80 and _BETWEEN.fullmatch(text, end, start) is not None


def _joined(text: str, pieces: list[str], start: int) -> Found:
    """Neighbouring boxes, last first, as one answer; repetitions count once."""
    before = text[max(0, start - 30) : start]
    negated = _MAY_NEGATE.search(before) is not None and _NEGATION.search(before) is not None
    if len(pieces) == 1:
        return Found(pieces[0], "box", start, negated)
    kept = dict.fromkeys(piece.strip() for piece in reversed(pieces))
    return Found(" , ".join(kept), "box", start, negated)


def _content(text: str, position: int) -> tuple[str | None, int]:
    """What a box holds and where it ends: a braced group, or one word; an unclosed group ends with its line."""
    if not text.startswith("{", position):
        match = _BARE_CONTENT.match(text, position)
        return (match[0], match.end()) if match else (None, position)
    close = text.find("}", position)
    if close > 0 and text.find("{", position + 1, close) < 0:
        return text[position + 1 : close], close + 1
    depth = 0
    limit = min(len(text), position + MAX_CHARS + 2_000)
    for brace in _BRACES.finditer(text, position, limit):
        depth += 1 if brace[0] == "{" else -1
        if not depth:
            return text[position + 1 : brace.start()], brace.end()
    if limit < len(text):
        return text[position + 1 : limit], limit
    line = text.find("\n", position)
    line = len(text) if line < 0 else line
    return text[position + 1 : line].rstrip("$. "), line


def statements(text: str) -> list[Found]:
    """The last stated answers; neighbours that differ are one list."""
    keywords = deque(_KEYWORD.finditer(text), maxlen=MAX_KEPT)
    stated = [(key, link.end()) for key in keywords if (link := _CONNECTOR.match(text, key.end()))]
    found: list[Found] = []
    last_end = -9
    for index, (key, start) in enumerate(stated):
        content, end = _stated_content(text, start)
        following = stated[index + 1] if index + 1 < len(stated) else None
        if following is not None and following[0].start() < end:
            if following[1] <= end:
                continue  # "Final Answer: The final answer is …": the inner statement counts.
            end = following[0].start()
            content = text[start:end].strip(" .\n")
        if not content:
            continue
        item = Found(
            content, "final statement" if key["final"] else "statement", key.start(), bool(_NOT.match(content))
        )
        if found and not item.negated and key.start() - last_end <= 8:
            previous = found.pop()
            both = content if previous.text == content else f"{previous.text} , {content}"
            item = item._replace(text=both, start=previous.start, negated=previous.negated)
        found.append(item)
        last_end = end
    return found


def _stated_content(text: str, start: int) -> tuple[str, int]:
    """From a statement's connector to the end of its formula or sentence."""
    window = text[start : start + MAX_LINE]
    if window.startswith(("\\[", "\\(", "$")) and (match := _MATHS.match(window)):
        rest = window[match.end() :]
        stop = _STOP.search(rest)
        tail = rest[: stop.start()] if stop else rest
        if len(tail) <= 40 or "$" in tail or "\\" in tail:
            return (match[0] + tail).strip(), start + match.end() + len(tail)
        return match[0], start + match.end()
    bold = window.find("**")
    stop = _STOP.search(window)
    end = stop.start() if stop else len(window)
    if 0 < bold < end:
        end = bold
    content = window[:end].strip().strip("*").strip()
    return content, start + end


def hash_mark(text: str) -> Found | None:
    """GSM8K's ``#### answer``."""
    last = None
    for match in _HASHES.finditer(text):
        last = match
    if last is None or last[1].strip().lower().startswith(("solution", "answer", "step", "conclusion", "final")):
        return None
    return Found(last[1].strip(), "####", last.start())


def marked(text: str, every: bool = False) -> list[Found]:
    """The answers a text marks as such, the one that counts last; of boxes only the last unless `every` is asked."""
    boxed = boxes(text, every) if "box" in text else []
    if boxed:
        start = boxed[-1].start
        if text.find("inal", start) < 0 and text.find("INAL", start) < 0:
            return boxed
        later = [s for s in statements(text[start:]) if s.form == "final statement" and "boxed" not in s.text]
        return [*boxed, *later]
    folded = text.lower()
    stated = statements(text) if any(key in folded for key in _KEYS) else []
    hashed = hash_mark(text) if "####" in text else None
    found = [*stated, *([hashed] if hashed else [])]
    return sorted(found, key=lambda f: f.start)


def last_line(text: str) -> Found:
    """Where nothing is marked: the whole of a short text, else its last line."""
    stripped = text.strip()
    if "\n" not in stripped and len(stripped) <= MAX_LINE:
        return Found(_LABEL.sub("", stripped), "whole text")
    cut = stripped[-MAX_LINE:]
    line = cut.rsplit("\n", 1)[-1].strip()
    if line in ("\\]", "$$", "\\)"):
        line = " ".join(cut.rsplit("\n", 3)[-3:])
    line = _LABEL.sub("", line)
    return Found(line, "last line", len(stripped) - len(line))


def last_item(text: str) -> str | None:
    """The last formula of a sentence, or the number in its prose if that comes later."""
    window = text[-MAX_LINE:]
    item, end = None, 0
    for match in _MATHS.finditer(window):
        item, end = next(g for g in match.groups() if g is not None), match.end()
    return _last_number(window, end) or item


def _last_number(window: str, start: int) -> str | None:
    """The last number after `start`, if the text is prose and the number is no part of a formula or of code."""
    if not _PROSE.search(window):
        return None
    last = None
    for match in _NUMBERS.finditer(window, start):
        last = match
    if last is None or _FORMULA.search(window, last.end()) or _HEDGED.match(window, last.end()):
        return None
    if _DENIED.search(window[: last.start()]):
        return None
    if last[0][0] != "\\" and _IN_FORMULA.search(window[: last.start()]):
        return None
    return last[0]
