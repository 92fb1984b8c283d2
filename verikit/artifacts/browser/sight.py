"""Turns the output of a page's reader into the text that a person sees, by the ink under each letter."""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from verikit.artifacts import shape
from verikit.artifacts.shape import Observed, Shape, each, mapping, record

MOST_LETTERS = 20_000
_PIECE: Shape = record(
    {
        "text": shape.text, "rects": each(shape.number, 4 * (MOST_LETTERS + 8)),
        "ranks": each(shape.whole, MOST_LETTERS + 8), "field": shape.truth,
        "block": shape.whole, "owners": each(shape.whole, 10_000), "fonts": each(shape.whole, 40),
        "opacity": shape.number, "out": shape.truth,
    }
)  # fmt: skip
_ITEM: Shape = record(
    {"mark": shape.whole, "attributes": mapping(shape.text, 50), "checked": shape.truth},
)
_ELEMENT: Shape = record({"count": shape.whole, "items": each(_ITEM, 100)})
SHAPE: Shape = record(
    {
        "pieces": each(_PIECE, 60_000), "elements": each(_ELEMENT, 100), "clips": each(shape.text, 50),
        "fonts": each(shape.text, 50_000),
        "moving": shape.whole, "whole": shape.truth, "height": shape.whole, "address": shape.text,
        "title": shape.text,
    }
)  # fmt: skip

HIDDEN = "\N{REPLACEMENT CHARACTER}"
"""Replaces a letter that can't be seen."""
_LEAST_OPACITY = 0.2
_LEAST_HEIGHT = 6.0
"""Of a letter, in pixels."""
_LEAST_INK, _LEAST_MARK = 2, 1
"""Pixels: of a letter or digit, and of any other mark."""
_INNER = 0.15
"""The fraction of a letter's box, at either side, that its neighbours may reach into."""
_CORE = 0.35, 0.72
"""The part of a letter's height that every letter and digit has ink in, and that close lines don't reach into."""
_CLEAR_GAP = 0.4
"""Between two elements, a fraction of the letters' height. A space is about 0.25."""
Box = Sequence[float]


@dataclass
class Letters:
    """A run of text with the box of each letter and whether it is in sight; one box for a whole field."""

    text: str
    boxes: list[Box]
    block: int
    owners: set[int]
    ranks: list[int] = dataclasses.field(default_factory=list)
    """The number of elements on top of each letter. -1: it can't be hit at all."""
    seen: list[bool] = dataclasses.field(default_factory=list)
    field: bool = False
    fonts: Sequence[int] = ()
    """The fonts that may draw it, as numbers. Empty if the page loaded no fonts."""
    doubts: set[int] = dataclasses.field(default_factory=set)
    """Letters whose shape can't be identified."""


def letters(observed: Observed) -> list[Letters]:
    """The runs of text that are laid out, with each letter marked as in sight if its styles allow it."""
    runs = []
    for piece in observed["pieces"]:
        text: str = piece["text"]
        rects: list[float] = piece["rects"]
        boxes: list[Box] = [rects[at : at + 4] for at in range(0, len(rects) - 3, 4)]
        shown = not piece["out"] and piece["opacity"] >= _LEAST_OPACITY
        run = Letters(text, boxes, piece["block"], set(piece["owners"]), piece["ranks"])
        run.field, run.fonts = piece["field"], piece["fonts"]
        if run.field:
            run.seen = [shown and bool(boxes) and _tall(boxes[0])] * len(text)
        elif len(boxes) == len(text):
            run.seen = [shown and (letter.isspace() or _tall(box)) for letter, box in zip(text, boxes, strict=True)]
        else:
            run.seen = [letter.isspace() for letter in text]
        if not run.field and _backwards(run):
            run.seen = [letter.isspace() for letter in text]
        runs.append(run)
    return runs


def _tall(box: Box) -> bool:
    return box[3] - box[1] >= _LEAST_HEIGHT and box[2] > box[0]


def _backwards(run: Letters) -> bool:
    """Whether left-to-right letters are drawn in another direction: mirrored, rotated or reordered."""
    before: Box | None = None
    for letter, box in zip(run.text, run.boxes, strict=False):
        if not (letter.isascii() and letter.isalnum()) or box[2] <= box[0]:
            continue
        if before is not None and _same_line(before, box) and box[0] < before[0] - 0.5:
            return True
        if before is not None and box[3] < before[1] + 0.5 and box[0] < before[2]:
            return True
        before = box
    return False


def _same_line(one: Box, other: Box) -> bool:
    shared = min(one[3], other[3]) - max(one[1], other[1])
    return shared >= 0.5 * min(one[3] - one[1], other[3] - other[1])


def ink_boxes(runs: Sequence[Letters]) -> list[list[int]]:
    """The boxes in which to count ink, in whole pixels: the inner part of each letter that may be in sight."""
    return [_whole_pixels(_own(box, letter)) for letter, box in _with_ink(runs)]


def _with_ink(runs: Sequence[Letters]) -> Iterator[tuple[str, Box]]:
    for run in runs:
        if run.field:
            yield from (("", box) for box in run.boxes[:1])
        else:
            yield from ((letter, box) for letter, box, seen in zip(run.text, run.boxes, run.seen, strict=False)
                        if seen and not letter.isspace())  # fmt: skip


def _own(box: Box, letter: str) -> Box:
    """The part of a letter's box that contains only its own ink. A field has no letters, so it is the whole box."""
    left, top, right, bottom = box
    if not letter:
        return box
    side, high = _INNER * (right - left), bottom - top
    if letter.isalpha() or (letter.isascii() and letter.isdigit()):
        top, bottom = top + _CORE[0] * high, top + _CORE[1] * high
    return left + side, top, right - side, bottom


def _whole_pixels(box: Box) -> list[int]:
    left, top, right, bottom = (max(-1e6, min(1e6, edge)) for edge in box)
    left, right = round(left), round(right)
    return [left, int(top), max(right, left + 1), int(bottom + 0.999)]


def with_ink(runs: Sequence[Letters], ink: bytes) -> None:
    """Mark everything without ink as out of sight.

    Args:
        runs: As passed to `ink_boxes`.
        ink: The number of pixels in each of the boxes.
    """
    counts = iter(ink)
    for run in runs:
        if run.field:
            found = next(counts, 0) if run.boxes else 0
            if found < min(3 * len(run.text.replace(" ", "")), 60):
                run.seen = [False] * len(run.text)
            continue
        for at, (letter, seen) in enumerate(zip(run.text, run.seen, strict=False)):
            if seen and not letter.isspace():
                run.seen[at] = next(counts, 0) >= (_LEAST_INK if letter.isalnum() else _LEAST_MARK)


def uncover(runs: Sequence[Letters]) -> None:
    """If runs of text overlap, keep only the topmost in sight, because the ink may belong to either."""
    spots = [_Spot(run, at, box) for run in runs for at, box in _spots(run)]
    cells: dict[tuple[int, int], list[_Spot]] = defaultdict(list)
    for spot in spots:
        for cell in _cells(spot.box):
            cells[cell].append(spot)
    lost = [one for beside in cells.values() for one in beside if _is_under(one, beside)]
    for spot in lost:
        spot.hide()


def _is_under(one: _Spot, beside: Sequence[_Spot]) -> bool:
    """Whether the ink attributed to a letter may belong to another text, which is not surely below it."""
    core = one.core()
    over = [other for other in beside if other.run is not one.run and _overlap(core, other.box)]
    return any(one.rank < 0 or 0 <= other.rank <= one.rank for other in over)


@dataclass(frozen=True)
class _Spot:
    """A letter or a field, and the box of its ink."""

    run: Letters
    at: int
    box: Box

    @property
    def rank(self) -> int:
        return self.run.ranks[self.at] if self.at < len(self.run.ranks) else -1

    def core(self) -> Box:
        """The part of the box that no other text may overlap."""
        left, top, right, bottom = self.box
        high = bottom - top
        if self.run.field:
            return left, top + 0.25 * high, right, bottom - 0.25 * high
        return _own((left, top, right, bottom), "a")

    def hide(self) -> None:
        if self.run.field:
            self.run.seen = [False] * len(self.run.text)
        else:
            self.run.seen[self.at] = False


def _spots(run: Letters) -> Iterator[tuple[int, Box]]:
    if run.field:
        yield from ((0, box) for box in run.boxes[:1] if any(run.seen))
        return
    for at, (letter, box, seen) in enumerate(zip(run.text, run.boxes, run.seen, strict=False)):
        if seen and not letter.isspace():
            yield at, box


_CELL = 32


def _cells(box: Box) -> Iterator[tuple[int, int]]:
    left, top, right, bottom = (int(max(-64, min(16_384, edge)) // _CELL) for edge in box)
    yield from ((x, y) for x in range(left, right + 1) for y in range(top, bottom + 1))


def _overlap(one: Box, other: Box) -> bool:
    wide = min(one[2], other[2]) - max(one[0], other[0])
    high = min(one[3], other[3]) - max(one[1], other[1])
    return wide > 0.5 and high > 0.5


def without_doubts(run: Letters) -> Letters:
    """A run whose doubtful letters are out of sight."""
    return dataclasses.replace(run, seen=[seen and at not in run.doubts for at, seen in enumerate(run.seen)])


def plain(text: str) -> str:
    """A string with single spaces, and none at its ends."""
    return " ".join(text.split())


def lines(runs: Sequence[Letters], owner: int | None = None, *, gap: float = 1.0) -> list[str]:
    """The text in sight, one line per block. Adjacent blocks form one line.

    Args:
        runs: The runs of the page.
        owner: If given, only runs in the element with this mark.
        gap: Between two runs, a space starts at this fraction of the letters' height.
    """
    within = [run for run in runs if owner is None or owner in run.owners]
    told: list[str] = []
    end: Box | None = None
    for _, group in groupby(within, key=lambda run: (run.block, run.field and id(run))):
        text, first, last = _block(list(group), gap)
        if not plain(text).strip(HIDDEN + " "):
            continue
        if told and end is not None and first is not None and _same_line(end, first) and first[0] >= end[2] - 1:
            told[-1] += " " + plain(text)
        else:
            told.append(plain(text))
        end = last
    return told


def _block(runs: Sequence[Letters], gap: float) -> tuple[str, Box | None, Box | None]:
    """The text of a block, with breaks between letters that aren't adjacent, plus its first and last boxes."""
    parts: list[str] = []
    first: Box | None = None
    last: Box | None = None
    for run in runs:
        if run.field:
            parts.append(run.text if all(run.seen) else HIDDEN)
            first, last = run.boxes[0] if run.boxes else None, run.boxes[0] if run.boxes else None
            continue
        least = gap  # letters of one run may be spaced out, so it only applies to the first one
        for at, letter in enumerate(run.text):
            if letter.isspace():
                parts.append(" ")
                continue
            if not run.seen[at]:
                parts.append(HIDDEN)
                continue
            box = run.boxes[at]
            if last is not None:
                # digits in boxes of their own are one number
                digits = parts[-1].isdigit() and letter.isdigit()
                parts.append(_between(last, box, 1.0 if digits else least))
            parts.append(letter)
            least = 1.0
            first, last = first or box, box
    return "".join(parts), first, last


def _between(before: Box, after: Box, least: float) -> str:
    """The separator of two consecutive letters: nothing, a space for a gap, or a mark of disorder."""
    size = max(before[3] - before[1], after[3] - after[1])
    if _same_line(before, after):
        gap = after[0] - before[2]
        if gap < -size and after[0] < before[0]:
            return f" {HIDDEN} "
        return " " if gap > least * size else ""
    return f" {HIDDEN} " if after[3] <= before[1] + 1 and after[0] < before[2] else ""


def holds(runs: Sequence[Letters], text: str, owner: int | None = None) -> bool:
    """Whether a line in sight contains a string, not as part of a longer word or number.

    Elements side by side, such as a button and its result, may have padding between them instead of a space. The gap
    is visible, so both readings count.
    """
    wanted = plain(text)
    return any(_has(line, wanted) for gap in (1.0, _CLEAR_GAP) for line in lines(runs, owner, gap=gap))


def _has(line: str, wanted: str) -> bool:
    start = line.find(wanted)
    while wanted and start >= 0:
        end = start + len(wanted)
        if not _goes_on(line[:start][::-1], wanted[0]) and not _goes_on(line[end:], wanted[-1]):
            return True
        start = line.find(wanted, start + 1)
    return False


def _goes_on(beside: str, edge: str) -> bool:
    """Whether the characters next to a string's first or last letter, nearest first, continue its word or number."""
    if not edge.isalnum() or not beside:
        return False
    if edge.isdigit() and beside[0] in ".," and beside[1:2].isdigit():
        return True
    return beside[0].isalnum()


__all__ = ["HIDDEN", "MOST_LETTERS", "SHAPE", "Letters", "holds", "ink_boxes", "letters", "lines", "plain", "uncover",
           "with_ink", "without_doubts"]  # fmt: skip
