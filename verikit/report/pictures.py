"""A drawing as SVG, which needs nothing, and as PDF, through matplotlib (the extra `pdf`), which embeds its letters."""

from __future__ import annotations

import io
import warnings
from html import escape
from typing import Any

from verikit.errors import MissingExtra
from verikit.platform.terminal import printable
from verikit.report.drawing import SIZE, Area, Dot, Drawing, Line, Shape, TextLabel

FONTS = "Helvetica, Arial, 'Liberation Sans', 'DejaVu Sans', sans-serif"
DPI = 72
"""A point of a drawing is one of a page."""


def svg(drawing: Drawing) -> str:
    """Return a drawing as an SVG file, without scripts, styles or external resources."""
    size = f'width="{drawing.width:g}" height="{drawing.height:g}" viewBox="0 0 {drawing.width:g} {drawing.height:g}"'
    name = _text(drawing.title)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" font-family="{FONTS}" font-size="{SIZE:g}">',
        f"<title>{name}</title>",
        f'<rect width="{drawing.width:g}" height="{drawing.height:g}" fill="#ffffff"/>',
        *map(_element, drawing.shapes),
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def _element(shape: Shape) -> str:
    match shape:
        case Line(points, colour, width, dash):
            dashes = f' stroke-dasharray="{" ".join(f"{part:g}" for part in dash)}"' if dash else ""
            return f'<path d="M{_path(points)}" fill="none" stroke="{colour}" stroke-width="{width:g}"{dashes}/>'
        case Area(points, colour, opacity):
            return f'<path d="M{_path(points)}Z" fill="{colour}" fill-opacity="{opacity:g}"/>'
        case Dot(x, y, radius, colour):
            return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:g}" fill="{colour}"/>'
        case TextLabel(x, y, text, anchor, colour, turned):
            where = f'transform="translate({x:.1f} {y:.1f}) rotate(-90)"' if turned else f'x="{x:.1f}" y="{y:.1f}"'
            return f'<text {where} text-anchor="{anchor}" fill="{colour}">{_text(text)}</text>'


def _path(points: Any) -> str:
    return "L".join(f"{x:.1f} {y:.1f}" for x, y in points)


def _text(text: str) -> str:
    """Escape a string for XML. Names come from specs and files, and XML does not allow control characters."""
    return escape(printable(text))


def pdf(drawing: Drawing) -> bytes:
    """Return a drawing as a PDF of one page, with fonts embedded as TrueType, as publishers require.

    Raises:
        MissingExtra: matplotlib is not installed.
    """
    try:
        from matplotlib import rc_context
        from matplotlib.backends.backend_pdf import FigureCanvasPdf
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtra("verikit report --pdf", "pdf") from None
    figure: Any = Figure(figsize=(drawing.width / DPI, drawing.height / DPI), dpi=DPI)
    with rc_context({"pdf.fonttype": 42}), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph")  # a letter missing from the font is drawn as a box
        for number, shape in enumerate(drawing.shapes):
            artist = _artist(shape, drawing.height)
            artist.set_zorder(number)
            figure.add_artist(artist)
        content = io.BytesIO()
        # Without a date the same run gives the same file.
        canvas: Any = FigureCanvasPdf(figure)
        canvas.print_pdf(content, metadata={"Title": printable(drawing.title), "CreationDate": None})
    return content.getvalue()


def _artist(shape: Shape, height: float) -> Any:
    """A shape for matplotlib, whose y goes up; its display coordinates are points at 72 dots an inch."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Circle, Polygon
    from matplotlib.text import Text
    from matplotlib.transforms import Affine2D

    flat = Affine2D().scale(1, -1).translate(0, height)
    match shape:
        case Line(points, colour, width, dash):
            style: Any = (0, tuple(part / width for part in dash)) if dash else "solid"
            x, y = zip(*points, strict=True)
            return Line2D(x, y, color=colour, linewidth=width, linestyle=style, transform=flat)
        case Area(points, colour, opacity):
            return Polygon(list(points), facecolor=colour, edgecolor="none", alpha=opacity, transform=flat)
        case Dot(x, y, radius, colour):
            return Circle((x, y), radius, facecolor=colour, edgecolor="none", transform=flat)
        case TextLabel(x, y, text, anchor, colour, turned):
            side: Any = {"start": "left", "middle": "center", "end": "right"}[anchor]
            font: Any = {"family": ["DejaVu Sans"], "size": SIZE * 0.9}
            how: Any = {"rotation": 90, "rotation_mode": "anchor"} if turned else {}
            held = Text(x, y, printable(text), color=colour, ha=side, va="baseline", parse_math=False, **font, **how)
            held.set_transform(flat)
            return held
