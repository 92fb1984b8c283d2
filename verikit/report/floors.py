"""Checks whether a run reaches a minimum value of a metric, and lists the rows that count against it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from verikit.errors import UsageError, nearest
from verikit.platform.terminal import printable
from verikit.report.differences import read_outcomes
from verikit.report.kinds import kind_of, read_json
from verikit.scoring.chunk import SCORES
from verikit.scoring.rows import read_rows
from verikit.scoring.run import SUMMARY
from verikit.stats import mean_interval
from verikit.stats.paired import Outcomes
from verikit.types import PASS_MARK

SHOWN = 5
"""Default number of rows shown per metric."""
WIDTH = 160


class FloorCheck(NamedTuple):
    """One metric of a run and its required minimum."""

    metric: str
    least: float
    value: float
    """NaN if nothing has a value. NaN passes no floor."""
    low: float
    """-inf if there is no interval. `high` is then inf."""
    high: float
    n: int
    """Number of prompts or questions behind it."""
    rows: list[str]
    """Some of the rows that count against the metric, one line each."""
    sure: bool = False
    """Whether the interval's lower end must also reach the minimum."""

    @property
    def passed(self) -> bool:
        """Whether the value, or with `sure` its interval's lower end, reaches the minimum."""
        return (self.low if self.sure else self.value) >= self.least

    def told(self) -> str:
        """The result in one sentence, with the uncertainty from its interval."""
        if math.isnan(self.value):
            return f"{self.metric} has no value, since nothing was scored; asked for at least {_share(self.least)}"
        many = f"{self.n:,} prompt{'' if self.n == 1 else 's'}"
        text = f"{self.metric} is {_share(self.value)} [{_share(self.low)} to {_share(self.high)}, {many}]"
        text += f", {'at least' if self.passed else 'asked for at least'} {_share(self.least)}"
        if self.passed:
            return text
        if self.value >= self.least:
            return f"{text} for sure: so many prompts can't show it"
        if self.high >= self.least:
            return f"{text}: this may be chance. More prompts would decide"
        return text


def check_floors(
    run: Path, least: float, metric: str = "", *, sure: bool = False, most: int = SHOWN
) -> list[FloorCheck]:
    """Compare a run of score or eval with a floor, with one check for each metric the run is judged by.

    Args:
        run: The run's folder.
        least: The minimum value that passes.
        metric: For a score run, any metric of its summary (`mean`, the default, `selected`, `pass@4`, `maj@8`). For an
            eval run, a task or a metric of its questions. The default is each task's own metric.
        sure: Compare the lower end of the 95% interval instead of the value.
        most: Maximum number of rows shown.

    Raises:
        UsageError: The folder is not such a run, or has no such metric.
    """
    kind = kind_of(run)
    if kind is not None and kind.name == "score":
        return [_of_scores(run, least, metric or "mean", sure, most)]
    found = [outcomes for outcomes in read_outcomes(run) if metric in ("", outcomes.task)] or read_outcomes(run, metric)
    return [_of_outcomes(outcomes, least, sure, most) for outcomes in found]


def _of_outcomes(outcomes: Outcomes, least: float, sure: bool, most: int) -> FloorCheck:
    told = f"{outcomes.task}: {outcomes.metric}"
    if not outcomes.values:
        return _unscored(told, least)
    mean = mean_interval(outcomes.values.values(), bounds=outcomes.bounds)
    wrong = ((key, value) for key, value in outcomes.values.items() if value < PASS_MARK)
    rows = [f"{key}: {value:.2f}  {outcomes.questions.get(key, '')}" for key, value in islice(wrong, most)]
    return FloorCheck(told, least, mean.value, mean.low, mean.high, mean.n, list(map(_short, rows)), sure)


def unscored_share(run: Path) -> float:
    """Return the fraction of a run's candidates or questions that are unscored because of errors or bad data.

    Raises:
        UsageError: The folder is not a run of score or eval.
    """
    kind = kind_of(run)
    if kind is not None and kind.name == "score":
        summary = read_json(run, SUMMARY)
        lost = summary["unscored"] + summary["bad_rows"]
        return float(lost / max(1, summary["candidates"] + summary["bad_rows"]))
    found = read_outcomes(run)
    asked = sum(len(outcomes.questions) for outcomes in found)
    return 1 - sum(len(outcomes.values) for outcomes in found) / max(1, asked)


def check_metric(summary: Mapping[str, Any], least: float, metric: str, rows: Callable[[], list[str]]) -> FloorCheck:
    """Compare one metric of a score run's summary with a floor. `rows` is called if the floor is not reached.

    If nothing was scored there are no metrics, and the check fails for any metric name.

    Raises:
        UsageError: The metric does not exist.
    """
    metrics = summary["metrics"]
    if not metrics:
        return _unscored(metric, least)
    if metric in summary.get("early_stop", {}).get("unproven", ()):
        problem = f"{metric} is not known: prompts were stopped early, and their samples do not settle it"
        raise UsageError(problem, hint=f"one of {', '.join(metrics)}, or sample without --until")
    if metric not in metrics:
        raise UsageError(f"the run has no metric {metric!r}", hint=nearest(metric, metrics))
    row = metrics[metric]
    low, high = (end if row[name] is None else row[name] for name, end in (("low", -math.inf), ("high", math.inf)))
    check = FloorCheck(metric, least, row["value"], low, high, row["n"], [])
    return check if check.passed else check._replace(rows=rows())


def _unscored(metric: str, least: float) -> FloorCheck:
    return FloorCheck(metric, least, math.nan, -math.inf, math.inf, 0, [])


def _of_scores(run: Path, least: float, metric: str, sure: bool, most: int) -> FloorCheck:
    summary = read_json(run, SUMMARY)
    check = check_metric(summary, least, metric, lambda: wrong_rows(run, most))._replace(sure=sure)
    return check if check.passed or check.rows else check._replace(rows=wrong_rows(run, most))


def wrong_rows(run: Path, most: int = SHOWN) -> list[str]:
    """Return the first candidates of a score run that are wrong or have no score, a line each."""
    return list(islice(_wrong(run), most))


def _wrong(run: Path) -> Iterator[str]:
    for row in read_rows(run / SCORES):
        value = row["value"]
        if value is None or value < PASS_MARK:
            verdict = row["status"] if value is None else f"{value:.2f}"
            answer = f", answer {row['answer']!r}" if row.get("answer") is not None else ""
            reason = f"  {row['reason']}" if row.get("reason") else ""
            yield _short(f"row {row['line']}, {row['id']} #{row['index']}: {verdict}{answer}{reason}")


def _short(text: str) -> str:
    text = printable(" ".join(text.split()))
    return text if len(text) <= WIDTH else f"{text[: WIDTH - 1]}\u2026"


def _share(value: float) -> str:
    return "?" if math.isinf(value) else f"{100 * value:.4g}%"
