"""Reads a picture of text in a page's own fonts: which letters have the shape of another letter."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

from verikit.artifacts.readers import letters
from verikit.artifacts.readers.letters import Letter

SCALE = 2
"""Pixels of the picture per pixel of the page."""
_MOST_PIXELS = 24_000_000
_LEAST = 64
"""Of 255: the least darkness of ink."""
_BEFORE = 0.3
"""The part of an em by which a letter may begin before its place. Letters are set this far apart, and more."""
_OTHER_SIZE, _OTHER_INK = 0.1, 0.25
"""By how much equal letters may differ: their sides, in ems, and a fraction of the ink."""


def warm() -> None:
    """Render the reference letters, once for all children of a fork server."""
    letters.reference()


def read(blobs: Sequence[bytes], request: dict[str, Any]) -> dict[str, Any]:
    """For each letter, the one that its shape shows. Empty: itself. `?`: undecidable. `+`: joined with the next.

    Args:
        blobs: The picture, with black text on white.
        request: `letters`: the text, left, top, right, bottom, baseline and em of each, in pixels of the page.
            `pairs`: letters by number, each with one that shows its right shape. A letter like one of these is itself.
    """
    import numpy
    from PIL import Image

    with Image.open(io.BytesIO(blobs[0]), formats=("PNG",)) as picture:
        if picture.width * picture.height > _MOST_PIXELS:
            raise ValueError("a picture of the page is too large")
        drawn = 255 - numpy.asarray(picture.convert("L"))
    height = drawn.shape[0] / SCALE
    found = [_letter(drawn, height, *one) for one in request["letters"]]
    shown = [one for one in found if one.right > one.left]
    told = iter(letters.verdicts(shown, letters.patterns(drawn, letters.boxes(shown), SCALE, height)) if shown else ())
    verdicts = [next(told) if one.right > one.left else "?" for one in found]
    verdicts = ["+" if _is_joined(one) else verdict for one, verdict in zip(found, verdicts, strict=True)]
    fields: Any = letters.patterns(drawn, letters.boxes(found), SCALE, height) if request.get("pairs") else ()
    for number, other in request.get("pairs", ()):
        if _are_alike(found[number], found[other], fields[number], fields[other]):
            verdicts[number] = ""
    return {"verdicts": verdicts}


def _are_alike(one: Letter, other: Letter, first: Any, second: Any) -> bool:
    """Whether two drawings of a letter have the same proportions and pattern."""
    sides = [(each.right - each.left, each.top - each.bottom) for each in (one, other)]
    if any(abs(a - b) > _OTHER_SIZE * one.em for a, b in zip(*sides, strict=True)) or not all(map(min, sides)):
        return False
    return float(abs(first - second).sum()) <= _OTHER_INK * float(first.sum())


def _is_joined(letter: Letter) -> bool:
    """Whether a letter's ink reaches into the gap to the next or last one, as that of a ligature."""
    return letter.right >= letter.end - 1 / SCALE or letter.left <= letter.start + 1 / SCALE


def _letter(
    drawn: Any, height: float, text: str, left: float, top: float, right: float, bottom: float, baseline: float,
    em: float,
) -> Letter:  # fmt: skip
    """A letter with the box of its ink."""
    import numpy

    first, last = (min(max(int((x - _BEFORE * em) * SCALE), 0), drawn.shape[1]) for x in (left, right))
    above, below = (min(max(int(y * SCALE), 0), drawn.shape[0]) for y in (top, bottom))
    ink = drawn[above:below, first:last] >= _LEAST
    across, down = numpy.flatnonzero(ink.any(axis=0)), numpy.flatnonzero(ink.any(axis=1))
    x0, y0, x1, y1 = 0.0, height, 0.0, height
    if len(across):
        x0, x1 = (first + across[0]) / SCALE, (first + across[-1] + 1) / SCALE
        y0, y1 = (above + down[0]) / SCALE, (above + down[-1] + 1) / SCALE
    start, end = first / SCALE, last / SCALE
    return Letter(
        text, float(x0), float(height - y1), float(x1), float(height - y0), start, end, height - baseline, em, 0, 0, 0
    )
