"""An eval run's folder, for the HTML report: each task's metrics, its estimates over k, its categories, every reply."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from verikit.report.curves import estimate, forest, histogram, over_k
from verikit.report.items import lengths, shortened, shown, spread, verdict_of
from verikit.report.kinds import read_json, read_lines
from verikit.report.model import DISAGREE, RANKED_BY, RIGHT, WRONG, Chart, Figure, Item, Options, Run, Table

Row = Mapping[str, Any]
RANKING = {"by": RANKED_BY}
CONFIG, RESULTS = "config.json", "results.json"


def collect(run: Path, options: Options) -> Run:
    """Read an eval run.

    Raises:
        UsageError: it is not finished or damaged.
    """
    results, config = read_json(run, RESULTS), read_json(run, CONFIG)
    tasks: Mapping[str, Row] = results["tasks"]
    page = Run(run.name, "eval", results["model"], settings=config)
    replies = sum(task["replies"] for task in tasks.values())
    page.facts = [("model", results["model"]), ("tasks", ", ".join(tasks)), ("replies", f"{replies:,}")]
    page.notices = [text for name, task in tasks.items() for text in _notices(name, task)]
    page.figures = [
        estimate(f"{name}: {metric}", task["metrics"][metric])
        for name, task in tasks.items()
        for metric in dict.fromkeys((task["own"], *_largest(task["metrics"])))
        if metric in task["metrics"]
    ]
    every = spread(replies, options.samples)
    for name in tasks:
        rows = list(read_lines(run / f"samples_{name.replace('/', '_')}.jsonl"))
        kept = [row for row in rows if row["filter"] == rows[0]["filter"]]
        for row in kept[::every]:
            page.items += _items(name, tasks[name]["own"], row)
    if every > 1:
        page.notices.append(f"the samples below are those of every {every}th question; all figures are of all of them")
    page.charts = list(_charts(tasks, page.items))
    page.tables = list(_tables(tasks))
    return page


def _notices(name: str, task: Row) -> Iterator[str]:
    for metric, count in task["unscored"].items():
        yield f"{name}: {count:,} of {task['replies']:,} replies have no {metric}"
    for reason, count in task["reasons"].items():
        yield f"{name}: {count:,} unscored: {reason}"
    if task["unparsed"]:
        yield f"{name}: no answer found in {task['unparsed']:,} of {task['replies']:,} replies; they count as wrong"


def _largest(metrics: Row) -> list[str]:
    """pass@k, maj@k and bon@k at the largest k there is."""
    found: dict[str, int] = {}
    for name in metrics:
        kind, at, k = name.partition("@")
        if at:
            found[kind] = max(found.get(kind, 0), int(k))
    return [f"{kind}@{k}" for kind, k in found.items()]


def _charts(tasks: Mapping[str, Row], items: Sequence[Item]) -> Iterator[Chart]:
    if len(tasks) > 1:
        own = [estimate(name, task["metrics"][task["own"]]) for name, task in tasks.items() if task["metrics"]]
        yield from forest("tasks", "Tasks", "value", own)
    for name, task in tasks.items():
        one = {f"{kind}@1": task["metrics"][task["own"]] for kind in _kinds(task)} if task["metrics"] else {}
        if chart := over_k({**one, **task["metrics"]}, key=f"{name}/over_k", title=f"{name}: over k replies"):
            yield chart
        if task["categories"]:
            yield from forest(
                f"{name}/categories", f"{name}: {task['own']} by category", task["own"], _categories(task)
            )
    if chart := histogram("lengths", "Length", "characters", "replies", lengths(items)):
        yield chart


def _kinds(task: Row) -> set[str]:
    return {name.partition("@")[0] for name in task["metrics"] if "@" in name}


def _categories(task: Row) -> list[Figure]:
    return [estimate(name, row) for name, row in task["categories"].items()]


def _tables(tasks: Mapping[str, Row]) -> Iterator[Table]:
    rows = [
        (name, task["fewshot"], metric, estimate("", row), row["n"])
        for name, task in tasks.items()
        for metric, row in task["metrics"].items()
    ]
    yield Table("Metrics", ("task", "shots", "metric", "value and 95 % interval", "questions"), rows)


def _items(task: str, own: str, row: Row) -> Iterator[Item]:
    """The replies to one question."""
    grades = row["filtered_resps"][0] if row["filtered_resps"] else []
    if not (isinstance(grades, list) and grades and isinstance(grades[0], dict)):
        grades = [{own: _plain(row.get(own))}]
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
        texts = [shown("Prompt", _text(row["arguments"]["gen_args_0"]["arg_0"])), shown("Reply", said)]
        id = f"{task} {row['doc'].get('id', row['doc_id'])}"
        item = Item(
            id, f"#{number}" if len(grades) > 1 else "", tags, first["value"], verdict, len(said), texts, scores
        )
        facts = {"target": row.get("target"), "category": row["doc"].get("category")}
        item.facts = [(name, _text(value)) for name, value in facts.items() if value not in (None, "", [])]
        yield item


def _plain(value: Any) -> dict[str, Any]:
    """A metric of lm-eval's own as a score."""
    number = value if isinstance(value, (int, float)) else None
    return {"value": number, "status": "ok" if number is not None else "unscored"}


def _text(value: Any) -> str:
    return value if isinstance(value, str) else str(value)
