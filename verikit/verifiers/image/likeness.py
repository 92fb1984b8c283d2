"""Similarity of two pictures: the worst block decides, so a large background of one colour has no effect.

Each picture is reduced to its difference from its own background, the usual colour of its border. Pixels with a visible
difference are content. The pictures are aligned by their content, cut into blocks, and compared block by block:

- overlap: the fraction of each picture's content at most two pixels from content of the other,
- colour: the mean difference from the background over the content of both,
- structure: SSIM (Wang et al. 2004, with uniform windows) of the brightness over the content of both.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

SEEN = 24
"""Minimum visible difference from the background, of 255."""
BLOCK = 32
"""Pixels of a block's side; a picture's longer side has 768."""
SHIFT = 4
"""Maximum shift between the pictures, in pixels."""
LEAST_CONTENT = 1e-4
"""Minimum fraction of content pixels; a picture below it is blank."""
OTHER_GROUND = 40
"""Maximum difference of backgrounds of the same colour, of 255."""
_REACH = 2
"""Maximum distance, in pixels, between matching content of the two pictures."""
_FEW = 40
"""Minimum pixels of content per block; a block with less is treated as if it had this many."""
_STRAY, _STRICT = 0.03, 6
"""Mean colour difference (0 to 1) that compression and smoothing cause, and the penalty factor for any excess."""


class Likeness(NamedTuple):
    """The worst block of two pictures."""

    value: float
    """0 to 1."""
    reason: str


def likeness(picture: Any, expected: Any) -> Likeness:
    """Compare two pictures.

    Args:
        picture: uint8 of shape (height, width, 3).
        expected: the same; its size may differ by a few pixels.
    """
    import numpy

    high, wide = (min(picture.shape[axis], expected.shape[axis]) for axis in (0, 1))
    own, wanted = picture[:high, :wide].astype(numpy.float32), expected[:high, :wide].astype(numpy.float32)
    grounds = ground(own), ground(wanted)
    if numpy.abs(grounds[0] - grounds[1]).max() > OTHER_GROUND:
        return Likeness(0.0, "the ground has another colour")
    own, wanted = own - grounds[0], wanted - grounds[1]
    strong, other = _strength(own), _strength(wanted)
    if (strong > SEEN).mean() < LEAST_CONTENT:
        return Likeness(0.0, "the picture is blank")
    own = _aligned(own, strong, other)
    mine, theirs = content(own), other > SEEN
    either = mine | theirs
    parts = {"overlap": _overlap(mine, theirs), "colour": _colour(own, wanted, either),
             "structure": _structure(own, wanted, either)}  # fmt: skip
    used = _blocks(either) > 0
    worst = {name: numpy.where(used, values, 1.0) for name, values in parts.items()}
    name = min(worst, key=lambda part: worst[part].min())
    down, right = numpy.unravel_index(int(worst[name].argmin()), worst[name].shape)
    place = f"at {50 * right * BLOCK // wide} % from the left and {50 * down * BLOCK // high} % from the top"
    value = float(worst[name].min())
    return Likeness(max(value, 0.0), f"{name} {value:.2f} {place}")


def ground(picture: Any) -> Any:
    """The usual colour of a picture's border."""
    import numpy

    edge = 4
    border = [picture[:edge], picture[-edge:], picture[:, :edge], picture[:, -edge:]]
    return numpy.median(numpy.concatenate([part.reshape(-1, 3) for part in border]), axis=0)


def content(difference: Any) -> Any:
    """The mask of pixels that differ visibly from the background."""
    return _strength(difference) > SEEN


def _strength(difference: Any) -> Any:
    """The largest difference of each pixel's colours, one colour at a time: numpy is slow over an axis of three."""
    import numpy

    sizes = numpy.abs(difference)
    return numpy.maximum(numpy.maximum(sizes[..., 0], sizes[..., 1]), sizes[..., 2])


def _aligned(own: Any, strong: Any, other: Any) -> Any:
    """The picture, shifted to put most of its content in the rows and columns of the other's content."""
    down, right = (_shift(strong.sum(axis=axis), other.sum(axis=axis)) for axis in (1, 0))
    return _between(_between(own, down, 0), right, 1)


def _shift(mine: Any, theirs: Any) -> float:
    """The shift, in quarter places, that brings a row of sums nearest to another."""
    import numpy

    places = numpy.arange(len(mine))
    inner = slice(SHIFT, len(mine) - SHIFT)
    shifts = sorted((quarters / 4 for quarters in range(-4 * SHIFT, 4 * SHIFT + 1)), key=abs)

    def distance(shift: float) -> float:
        return float(numpy.abs(numpy.interp(places - shift, places, mine)[inner] - theirs[inner]).sum())

    return min(shifts, key=distance)


def _between(image: Any, shift: float, axis: int) -> Any:
    """An image shifted along an axis; fractions of a pixel use the neighbours' weighted mean."""
    if shift == 0:
        return image
    whole = math.floor(shift)
    part = shift - whole
    steps = ((whole, 0), (whole + 1, 0)) if axis == 0 else ((0, whole), (0, whole + 1))
    first = _moved(image, *steps[0])
    return first if part == 0 else (1 - part) * first + part * _moved(image, *steps[1])


def _moved(image: Any, down: int, right: int) -> Any:
    """An image shifted over background."""
    import numpy

    moved = numpy.zeros_like(image)
    high, wide = image.shape[:2]
    moved[max(down, 0) : high + min(down, 0), max(right, 0) : wide + min(right, 0)] = image[
        max(-down, 0) : high + min(-down, 0), max(-right, 0) : wide + min(-right, 0)
    ]
    return moved


def _blocks(image: Any) -> Any:
    """Sums over blocks, each half a block after the one before; the last ones are padded with zeros."""
    import numpy

    half = BLOCK // 2
    high, wide = (max(side, BLOCK) for side in image.shape)
    more = ((0, high + -high % half - image.shape[0]), (0, wide + -wide % half - image.shape[1]))
    padded = numpy.pad(image, more)
    shape = (padded.shape[0] // half, half, padded.shape[1] // half, half)
    cells = padded.reshape(shape).sum(axis=(1, 3), dtype=numpy.float64)
    return cells[:-1, :-1] + cells[1:, :-1] + cells[:-1, 1:] + cells[1:, 1:]


def _near(mask: Any) -> Any:
    """The pixels at most `_REACH` from a mask."""
    import numpy

    reached = numpy.zeros_like(mask)
    for down in range(-_REACH, _REACH + 1):
        reached |= _moved(mask, down, 0)
    near = numpy.zeros_like(mask)
    for right in range(-_REACH, _REACH + 1):
        near |= _moved(reached, 0, right)
    return near


def _overlap(mine: Any, theirs: Any) -> Any:
    import numpy

    strays = _blocks(mine & ~_near(theirs)), _blocks(theirs & ~_near(mine))
    return 1.0 - numpy.maximum(
        strays[0] / numpy.maximum(_blocks(mine), _FEW), strays[1] / numpy.maximum(_blocks(theirs), _FEW)
    )


def _colour(own: Any, wanted: Any, either: Any) -> Any:
    import numpy

    around = _near(either)
    size = numpy.maximum(_blocks(around), _FEW)
    gaps = [numpy.abs(_blocks((own[..., at] - wanted[..., at]) * around)) / size / 255 for at in range(3)]
    return 1.0 - numpy.clip((numpy.maximum.reduce(gaps) - _STRAY) * _STRICT, 0.0, 1.0)


def _structure(own: Any, wanted: Any, either: Any) -> Any:
    import numpy

    first, second = (_window((image[..., 0] + image[..., 1] + image[..., 2]) / 3 / 255, 3) for image in (own, wanted))
    mean_1, mean_2 = _window(first, 7), _window(second, 7)
    squares, product = mean_1**2 + mean_2**2, mean_1 * mean_2
    variances = _window(first * first + second * second, 7) - squares
    both = _window(first * second, 7) - product
    c_1, c_2 = 0.01**2, 0.03**2
    ssim = (2 * product + c_1) * (2 * both + c_2) / ((squares + c_1) * (variances + c_2))
    size = _blocks(either)
    return (_blocks(ssim * either) + numpy.maximum(_FEW - size, 0)) / numpy.maximum(size, _FEW)


def _window(image: Any, side: int) -> Any:
    """Means over squares of pixels."""
    import numpy

    padded = numpy.pad(image, side // 2, mode="edge")
    return _sums(_sums(padded, side, 0), side, 1) / side**2


def _sums(image: Any, side: int, axis: int) -> Any:
    """Sums of `side` neighbours along an axis, of sums of 1, 2, 4 … neighbours."""
    length = image.shape[axis] - side + 1
    total, start, width = 0, 0, 1
    while True:
        if side & width:
            total = total + _cut(image, start, length, axis)
            start += width
        if 2 * width > side:
            return total
        count = image.shape[axis] - width
        image = _cut(image, 0, count, axis) + _cut(image, width, count, axis)
        width *= 2


def _cut(image: Any, start: int, count: int, axis: int) -> Any:
    return image[start : start + count] if axis == 0 else image[:, start : start + count]
