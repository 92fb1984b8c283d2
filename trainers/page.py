"""A training run's folder, for the HTML report: curves of each phase, the settings, and the logged samples."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

from verikit.report.items import disagree, shown, spread, verdict_of
from verikit.report.kinds import read_json, read_lines
from verikit.report.model import DISAGREE, Chart, Metric, Number, Options, Run, SampleItem, Series
from verikit.trainers.run import CONFIG, ENVIRONMENT, METRICS, SAMPLES
from verikit.trainers.view import HELD_OUT

LogRow = Mapping[str, Any]
POINTS = 300
"""Points per curve. Longer curves are averaged in runs, with their range as the band."""
NOT_CURVES = {"phase", "step", "seconds"}
SHOWN = {
    "held-out": ("Held out", "held-out metric"),
    "reward": ("Reward", "mean of a step"),
    "passed": ("Right", "share of completions"),
    "part": ("Parts of the reward", "mean of a step"),
    "loss": ("Loss", "loss"),
    "entropy": ("Entropy", "nats a token"),
    "kl": ("KL divergence from the reference", "nats a token"),
    "length": ("Length of a completion", "tokens"),
    "grad_norm": ("Gradient norm", "norm"),
    "clip_share": ("Clipped", "share of tokens"),
    "zero_variance": ("Groups of equal rewards", "share of groups"),
    "unscored": ("Unscored", "trajectories"),
}
"""Visible charts in this order, with their title and unit. Charts of other metrics are collapsed."""
NOISE = 1e-6
"""A curve that stays below this is treated as flat."""
SHARES = ("held-out", "passed", "clip_share", "zero_variance")
LIKELIHOOD = {"loss", "grad_norm"}
"""The metrics shown for a supervised phase."""
FACTS = {"recipe": "recipe", "model.path": "model", "advantage.kind": "advantage", "loss.kind": "loss"} | {
    "optimizer.lr": "learning rate", "run.steps": "steps", "seed": "seed"
}  # fmt: skip


def collect(run: Path, options: Options) -> Run:
    """Read a training run, finished or not.

    Raises:
        UsageError: Its logs can't be read.
    """
    config = read_json(run, CONFIG)
    environment = read_json(run, ENVIRONMENT) if (run / ENVIRONMENT).exists() else {}
    rows, samples = list(read_lines(run / METRICS)), list(read_lines(run / SAMPLES))
    page = Run(run.name, "train", config["recipe"], settings={**config, "environment": environment})
    page.facts = [(name, str(value)) for key, name in FACTS.items() if (value := _at(config, key)) not in (None, "")]
    if rows:
        page.facts += [("steps done", f"{rows[-1]['step']:,}"), ("time", _time(rows[-1]["seconds"]))]
    page.notices += _notices(rows)
    page.metrics = list(_held_out(rows))
    phases = reversed(dict.fromkeys(row["phase"] for row in rows))
    page.charts = [chart for phase in phases for chart in _charts(rows, phase)]
    every = spread(len(samples), options.samples)
    page.items = [_item(row, number) for number, row in list(_numbered(samples))[::every]]
    return page


def _notices(rows: Sequence[LogRow]) -> Iterator[str]:
    if not rows:
        yield "no step has been logged yet"
    lost, skipped = (sum(row.get(name, 0) for row in rows) for name in ("unscored", "skipped"))
    if lost:
        yield f"{lost:,.0f} trajectories had no score: they left their batches and taught nothing"
    if skipped:
        yield f"{skipped:,.0f} updates were skipped because a number was not finite"


def _held_out(rows: Sequence[LogRow]) -> Iterator[Metric]:
    """Yield the final held-out metrics, each with its first value."""
    held: dict[str, list[float]] = {}
    for row in rows:
        for name, value in row.items():
            if name.startswith(HELD_OUT) and math.isfinite(value):
                held.setdefault(name.removeprefix(HELD_OUT), []).append(value)
    for name, values in held.items():
        share = all(0 <= value <= 1 for value in values)
        before = f"{100 * values[0]:.1f} %" if share else f"{values[0]:.4g}"
        yield Metric(f"Held out: {name}", values[-1], percent=share, note=f"{before} at first" if values[1:] else "")


def _charts(rows: Sequence[LogRow], phase: str) -> Iterator[Chart]:
    """Yield the charts of one phase, visible ones first."""
    some = [row for row in rows if row["phase"] == phase]
    warming = all("reward" not in row for row in some)
    phases = {row["phase"] for row in rows}
    for key, series in _curves(some).items():
        title, unit = SHOWN.get(key, (key.replace("_", " "), key))
        if phase and len(phases) > 1:
            title = f"{title} ({phase.partition('-')[2] or phase})"
        values = [point[1] or 0 for curve in series for point in curve.points]
        is_flat = all(abs(value) < NOISE for value in values)
        more = is_flat or key not in (LIKELIHOOD if warming else SHOWN)
        percent = key in SHARES and all(0 <= value <= 1 for value in values)
        yield Chart(f"{phase}/{key}", title, "step", unit, series, percent=percent, more=more)


def _curves(rows: Sequence[LogRow]) -> dict[str, list[Series]]:
    """Return the nonempty curves of each chart. `reward/parts` is a curve in the chart of `reward`."""
    charts: dict[str, list[Series]] = {name: [] for name in SHOWN}
    for name in dict.fromkeys(name for row in rows for name in row if name not in NOT_CURVES):
        points = [(row["step"], row[name]) for row in rows if _is_number(row.get(name))]
        group, _, part = name.partition("/")
        is_part = bool(part) and group in SHOWN
        is_constant = len({value for _, value in points}) < 2
        if points and (name in SHOWN or part or not is_constant):
            curve = Series(part if is_part else name, thinned(points))
            charts.setdefault(group if is_part else name, []).append(curve)
    return {key: series for key, series in charts.items() if series}


def thinned(points: Sequence[tuple[int, float]], most: int = POINTS) -> list[tuple[Number, ...]]:
    """Return at most `most` points of a curve. Merged points become their mean, with a band from minimum to maximum."""
    size = spread(len(points), most)
    if size == 1:
        return list(points)
    runs = (points[at : at + size] for at in range(0, len(points), size))
    return [_mean(run) for run in runs]


def _mean(run: Sequence[tuple[int, float]]) -> tuple[Number, ...]:
    values = [value for _, value in run]
    return run[-1][0], sum(values) / len(values), min(values), max(values)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and math.isfinite(value)


def _numbered(samples: Sequence[LogRow]) -> Iterator[tuple[int, LogRow]]:
    """Yield samples with their number within their step."""
    for _, some in groupby(samples, key=itemgetter("step")):
        yield from enumerate(some)


def _item(row: LogRow, number: int) -> SampleItem:
    reward = row["reward"] if _is_number(row["reward"]) else None
    parts = {name: {"value": value, "status": "ok"} for name, value in row["parts"].items() if _is_number(value)}
    score = {"value": reward, "status": "unscored" if reward is None else "ok", "parts": parts}
    tags = [verdict_of(reward)] + [DISAGREE] * disagree(score) + ["unfinished"] * (not row["finished"])
    texts = [shown("Prompt", row["prompt"]), shown("Completion", row["completion"])]
    scores = {"reward": score}
    item = SampleItem(f"step {row['step']}", f"#{number}", tags, reward, tags[0], len(row["completion"]), texts, scores)
    item.facts = [(name, str(row[name])) for name in ("role", "task", "answer") if row[name]]
    return item


def _at(config: LogRow, key: str) -> Any:
    found: Any = config
    for name in key.split("."):
        found = found.get(name) if isinstance(found, dict) else None
    return found


def _time(seconds: float) -> str:
    minutes, left = divmod(int(seconds), 60)
    return f"{minutes // 60} h {minutes % 60} min" if minutes >= 60 else f"{minutes} min {left} s"
