"""Finds the final answer in a model's text, in time linear in the text.

In order of trust: an ``<answer>`` tag, a box, a stated answer ("the answer is …", "#### …", 答案…), the last line. The
last answer of the most trusted form is used. Boxes or statements that follow one another without an argument between
them form one list. So a list of guesses is not accepted as an answer. Thoughts are never read.
"""

from __future__ import annotations

import re
from fractions import Fraction

from verikit.answers.claims import closing
from verikit.answers.claims.json_answers import json_answer
from verikit.answers.claims.predicates import applies, is_property
from verikit.answers.claims.roles import Role, role_before
from verikit.answers.claims.statements import MAX_KEPT, FoundAnswer, asserted, hash_mark, replacement, statements
from verikit.answers.claims.tokens import asserts_all, reaches_nothing, sentence_before, tokens
from verikit.answers.claims.withdrawals import after_withdrawal, without_struck
from verikit.answers.parser.tree import MAX_CHARS
from verikit.replies.split import reply_text

MAX_DESCRIBED = 400
"""Maximum number of characters from a box to the end of a reply that describes its value."""
_DIGIT = re.compile(r"\d")
_MARKS = ("\\boxed", "\\fbox", "\\framebox")
_MARK = re.compile(r"\\(?:boxed|fbox|framebox)")
_SPACE = re.compile(r"\s*")
_BETWEEN = re.compile(
    r"(?:[\s$,;.&~]|\\q?quad|\\(?:text|mbox)\{\s*,?\s*(?:and|or|,)?\s*,?\s*\}|\b(?:and|or|thus|maybe|perhaps"
    r"|possibly|else)\b"
    r"|\\[()\[\],;:! ])*"
)
_MAY_BE_UNIT = re.compile(r"[%^°]|p[ce]|deg|circ")
_LINE_END = re.compile(r"\n\s*|[.;:]\s+(?=[A-Z(])")
_VARYING = re.compile(r"\$[^$]{0,80}\$|\d+|\b[a-zA-Z]\b|\b[IVX]{1,4}\b|\b(?:first|second|third|fourth)\b|[<>=≤≥]")
"""Parts that may differ between lines of the same form: formulas, numbers, letters."""
_BRACES = re.compile(r"\\.|[{}]", re.DOTALL)
_DEPTH = {"{": 1, "}": -1}
_BARE_CONTENT = re.compile(r"[\w.\-]{1,40}")
_AFTER_BOX = re.compile(r"\s*(?:\$|\\\)|\\\])?\s*(\\?%|percent\b|pct\b|\^?\{?\\circ\}?|°|degrees\b)")
_UNEQUAL = re.compile(r"(?:\\neq?|≠|(?<![\d)}])!=)\s*(?:\\?[$(\[]\s*)*(?:\\text\{)?\s*$")


_TAGS = (
    ("<answer>", "</answer>"), ("<response>", "</response>"), ("<|START_RESPONSE|>", "<|END_RESPONSE|>"),
    ("<|begin_of_box|>", "<|end_of_box|>"),
)  # fmt: skip
"""Marks around an answer or around the whole reply: verikit's, Granite's, Cohere's and GLM's."""
_FOOTNOTES = re.compile(r"(?<=[.!?。])(?:\[\d{1,3}\])+")


def within_marks(text: str) -> str:
    """The reply without thoughts, or the content of its answer tag."""
    text = reply_text(text)
    if "<" in text:
        for opening, closing in _TAGS:
            _, found, inner = text.rpartition(opening)
            inner = inner.partition(closing)[0]
            if found and inner.strip():
                return inner
    return text


def final_part(text: str) -> str:
    """The reply without thoughts, struck-through text and footnotes, or the content of its answer tag or JSON."""
    text = within_marks(text)
    if "]" in text and (".[" in text or (not text.isascii() and "。[" in text)):  # one character is found fastest
        text = _FOOTNOTES.sub("", text)
    text = without_struck(text)
    return json_answer(text) if "{" in text and '"' in text and "answer" in text else text


def _unit_behind(text: str, end: int) -> str:
    """The unit after a box and a space. Empty if there is none."""
    after = _AFTER_BOX.match(text, end, end + 30) if _MAY_BE_UNIT.search(text[end : end + 12]) else None
    return " " + after[1] if after else ""


def boxes(text: str, every: bool = False) -> list[FoundAnswer]:
    """The last box, or with `every` all boxes up to `MAX_KEPT`. Adjacent boxes are joined into one list."""
    groups: list[FoundAnswer] = []
    pieces: list[str] = []
    following, start = -1, len(text)
    for _ in range(64):
        start, mark_end = _last_mark(text, start)
        if start < 0:
            break
        content, end = _content(text, mark_end)
        if end < 0 and following < 0:
            return [FoundAnswer("", "open box", start)]
        if content is None or _commented(text, start) or (following >= 0 and end > following):
            continue  # It is empty, or contains the box just read.
        content += _unit_behind(text, end)
        if following >= 0 and not _adjacent(text, end, following, start):
            groups.append(_joined(text, pieces, following))
            pieces = []
            if not every or len(groups) >= MAX_KEPT:
                return groups[::-1]
        pieces.append(content)
        following = start
        if not every and text.rfind("\\", max(0, start - 200), start) < 0:
            break
    if following >= 0:
        groups.append(_joined(text, pieces, following))
    return groups[::-1]


def _last_mark(text: str, limit: int) -> tuple[int, int]:
    """The start and end of the last box command that ends before `limit`, or -1 if there is none."""
    box = text.rfind("box", 0, limit)  # one search for all three marks, usually for \\boxed
    if box < 0:
        return -1, -1
    if box and text.startswith("\\boxed", box - 1, limit):
        return box - 1, box + 5
    start = max(text.rfind(mark, 0, limit) for mark in _MARKS)
    match = _MARK.match(text, start) if start >= 0 else None
    return (start, match.end()) if match else (-1, -1)


def _adjacent(text: str, end: int, start: int, previous: int) -> bool:
    """Whether only separators are between two boxes, or each ends a line or sentence of the same form."""
    if start - end <= 80 and _BETWEEN.fullmatch(text, end, start):
        return True
    if start - end > 200:
        return False
    line = _line_start(text, start)
    if line < end or not _BETWEEN.fullmatch(text, end, line):
        return False
    form = _VARYING.sub("#", text[line:start]).strip()
    return form not in ("", "#") and form == _VARYING.sub("#", text[_line_start(text, previous) : previous]).strip()


def _line_start(text: str, position: int) -> int:
    """The start of the line or sentence at a position, at most 200 characters before it."""
    starts = [match.end() for match in _LINE_END.finditer(text, max(0, position - 200), position)]
    return starts[-1] if starts else max(0, position - 200)


def _commented(text: str, start: int) -> bool:
    """Whether a box is in a line that is a LaTeX comment."""
    line = text.rfind("\n", 0, start) + 1
    return text.find("%", line, start) >= 0 and text[line:start].lstrip().startswith("%")


def _joined(text: str, pieces: list[str], start: int) -> FoundAnswer:
    """Adjacent boxes, last first, as one answer without repetitions."""
    left = sentence_before(text, start)
    negated = not reaches_nothing(left) and role_before(tokens(left), reach=0) == "denied"
    role: Role = "denied" if negated or _is_unequal(text[max(0, start - 30) : start]) else "asserted"
    if len(pieces) == 1:
        return FoundAnswer(pieces[0], "box", start, role)
    kept = tuple(dict.fromkeys(piece.strip() for piece in reversed(pieces)))
    return FoundAnswer(" , ".join(kept), "box", start, role, kept if len(kept) > 1 else ())


def _is_unequal(left: str) -> bool:
    """Whether a sign of inequality is right before a box."""
    return ("\\ne" in left or "≠" in left or "!=" in left) and _UNEQUAL.search(left) is not None


def _content(text: str, position: int) -> tuple[str | None, int]:
    """The content of a box and its end: a braced group, or one word. None and -1 if it is not closed."""
    if not text.startswith("{", position):
        position = _SPACE.match(text, position).end()  # type: ignore[union-attr]  # it matches anywhere
    if not text.startswith("{", position):
        match = _BARE_CONTENT.match(text, position)
        return (match[0], match.end()) if match else (None, position)
    close = text.find("}", position)
    if close > 0 and text[close - 1] != "\\" and text.find("{", position + 1, close) < 0:
        return text[position + 1 : close], close + 1
    depth = 0
    limit = min(len(text), position + MAX_CHARS + 2_000)
    for brace in _BRACES.finditer(text, position, limit):
        depth += _DEPTH.get(brace[0], 0)
        if not depth:
            return text[position + 1 : brace.start()], brace.end()
    return (text[position + 1 : limit], limit) if limit < len(text) else (None, -1)


def marked(text: str, every: bool = False) -> list[FoundAnswer]:
    """The marked answers of a text, with the decisive one last. Only the last one of a form unless `every` is set."""
    found = boxes(text, every)
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
        if found and (rest := after_withdrawal(text, max(1, found[-1].start))) is not None:
            return marked(rest, every) or [last_line(rest)] if rest else [found[-1]._replace(role="withdrawn")]
        if found and found[-1].form != "####" and (rest := replacement(text, found[-1])):
            later = marked(rest, every) or [last_line(text)]
            return [*found[:-1], *later] if every else later
    return asserted(found) if len(found) > 1 else found


def without_description(text: str, found: list[FoundAnswer], value: Fraction) -> list[FoundAnswer]:
    """The marked answers without a last one that only describes the box before it: "6. The final answer is even.".

    Args:
        text: The reply.
        found: Its marked answers.
        value: The gold answer. A description that does not apply to it stays.
    """
    if len(found) < 2 or found[-2].form != "box" or found[-1].negated or not is_property(found[-1].text):
        return found
    rest = text[found[-2].start :].partition(found[-2].text)[2]
    is_plain = len(rest) <= MAX_DESCRIBED and not _DIGIT.search(rest) and asserts_all(rest)
    return found[:-1] if is_plain and after_withdrawal(rest, 1) is None and applies(found[-1].text, value) else found


def last_line(text: str) -> FoundAnswer:
    """The answer of an unmarked text: the whole of a short text, or its last line, or the list in its last lines."""
    line, form = closing.last_line(text)
    return FoundAnswer(line, form, len(text.rstrip()) - len(line))
