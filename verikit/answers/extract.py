"""Finds the final answer in a model's text, in time linear in the text.

In order of trust: an ``<answer>`` tag, a box, a stated answer ("the answer is …", "#### …", 答案…), the last line. What
counts is the last one of the most trusted form; boxes or statements that follow one another without an argument
between them are one list, so a list of guesses can't pass for an answer. Reasoning in ``<think>`` is never read.
"""

from __future__ import annotations

import re
from collections import deque
from dataclasses import dataclass

from verikit.answers.tree import MAX_CHARS


@dataclass(frozen=True, slots=True)
class Found:
    """An extracted answer: its text, the form it was found in, where it starts, and whether the text negates it."""

    text: str
    form: str
    start: int = 0
    negated: bool = False


MAX_KEPT = 24
"""Boxes or statements looked at, from the end."""
MAX_LINE = 1_000
"""Characters of a stated answer or last line."""

_BOX = re.compile(r"\\+(?:boxed|fbox|framebox)\s*")
_BETWEEN = re.compile(
    r"(?:[\s$,;.&~]|\\q?quad|\\(?:text|mbox)\{\s*,?\s*(?:and|or|,)?\s*,?\s*\}|\band\b|\bor\b|\bthus\b|\\[()\[\],;:! ])*"
)
_AFTER_BOX = re.compile(r"\s*(?:\$|\\\)|\\\])?\s*(\\?%|percent\b|pct\b|\^?\{?\\circ\}?|°|degrees\b)")
_NEGATION = re.compile(r"(?:\bnot|n't|\bnever|\\neq?|≠|!=)\s*(?:\\?[$(\[]\s*)*(?:\\text\{)?\s*$", re.IGNORECASE)
_STATED = re.compile(
    r"(?:(?P<final>final\s+(?:answer|result))|\banswers?|答案|答え|réponse|respuesta|risposta|antwort|ответ|الجواب)"
    r"(?:[^.\n:：=$\\*]{0,60}?(?:\b(?:is|are|was|be|becomes|equals|est|es|ist)\b|[:：=]|为|是)|(?=\s*(?:\\\(|\\\[|\$)))"
    r"[\s*:：]*",
    re.IGNORECASE,
)
_HASHES = re.compile(r"####(?!#)[ \t]*([^\n]{1,400})")
_STOP = re.compile(r"\n|(?<![A-Z])[.。!](?=\s+(?:\S)|\s*$|</)|[。！]|\s+I hope\b|</")
_NOT = re.compile(r"\s*(?:definitely |certainly )?(?:not|n't|never|neither|none of)\b", re.IGNORECASE)
_MATHS = re.compile(r"\$\$(.{1,2000}?)\$\$|\$([^$]{1,2000})\$|\\\((.{1,2000}?)\\\)|\\\[(.{1,2000}?)\\\]", re.DOTALL)
_NUMBERS = re.compile(
    r"(?<![\w.^])[-−]?(?:\\[dtc]?frac\s*\{[^{}]{1,60}\}\s*\{[^{}]{1,60}\}"
    r"|\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?(?:\s*/\s*\d+(?:\.\d+)?)?|\.\d+)(?:\s?\\?%)?"
)
_CALCULATION = re.compile(r"[-+*/×÷=]\s*$")


def final_part(text: str) -> str:
    """The text after the reasoning, or the content of the last answer tag."""
    end = text.rfind("</think>")
    if end >= 0 and text[end + 8 :].strip():
        text = text[end + 8 :]
    elif end >= 0:
        text = text[:end]
    start = text.rfind("<answer>")
    if start >= 0:
        stop = text.find("</answer>", start)
        inner = text[start + 8 : stop if stop >= 0 else None]
        if inner.strip():
            return inner
    return text


def boxes(text: str) -> list[Found]:
    """The last boxes, each with its content; neighbours joined into one list."""
    groups: list[Found] = []
    starts: deque[re.Match[str]] = deque(_BOX.finditer(text), maxlen=64)
    last_end = -1
    for match in starts:
        if match.start() < last_end and groups:
            # A box inside of a box: the inner content stands for both.
            groups.pop()
        content, end = _content(text, match.end())
        if content is None:
            continue
        after = _AFTER_BOX.match(text, end, end + 30)
        if after:
            content += " " + after[1]
        between = text[last_end : match.start()] if 0 <= last_end <= match.start() <= last_end + 80 else None
        if groups and between is not None and _BETWEEN.fullmatch(between):
            previous = groups.pop()
            if content.strip() not in (previous.text.strip(), previous.text.rsplit(" , ", 1)[-1].strip()):
                content = f"{previous.text} , {content}"
            groups.append(Found(content, "box", previous.start, previous.negated))
        else:
            negated = bool(_NEGATION.search(text[max(0, match.start() - 30) : match.start()]))
            groups.append(Found(content, "box", match.start(), negated))
        last_end = end
    return groups[-MAX_KEPT:]


def _content(text: str, position: int) -> tuple[str | None, int]:
    """What a box holds and where it ends: a braced group, or one word; an unclosed group ends with its line."""
    if not text.startswith("{", position):
        stop = position
        while stop < len(text) and stop < position + 40 and (text[stop].isalnum() or text[stop] in ".-"):
            stop += 1
        return (text[position:stop] or None), stop
    depth = 0
    limit = min(len(text), position + MAX_CHARS + 2_000)
    index = position
    for index in range(position, limit):
        char = text[index]
        if char == "{":
            depth += 1
        elif char == "}":
            depth -= 1
            if not depth:
                return text[position + 1 : index], index + 1
    if limit < len(text):
        return text[position + 1 : limit], limit
    line = text.find("\n", position)
    line = len(text) if line < 0 else line
    return text[position + 1 : line].rstrip("$. "), line


def statements(text: str) -> list[Found]:
    """The last stated answers; neighbours that differ are one list."""
    matches = list(deque(_STATED.finditer(text), maxlen=MAX_KEPT))
    found: list[tuple[Found, int]] = []
    for match, following in zip(matches, [*matches[1:], None], strict=False):
        content, end = _stated_content(text, match.end())
        if following is not None and following.start() < end:
            if following.end() <= end:
                continue  # "Final Answer: The final answer is …": the inner statement counts.
            content, end = text[match.end() : following.start()].strip(" .\n"), following.start()
        if not content:
            continue
        form = "final statement" if match["final"] else "statement"
        item = Found(content, form, match.start(), bool(_NOT.match(content)))
        if found and not item.negated and match.start() - found[-1][1] <= 8:
            previous = found.pop()[0]
            if previous.text != content:
                content = f"{previous.text} , {content}"
            item = Found(content, form, previous.start, previous.negated)
        found.append((item, end))
    return [item for item, _ in found]


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


def marked(text: str) -> list[Found]:
    """Every answer the text marks as one, the one that counts last; empty if there is none."""
    boxed = boxes(text) if "box" in text else []
    stated = statements(text)
    hashed = hash_mark(text) if "####" in text else None
    if boxed:
        later = [s for s in stated if s.start > boxed[-1].start and s.form == "final statement" and "boxed" not in s.text]
        return [*boxed, *later]
    found = [*stated, *([hashed] if hashed else [])]
    return sorted(found, key=lambda f: f.start)


def last_lines(text: str) -> list[Found]:
    """Where nothing is marked: the whole of a short text, else its last line, then formulas and numbers in that."""
    stripped = text.strip()
    found: list[Found] = []
    if "\n" not in stripped and len(stripped) <= MAX_LINE:
        found.append(Found(stripped, "whole text"))
    else:
        cut = stripped[-MAX_LINE:]
        line = cut.rsplit("\n", 1)[-1].strip()
        if line in ("\\]", "$$", "\\)"):
            line = " ".join(cut.rsplit("\n", 3)[-3:])
        found.append(Found(line, "last line", len(stripped) - len(line)))
    return found


def formulas(text: str) -> list[str]:
    """The formulas set off in a line, in order."""
    return [next(g for g in match.groups() if g is not None) for match in _MATHS.finditer(text[-MAX_LINE:])]


def last_number(text: str) -> str | None:
    """The last number of a sentence that is not part of a calculation's left side."""
    last = None
    for match in _NUMBERS.finditer(text[-MAX_LINE:]):
        last = match
    if last is None:
        return None
    sign = last[0][0] in "-−" and bool(re.search(r"[\w)]\s*$", text[-MAX_LINE:][: last.start()]))
    return last[0][1:] if sign else last[0]
