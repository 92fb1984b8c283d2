"""A finished run's folder to trackers: its settings, every estimate with its interval, and a table of samples."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

from verikit.report.kinds import collect, read_json
from verikit.report.model import Options, SampleItem
from verikit.tracking.spec import TrackerSpec
from verikit.tracking.trackers import STATE, Trackers

COUNTS = "prompts candidates unscored bad_rows comparisons judged unread failed replies docs".split()
"""Numbers of a summary that are sent as they are, without an estimate."""


def track_run(
    folder: Path,
    specs: Sequence[TrackerSpec],
    *,
    kept: bool = True,
    restart: bool = False,
    warn: Callable[[str], None],
) -> None:
    """Send a finished run of score, eval or judge. A tracker's failure is reported and does not affect the run.

    Args:
        folder: The run's folder. A run that was sent before is updated, not sent as another.
        specs: The trackers. Without any, nothing is sent.
        kept: Whether the folder stays.
        restart: Start new runs, even if the folder was sent before.
        warn: Called with a tracker's failure.

    Raises:
        UsageError: The folder does not have a finished run.
    """
    if not specs:
        return
    if restart:
        (folder / STATE).unlink(missing_ok=True)
    most = max(spec.samples for spec in specs)
    page = collect(folder, Options(samples=max(1, most)))
    with redirect_stdout(sys.stderr):  # the tracker's own output is not a result
        trackers = Trackers(specs, folder if kept else None, {"kind": page.kind, **page.settings}, warn=warn)
        trackers.finished(dict(run_metrics(folder, page.kind)), [_row(item) for item in page.items[:most]])
        trackers.close()


def run_metrics(folder: Path, kind: str) -> Iterator[tuple[str, float]]:
    """Every number of a run by its name: `pass@8`, `low/pass@8`, `gsm8k/acc`, `a vs b/win_rate`.

    Raises:
        UsageError: It is not finished, or damaged.
    """
    summary: Mapping[str, Any] = read_json(folder, "results.json" if kind == "eval" else "summary.json")
    if kind == "eval":
        for name, unit in {**summary["tasks"], **summary["groups"]}.items():
            yield from _estimates(unit["metrics"], f"{name}/")
            yield from _counts(unit, f"{name}/")
    else:
        yield from _of_summary(summary)


def _of_summary(summary: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    """The numbers of a run of score or of judge."""
    yield from _counts(summary, "")
    yield from _estimates(summary.get("metrics", {}), "")
    yield from _estimates(summary.get("rates", {}), "")
    for pair in summary.get("pairs", ()):
        name = f"{pair['a']} vs {pair['b']}"
        yield from _estimates({key: value for key, value in pair.items() if isinstance(value, Mapping)}, f"{name}/")
    for name in ("agreement", "bias", "usage"):
        found = summary.get(name) or {}
        yield from ((f"{name}/{key}", value) for key, value in found.items() if isinstance(value, (int, float)))
    for rating in summary.get("ratings", ()):
        yield f"rating/{rating['name']}", rating["rating"]


def _estimates(metrics: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, float]]:
    for name, row in metrics.items():
        if isinstance(row, Mapping) and isinstance(row.get("value"), (int, float)):
            yield f"{prefix}{name}", row["value"]
            yield from ((f"{end}/{prefix}{name}", row[end]) for end in ("low", "high") if row.get(end) is not None)


def _counts(summary: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, float]]:
    yield from ((f"{prefix}{key}", summary[key]) for key in COUNTS if isinstance(summary.get(key), (int, float)))


def _row(item: SampleItem) -> dict[str, Any]:
    """Return a sample as a row of a table, with the report's texts."""
    texts = {text.title: text.head + (f" … {text.tail}" if text.tail else "") for text in item.texts}
    reasons = {name: score.get("reason", "") for name, score in item.scores.items() if score.get("reason")}
    return {"id": item.id, "candidate": item.label, "value": item.value, "verdict": item.verdict, **texts} | (
        {"reason": "; ".join(reasons.values())} if reasons else {}
    )
