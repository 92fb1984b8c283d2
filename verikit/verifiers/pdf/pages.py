"""The pages of a PDF as its reader reported them, checked; text and tables in them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any, Literal

from verikit.artifacts import shape
from verikit.artifacts.box import BoxReader
from verikit.artifacts.shape import Shape, each, record
from verikit.sandbox import RunLimits

_PIECE: Shape = record(
    {"text": shape.text, "doubts": each(shape.whole, 30_000), "line": shape.whole}
    | dict.fromkeys(("flows", "glued"), shape.truth)
    | dict.fromkeys(("left", "right", "baseline"), shape.number)
)
_HIDDEN: Shape = record({"text": shape.text, "why": shape.text})
_PAGE: Shape = record(
    {"pieces": each(_PIECE, 30_000), "hidden": each(_HIDDEN, 1000)} | dict.fromkeys(("width", "height"), shape.number)
)
_TEXTS: dict[str, Shape] = dict.fromkeys(("name", "kind", "value", "drawn"), shape.text)
_TRUTHS: dict[str, Shape] = dict.fromkeys(("checked", "ink", "doubtful"), shape.truth)
_FIELD: Shape = record(_TEXTS | _TRUTHS)
_SHAPE: Shape = record({"pages": each(_PAGE, 200), "fields": each(_FIELD, 10_000), "scripts": each(shape.text, 100)})
READER = BoxReader(
    "verikit.artifacts.readers.pdf",
    {"numpy": "reading PDFs", "pypdfium2": "reading PDFs"},
    "image",
    _SHAPE,
    kind="pdf",
    warm=True,
    limits=RunLimits(wall_s=240.0, cpu_s=60.0, memory_mb=1536, output_kb=64, value_kb=24 << 10, disk_mb=8),
)
_PICTURE: Shape = record(
    {"pages": shape.whole, "page": _PAGE, "pixels": shape.raw, "wide": shape.whole, "high": shape.whole}
)
PAGE_READER = replace(READER, shape=lambda value: shape.with_pixels(_PICTURE(value)))
"""Of one page with its picture."""

Page = Mapping[str, Any]
Found = Literal["yes", "no", "doubtful"]
APART = "\f"
"""Separator between strings that are not read as one."""


def plain(text: str) -> str:
    """The text with single blanks, and without blanks at its ends."""
    return " ".join(text.split())


def flowing(page: Page) -> Iterator[tuple[str, set[int]]]:
    """The text of a page with its doubtful positions, in two forms: cut words joined with and without their hyphen."""
    for hyphen in ("-", ""):
        parts: list[str] = []
        doubtful: set[int] = set()
        length = 0
        for piece in page["pieces"]:
            if parts and piece["glued"]:
                cut = parts[-1][: len(parts[-1]) - 1] + hyphen
                length -= len(parts[-1]) - len(cut)
                parts[-1] = cut
            elif parts:
                parts.append(" " if piece["flows"] else APART)
                length += 1
            doubtful.update(length + place for place in piece["doubts"])
            parts.append(piece["text"])
            length += len(piece["text"])
        yield "".join(parts), doubtful


def found(pages: Sequence[Page], text: str) -> Found:
    """Whether a page shows the text; doubtful if that requires characters of unknown shape."""
    return found_in((shown for page in pages for shown in flowing(page)), plain(text))


def found_in(shown: Iterable[tuple[str, set[int]]], wanted: str) -> Found:
    """Whether a text occurs in texts with doubtful positions."""
    best: Found = "no"
    for whole, doubtful in shown:
        start = whole.find(wanted)
        while start >= 0:
            if doubtful.isdisjoint(range(start, start + len(wanted))):
                return "yes"
            best = "doubtful"
            start = whole.find(wanted, start + 1)
    return best


def lines(pages: Sequence[Page], doubt: str = "") -> str:
    """All visible text, line by line; `doubt` replaces characters of unknown shape."""
    told = []
    for page in pages:
        for _, pieces in groupby(page["pieces"], key=lambda piece: piece["line"]):
            told.append(" ".join(_replaced(piece, doubt) for piece in pieces))
        told.append("")
    return "\n".join(told).strip()


def _replaced(piece: Mapping[str, Any], doubt: str) -> str:
    text: str = piece["text"]
    if not doubt:
        return text
    places = set(piece["doubts"])
    return "".join(doubt if place in places else letter for place, letter in enumerate(text))


def has_table(pages: Sequence[Page], wanted: Sequence[Sequence[str]]) -> Found:
    """Whether consecutive lines have the cells of a table, separated by wide gaps."""
    rows = [[plain(str(cell)) for cell in row] for row in wanted]
    best = "no"
    for page in pages:
        by_line: dict[int, list[Mapping[str, Any]]] = {}
        for piece in page["pieces"]:
            by_line.setdefault(piece["line"], []).append(piece)
        table = [sorted(pieces, key=lambda piece: piece["left"]) for _, pieces in sorted(by_line.items())]
        for start in range(len(table) - len(rows) + 1):
            matches = [_cells(line, row) for line, row in zip(table[start:], rows, strict=False)]
            if rows and "no" not in matches:
                if "doubtful" not in matches:
                    return "yes"
                best = "doubtful"
    return "doubtful" if best == "doubtful" else "no"


def _cells(line: Sequence[Mapping[str, Any]], row: Sequence[str]) -> Found:
    """Whether a line has the cells of a row next to each other, from left to right."""
    cells = [cell for cell in row if cell]
    texts = [piece["text"] for piece in line]
    for start in range(len(texts) - len(cells) + 1):
        if texts[start : start + len(cells)] == cells:
            return "doubtful" if any(piece["doubts"] for piece in line[start : start + len(cells)]) else "yes"
    return "no"
