"""An eval run's folder, for the HTML report: metrics of tasks and groups, estimates over k, categories, every reply."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, islice
from pathlib import Path
from typing import Any

from verikit.evals.outcomes import outcomes
from verikit.evals.report import remarks
from verikit.evals.run_folder import CONFIG, read_results, samples_name, units
from verikit.evals.samples import grades_of, is_graded, read_samples, row_metric
from verikit.report.curves import estimate, forest, histogram, over_k
from verikit.report.items import conversation, lengths, shortened, shown, spread, verdict_of
from verikit.report.kinds import read_json
from verikit.report.model import DISAGREE, RANKED_BY, RIGHT, WRONG, Chart, Metric, Options, Run, SampleItem, Table
from verikit.report.slice_tables import of_runs
from verikit.report.slices import read_rows_of, sliced
from verikit.stats import at_k

Row = Mapping[str, Any]
RANKING = {"by": RANKED_BY}


def collect(run: Path, options: Options) -> Run:
    """Read an eval run.

    Raises:
        UsageError: It is not finished or damaged.
    """
    results, config = read_results(run), read_json(run, CONFIG)
    tasks: Mapping[str, Row] = results["tasks"]
    all_units: Mapping[str, Row] = {name: results["groups"].get(name) or tasks[name] for name in units(results)}
    page = Run(run.name, "eval", results["model"], settings=config)
    replies = sum(task["replies"] for task in tasks.values())
    page.facts = [("model", results["model"]), ("tasks", ", ".join(all_units)), ("replies", f"{replies:,}")]
    page.notices = [f"{name}: {line.strip()}" for name, task in tasks.items() for line in remarks(task)]
    page.metrics = [metric for name, unit in all_units.items() for metric in _metrics(name, unit)]
    every = spread(replies, options.samples)
    page.items += chain.from_iterable(_sampled(run, name, task["own"], every) for name, task in tasks.items())
    if every > 1:
        page.notices.append(f"the samples below are those of every {every}th question; all metrics are of all of them")
    page.charts = list(_charts(all_units, results["groups"], tasks, page.items))
    page.tables = list(_tables({**tasks, **results["groups"]}))
    if options.keys:
        asked = read_rows_of({run.name: run}, options.keys)
        page.tables += of_runs(sliced({run.name: outcomes(run)}, asked, options.keys))
    return page


def _metrics(name: str, unit: Row) -> Iterator[Metric]:
    """Yield the main metric of a task or group, and its estimates at the largest k."""
    metrics = unit["metrics"]
    own = unit["own"] if unit["own"] in metrics else next(iter(metrics), "")
    for metric in dict.fromkeys((own, *_largest(metrics))):
        if metric in metrics:
            yield estimate(f"{name}: {metric}", metrics[metric])


def _largest(metrics: Row) -> list[str]:
    """pass@k, pass^k, maj@k and bon@k at the largest k there is."""
    found: dict[str, int] = {}
    for name in metrics:
        if named := at_k(name):
            found[named[0]] = max(found.get(named[0], 0), named[1])
    return [f"{kind}{k}" for kind, k in found.items()]


def _task_charts(name: str, task: Row) -> Iterator[Chart]:
    """A task's metrics over k replies, and its own metric by category."""
    metrics, own = task["metrics"], task["own"]
    kinds = {named[0] for metric in metrics if (named := at_k(metric))}
    at_one = {f"{kind}1": metrics[own] for kind in kinds if own in metrics}
    if chart := over_k({**at_one, **metrics}, key=f"{name}/over_k", title=f"{name}: over k replies"):
        yield chart
    categories = [estimate(category, row) for category, row in task["categories"].items()]
    yield from forest(f"{name}/categories", f"{name}: {own} by category", own, categories)


def _charts(
    all_units: Mapping[str, Row], groups: Mapping[str, Row], tasks: Mapping[str, Row], items: Sequence[SampleItem]
) -> Iterator[Chart]:
    if len(all_units) > 1:
        yield from forest("tasks", "Tasks", "value", _told(all_units))
    for name, group in groups.items():
        yield from forest(
            f"{name}/members", name, "value", _told({member: tasks[member] for member in group["members"]})
        )
    for name, task in tasks.items():
        yield from _task_charts(name, task)
    if chart := histogram("lengths", "Length", "characters", "replies", lengths(items)):
        yield chart


def _told(units: Mapping[str, Row]) -> Iterator[Metric]:
    """Yield the main metric of each task or group."""
    for name, unit in units.items():
        yield from (replace(metric, label=name) for metric in islice(_metrics(name, unit), 1))


def _tables(units: Mapping[str, Row]) -> Iterator[Table]:
    rows = [
        (name, unit.get("fewshot"), metric, estimate("", row), row["n"])
        for name, unit in units.items()
        for metric, row in unit["metrics"].items()
    ]
    yield Table("Metrics", ("task", "shots", "metric", "value and 95 % interval", "questions"), rows)


def _sampled(run: Path, task: str, own: str, every: int) -> Iterator[SampleItem]:
    """The replies to every n-th question of a task, by its first filter."""
    rows = read_samples(run / samples_name(task))
    kept = [row for row in rows if row["filter"] == rows[0]["filter"]]
    for row in kept[::every]:
        yield from _items(task, own if is_graded(row) else row_metric(row), row)


def _items(task: str, own: str, row: Row) -> Iterator[SampleItem]:
    """The replies to one question; one that failed has no text."""
    grades = grades_of(row) if is_graded(row) else [{own: _plain(row.get(own))}]
    replies = iter([reply for group in row["resps"] for reply in group])
    lost = set(row.get("failed", ()))
    for number, grade in enumerate(grades):
        scores = {RANKING.get(name, name): shortened(score) for name, score in grade.items() if isinstance(score, dict)}
        first = scores[own]
        failed = first["value"] is None and first.get("reason") in lost
        said = "" if failed else _text(next(replies, ""))
        found = {verdict_of(score["value"]) for name, score in scores.items() if name != RANKED_BY}
        tags = [verdict_of(first["value"])] + [DISAGREE] * (found >= {RIGHT, WRONG})
        verdict = first["status"] if first["value"] is None else tags[0]
        texts = [shown("Prompt", _asked(row["arguments"]["gen_args_0"]["arg_0"])), shown("Reply", said)]
        id, label = f"{task} {row['doc'].get('id', row['doc_id'])}", f"#{number}" if len(grades) > 1 else ""
        item = SampleItem(id, label, tags, first["value"], verdict, len(said), texts, scores)
        facts = {"target": row.get("target"), "category": row["doc"].get("category")}
        item.facts = [(name, _text(value)) for name, value in facts.items() if value not in (None, "", [])]
        yield item


def _asked(given: Any) -> str:
    """A prompt as displayed. lm-eval stores a conversation as a list of one JSON text."""
    if isinstance(given, list) and len(given) == 1 and isinstance(given[0], str):
        try:
            turns = json.loads(given[0])
        except (ValueError, RecursionError):
            return _text(given)
        if turns and isinstance(turns, list) and all(map(_is_message, turns)):
            return str(turns[0]["content"]) if len(turns) == 1 else conversation(turns)
    return _text(given)


def _is_message(turn: Any) -> bool:
    return isinstance(turn, dict) and isinstance(turn.get("role"), str) and isinstance(turn.get("content"), str)


def _plain(value: Any) -> dict[str, Any]:
    """A metric of lm-eval's own as a score."""
    number = value if isinstance(value, (int, float)) else None
    return {"value": number, "status": "ok" if number is not None else "unscored"}


def _text(value: Any) -> str:
    return value if isinstance(value, str) else str(value)
