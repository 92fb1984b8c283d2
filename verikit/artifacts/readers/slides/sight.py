"""The visible part of a slide: positions of its paragraphs, shapes on top of them, and their backgrounds."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from typing import NamedTuple

from verikit.artifacts.readers.slides.colours import NOTHING, Paint, legible
from verikit.artifacts.readers.slides.frames import POINT, Box, Frame, Spot, around
from verikit.artifacts.readers.slides.shapes import Shape, Words
from verikit.artifacts.readers.slides.text import SlideRun

SMALLEST = 3.0
"""Points on a slide of usual width: less can't be read."""
_USUAL_WIDTH = 960 * POINT
_SLACK = 91_440
"""A tenth of an inch: the maximum overhang of text over an edge."""
_LEAST_PICTURE = 91_440

Seen = tuple[str, str]
"""Why something can't be seen, and why that is unknown. Both are empty if it is in sight."""


class _Layer(NamedTuple):
    """A shape as a layer above or below others."""

    box: Box
    filled: Box | None
    """Surely filled."""
    fill: Paint
    covers: bool | None


class SlideView:
    """A slide as painted, shape by shape."""

    def __init__(self, painted: Sequence[Shape], ground: Paint, slide: Box) -> None:
        self._painted, self._background, self._slide = painted, ground, slide
        self._scale = min(1.0, _USUAL_WIDTH / max(slide.right, 1.0))
        layers = [(index, layer) for index, shape in enumerate(painted) if (layer := _layer(shape)) is not None]
        covers = [(index, layer) for index, layer in layers if layer.covers is not False]
        self._grounds, self._covers = ([layer for _, layer in some] for some in (layers, covers))
        self._places = [index for index, _ in layers], [index for index, _ in covers]

    def runs(self, index: int, words: Words) -> list[list[tuple[SlideRun, Seen]]]:
        """The runs of each paragraph of a shape, and whether they are in sight."""
        shape = self._painted[index]
        if not words.spots:
            return []
        near = around([spot.surely for spot in words.spots])
        earlier, later = self._grounds[: bisect_left(self._places[0], index)], self._later(index)
        under, over = ([layer for layer in layers if layer.box.meets(near)] for layers in (earlier, later))
        found = []
        for paragraph, spot in zip(words.paragraphs, words.spots, strict=True):
            place = self._place(shape, words, spot, over)
            ground = _ground(self._background, shape, words, spot, under)
            found.append([(run, self._run(run, words, place, ground)) for run in paragraph.runs])
        return found

    def _later(self, index: int) -> Sequence[_Layer]:
        """Everything that is painted after a shape and hides, or may hide, things under it."""
        return self._covers[bisect_right(self._places[1], index) :]

    def _place(self, shape: Shape, words: Words, spot: Spot, over: Sequence[_Layer]) -> Seen:
        """Whether something at this place can be seen."""
        if why := shape.why or words.why:
            return why, ""
        frame = words.within or shape.frame
        doubts = [shape.doubt, words.doubt]
        if frame.wide < POINT and frame.high < POINT:
            return "a shape without size", ""
        if frame.wide < POINT or frame.high < POINT:
            doubts.append("a shape without width or height")
        for window, name in ((self._slide, "the slide"), (words.window, "its frame")):
            if window is not None and not spot.likely.meets(window):
                return f"off {name}", ""
            if window is not None and not window.grown(_SLACK).holds(spot.likely):
                doubts.append(f"partly off {name}")
        for layer in over:
            if layer.covers and layer.filled is not None and layer.filled.holds(spot.likely):
                return "covered", ""
            if layer.box.meets(spot.surely):
                doubts.append("partly covered")
        return "", next(filter(None, doubts), "")

    def _run(self, run: SlideRun, words: Words, place: Seen, ground: Paint) -> Seen:
        size = run.size * self._scale
        why = run.why or place[0] or (f"{size:.2g} points" if size < SMALLEST else "")
        if why or not run.text.strip():
            return why, ""
        doubt = run.doubt or place[1]
        clear = _clear(run, run.highlight.over(ground))
        if clear is None and words.presumed and run.highlight == NOTHING:
            clear = True
        if clear is False:
            return "the colour of its ground", ""
        return "", doubt or ("" if clear else "its background can't be determined")

    def picture(self, index: int) -> bool | None:
        """Whether a shape's picture is in sight. None: unknown."""
        shape = self._painted[index]
        box = shape.frame.box()
        share = box.share_in(self._slide)
        if shape.why or min(shape.frame.wide, shape.frame.high) < _LEAST_PICTURE or share <= 0:
            return False
        later = self._later(index)
        if any(one.covers and one.filled is not None and one.filled.holds(box) for one in later):
            return False
        return None if shape.doubt or share < 0.5 or any(box.share_in(one.box) > 0.5 for one in later) else True


def _layer(shape: Shape) -> _Layer | None:
    """A shape as a layer. None: it paints nothing."""
    if shape.why or shape.fill == NOTHING:
        return None
    covers = shape.fill.covers()
    if shape.doubt and covers:
        covers = None
    return _Layer(shape.frame.box(), None if shape.doubt else shape.frame.filled(shape.geometry), shape.fill, covers)


def _ground(background: Paint, shape: Shape, words: Words, spot: Spot, under: Sequence[_Layer]) -> Paint:
    """The possible background colours of a paragraph."""
    ground = background
    for layer in under:
        if layer.filled is not None and layer.filled.holds(spot.likely):
            ground = layer.fill.over(ground)
        elif ground.known and layer.box.meets(spot.surely):
            ground = ground.beside(layer.fill.over(ground))
    frame: Frame = words.within or shape.frame
    own = words.fill.over(ground)
    return own if frame.box().grown(_SLACK).holds(spot.likely) else ground.beside(own)


def _clear(run: SlideRun, ground: Paint) -> bool | None:
    """Whether a run is visible on its background, by its letters or their outlines."""
    letters = legible(run.inks, ground) if run.inks != NOTHING else False
    if letters or run.outline == NOTHING:
        return letters
    outlines = legible(run.outline, ground)
    return None if outlines is False and letters is None else outlines
