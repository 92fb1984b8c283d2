"""Whether the series of a chart are drawn with ink: a fill, a line or markers that are not clear or white."""

from __future__ import annotations

from verikit.artifacts.readers.slides.package import A, C, Element, fraction

_LINES = ("line", "scatter", "radar", "stock")
_FILLS = ("noFill", "solidFill", "gradFill", "pattFill", "blipFill", "grpFill")
_WHITE = {"bg1", "lt1", "window", "white"}
_CLEARER = ("alpha", "alphaMod", "alphaOff")
_FAINT = 0.1
"""Opacity of less shows nothing."""
_PALE = 216
"""Red, green and blue of a colour that is almost white."""


def without_ink(series: Element, kind: str) -> str:
    """Why a series, or a point of it, is drawn without any ink; empty if all are seen."""
    marker = series.find(f"{C}marker")
    if _is_bare(series, kind, marker):
        return "a series has neither line nor markers" if kind in _LINES else "a series has neither colour nor outline"
    for point in series.iterfind(f"{C}dPt"):
        own = point.find(f"{C}marker")
        if _is_bare(point, kind, marker if own is None else own):
            return "a point is drawn without ink"
    return ""


def _is_bare(element: Element, kind: str, marker: Element | None) -> bool:
    shape = element.find(f"{C}spPr")
    line = shape.find(f"{A}ln") if shape is not None else None
    if kind not in _LINES:
        return _fill(shape) is not None and not _has_ink(shape) and not _has_ink(line)
    return _fill(line) is not None and not _has_ink(line) and not _is_marked(marker)


def _is_marked(marker: Element | None) -> bool:
    """Whether points have markers. They have some unless the chart says otherwise."""
    if marker is None:
        return True
    symbol, shape = marker.find(f"{C}symbol"), marker.find(f"{C}spPr")
    if symbol is not None and symbol.get("val") == "none":
        return False
    line = shape.find(f"{A}ln") if shape is not None else None
    return _fill(shape) is None or _has_ink(shape) or _has_ink(line)


def _fill(holder: Element | None) -> Element | None:
    """The fill of a shape or of a line; None if it has the usual one."""
    found = (holder.find(f"{A}{name}") for name in _FILLS) if holder is not None else ()
    return next((one for one in found if one is not None), None)


def _has_ink(holder: Element | None) -> bool:
    """Whether a fill has a colour that people see. Pictures are not looked at, and do not count."""
    fill = _fill(holder)
    return fill is not None and any(_is_seen(one) for one in fill.iter() if one.tag in _COLOURS)


_COLOURS = {f"{A}{name}Clr" for name in ("srgb", "scheme", "sys", "prst")}


def _is_seen(colour: Element) -> bool:
    changes = [(one.tag.removeprefix(A), fraction(one, "val", 1.0)) for one in colour]
    darker = any(name in ("lumMod", "shade") and value < 1 - _FAINT for name, value in changes)
    faded = any((name in _CLEARER and value < _FAINT) or (name == "lumOff" and value > 1 - _FAINT)
                for name, value in changes)  # fmt: skip
    return not faded and (darker or not _is_white(colour.get("val", "")))


def _is_white(value: str) -> bool:
    try:
        return value in _WHITE or (len(value) == 6 and min(bytes.fromhex(value)) >= _PALE)
    except ValueError:
        return False
