"""A task's results from its sample rows: means and estimates at k with intervals, and unscored counts by reason."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from lm_eval.api.task import ConfigurableTask

from verikit.evals.aggregate import Aggregate
from verikit.evals.grade import AT_K, BY, NOTES, add, ks
from verikit.evals.loading import graded
from verikit.evals.samples import cut_of, grades_of, own_metric, value_of
from verikit.stats import Estimate, Summary, mean_interval

Row = Mapping[str, Any]
MAX_REASONS = 5
SHARES = ("unscored", "unparsed")
"""Metrics that are counted here, not averaged."""


def summarize(task: ConfigurableTask, rows: Sequence[Row]) -> dict[str, Any]:
    """Summarise a task's rows for results.json."""
    kept = [row for row in rows if row["filter"] == rows[0]["filter"]]
    found: dict[str, Any] = {"docs": len(kept), "fewshot": task.get_config("num_fewshot") or 0}
    if graded(task.config.to_dict(keep_callable=True)):
        found |= _graded(kept)
    else:
        found |= _plain(kept)
    found["cut"] = sum(map(cut_of, kept))
    metrics = found["metrics"] | _aggregated(task, kept)
    first = {found["own"]: metrics[found["own"]]} if found["own"] in metrics else {}
    return found | {"metrics": first | metrics}


def _graded(rows: Sequence[Row]) -> dict[str, Any]:
    """Summarise a task that verikit grades."""
    every = [grade for row in rows for grade in grades_of(row)]
    own = own_metric(rows[0])
    repeats = max(len(grades_of(row)) for row in rows)
    scored = {name: name for name in every[0] if name not in NOTES} | ({BY: "rank"} if BY in every[0] else {})
    lost = [(name, grade[name]) for grade in every for name in scored if grade[name]["value"] is None]
    counts = Counter(name for name, _ in lost)
    reasons = Counter(grade["reason"][:200] for _, grade in lost)
    return {
        "own": own,
        "repeats": repeats,
        "replies": len(every),
        "metrics": {name: estimate.as_row() for name, estimate in _graded_metrics(rows, own, repeats).items()},
        "unscored": {shown: counts[name] for name, shown in scored.items() if counts[name]},
        "unparsed": sum(_has_no_answer(grade[own]) for grade in every) if "unparsed" in rows[0]["metrics"] else 0,
        "reasons": dict(reasons.most_common(MAX_REASONS)),
        "categories": _categories(rows),
    }


def _has_no_answer(score: Mapping[str, Any]) -> bool:
    return score["value"] is not None and score.get("answer") is None


def _graded_metrics(rows: Sequence[Row], own: str, repeats: int) -> dict[str, Estimate]:
    """The verifier's own metric first, then the others, then those over k."""
    summary = Summary(ks(repeats) if repeats > 1 else ())
    for row in rows:
        add(summary, grades_of(row))
    estimates = summary.estimates()
    metrics = {own: estimates["mean"]} if "mean" in estimates else {}
    names = dict.fromkeys(name for row in rows for name in row["metrics"])
    metrics |= dict(_means(rows, [name for name in names if name != own and not name.startswith(AT_K)]))
    return metrics | {name: estimate for name, estimate in estimates.items() if name.startswith(AT_K)}


def _plain(rows: Sequence[Row]) -> dict[str, Any]:
    """Summarise a task that verikit does not grade: lm-eval's own metrics, over the rows whose replies all arrived."""
    whole = [row for row in rows if "failed" not in row]
    names = list(rows[0]["metrics"])
    reasons = Counter(reason[:200] for row in rows for reason in row.get("failed", ()))
    return {
        "own": names[0] if names else "",
        "repeats": 1,
        "replies": len(rows),
        "metrics": {name: estimate.as_row() for name, estimate in _means(whole, names)},
        "unscored": {"reply": len(rows) - len(whole)} if len(whole) < len(rows) else {},
        "unparsed": 0,
        "reasons": dict(reasons.most_common(MAX_REASONS)),
        "categories": {},
    }


def _means(rows: Sequence[Row], names: Sequence[str]) -> Iterator[tuple[str, Any]]:
    for name in names:
        values = [row[name] for row in rows if isinstance(row.get(name), (int, float))]
        if values and name not in SHARES:
            yield name, mean_interval(values)


def _aggregated(task: ConfigurableTask, rows: Sequence[Row]) -> dict[str, Any]:
    found = {}
    for name, how in task.aggregation().items():
        if isinstance(how, Aggregate):
            estimate = how.estimate([row[name] for row in rows if name in row])
            if estimate is not None:
                found[name] = estimate.as_row()
    return found


def _categories(rows: Sequence[Row]) -> dict[str, Any]:
    """Return the own metric by the documents' category, if there are several."""
    by_category: dict[str, list[float]] = defaultdict(list)
    for row in rows:
        if (value := value_of(row)) is not None and row["doc"].get("category"):
            by_category[row["doc"]["category"]].append(value)
    if len(by_category) < 2:
        return {}
    return {name: mean_interval(values).as_row() for name, values in sorted(by_category.items())}
