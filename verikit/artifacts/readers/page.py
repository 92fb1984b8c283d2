"""Reads pictures of a page: with its text, without it, and with it again. Differing pixels are ink."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from typing import Any

_FORMAT = ("PNG",)
_MOST_PIXELS = 24_000_000
_LEAST = 30
"""Of 255: how far a pixel must change in one colour to be ink. It is about #ddd on white."""


def read(blobs: Sequence[bytes], request: Mapping[str, Any]) -> dict[str, Any]:
    """The count of pixels with ink in each box, at most 255, as bytes.

    Args:
        blobs: Pictures with the text, without it, and with it again. Pixels that differ between the first and the last
            are animated, and are not ink.
        request: `boxes`: left, top, right and bottom of each.
    """
    import numpy

    first, second, third = blobs
    shown, bare = _pixels(first), _pixels(second)
    again = shown if third == first else _pixels(third)
    if not shown.shape == bare.shape == again.shape:
        return {"ink": bytes(len(request["boxes"]))}
    ink = _differs(shown, bare)
    if again is not shown:
        ink &= ~_differs(shown, again)
    sums = numpy.zeros((ink.shape[0] + 1, ink.shape[1] + 1), numpy.int32)
    sums[1:, 1:] = ink.cumsum(axis=0, dtype=numpy.int32).cumsum(axis=1)
    counts = bytearray()
    for left, top, right, bottom in request["boxes"]:
        left, right = (min(max(int(x), 0), ink.shape[1]) for x in (left, right))
        top, bottom = (min(max(int(y), 0), ink.shape[0]) for y in (top, bottom))
        found = 0
        if left < right and top < bottom:
            found = int(sums[bottom, right] - sums[top, right] - sums[bottom, left] + sums[top, left])
        counts.append(min(found, 255))
    return {"ink": bytes(counts)}


def _differs(one: Any, other: Any) -> Any:
    """The pixels that change enough to be ink. Colours one by one: numpy is slow over an axis of three."""
    import numpy

    changed = numpy.maximum(one, other) - numpy.minimum(one, other) >= _LEAST
    return changed[..., 0] | changed[..., 1] | changed[..., 2]


def _pixels(blob: bytes) -> Any:
    import numpy
    from PIL import Image

    with Image.open(io.BytesIO(blob), formats=_FORMAT) as picture:
        if picture.width * picture.height > _MOST_PIXELS:
            raise ValueError("a picture of the page is too large")
        return numpy.asarray(picture.convert("RGB"))
