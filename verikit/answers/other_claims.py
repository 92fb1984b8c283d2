"""Values that are right only elsewhere: the opposite of the answer, or the answer in some cases only."""

from __future__ import annotations

import re
from itertools import dropwhile

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
    is_end = words[at + 1 : at + 2] == ["by"] or all(len(word) == 1 for word in words[at + 1 :])
    return words[at] if is_end and _begins_condition(words[:at]) else ""


def _begins_condition(words: list[str]) -> bool:
    """Whether words end in "when n is", after something else."""
    rest = list(dropwhile(lambda word: len(word) == 1 or word in _BETWEEN, reversed(words)))
    return len(rest) > 1 and rest[0] in _CONDITIONS
