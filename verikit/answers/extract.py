"""Finds the final answer in a model's text, in time linear in the text.

In order of trust: an ``<answer>`` tag, a box, a stated answer ("the answer is …", "#### …", 答案…), the last line. What
counts is the last one of the most trusted form; boxes or statements that follow one another without an argument
between them are one list, so a list of guesses can't pass for an answer. Thoughts are never read.
"""

from __future__ import annotations

import re

from verikit.answers import closing
from verikit.answers.statements import MAX_KEPT, Found, asserted, hash_mark, statements
from verikit.answers.tree import MAX_CHARS
from verikit.reply import split

_MARKS = ("\\boxed", "\\fbox", "\\framebox")
_BOX = re.compile(r"\\(?:boxed|fbox|framebox)\s*")
_BETWEEN = re.compile(
    r"(?:[\s$,;.&~]|\\q?quad|\\(?:text|mbox)\{\s*,?\s*(?:and|or|,)?\s*,?\s*\}|\band\b|\bor\b|\bthus\b"
    r"|\\[()\[\],;:! ])*"
)
_MAY_BE_UNIT = re.compile(r"[%^°]|p[ce]|deg|circ")
_MAY_NEGATE = re.compile(r"n[o'e]t?|NOT|≠|!=")
_SEPARATORS = " \n\t$,;&~\\(["
_NEIGHBOURS = ("}", ")", "]", ".", "and", "or", "thus", "quad")
_BRACES = re.compile(r"[{}]")
_BARE_CONTENT = re.compile(r"[\w.\-]{1,40}")
_AFTER_BOX = re.compile(r"\s*(?:\$|\\\)|\\\])?\s*(\\?%|percent\b|pct\b|\^?\{?\\circ\}?|°|degrees\b)")
_NEGATION = re.compile(r"(?:\bnot|n't|\bnever|\\neq?|≠|!=)\s*(?:\\?[$(\[]\s*)*(?:\\text\{)?\s*$", re.IGNORECASE)


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


def marked(text: str, every: bool = False) -> list[Found]:
    """The answers a text marks as such, the one that counts last; only the last of a form unless `every` is asked."""
    found = boxes(text, every) if "box" in text else []
    if found:
        start = found[-1].start
        if text.find("inal", start) >= 0 or text.find("INAL", start) >= 0:
            later = statements(text[start:], every)
            found += [
                s._replace(start=s.start + start) for s in later if s.form != "statement" and "boxed" not in s.text
            ]
    else:
        found = statements(text, every)
        if "####" in text and (hashed := hash_mark(text)):
            found = sorted([*found, hashed], key=lambda f: f.start)
    return asserted(found) if len(found) > 1 else found


def last_line(text: str) -> Found:
    """Where nothing is marked: the whole of a short text, else its last line or the list that its last lines are."""
    line, form = closing.last_line(text)
    return Found(line, form, len(text.rstrip()) - len(line))
