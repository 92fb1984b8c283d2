"""The check of charts: their sheets, types and the ranges of their series."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, get_args

from verikit.artifacts.readers.references import reference
from verikit.errors import UsageError
from verikit.types import Score
from verikit.verifiers.xlsx.observed import SeenChart, SeenSeries, SeenWorkbook
from verikit.verifiers.xlsx.verdicts import YES, best, no, together

ChartType = Literal[
    "area", "bar", "bubble", "column", "doughnut", "line", "pie", "radar", "scatter", "stock", "surface"
]
_CHART = {"sheet", "type", "categories", "series"}
_SERIES = {"values", "type", "categories", "name", "base"}
_RANGES = ("values", "categories", "name")


def check_charts(asked: Sequence[Mapping[str, Any]]) -> None:
    """Look for errors in the option.

    Raises:
        UsageError: It is no list of charts, or a chart has no series, or an unknown key, type or reference.
    """
    _check_list("chart", asked)
    for chart in asked:
        if not isinstance(chart, Mapping) or not set(chart) <= _CHART or not chart.get("series"):
            raise UsageError(f"a chart has `series`, and may have {_listed(_CHART)}; got {chart!r:.80}", hint=_EXAMPLE)
        _check_list("the series of a chart", chart["series"])
        if not isinstance(chart.get("sheet", ""), str):
            raise UsageError(f"the sheet of a chart must be a string, got {chart['sheet']!r:.80}", hint=_EXAMPLE)
        series = [_series(chart, one) for one in chart["series"]]
        for one in series:
            _check_series(one)
        if all(one.get("base") for one in series):
            raise UsageError("a chart has a series that is no base", hint=_WATERFALL)


def _check_list(name: str, given: Any) -> None:
    if not isinstance(given, Sequence) or isinstance(given, str):
        raise UsageError(f"{name} must be a list, got {given!r:.80}", hint=_EXAMPLE)


def _check_series(one: Mapping[str, Any]) -> None:
    if "values" not in one or not set(one) <= _SERIES:
        raise UsageError(
            f"a series of a chart has `values`, and may have {_listed(_SERIES)}; got {one!r:.80}", hint=_EXAMPLE
        )
    if not isinstance(one.get("base", False), bool):
        raise UsageError(f"base of a series of a chart must be true or false, got {one['base']!r:.80}", hint=_WATERFALL)
    if "type" in one:
        _check_type(one["type"])
    for name in _RANGES:
        area = reference(one[name]) if isinstance(one.get(name), str) else None
        if name in one and (area is None or area.open_ended):
            raise UsageError(
                f"{name} of a series of a chart must be a range, got {one[name]!r:.80}", hint="Sales!B2:B5"
            )


def _check_type(given: Any) -> None:
    known = get_args(ChartType)
    types = [given] if isinstance(given, str) else given
    if not isinstance(types, Sequence) or not types or not all(isinstance(one, str) for one in types):
        raise UsageError(f"the type of a chart must be a string or a list of strings, got {given!r:.80}", hint=_EXAMPLE)
    if unknown := next((one for one in types if one not in known), None):
        raise UsageError(f"chart type {unknown!r:.80} not found", hint=", ".join(known))


_WATERFALL = '{"series": [{"values": "B2:B5", "base": true}, "C2:C5"]}'
_EXAMPLE = 'chart=[{"type": "column", "series": ["Sales!D2:D5"]}]'


def _listed(keys: set[str]) -> str:
    return ", ".join(f"`{key}`" for key in sorted(keys - {"series", "values"}))


def _series(chart: Mapping[str, Any], one: Any) -> dict[str, Any]:
    """A requested series with the type and the categories that its chart gives to all."""
    given = {name: chart[name] for name in ("type", "categories") if name in chart}
    return {**given, **(one if isinstance(one, Mapping) else {"values": one})}


def _types(one: Mapping[str, Any]) -> Sequence[str]:
    found = one.get("type", ())
    return [found] if isinstance(found, str) else found


def charts(book: SeenWorkbook, asked: Sequence[Mapping[str, Any]]) -> Score:
    """Whether the workbook has these charts."""
    return together([_chart(book, one) for one in asked])


def _chart(book: SeenWorkbook, wanted: Mapping[str, Any]) -> Score:
    place = wanted.get("sheet", "")
    found = [one for one in book.charts if not place or one.sheet.casefold() == place.casefold()]
    scores = [_compared(book, one, wanted) for one in found]
    where = f" on the sheet {place!r:.60}" if place else ""
    return best(scores, f"the workbook has no chart{where}")


def _compared(book: SeenWorkbook, chart: SeenChart, wanted: Mapping[str, Any]) -> Score:
    """Whether a chart draws these series and no others, in any order."""
    where = f"the chart on the sheet {chart.sheet!r:.60}"
    if chart.hidden:
        return no(f"{where} is not shown: {chart.hidden}")
    left = list(chart.series)
    for one in (_series(wanted, series) for series in wanted["series"]):
        fits = [series for series in left if _fits(book, series, one)]
        if not fits:
            drawn = f"{_drawn(book, chart)}{_computed(left)}"
            return no(f"{where} {_kinds(chart)} does not draw the requested series: {drawn}")
        problem, found = min(((_unseen(series, one), series) for series in fits), key=lambda each: bool(each[0]))
        if problem:
            return no(f"{where} does not show a series as requested: {problem}")
        left.remove(found)
    return no(f"{where} draws more series than requested: {_drawn(book, chart)}") if left else YES


def _unseen(series: SeenSeries, wanted: Mapping[str, Any]) -> str:
    """Why a series is not seen, or why it is not the requested base of a stack without ink."""
    if wanted.get("base"):
        return "" if series.base else "a base must have no ink, under a series of its stack that has some"
    return series.hidden


def _computed(series: Sequence[SeenSeries]) -> str:
    return next((f" ({one.problem})" for one in series if one.problem), "")


def _kinds(chart: SeenChart) -> str:
    return f"({', '.join(sorted({series.type for series in chart.series}))})"


def _drawn(book: SeenWorkbook, chart: SeenChart) -> str:
    return f"{'; '.join(','.join(map(book.named, series.values)) or 'no range' for series in chart.series):.120}"


def _has_type(series: SeenSeries, wanted: Mapping[str, Any]) -> bool:
    types = _types(wanted)
    return not types or series.type in types


def _fits(book: SeenWorkbook, series: SeenSeries, wanted: Mapping[str, Any]) -> bool:
    same = (_same(book, getattr(series, name), wanted[name]) for name in _RANGES if name in wanted)
    return _has_type(series, wanted) and all(same)


def _same(book: SeenWorkbook, drawn: Sequence[str], wanted: str) -> bool:
    """Whether a series has the cells of a reference, in its order. The reader joins areas that follow each other."""
    return [*drawn] == [book.key_of(wanted)]
