"""Permutations in cycle notation: (1 2 3)(4 5) is (5 4)(3 1 2)."""

from __future__ import annotations

import re

from verikit.answers.families.base import by_reading
from verikit.answers.families.pieces import bare

MAX_CHARS = 300
_CYCLES = re.compile(r"(?:\((?:\d{1,3}[\s,]{1,3}){0,30}\d{1,3}\)\s{0,3}){1,20}")
_CYCLE = re.compile(r"\(([^()]*)\)")


def read(text: str) -> tuple[tuple[int, int], ...] | None:
    """The moves of the cycles as sorted pairs. None for other texts, and for cycles that share a number."""
    if text[:1] not in "($\\" or len(text) > MAX_CHARS:
        return None
    text = bare(text).strip()
    if not _CYCLES.fullmatch(text):
        return None
    cycles = [[int(n) for n in re.findall(r"\d+", cycle)] for cycle in _CYCLE.findall(text)]
    spaced = any(" " in cycle.strip() and "," not in cycle for cycle in _CYCLE.findall(text))
    numbers = [n for cycle in cycles for n in cycle]
    if not spaced or len(set(numbers)) < len(numbers) or max(map(len, cycles)) < 2:
        return None
    moves = {a: b for cycle in cycles for a, b in zip(cycle, cycle[1:] + cycle[:1], strict=True) if a != b}
    return tuple(sorted(moves.items()))


FAMILY = by_reading("permutations", read, lambda gold, answer: gold == answer)
FAMILIES = (FAMILY,)
