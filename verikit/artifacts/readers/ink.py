"""Whether the series of a chart are drawn with ink: a fill, a line or markers that people see on its ground."""

from __future__ import annotations

from xml.etree import ElementTree

from verikit.artifacts.readers.alternatives import only
from verikit.artifacts.readers.slides.colours import NOTHING, UNKNOWN, Paint, Palette, legible, plain
from verikit.artifacts.readers.slides.package import A, C, Element, Package, whole

_LINES = ("line", "scatter", "radar", "stock")
_FILLS = [f"{A}{name}" for name in ("noFill", "solidFill", "gradFill", "pattFill", "blipFill", "grpFill")]
_FAINT = 0.1
"""Opacity of less shows nothing."""
_PALE = 245 / 255
"""Red, green and blue of a colour that is almost white. The lightest tints of Office are darker."""
_WIDE = 10 * 12_700
"""Width of a border, in EMU: ten points."""
_ALIKE = 10 / 255
"""Difference of two colours that people do not see side by side."""
_MOST_CHANGES = 20
"""Changes of a colour that `Palette` reads."""
_COLOURS = [f"{A}{name}Clr" for name in ("srgb", "scheme", "sys", "prst", "hsl", "scrgb")]
_PALE_PRESETS = {"ghostWhite", "mintCream"}
"""Names of such colours that `Palette` does not know."""
_BETWEEN = {
    (f"{C}hiLowLines",): (f"{A}ln",), (f"{C}dropLines",): (f"{A}ln",),
    (f"{C}upDownBars", f"{C}upBars"): (), (f"{C}upDownBars", f"{C}downBars"): (),
}  # fmt: skip
"""What stock charts draw between series, and where its colour is."""
_FLAT = {f"{C}{name}Chart" for name in ("area", "bar", "bubble", "line", "scatter", "stock")}
"""Plots behind which all programs fill the plot area."""
_DARK = 0.6
_BRIGHTNESS = 0.2126, 0.7152, 0.0722
"""How bright people see red, green and blue."""
_ACCENTS = 6
_OFFICE = ElementTree.fromstring(
    f'<a:theme xmlns:a="{A[1:-1]}"><a:themeElements><a:clrScheme>'
    + "".join(
        f'<a:{name}><a:srgbClr val="{value}"/></a:{name}>'
        for name, value in {
            "lt2": "EEECE1", "dk2": "1F497D", "accent1": "4F81BD", "accent2": "C0504D", "accent3": "9BBB59",
            "accent4": "8064A2", "accent5": "4BACC6", "accent6": "F79646",
        }.items()
    )
    + "</a:clrScheme></a:themeElements></a:theme>"
)  # fmt: skip
"""The theme of workbooks without one."""


def palette_of(package: Package, chart: Element | None) -> Palette:
    """The colours of a chart, by its root: those of the workbook's theme under the chart's own names."""
    theme = package.tree(package.related(package.related("", "officeDocument"), "theme"))
    names = only(chart, f"{C}clrMapOvr")
    return Palette(theme if theme is not None else _OFFICE, names.attrib if names is not None else {})


def ground_of(palette: Palette, chart: Element | None) -> Paint:
    """The colour behind the series of a chart, by its root. It is unknown unless all programs draw it alike."""
    area = only(chart, f"{C}chart", f"{C}plotArea")
    plots = {one.tag for one in area if one.tag.endswith("Chart")} if area is not None else set()
    inner, outer = (_painted(palette, only(one, f"{C}spPr")) for one in (area, chart))
    return inner.over(outer.over(UNKNOWN)) if plots <= _FLAT else UNKNOWN


def _painted(palette: Palette, shape: Element | None) -> Paint:
    """The fill of a shape. Programs choose one if it has none."""
    fill = only(shape, _FILLS)
    if fill is None or fill.tag not in (f"{A}noFill", f"{A}solidFill") or _has_wide_line(shape):
        return UNKNOWN
    colour = only(fill, _COLOURS)
    if fill.tag == f"{A}noFill":
        return NOTHING
    return plain(palette.colour(fill)) if colour is not None and len(colour) <= _MOST_CHANGES else UNKNOWN


def _has_wide_line(shape: Element | None) -> bool:
    """Whether the border of a shape may cover much of it."""
    line = _line(shape)
    return line is not None and only(line, f"{A}noFill") is None and whole(line, "w") > _WIDE


def _is_dark(ground: Paint) -> bool:
    inks = ground.inks if ground.known else ()
    return bool(inks) and all(sum(map(float.__mul__, _BRIGHTNESS, ink[:3])) < _DARK for ink in inks)


class Inks:
    """The colours that the series of a chart have.

    Args:
        palette: The colours of the chart.
        ground: The colour behind the series.
    """

    def __init__(self, palette: Palette, ground: Paint = UNKNOWN) -> None:
        self._palette = palette
        self._ground, self._on_dark = ground, _is_dark(ground)

    def missing(self, plot: Element, series: Element, kind: str) -> str:
        """Why a series of a plot, or a point of it, is drawn without any ink; empty if all are seen."""
        if kind == "stock" and self._has_lines_between(plot):
            return ""
        marker = only(series, f"{C}marker")
        style = only(plot, f"{C}radarStyle")
        if style is not None and style.get("val") == "filled":
            kind = "area"
        if self._is_bare(series, kind, marker, usual=self._has_usual_ink(series)):
            shown = "neither line nor markers" if kind in _LINES else "neither colour nor outline"
            return f"a series has {shown}"
        for point in series.iterfind(f"{C}dPt"):
            own = only(point, f"{C}marker")
            if self._is_bare(point, kind, marker if own is None else own, usual=True):
                return "a point is drawn without ink"
        return ""

    def is_clear(self, series: Element) -> bool:
        """Whether a series with fills and all its points are surely drawn without any ink."""
        shapes = [only(one, f"{C}spPr") for one in (series, *series.iterfind(f"{C}dPt"))]
        lines = [line for line in map(_line, shapes) if only(line, _FILLS) is not None]
        return all(map(self._is_unseen, [*shapes, *lines]))

    def _is_unseen(self, holder: Element | None) -> bool:
        """Whether a shape or line surely has no fill that people see."""
        fill = only(holder, _FILLS)
        if fill is None or fill.tag == f"{A}noFill":
            return fill is not None
        colour = only(fill, _COLOURS) if fill.tag == f"{A}solidFill" else None
        ink = self._palette.colour(fill) if colour is not None and len(colour) <= _MOST_CHANGES else None
        if ink is None:
            return False
        ground = self._ground.inks if self._ground.known and self._ground.inks else [(1.0, 1.0, 1.0)]
        alike = all(abs(own - other) <= _ALIKE for inks in ground for own, other in zip(ink[:3], inks, strict=False))
        return alike or ink.alpha < _FAINT

    def _has_lines_between(self, plot: Element) -> bool:
        """Whether lines or bars between the series of a stock chart are seen. Then the series need no ink."""
        drawn = [(only(plot, *path), line) for path, line in _BETWEEN.items()]
        return any(self._has_ink(only(one, f"{C}spPr", *line), usual=True) for one, line in drawn if one is not None)

    def _has_usual_ink(self, series: Element) -> bool:
        """Whether the colour that the theme gives to a series without one is seen."""
        ink = self._palette.named(f"accent{whole(only(series, f'{C}idx'), 'val') % _ACCENTS + 1}")
        return ink is None or min(ink[:3]) < _PALE

    def _is_bare(self, element: Element, kind: str, marker: Element | None, *, usual: bool) -> bool:
        shape = only(element, f"{C}spPr")
        line = _line(shape)
        if kind not in _LINES:
            return not (self._has_ink(shape, usual=usual) or self._has_ink(line, usual=False))
        return not (self._has_ink(line, usual=usual) or self._is_marked(marker, usual=usual))

    def _is_marked(self, marker: Element | None, *, usual: bool) -> bool:
        """Whether points have markers. They have some unless the chart says otherwise."""
        if marker is None:
            return usual
        symbol, shape = only(marker, f"{C}symbol"), only(marker, f"{C}spPr")
        if symbol is not None and symbol.get("val") == "none":
            return False
        return self._has_ink(shape, usual=usual) or self._has_ink(_line(shape), usual=False)

    def _has_ink(self, holder: Element | None, *, usual: bool) -> bool:
        """Whether a shape or line has a colour that people see; `usual` if it sets no fill. Pictures do not count."""
        fill = only(holder, _FILLS)
        if fill is None:
            return usual
        colours = [only(one, _COLOURS) for one in fill.iter()]
        return any(self._is_seen(one) for one in colours if one is not None)

    def _is_seen(self, colour: Element) -> bool:
        holder = Element("colour")
        holder.append(colour)
        ink = self._palette.colour(holder)
        if ink is None and colour.tag == f"{A}prstClr" and not len(colour):
            return colour.get("val", "") not in _PALE_PRESETS
        if ink is None or len(colour) > _MOST_CHANGES:
            return False
        if self._on_dark:
            return legible(plain(ink), self._ground) is True
        return ink.alpha >= _FAINT and min(ink[:3]) < _PALE


def _line(shape: Element | None) -> Element | None:
    return only(shape, f"{A}ln")
