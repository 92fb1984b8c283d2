"""Shapes of letters as a PDF's reader draws them, compared with the fonts that every PDF may use.

A font of the file can draw any shape for any character. So the ink of a character is compared with how eleven standard
fonts draw each Latin character: by its pattern in its box, and by the box's proportions and place on the line.
"""

from __future__ import annotations

import ctypes
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Any, NamedTuple

GRID = 8
_FONTS = (
    "Helvetica", "Helvetica-Bold", "Helvetica-Oblique", "Helvetica-BoldOblique", "Times-Roman", "Times-Bold",
    "Times-Italic", "Times-BoldItalic", "Courier", "Courier-Bold", "Courier-Oblique",
)  # fmt: skip
_CODES = [*range(33, 127), *range(0xA1, 0xAD), *range(0xAE, 0x100), 0x80, 0x85, *range(0x91, 0x98)]
_COLUMNS, _STEP, _SIZE = 40, 36, 20
_LINES = -(-len(_CODES) // _COLUMNS)
_WIDTH, _HEIGHT = _COLUMNS * _STEP + 80, (len(_FONTS) * _LINES + 2) * _STEP
_NEAR, _CLEAR = 0.1, 0.2
"""A character is itself unless another is likelier by more, and another if that one is likelier by as much."""
_BLOCK = 64
"""Characters compared per batch: few enough for the CPU's cache."""
_FAIR = 0.5
"""A letter that matches itself to this degree may have rivals. A digit must be the likeliest digit."""
_ROUNDING = 1e-3
_EVEN = 1.5
"""Makes characters without a pattern alike: a bar fills its box."""
_ALIKE = (
    "Il|!/1i[\\\N{BROKEN BAR}", "Jj])}", "gq9", "MHWN", "_\N{EN DASH}\N{EM DASH}-\N{MACRON}",
    "'\N{RIGHT SINGLE QUOTATION MARK}\N{LEFT SINGLE QUOTATION MARK}`\N{ACUTE ACCENT}",
    "\"\N{LEFT DOUBLE QUOTATION MARK}\N{RIGHT DOUBLE QUOTATION MARK}", "wvWV", "cC",
    "oO0\N{MASCULINE ORDINAL INDICATOR}", "sS", "xX", "zZ", "uU\N{MICRO SIGN}", "kK", "pP", "yY",
)  # fmt: skip
"""Characters that some font draws alike."""
LIGATURES = ("ff", "fi", "fl", "ffi", "ffl", "ft", "st", "tt", "ti", "Th", "fj")


class Letter(NamedTuple):
    """A character of a page as drawn, with the page rotated to make it upright. Lengths are in points."""

    text: str
    left: float
    bottom: float
    right: float
    top: float
    start: float
    """The start of its part of the line."""
    end: float
    baseline: float
    em: float
    """The size of its font."""
    turns: int
    """The quarter turns clockwise that make it upright. -1: no number does."""
    mode: int
    """The rendering mode; 3 is invisible."""
    place: int
    """The address of its text object."""


@dataclass(frozen=True, slots=True)
class PageBox:
    """The visible part of a page, before it is rotated."""

    left: float
    bottom: float
    width: float
    height: float

    def turned(self, box: Sequence[float], turns: int) -> tuple[float, float, float, float]:
        """A box's left, bottom, right and top on the page turned clockwise by quarters."""
        left, bottom, right, top = box
        left, right = left - self.left, right - self.left
        bottom, top = bottom - self.bottom, top - self.bottom
        if turns == 1:
            return bottom, self.width - right, top, self.width - left
        if turns == 2:
            return self.width - right, self.height - top, self.width - left, self.height - bottom
        if turns == 3:
            return self.height - top, left, self.height - bottom, right
        return left, bottom, right, top


@dataclass(frozen=True)
class _Known:
    """The reference: a row of features for each drawn character, the rows of one character next to each other."""

    texts: list[str]
    places: dict[str, int]
    """The index of each character in `texts`."""
    rows: dict[str, slice]
    """The rows of each character."""
    patterns: Any
    measures: Any
    starts: Any
    """The first row of each character."""
    rivals: Any
    """For each character, the characters that it can't be mistaken for."""
    digits: Any


def ink(page: Any, objects: Iterable[Any], scale: float, full: Any) -> Any:
    """The difference that text objects make to a rendered page, pixel by pixel, of any colour."""
    import numpy
    import pypdfium2.raw as pdfium

    objects = list(objects)
    for one in objects:
        pdfium.FPDFPageObj_SetIsActive(one, False)
    bare = rendered(page, scale)
    for one in objects:
        pdfium.FPDFPageObj_SetIsActive(one, True)
    apart = numpy.maximum(full, bare) - numpy.minimum(full, bare)
    return numpy.maximum(numpy.maximum(apart[:, :, 0], apart[:, :, 1]), apart[:, :, 2])


def rendered(page: Any, scale: float) -> Any:
    """The page as an array of heights, widths and three colours."""
    return page.render(scale=scale).to_numpy()[:, :, :3]


def text_objects(page: Any) -> list[Any]:
    """All text objects of a page, also within groups."""
    import pypdfium2.raw as pdfium

    return [one.raw for one in page.get_objects(filter=[pdfium.FPDF_PAGEOBJ_TEXT], max_depth=20)]


def letters(textpage: Any, page: PageBox, most: int) -> list[Letter]:
    """The characters of a page in the order of its text, without blanks."""
    import pypdfium2.raw as pdfium

    found: list[Letter] = []
    left, right, bottom, top, x, y = (ctypes.c_double() for _ in range(6))
    loose = pdfium.FS_RECTF()
    runs: dict[int, tuple[float, int, int]] = {}
    for index in range(min(textpage.count_chars(), most)):
        text = chr(pdfium.FPDFText_GetUnicode(textpage, index))
        place = pdfium.FPDFText_GetTextObject(textpage, index)
        if not place or text.isspace() or text == "\0" or pdfium.FPDFText_IsGenerated(textpage, index) == 1:
            continue
        address = ctypes.addressof(place.contents)
        if address not in runs:
            runs[address] = _run(textpage, index, place)
        em, turns, mode = runs[address]
        pdfium.FPDFText_GetCharBox(textpage, index, left, right, bottom, top)
        pdfium.FPDFText_GetLooseCharBox(textpage, index, loose)
        pdfium.FPDFText_GetCharOrigin(textpage, index, x, y)
        upright = page.turned((left.value, bottom.value, right.value, top.value), turns)
        along = page.turned((loose.left, loose.bottom, loose.right, loose.top), turns)
        baseline = page.turned((x.value, y.value, x.value, y.value), turns)[1]
        found.append(Letter(
            "-" if text in "\2\xad\N{HYPHEN}" else text, *upright, along[0], along[2], baseline, em, turns,
            mode, address,
        ))  # fmt: skip
    return found


def _run(textpage: Any, index: int, place: Any) -> tuple[float, int, int]:
    """The size, turns and mode of a character's text object, which are those of all its characters."""
    import pypdfium2.raw as pdfium

    matrix = pdfium.FS_MATRIX()
    pdfium.FPDFText_GetMatrix(textpage, index, matrix)
    em = pdfium.FPDFText_GetFontSize(textpage, index) * abs(matrix.a * matrix.d - matrix.b * matrix.c) ** 0.5
    return em, _turns(matrix), pdfium.FPDFTextObj_GetTextRenderMode(place)


def _turns(matrix: Any) -> int:
    """How a character's matrix turns it, counter-clockwise; -1 for a slant or a mirror."""
    straight, across = abs(matrix.a) + abs(matrix.d), abs(matrix.b) + abs(matrix.c)
    if across < 0.4 * straight and matrix.a * matrix.d > 0:
        return 0 if matrix.a > 0 else 2
    if straight < 0.4 * across and matrix.b * matrix.c < 0:
        return 1 if matrix.b > 0 else 3
    return -1


def boxes(found: list[Letter]) -> Any:
    """Left, bottom, right and top of characters, a row for each."""
    import numpy

    return numpy.array([(one.left, one.bottom, one.right, one.top) for one in found]).reshape(-1, 4)


def summed(drawn: Any) -> Any:
    """For each corner between pixels, the sum of all pixels to its left and above it."""
    import numpy

    sums = numpy.zeros((drawn.shape[0] + 1, drawn.shape[1] + 1), dtype=numpy.uint32)
    sums[1:, 1:] = drawn
    for row in range(1, len(sums)):  # whole rows are added three times as fast as by a cumsum of columns
        sums[row] += sums[row - 1]
    return numpy.cumsum(sums, axis=1, out=sums)


def patterns(drawn: Any, places: Any, scale: float, height: float) -> Any:
    """The ink in each field of a grid over each box, from 0 to 1."""
    import numpy

    sums = summed(drawn)
    steps = numpy.arange(GRID + 1) / GRID
    across = (places[:, 0, None] + (places[:, 2] - places[:, 0])[:, None] * steps) * scale
    down = (height - places[:, 3, None] + (places[:, 3] - places[:, 1])[:, None] * steps) * scale
    x, y = numpy.clip(across, 0, drawn.shape[1]), numpy.clip(down, 0, drawn.shape[0])
    column, row = numpy.minimum(x.astype(int), drawn.shape[1] - 1), numpy.minimum(y.astype(int), drawn.shape[0] - 1)
    right, below = (x - column)[:, None, :], (y - row)[:, :, None]

    def at(plus_row: int, plus_column: int) -> Any:
        return sums[(row + plus_row)[:, :, None], (column + plus_column)[:, None, :]]

    corners = (1 - below) * ((1 - right) * at(0, 0) + right * at(0, 1))
    corners += below * ((1 - right) * at(1, 0) + right * at(1, 1))
    fields = numpy.diff(numpy.diff(corners, axis=1), axis=2)
    area = (across[:, -1] - across[:, 0]) * (down[:, -1] - down[:, 0]) / GRID**2
    return fields / numpy.maximum(area, 1e-9)[:, None, None] / 255


def verdicts(found: list[Letter], drawn: Any) -> list[str]:
    """For each character, the one that its drawn shape shows. Empty: itself. `?`: undecidable."""
    known = reference()
    features, measures = _unit(drawn), _measures(found)
    rows_of: dict[str, list[int]] = {}
    for row, letter in enumerate(found):
        rows_of.setdefault(letter.text, []).append(row)
    told = ["?"] * len(found)
    unclear: list[int] = []
    for text, rows in rows_of.items():
        if text in known.places:
            for row, clear in zip(rows, _clear(known, text, features[rows], measures[rows]), strict=True):
                told[row] = ""
                if not clear:
                    unclear.append(row)
    for start in range(0, len(unclear), _BLOCK):
        block = unclear[start : start + _BLOCK]
        compared = _compared(known, [found[row].text for row in block], features[block], measures[block])
        for row, verdict in zip(block, compared, strict=True):
            told[row] = verdict
    return told


def _clear(known: _Known, text: str, features: Any, measures: Any) -> Any:
    """Whether drawings of a character are so near to its references that no other character can be likelier.

    The likeness is at most 1, so most characters need no comparison with all others.
    """
    own = _likeness(known, features, measures, known.rows[text])
    if not text.isdecimal():
        return own >= max(1 - _CLEAR, _FAIR) + _ROUNDING
    likelier = [
        _likeness(known, features, measures, known.rows[digit]) > own for digit in "0123456789" if digit != text
    ]
    return (own >= 1 - _NEAR + _ROUNDING) & ~sum(likelier[1:], likelier[0])


def _likeness(known: _Known, features: Any, measures: Any, rows: slice) -> Any:
    """How well drawings match the best of some references: patterns, less a penalty for other proportions."""
    return _likenesses(known, features, measures, rows).max(axis=1)


def _likenesses(known: _Known, features: Any, measures: Any, rows: slice) -> Any:
    import numpy

    found = features @ known.patterns[rows].T
    away = numpy.empty_like(found)
    for place, (weight, most) in enumerate(((0.25, 2.0), (0.5, 9.0), (0.7, 9.0))):
        numpy.subtract(measures[:, None, place], known.measures[None, rows, place], out=away)
        numpy.minimum(numpy.abs(away, out=away), most, out=away)
        away *= weight
        found -= away
    return found


def _compared(known: _Known, texts: list[str], features: Any, measures: Any) -> list[str]:
    """The verdicts of a few known characters, by comparison with all others."""
    import numpy

    likeness = _likenesses(known, features, measures, slice(None))
    best = numpy.maximum.reduceat(likeness, known.starts, axis=1)
    places = numpy.array([known.places[text] for text in texts])
    others = numpy.where(known.rivals[places], best, -9.0)
    digits = numpy.where(known.digits, others, -9.0).max(axis=1)
    own, other, likeliest = best[range(len(best)), places], others.max(axis=1), others.argmax(axis=1)
    told = []
    for row, text in enumerate(texts):
        verdict = _verdict(text, own[row], other[row], digits[row])
        told.append(known.texts[likeliest[row]] if verdict == "other" else verdict)
    return told


def _verdict(text: str, own: float, other: float, digit: float) -> str:
    """Empty for a character that is itself, `other` if it shows another one, `?` if undecidable."""
    if text.isdecimal():
        near, clear = (_NEAR, _CLEAR) if own >= digit else (0.0, _NEAR)
    else:
        near, clear = (_CLEAR if own >= _FAIR else _NEAR), _CLEAR
    if own >= other - near:
        return ""
    return "?" if other < own + clear or other < 0.6 else "other"


def _unit(drawn: Any) -> Any:
    import numpy

    flat = drawn.reshape(len(drawn), -1)
    flat = flat - flat.mean(axis=1, keepdims=True)
    flat = numpy.concatenate([flat, numpy.full((len(flat), 1), _EVEN)], axis=1)
    return (flat / numpy.linalg.norm(flat, axis=1, keepdims=True)).astype(numpy.float32)


def _measures(found: list[Letter]) -> Any:
    import numpy

    rows = [(one.right - one.left, one.top - one.bottom, one.bottom - one.baseline, one.em) for one in found]
    wide, high, rise, em = numpy.maximum(numpy.array(rows).reshape(-1, 4), (0.01, 0.01, -1e9, 0.01)).T
    return numpy.stack([numpy.log(wide / high), high / em, rise / em], axis=1).astype(numpy.float32)


@cache
def reference() -> _Known:
    """How the standard fonts draw each character."""
    import numpy
    import pypdfium2

    document = pypdfium2.PdfDocument(_specimen())
    page = document[0]
    found = letters(page.get_textpage(), PageBox(0.0, 0.0, _WIDTH, _HEIGHT), 100_000)
    drawn = ink(page, text_objects(page), 1.0, rendered(page, 1.0))
    features = _unit(patterns(drawn, boxes(found), 1.0, page.get_height()))
    order = sorted(range(len(found)), key=lambda row: found[row].text)
    every, starts = numpy.unique(numpy.array([found[row].text for row in order]), return_index=True)
    texts = [str(text) for text in every]
    rivals = numpy.array([[not _alike(one, other) for other in texts] for one in texts])
    digits = numpy.array([one.isdecimal() for one in texts])
    places = {text: place for place, text in enumerate(texts)}
    rows = {text: slice(*ends) for text, ends in zip(texts, pairwise([*starts.tolist(), len(order)]), strict=True)}
    return _Known(texts, places, rows, features[order], _measures(found)[order], starts, rivals, digits)


def _alike(one: str, other: str) -> bool:
    first, second = _base(one), _base(other)
    if first.isdecimal() and second.isdecimal():
        return first == second
    return first == second or any(first in group and second in group for group in _ALIKE)


def _base(text: str) -> str:
    """A letter without its accents."""
    return unicodedata.normalize("NFKD", text).strip()[:1] if text.isalpha() else text


def _specimen() -> bytes:
    """A PDF with one page: every character in every font."""
    shown = []
    for number in range(len(_FONTS)):
        for place, code in enumerate(_CODES):
            line = number * _LINES + place // _COLUMNS
            across, up = 40 + place % _COLUMNS * _STEP, _HEIGHT - (line + 1) * _STEP
            shown.append(f"BT /F{number} {_SIZE} Tf {across} {up} Td <{code:02x}> Tj ET")
    fonts = [
        f"/F{number} << /Type /Font /Subtype /Type1 /BaseFont /{name} /Encoding /WinAnsiEncoding >>"
        for number, name in enumerate(_FONTS)
    ]
    content = "\n".join(shown)
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 {_WIDTH} {_HEIGHT}] /Contents 4 0 R "
        f"/Resources << /Font << {' '.join(fonts)} >> >> >>",
        f"<< /Length {len(content)} >>\nstream\n{content}\nendstream",
    ]
    out, offsets = "%PDF-1.4\n", []
    for number, one in enumerate(objects, 1):
        offsets.append(len(out))
        out += f"{number} 0 obj\n{one}\nendobj\n"
    table = "".join(f"{offset:010d} 00000 n \n" for offset in offsets)
    head = f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{table}"
    return f"{out}{head}trailer\n<< /Size {len(objects) + 1} /Root 1 0 R >>\nstartxref\n{len(out)}\n%%EOF".encode()
