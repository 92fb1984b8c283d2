"""Charts as pictures for a paper: a chart becomes shapes on a page of points, which `svg` and `pdf` write out.

The page's own script draws the same charts for the screen, scaled to their box and with values to read off. Here a
chart has a fixed size, a white background and its legend in the picture. The same run gives byte-identical output.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, pairwise
from typing import Literal, NamedTuple

from verikit.report.model import Chart, Number, Series

Point = tuple[float, float]

WIDTH = 480.0
HEIGHT = 300.0
TOP, RIGHT, BOTTOM, LEFT = 10.0, 14.0, 38.0, 52.0
SIZE = 11.0
"""Font size."""
LETTER = 0.56
"""Mean width of a letter, of its size."""
ROW = 22.0
"""Height of a row of a forest."""
BESIDE = 14.0
"""Height of each further series in a row of a forest."""
DOTS = 30
"""Maximum number of points for which each is drawn as a dot."""
INK, SOFT, FAINT = "#1c1d1f", "#5d6167", "#e4e5e7"
COLOURS = ("#1f5fae", "#c4620a", "#20805a", "#8a4fae", "#a8325f", "#6b6d1b")
VERDICTS = {"right": "#1a7f4b", "wrong": "#b8322a"}
"""Series with a fixed colour."""
DASHES = ((), (6.0, 3.0), (2.0, 2.0))
"""Dash patterns, used if there are more lines than colours."""


class Line(NamedTuple):
    """A line through points."""

    points: Sequence[Point]
    colour: str
    width: float = 1.0
    dash: Sequence[float] = ()


class Area(NamedTuple):
    """A filled shape."""

    points: Sequence[Point]
    colour: str
    opacity: float = 1.0


class Dot(NamedTuple):
    """A filled circle."""

    x: float
    y: float
    radius: float
    colour: str


class TextLabel(NamedTuple):
    """A label. `y` is its baseline."""

    x: float
    y: float
    text: str
    anchor: Literal["start", "middle", "end"] = "start"
    colour: str = SOFT
    turned: bool = False
    """Whether it is rotated to read upwards."""


Shape = Line | Area | Dot | TextLabel


@dataclass(slots=True)
class Drawing:
    """A chart's shapes, from back to front. x goes right and y goes down, in points (1/72 inch)."""

    title: str
    height: float = HEIGHT
    width: float = WIDTH
    shapes: list[Shape] = field(default_factory=list)


def draw(chart: Chart) -> Drawing:
    """Return a chart as shapes."""
    drawing = Drawing(chart.title)
    if chart.kind == "forest":
        _forest(drawing, chart, _legend(drawing, chart.series) if chart.rows else 0.0)
        return drawing
    top = TOP + _legend(drawing, chart.series)
    drawing.height = HEIGHT + top - TOP
    (_histogram if chart.kind == "histogram" else _lines)(drawing, chart, top)
    return drawing


def ticks(low: float, high: float, most: int) -> list[float]:
    """Return about `most` round numbers within a range: multiples of 1, 2 or 5 times a power of ten."""
    raw = (high - low) / max(1, most) or 1.0
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(times * power for times in (1, 2, 5, 10) if times * power >= raw * 0.999)
    return [at * step for at in range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1)]


def _scale(low: float, high: float, start: float, end: float, log: bool = False) -> Callable[[float], float]:
    f: Callable[[float], float] = math.log2 if log else float
    span = f(high) - f(low) or 1.0
    return lambda value: start + (f(value) - f(low)) / span * (end - start)


def _bounds(values: Sequence[Number], percent: bool) -> tuple[float, float]:
    """Return a range with some padding around the values. It starts at 0 if the values are close to 0."""
    known = [float(value) for value in values if value is not None]
    low, high = min(known, default=0.0), max(known, default=1.0)
    if low == high:
        return (0.0, 1.0) if percent else (low - (abs(low) or 1) * 0.5, high + (abs(high) or 1) * 0.5)
    pad = (high - low) * 0.06
    start, end = (0.0 if 0 <= low < high * 0.5 else low - pad), high + pad
    return (max(0.0, start), min(1.0, end)) if percent else (start, end)


def told(value: float, percent: bool, step: float = 1.0) -> str:
    """A number at an axis."""
    if percent:
        return f"{100 * value:.{1 if step < 0.01 else 0}f}"
    size = abs(value)
    if size >= 1e6:
        return f"{value / 1e6:.3g}M"
    if size >= 1e4:
        return f"{value / 1e3:.3g}k"
    return f"{value:.0e}" if value and size < 1e-3 else f"{float(f'{value:.6g}'):.6g}"


def _legend(drawing: Drawing, series: Sequence[Series]) -> float:
    """Draw the legend above the chart, in as many lines as needed, and return its height."""
    if len(series) < 2 and not any(some.name in VERDICTS for some in series):
        return 0.0
    x, y = LEFT, TOP + SIZE
    for number, some in enumerate(series):
        name = shortened(some.name, 60)
        width = 22 + len(name) * SIZE * LETTER + 12
        if x > LEFT and x + width > WIDTH - RIGHT:
            x, y = LEFT, y + SIZE * 1.5
        colour, dash = _style(some, number)
        drawing.shapes += [
            Line([(x, y - SIZE / 3), (x + 16, y - SIZE / 3)], colour, 2.0, dash),
            TextLabel(x + 21, y, name, colour=INK),
        ]
        x += width
    return y - TOP + SIZE


def _style(series: Series, number: int) -> tuple[str, Sequence[float]]:
    colour = VERDICTS.get(series.name, COLOURS[number % len(COLOURS)])
    return colour, DASHES[number // len(COLOURS) % len(DASHES)]


def _axes(
    drawing: Drawing,
    chart: Chart,
    across: tuple[Sequence[float], Callable[[float], float]],
    up: tuple[Sequence[float], Callable[[float], float]],
    top: float,
) -> None:
    bottom, right = drawing.height - BOTTOM, drawing.width - RIGHT
    (xs, x_at), (ys, y_at) = across, up
    step = ys[1] - ys[0] if len(ys) > 1 else 1.0
    for y in ys:
        drawing.shapes.append(Line([(LEFT, y_at(y)), (right, y_at(y))], FAINT))
        drawing.shapes.append(TextLabel(LEFT - 7, y_at(y) + SIZE / 3, told(y, chart.percent, step), "end"))
    for x in xs:
        drawing.shapes.append(Line([(x_at(x), bottom), (x_at(x), bottom + 4)], SOFT))
        drawing.shapes.append(TextLabel(x_at(x), bottom + 16, told(x, False), "middle"))
    drawing.shapes.append(Line([(LEFT, bottom), (right, bottom)], SOFT))
    drawing.shapes.append(TextLabel((LEFT + right) / 2, drawing.height - 5, chart.x, "middle", INK))
    name = f"{chart.y} (%)" if chart.percent else chart.y
    drawing.shapes.append(TextLabel(12, (top + bottom) / 2, name, "middle", INK, turned=True))


def _lines(drawing: Drawing, chart: Chart, top: float) -> None:
    points = list(chain.from_iterable(series.points for series in chart.series))
    xs = sorted({float(point[0]) for point in points if point[0] is not None})
    if not xs:
        return
    values = [value for point in points for value in point[1:]] + [chart.reference]
    low, high = _bounds(values, chart.percent)
    right, bottom = drawing.width - RIGHT, drawing.height - BOTTOM
    log = chart.log and xs[0] > 0
    x_at = _scale(xs[0], xs[-1], LEFT + 8, right - 8, log)
    y_at = _scale(low, high, bottom, top)
    _axes(drawing, chart, (_places(xs, x_at, drawing.width, log=log), x_at), (ticks(low, high, 5), y_at), top)
    if chart.reference is not None:
        y = y_at(chart.reference)
        drawing.shapes.append(Line([(LEFT, y), (right, y)], SOFT, dash=(4.0, 4.0)))
    for number, series in enumerate(chart.series):
        drawing.shapes += _line(series, _style(series, number), x_at, y_at, dots=len(xs) <= DOTS)


def _places(xs: Sequence[float], x_at: Callable[[float], float], width: float, *, log: bool) -> Sequence[float]:
    """Return the positions of the axis numbers: each point's position if there is room."""
    if log or all(x_at(b) - x_at(a) >= 30 for a, b in pairwise(xs)):
        return xs
    return ticks(xs[0], xs[-1], int(width // 80))


def _line(
    series: Series,
    style: tuple[str, Sequence[float]],
    x_at: Callable[[float], float],
    y_at: Callable[[float], float],
    dots: bool,
) -> Iterator[Shape]:
    known = [point for point in series.points if None not in point[:2]]
    band = [point for point in known if _has_band(point)]
    colour, dash = style

    def path(points: Sequence[tuple[Number, ...]], at: int) -> list[Point]:
        return [(x_at(float(point[0] or 0)), y_at(float(point[at] or 0))) for point in points]

    if len(band) > 1:
        yield Area([*path(band, 2), *path(band[::-1], 3)], colour, 0.14)
    if len(known) > 1:
        yield Line(path(known, 1), colour, 1.6, dash)
    if dots or len(known) == 1:
        for x, y in path(known, 1):
            yield Dot(x, y, 2.4, colour)


def _has_band(point: Sequence[Number]) -> bool:
    return len(point) > 3 and None not in point[2:4]


def _histogram(drawing: Drawing, chart: Chart, top: float) -> None:
    """Sets of bars side by side in each bin."""
    points = [[_numbers(point) for point in series.points] for series in chart.series]
    bins = list(chain.from_iterable(points))
    if not bins:
        return
    most = max(count for _, _, count in bins)
    right, bottom = drawing.width - RIGHT, drawing.height - BOTTOM
    low, high = bins[0][0], bins[-1][1]
    x_at = _scale(low, high, LEFT + 4, right)
    y_at = _scale(0, most * 1.05 or 1, bottom, top)
    whole = [y for y in ticks(0, most, 4) if y == int(y)]
    _axes(drawing, chart, (ticks(low, high, int(drawing.width // 80)), x_at), (whole, y_at), top)
    for number, (series, some) in enumerate(zip(chart.series, points, strict=True)):
        colour, _ = _style(series, number)
        drawing.shapes += _bars(some, number, len(points), colour, x_at, y_at)


def _bars(
    bins: Sequence[tuple[float, ...]],
    number: int,
    sets: int,
    colour: str,
    x_at: Callable[[float], float],
    y_at: Callable[[float], float],
) -> Iterator[Shape]:
    """Yield the bars of one set, each at its position among the sets in the same bin."""
    bottom = y_at(0)
    for start, end, count in bins:
        if count:
            width = (x_at(end) - x_at(start) - 1.5) / sets
            x, y = x_at(start) + 0.75 + number * width, y_at(count)
            yield Area([(x, bottom), (x, y), (x + width, y), (x + width, bottom)], colour, 0.85)


def _numbers(point: Sequence[Number]) -> tuple[float, ...]:
    """Return a point with 0 for unknown values."""
    return tuple(float(value or 0) for value in point)


def _interval(
    point: Sequence[Number], colour: str, x_at: Callable[[float], float], y: float, *, percent: bool
) -> Iterator[Shape]:
    """A value as a dot on its interval, and as a number."""
    value, start, end = (*point, None, None)[:3]
    if value is None:
        return
    if start is not None and end is not None:
        yield Line([(x_at(start), y), (x_at(end), y)], colour, 1.6)
    yield Dot(x_at(value), y, 3.2, colour)
    number = f"{100 * value:.1f} %" if percent else f"{value:.4g}"
    yield TextLabel(WIDTH - 4, y + SIZE / 3, number, "end", INK)


def _forest_rows(chart: Chart) -> list[tuple[str, list[tuple[str, Sequence[Number]]]]]:
    """The rows of a forest: a name, and its points with their colours."""
    if not chart.rows:
        return [(series.name, [(COLOURS[0], series.points[0])]) for series in chart.series]
    colours = [_style(series, number)[0] for number, series in enumerate(chart.series)]
    return [
        (name, [(colour, series.points[at]) for colour, series in zip(colours, chart.series, strict=True)])
        for at, name in enumerate(chart.rows)
    ]


def _forest(drawing: Drawing, chart: Chart, top: float) -> None:
    """A row for each value: its name, a dot and its interval, and the number. With `rows`, a dot for each series."""
    rows = _forest_rows(chart)
    names = [shortened(name, 44) for name, _ in rows]
    left = min(WIDTH * 0.52, 20 + max(map(len, names), default=0) * SIZE * LETTER)
    tall = ROW + BESIDE * (max((len(points) for _, points in rows), default=1) - 1)
    drawing.height = height = top + 14 + len(names) * tall + BOTTOM
    right, bottom = WIDTH - 60, height - BOTTOM
    low, high = _span(chart)
    x_at = _scale(low, high, left, right)
    _grid(drawing, chart, ticks(low, high, max(2, int((right - left) // 60))), x_at, (top + 6, bottom))
    for number, (name, (_, points)) in enumerate(zip(names, rows, strict=True)):
        y = top + 10 + tall * number
        drawing.shapes.append(TextLabel(left - 10, y + tall / 2 + SIZE / 3, name, "end", INK))
        for place, (colour, point) in enumerate(points):
            drawing.shapes += _interval(point, colour, x_at, y + ROW / 2 + BESIDE * place, percent=chart.percent)
    x_name = f"{chart.x} (%)" if chart.percent else chart.x
    drawing.shapes.append(TextLabel((left + right) / 2, height - 5, x_name, "middle", INK))


def _span(chart: Chart) -> tuple[float, float]:
    """The ends of a forest's axis."""
    if chart.percent and not chart.rows:
        return 0.0, 1.0
    values = [value for series in chart.series for point in series.points for value in point]
    return _bounds([*values, chart.reference], chart.percent)


def _grid(
    drawing: Drawing, chart: Chart, at: Sequence[float], x_at: Callable[[float], float], span: tuple[float, float]
) -> None:
    """A line with its number at each place, and a dashed line at the value that the others are compared with."""
    for x in at:
        drawing.shapes.append(Line([(x_at(x), end) for end in span], FAINT))
        drawing.shapes.append(TextLabel(x_at(x), span[1] + 16, told(x, chart.percent), "middle"))
    if chart.reference is not None:
        x = x_at(chart.reference)
        drawing.shapes.append(Line([(x, end) for end in span], SOFT, dash=(4.0, 4.0)))


def shortened(text: str, most: int) -> str:
    """Shorten a long name by replacing its middle with an ellipsis."""
    half = (most - 1) // 2
    return text if len(text) <= most else f"{text[:half]}\u2026{text[-half:]}"
