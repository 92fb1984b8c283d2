"""Places on a slide: frames in rotated and scaled groups, and the approximate positions of a frame's paragraphs.

Places are in EMU (12,700 per point). Fonts are unknown, so a paragraph has a likely place and a place that surely
contains it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from verikit.artifacts.readers.slides.package import A, Element, truth, whole

POINT = 12_700
_WIDTHS = (0.42, 0.5, 0.62)
"""The mean width of a letter in em: at least, likely, at most."""
_LINE = 1.2
"""The height of a line in em."""
_SQUARE = 0x2E80
"""First character of those that are as wide as high."""
_FULL = {"rect", "roundRect", "flowChartProcess", "flowChartAlternateProcess", "round1Rect", "round2SameRect"}


class Box(NamedTuple):
    """An upright rectangle."""

    left: float
    top: float
    right: float
    bottom: float

    def holds(self, other: Box) -> bool:
        """Whether it contains all of another box."""
        return (
            self.left <= other.left
            and self.top <= other.top
            and self.right >= other.right
            and self.bottom >= other.bottom
        )

    def meets(self, other: Box) -> bool:
        """Whether they share a place."""
        return (
            self.left < other.right
            and other.left < self.right
            and self.top < other.bottom
            and other.top < self.bottom
        )  # fmt: skip

    def share_in(self, other: Box) -> float:
        """The fraction of it that is inside another box, from 0 to 1."""
        wide = min(self.right, other.right) - max(self.left, other.left)
        high = min(self.bottom, other.bottom) - max(self.top, other.top)
        area = (self.right - self.left) * (self.bottom - self.top)
        return wide * high / area if wide > 0 and high > 0 and area > 0 else 0.0

    def grown(self, by: float) -> Box:
        """The box extended by `by` on each side."""
        return Box(self.left - by, self.top - by, self.right + by, self.bottom + by)


@dataclass(frozen=True)
class Frame:
    """A rectangle turned around its middle."""

    x: float
    y: float
    """Of its middle."""
    wide: float
    high: float
    turn: float = 0.0
    """Degrees, clockwise."""

    @property
    def upright(self) -> bool:
        """Whether its sides are level."""
        return self.turn % 90 == 0

    def box(self) -> Box:
        """The least upright rectangle around it."""
        angle = math.radians(self.turn)
        sine, cosine = abs(math.sin(angle)), abs(math.cos(angle))
        wide, high = self.wide * cosine + self.high * sine, self.wide * sine + self.high * cosine
        return Box(self.x - wide / 2, self.y - high / 2, self.x + wide / 2, self.y + high / 2)

    def filled(self, geometry: str) -> Box | None:
        """An upright rectangle that a shape of a geometry surely fills. None: unknown."""
        if geometry == "ellipse" and self.upright:
            box = self.box()
            wide, high = 0.35 * (box.right - box.left), 0.35 * (box.bottom - box.top)
            return Box(self.x - wide, self.y - high, self.x + wide, self.y + high)
        if geometry not in _FULL:
            return None
        if self.upright:
            return self.box()
        angle = math.radians(self.turn)
        half = min(self.wide, self.high) / (abs(math.sin(angle)) + abs(math.cos(angle))) / 2
        return Box(self.x - half, self.y - half, self.x + half, self.y + half)


@dataclass(frozen=True)
class Grid:
    """The coordinates of a group: how its children are moved, scaled and turned."""

    x: float = 0.0
    y: float = 0.0
    wide: float = 1.0
    high: float = 1.0
    frame: Frame | None = None
    flipped: tuple[bool, bool] = (False, False)
    """Whether left and right, top and bottom are exchanged."""

    def placed(self, frame: Frame) -> Frame:
        """A child's frame in the coordinates around the group."""
        x, y = self.x + frame.x * self.wide, self.y + frame.y * self.high
        if self.frame is not None:
            x = 2 * self.frame.x - x if self.flipped[0] else x
            y = 2 * self.frame.y - y if self.flipped[1] else y
        if self.frame is None or not self.frame.turn:
            return Frame(x, y, frame.wide * abs(self.wide), frame.high * abs(self.high), frame.turn)
        angle = math.radians(self.frame.turn)
        away, below = x - self.frame.x, y - self.frame.y
        turned_x = self.frame.x + away * math.cos(angle) - below * math.sin(angle)
        turned_y = self.frame.y + away * math.sin(angle) + below * math.cos(angle)
        return Frame(
            turned_x, turned_y, frame.wide * abs(self.wide), frame.high * abs(self.high), frame.turn + self.frame.turn
        )


def frame_of(transform: Element | None) -> Frame | None:
    """The frame that a transform sets. None: it doesn't set one."""
    offset = transform.find(f"{A}off") if transform is not None else None
    extent = transform.find(f"{A}ext") if transform is not None else None
    if offset is None or extent is None:
        return None
    wide, high = whole(extent, "cx"), whole(extent, "cy")
    return Frame(whole(offset, "x") + wide / 2, whole(offset, "y") + high / 2, max(wide, 0), max(high, 0),
                 whole(transform, "rot") / 60_000)  # fmt: skip


def grid_of(transform: Element | None) -> Grid:
    """The coordinates that a group's transform gives its children."""
    frame = frame_of(transform)
    if frame is None or transform is None:
        return Grid()
    offset, extent = transform.find(f"{A}chOff"), transform.find(f"{A}chExt")
    inner_wide, inner_high = whole(extent, "cx"), whole(extent, "cy")
    wide = frame.wide / inner_wide if inner_wide > 0 else 1.0
    high = frame.high / inner_high if inner_high > 0 else 1.0
    left, top = frame.x - frame.wide / 2, frame.y - frame.high / 2
    flipped = truth(transform, "flipH"), truth(transform, "flipV")
    return Grid(left - whole(offset, "x") * wide, top - whole(offset, "y") * high, wide, high, frame, flipped)


@dataclass(frozen=True)
class Body:
    """How a frame lays out its text."""

    left: float = 91_440
    top: float = 45_720
    right: float = 91_440
    bottom: float = 45_720
    anchor: str = "t"
    wraps: bool = True
    shrunk: float = 1.0
    """The factor by which letters are shrunk to fit."""
    free: bool = False
    """Rotated, vertical or in columns: the paragraphs may be at any place in the frame."""
    clips: bool = False
    """Whether text below the frame is cut off."""


@dataclass(frozen=True)
class Measures:
    """How much room a paragraph needs."""

    text: str
    size: float
    """Points."""
    spacing: float = 0.0
    """Between letters, in points."""
    line: float = 1.0
    """Of a line's usual height."""
    exact: float = 0.0
    """The height of a line in points; 0: as usual."""
    before: float = 0.0
    after: float = 0.0
    """Points."""
    indent: float = 0.0
    """EMU."""
    align: str = "l"


class Spot(NamedTuple):
    """The position of a paragraph."""

    likely: Box
    surely: Box


def _need(told: Measures, room: float, kind: int) -> tuple[float, float]:
    """The width and height of a paragraph for letters of a kind of width, in EMU."""
    em = told.size * POINT
    rows, widest = 0, 0.0
    for line in told.text.split("\n"):
        units = sum(1.0 if ord(letter) >= _SQUARE else _WIDTHS[kind] for letter in line) + 3.0 * line.count("\t")
        width = max(units * em + told.spacing * POINT * len(line), 0.0)
        rows += max(1, math.ceil(width / room)) if room > 0 else 1
        widest = max(widest, min(width, room) if room > 0 else width)
    height = told.exact * POINT if told.exact else told.line * _LINE * em
    return widest, rows * height


def spots(frame: Frame, body: Body, paragraphs: Sequence[Measures]) -> list[Spot]:
    """The positions of a frame's paragraphs."""
    if body.free or frame.turn % 180:
        return [Spot(frame.box(), frame.box())] * len(paragraphs)
    left, right = frame.x - frame.wide / 2 + body.left, frame.x + frame.wide / 2 - body.right
    top, bottom = frame.y - frame.high / 2 + body.top, frame.y + frame.high / 2 - body.bottom
    found: list[list[Box]] = [[] for _ in paragraphs]
    for kind in range(len(_WIDTHS)):
        needs = [_need(one, max(right - left - one.indent, one.size * POINT) if body.wraps else 0.0, kind)
                 for one in paragraphs]  # fmt: skip
        total = sum(high + (one.before + one.after) * POINT for one, (_, high) in zip(paragraphs, needs, strict=True))
        y = {"t": top, "b": bottom - total}.get(body.anchor, (top + bottom - total) / 2)
        for boxes, one, (wide, high) in zip(found, paragraphs, needs, strict=True):
            y += one.before * POINT
            start = _start(one, left, right, wide)
            boxes.append(Box(start, y, start + wide, y + high))
            y += high + one.after * POINT
    return [Spot(boxes[1], around(boxes)) for boxes in found]


def _start(told: Measures, left: float, right: float, wide: float) -> float:
    if told.align in ("ctr", "r"):
        share = 0.5 if told.align == "ctr" else 1.0
        return left + told.indent + (right - left - told.indent - wide) * share
    return left + told.indent


def around(boxes: Sequence[Box]) -> Box:
    """The least rectangle around others."""
    return Box(
        min(box.left for box in boxes),
        min(box.top for box in boxes),
        max(box.right for box in boxes),
        max(box.bottom for box in boxes),
    )
