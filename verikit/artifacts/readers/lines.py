"""Assembles the characters of a page into the lines that a person reads, by their positions.

A file may draw its characters in any order. So a line is sorted from left to right, and the next line belongs to the
same text only if there is no other line between them.
"""

from __future__ import annotations

import unicodedata
from bisect import bisect_left, insort
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from verikit.artifacts.readers.letters import Letter

_BLANK, _CELL = 0.13, 0.6
"""Minimum gaps in em: of a space, and of a cell border."""
_FAR = 3.0
"""A line that is at least this many em lower starts another text."""


@dataclass
class _Line:
    baseline: float
    em: float
    items: list[int] = field(default_factory=list)


@dataclass
class LineSpan:
    """Characters of a line without a wide gap."""

    text: str
    doubts: list[int]
    """Positions of characters whose shape is undecidable."""
    line: int
    left: float
    right: float
    baseline: float
    em: float
    first: int
    """The least position of its characters in the file."""

    def told(self, *, flows: bool, glued: bool) -> dict[str, Any]:
        """As the observation has it."""
        return {
            "text": self.text, "doubts": self.doubts, "line": self.line, "flows": flows, "glued": glued,
            "left": float(self.left), "right": float(self.right), "baseline": float(self.baseline),
        }  # fmt: skip


def pieces(found: list[Letter], doubtful: set[int]) -> list[dict[str, Any]]:
    """The pieces of a page in reading order. Rotated ones follow upright ones.

    Args:
        found: The characters in sight, in the file's order.
        doubtful: Indices of characters whose shape is undecidable.
    """
    told: list[dict[str, Any]] = []
    count = 0
    for turns in (0, 1, 2, 3, -1):
        own = [index for index, letter in enumerate(found) if letter.turns == turns]
        lines = _lines(found, own) if own else []
        told += _read([_cut(found, line, count + number, doubtful) for number, line in enumerate(lines)])
        count += len(lines)
    return told


def _read(lines: list[list[LineSpan]]) -> list[dict[str, Any]]:
    """Pieces in the file's order, each with whether a person reads on to it from the one before."""
    beside = {id(left): right for line in lines for left, right in pairwise(line)}
    cut = sorted((piece for line in lines for piece in line), key=lambda piece: (piece.first, piece.line))
    below = _below(cut)
    told = []
    for index, piece in enumerate(cut):
        before = cut[index - 1] if index else None
        flows = before is not None and (beside.get(id(before)) is piece or _flows(before, piece, below[index - 1]))
        glued = flows and before is not None and before.line != piece.line and before.text.endswith("-")
        told.append(piece.told(flows=flows, glued=glued))
    return told


def _lines(found: list[Letter], own: list[int]) -> list[_Line]:
    """Characters that are upright on the same rotated page, by lines, from the top."""
    rows: dict[int, list[int]] = {}
    for index in own:
        rows.setdefault(round(found[index].baseline * 4), []).append(index)
    lines: dict[float, _Line] = {}
    known: list[float] = []
    for row in sorted(rows.values(), key=lambda row: (-max(found[index].em for index in row), row[0])):
        first = found[row[0]]
        line = _line_at(lines, known, first.baseline + 0.3 * first.em)
        if line is None:
            line = lines.setdefault(first.baseline, _Line(first.baseline, max(found[index].em for index in row)))
            insort(known, first.baseline)
        line.items += row
    return [lines[baseline] for baseline in reversed(dict.fromkeys(known))]


def _line_at(lines: dict[float, _Line], known: list[float], middle: float) -> _Line | None:
    """The line whose characters surround a height, if any. It includes small raised and lowered ones."""
    place = bisect_left(known, middle)
    for baseline in known[max(place - 1, 0) : place + 1]:
        line = lines[baseline]
        if line.baseline - 0.05 * line.em < middle < line.baseline + 0.75 * line.em:
            return line
    return None


def _cut(found: list[Letter], line: _Line, number: int, doubtful: set[int]) -> list[LineSpan]:
    """A line's pieces. Lines with letters that run from right to left keep the file's order."""
    items = sorted(line.items)
    if not any(unicodedata.bidirectional(found[index].text[0]) in ("R", "AL") for index in items):
        items.sort(key=lambda index: (found[index].start, index))
    cut: list[LineSpan] = []
    for index in items:
        letter = found[index]
        gap = letter.start - cut[-1].right if cut else 0.0
        if not cut or gap > _CELL * letter.em or gap < -2 * letter.em:
            cut.append(LineSpan("", [], number, letter.start, letter.end, letter.baseline, letter.em, index))
            gap = 0.0
        piece = cut[-1]
        if gap > _BLANK * letter.em:
            piece.text += " "
        if index in doubtful:
            piece.doubts.append(len(piece.text))
        piece.text += letter.text
        piece.right, piece.first = max(piece.right, letter.end), min(piece.first, index)
    return cut


def _below(cut: list[LineSpan]) -> list[int]:
    """For each piece, the line of the nearest piece under it. -1: there isn't one nearby."""
    order = sorted(range(len(cut)), key=lambda index: -cut[index].baseline)
    found = [-1] * len(cut)
    for place, index in enumerate(order):
        piece = cut[index]
        for other in order[place + 1 : place + 200]:
            lower = cut[other]
            if piece.baseline - lower.baseline > _FAR * piece.em:
                break
            if lower.line != piece.line and lower.left < piece.right and lower.right > piece.left:
                found[index] = lower.line
                break
    return found


def _flows(before: LineSpan, piece: LineSpan, below: int) -> bool:
    """Whether a person reads on from one piece to another, on another line."""
    if piece.line == before.line:
        return False
    if piece.baseline < before.baseline:
        near = before.baseline - piece.baseline < _FAR * max(before.em, piece.em)
        return near and (piece.line == below or (below == -1 and piece.left < before.left))
    return piece.left > before.right
