"""Reads model output: named normalisers, word overlap, boxes, tags. All are linear in the length of the text."""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Callable
from typing import Any, Literal

from verikit.messages import are_parts, content_text, media_of
from verikit.types import Gold

Normalizer = Literal["none", "squad", "hotpotqa", "r1-searcher"]
Extract = Literal["whole", "boxed", "answer_tag", "last_line"]

_ARTICLES = re.compile(r"\b(?:a|an|the)\b")
_DELETE_PUNCTUATION = str.maketrans("", "", string.punctuation)
_BLANK_PUNCTUATION = str.maketrans(dict.fromkeys(string.punctuation + "‘’´`", " "))
_YES_NO = frozenset({"yes", "no", "noanswer"})
_BOX = re.compile(r"\\(?:boxed|fbox|framebox)(?:\s*(\{)|[ \t]+([^\s${}][^\s$]*))")


def squad(text: str) -> str:
    """Lower-case, delete ASCII punctuation, drop a/an/the, squeeze spaces (SQuAD v1.1's evaluation script)."""
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_DELETE_PUNCTUATION)).split())


def r1_searcher(text: str) -> str:
    """R1-Searcher's normaliser: True/False become yes/no, and punctuation (including curly quotes) becomes a space."""
    text = {"True": "yes", "False": "no"}.get(text.strip(), text)
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_BLANK_PUNCTUATION)).split())


NORMALIZERS: dict[Normalizer, Callable[[str], str]] = {
    "none": str.strip,
    "squad": squad,
    "hotpotqa": squad,
    "r1-searcher": r1_searcher,
}
"""HotpotQA's script normalises like SQuAD's. The two differ in how F1 treats yes and no."""


def token_f1(prediction: str, gold: str, normalizer: Normalizer) -> float:
    """Harmonic mean of word precision and recall, as multisets, after normalising.

    Under `hotpotqa` and `r1-searcher` it is 0 if either side is yes/no/noanswer and the two differ (HotpotQA's
    evaluation script). Two strings that are both empty after normalising are equal: 1.0.
    """
    normalize = NORMALIZERS[normalizer]
    a, b = normalize(prediction), normalize(gold)
    if a == b:
        return 1.0
    if normalizer in ("hotpotqa", "r1-searcher") and (a in _YES_NO or b in _YES_NO):
        return 0.0
    words, gold_words = a.split(), b.split()
    common = sum((Counter(words) & Counter(gold_words)).values())
    return 2 * common / (len(words) + len(gold_words)) if common else 0.0


def boxes(text: str) -> list[str]:
    r"""Contents of the closed top-level `\boxed{…}` (or `\fbox`, `\framebox`), in order.

    Braces nest, and escaped ones (`\{`) don't count. An open box at the end is skipped, so that a truncated answer is
    not read as a whole one. For `\boxed 42` the next word is used, without the punctuation after it. Boxes in a LaTeX
    comment are skipped.
    """
    found: list[str] = []
    position = 0
    closing = _closing_braces(text) if _BOX.search(text) else {}
    while match := _BOX.search(text, position):
        if _commented(text, match.start()):
            position = match.end()
        elif match[2] is not None:
            found.append(match[2].rstrip(".,;:!?"))
            position = match.end()
        elif (end := closing.get(match.end() - 1)) is not None:
            found.append(text[match.end() : end])
            position = end
        else:
            position = match.end()
    return found


def _commented(text: str, position: int) -> bool:
    """Whether a LaTeX comment starts before a position in its line. Only the last 1,000 characters are checked."""
    mark = text.rfind("%", max(0, position - 1_000), position)
    return mark >= 0 and (mark == 0 or text[mark - 1].isspace()) and text.find("\n", mark, position) < 0


def _closing_braces(text: str) -> dict[int, int]:
    """The position of the closing brace for each opening brace that is closed, found in one pass."""
    closing: dict[int, int] = {}
    stack: list[int] = []
    for match in re.finditer(r"\\.|[{}]", text, re.DOTALL):
        if match[0] == "{":
            stack.append(match.start())
        elif match[0] == "}" and stack:
            closing[stack.pop()] = match.start()
    return closing


def tagged(text: str, name: str) -> str | None:
    """Content of the last closed `<name>…</name>`, stripped, or None if there is no such tag."""
    opening, closing = f"<{name}>", f"</{name}>"
    start = text.rfind(opening, 0, max(text.rfind(closing), 0))
    return text[start + len(opening) : text.find(closing, start)].strip() if start >= 0 else None


def extract(text: str, how: Extract) -> str | None:
    """Extract the answer from a completion, or return None if it has no such part."""
    if how == "whole":
        return text.strip()
    if how == "boxed":
        found = boxes(text)
        return found[-1].strip() if found else None
    if how == "answer_tag":
        return tagged(text, "answer")
    lines = text.strip().rsplit("\n", 1)
    return lines[-1].strip() or None


def accepted(answer: Gold) -> list[str]:
    """The accepted answers of a sample as a list.

    Empty if there is no gold answer, or if its content parts are blank or have a picture or file.
    """
    if answer is None:
        return []
    if in_parts(answer):
        text = "" if media_of(answer) else content_text(answer)
        return [text] if text.strip() else []
    return [answer] if isinstance(answer, str) else list(answer)


def in_parts(answer: Any) -> bool:
    """Whether a gold answer consists of content parts."""
    return type(answer) is list and bool(answer) and type(answer[0]) is dict and are_parts(answer)
