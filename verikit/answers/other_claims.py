"""Values that are right only elsewhere: the opposite of the answer, or the answer in some cases only."""

from __future__ import annotations

import re

_OPPOSITE = re.compile(
    r"(?:\W*\b(?:so|thus|hence|therefore|it|this|that|is|was|we|i|get|have|find|the|its|answer)\b)*\W*"
    r"\b(opposite|contrary|negation|reverse|converse)\s*[:：]",
    re.IGNORECASE,
)
_CASES = frozenset("even odd prime composite divisible".split())
_CONDITIONS = frozenset("when whenever if for where".split())
_BETWEEN = frozenset("is are a an all every any".split())
_BLANKS = str.maketrans(dict.fromkeys("\\$(){}.,;", " "))
MAX_CONDITION = 60
"""Maximum number of characters of a condition at the end of an answer."""


def opposite(text: str) -> str:
    """The word by which the label of a value calls it the opposite: "the opposite: 5". Empty if there is none."""
    found = _OPPOSITE.match(text) if ":" in text or "：" in text else None
    return found[1].lower() if found else ""


def only_case(text: str) -> str:
    """The class of numbers in a condition at the end of an answer: "5 when n is even". Empty if there is none."""
    said = text[-MAX_CONDITION:].lower()
    if " " not in said or not any(case in said for case in _CASES):
        return ""
    words = said.translate(_BLANKS).replace("text ", " ").split()
    at = next((at for at in range(len(words) - 1, 0, -1) if words[at] in _CASES), 0)
    rest = words[at + 1 :]
    if rest[:1] != ["by"] and any(len(word) > 1 for word in rest):
        return ""
    start = at - 1
    while start > 0 and (len(words[start]) == 1 or words[start] in _BETWEEN):
        start -= 1
    return words[at] if start > 0 and words[start] in _CONDITIONS else ""
