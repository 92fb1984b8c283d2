"""Charts that several kinds of runs share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from operator import itemgetter

from verikit.report.model import Chart, Metric, Number, Series
from verikit.stats import at_k, beta_interval
from verikit.stats.intervals import Mean
from verikit.types import PASS_MARK, JsonObject

BINS = 24
OVER_K = {
    "pass@": "any of k is right",
    "pass^": "all of k are right",
    "bon@": "the best of k by the ranking is right",
    "maj@": "the majority answer of k is right",
    "wmaj@": "the majority answer, votes weighted by the ranking, is right",
}
"""Metrics over k, and what each means."""
GRADED_OVER_K = {
    "pass@": f"any of k scores {PASS_MARK} or more",
    "pass^": f"all of k score {PASS_MARK} or more",
    "bon@": "mean score of the best of k by the ranking",
    "maj@": "mean score of the majority answer of k",
    "wmaj@": "mean score of the majority answer, votes weighted by the ranking",
}
"""The same for graded scores between wrong and right."""


def estimate(label: str, row: JsonObject, note: str = "") -> Metric:
    """Convert a summary's estimate to a metric, in percent if its interval is within 0 to 1."""
    return Metric(label, row["value"], row["low"], row["high"], percent=_is_share(row), note=note)


def share(label: str, value: float | None, n: int, note: str = "") -> Metric:
    """Build a metric from a fraction of n items, with its beta interval."""
    if value is None or not n:
        return Metric(label, None, note=note)
    return Metric(label, value, *beta_interval(value, value * (1 - value), n), note=note)


def over_k(
    metrics: Mapping[str, JsonObject], key: str = "over_k", title: str = "Over k candidates", *, graded: bool = False
) -> Chart | None:
    """pass@k, pass^k, BoN@k, maj@k and wmaj@k over k, each with its band. None if the only k is 1."""
    meanings, y = (GRADED_OVER_K, "score") if graded else (OVER_K, "right")
    by_name = _rows_by_k(metrics)
    series = [
        Series(f"{name}k", [(k, row["value"], row["low"], row["high"]) for k, row in rows])
        for name, rows in by_name.items()
    ]
    if max((len(curve.points) for curve in series), default=0) < 2:
        return None
    percent = all(_is_share(row) for rows in by_name.values() for _, row in rows)
    note = "; ".join(f"{name}k: {text}" for name, text in meanings.items() if name in by_name)
    return Chart(key, title, "k", y, series, percent=percent, log=True, note=note)


def _rows_by_k(metrics: Mapping[str, JsonObject]) -> dict[str, list[tuple[int, JsonObject]]]:
    """The rows of each metric over k that there is, by k."""
    rows: dict[str, list[tuple[int, JsonObject]]] = {name: [] for name in OVER_K}
    for metric, row in metrics.items():
        named = at_k(metric)
        if named and named[0] in rows:
            rows[named[0]].append((named[1], row))
    return {name: sorted(several, key=itemgetter(0)) for name, several in rows.items() if several}


def _is_share(row: JsonObject) -> bool:
    """Whether the interval of an estimate is within 0 to 1."""
    return bool(row["low"] is not None and row["low"] >= 0 and row["high"] <= 1)


def histogram(
    key: str,
    title: str,
    x: str,
    y: str,
    values: Mapping[str, Sequence[float]],
    within: tuple[float, float] | None = None,
) -> Chart | None:
    """Counts in equal bins, with one set per name. None if all values are equal, or only 0 and 1.

    With `within` the bins are tenths of that range.
    """
    known = list(chain.from_iterable(values.values()))
    if not known or min(known) == max(known) or (within is None and set(known) == {0, 1}):
        return None
    low, width, bins = _binning(known, within)
    series = []
    for name, some in values.items():
        if some:
            counts = Counter(min(bins - 1, int((value - low) / width)) for value in some)
            series.append(Series(name, [(low + i * width, low + (i + 1) * width, counts[i]) for i in range(bins)]))
    return Chart(key, title, x, y, series, kind="histogram")


def _binning(values: Sequence[float], within: tuple[float, float] | None) -> tuple[float, float, int]:
    """Return the first bin's start, the bin width and the number of bins. Few integers have one bin each."""
    if within is not None:
        low, high = within
        width = (high - low) / 10
        return low, width, round((high - low) / width)
    low, high = min(values), max(values)
    if high - low < BINS and all(value == int(value) for value in values):
        return low - 0.5, 1.0, round(high - low + 1.0)
    return low, (high - low) / BINS, BINS


def forest(
    key: str, title: str, x: str, metrics: Iterable[Metric], reference: Number = None, note: str = ""
) -> Iterator[Chart]:
    """Yield a chart of metrics with their intervals, one row each. Nothing is yielded if no metric has a value."""
    known = [metric for metric in metrics if metric.value is not None]
    if not known:
        return
    series = [Series(metric.label, [(metric.value, metric.low, metric.high)]) for metric in known]
    percent = all(metric.percent for metric in known)
    yield Chart(key, title, x, "", series, kind="forest", percent=percent, reference=reference, note=note)


class StepMeans:
    """Mean step score at each position, separately for right and wrong solutions."""

    MOST = 64

    def __init__(self) -> None:
        self._means: dict[str, list[Mean]] = {"right": [], "wrong": []}

    def add(self, steps: Sequence[JsonObject], right: bool) -> None:
        """Add one solution's steps. Steps without a value are skipped."""
        means = self._means["right" if right else "wrong"]
        for position, step in enumerate(steps[: self.MOST]):
            if position == len(means):
                means.append(Mean())
            if step["value"] is not None:
                means[position].add(step["value"])

    def chart(self, name: str) -> Chart | None:
        """Chart the means with their intervals. None if no solution had two steps."""
        series = []
        for verdict, means in self._means.items():
            found = [(step, mean.estimate().as_row()) for step, mean in enumerate(means, 1) if mean.n]
            if found:
                points = [(step, row["value"], row["low"], row["high"]) for step, row in found]
                series.append(Series(verdict, points))
        if max((len(curve.points) for curve in series), default=0) < 2:
            return None
        note = f"later positions rest on fewer solutions; a step counts as good from {PASS_MARK}"
        return Chart(
            f"steps/{name}", f"Step scores: {name}", "step", "mean score", series, reference=PASS_MARK, note=note
        )
