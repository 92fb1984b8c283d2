"""A run's results for people: lines for a terminal, Markdown for a file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from verikit.platform.terminal import markdown_table, pass_or_fail, printable, table

RAW = ("score_of_10",)
"""Metrics that are not fractions."""
MUCH_CUT = 0.05
"""Fraction of cut-off replies above which the last line reports them."""
LIMIT_HINT = "raise max_gen_toks (--gen, or [settings.generation] of a suite)"
HEADER = ("task", "metric", "value", "95% interval", "n")


def show(results: Mapping[str, Any]) -> Iterator[str]:
    """Lines of a run's results."""
    yield from table(HEADER, list(result_rows(results)))
    for name, task in results["tasks"].items():
        yield from (pass_or_fail(f"{name}: {printable(line)}", None) for line in remarks(task))
    if cut := cut_line({results["model"]: results}):
        yield pass_or_fail(cut, None)


def markdown(results: Mapping[str, Any]) -> str:
    """A run's results as Markdown."""
    lines = [f"# {results['model']}", ""]
    lines += [*markdown_table(HEADER, list(result_rows(results))), ""]
    for name, task in results["tasks"].items():
        lines += [f"- {name}: {printable(line)}" for line in remarks(task)]
    if cut := cut_line({results["model"]: results}):
        lines += ["", cut]
    for name, task in results["tasks"].items():
        if task["categories"]:
            parts = [
                (part, percent(estimate), interval(estimate), str(estimate["n"]))
                for part, estimate in task["categories"].items()
            ]
            lines += ["", f"## {name} by category", "", *markdown_table(("category", task["own"], *HEADER[3:]), parts)]
    return "\n".join(lines) + "\n"


def result_rows(results: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    """The cells of all tasks' and groups' metrics."""
    for name, task in results["tasks"].items():
        yield from metric_rows(name, task)
    for name, group in results["groups"].items():
        for metric, estimate in group["metrics"].items():
            yield name, metric, *metric_cells(metric, estimate), str(estimate["n"])


def metric_rows(name: str, task: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    """Yield a task's metrics as cells. A task without any score has a row that shows it."""
    shots = f" ({task['fewshot']}-shot)" if task["fewshot"] else ""
    for metric, estimate in task["metrics"].items():
        shown = f"{metric} (mean@{task['repeats']})" if metric == task["own"] and task["repeats"] > 1 else metric
        yield name + shots, shown, *metric_cells(metric, estimate), str(estimate["n"])
    if not task["metrics"]:
        yield name + shots, task["own"], "none", "", "0"


def remarks(task: Mapping[str, Any]) -> Iterator[str]:
    """Yield remarks on the metrics: the number of replies that are unscored or have no answer."""
    for metric, count in task["unscored"].items():
        yield f"{count:,} of {task['replies']:,} replies have no {metric}"
    for reason, count in task["reasons"].items():
        yield f"  {count:,} x {reason}"
    if task.get("cut"):
        cut, replies = task["cut"], task["replies"]
        yield f"{cut:,} of {replies:,} replies ({cut / replies:.1%}) were cut off at the token limit"
    if task["unparsed"]:
        share = task["unparsed"] / task["replies"]
        yield f"no answer found in {task['unparsed']:,} of {task['replies']:,} replies ({share:.1%}): wrong"


def cut_line(results: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the last line for runs by model, if the token limit cut off many replies. Otherwise ""."""
    tasks = {(model, name): task for model, result in results.items() for name, task in result["tasks"].items()}
    cut, replies = (sum(task.get(key, 0) for task in tasks.values()) for key in ("cut", "replies"))
    if cut <= MUCH_CUT * replies:
        return ""
    shares = {key: task.get("cut", 0) / max(1, task["replies"]) for key, task in tasks.items()}
    (model, name), most = max(shares.items(), key=lambda item: item[1])
    where = f"{name} of {model}" if len(results) > 1 else name
    told = f"{cut:,} of {replies:,} replies ({cut / replies:.1%}) were cut off at the token limit"
    return f"{told}, the largest share in {where} ({most:.1%}): {LIMIT_HINT}"


def metric_cells(metric: str, estimate: Mapping[str, Any]) -> tuple[str, str]:
    """Return an estimate's value and interval, in percent or, for the metrics in `RAW`, unscaled."""
    if metric in RAW:
        return f"{estimate['value']:.2f}", "none" if estimate[
            "low"
        ] is None else f"{estimate['low']:.2f} to {estimate['high']:.2f}"
    return percent(estimate), interval(estimate)


def percent(estimate: Mapping[str, Any]) -> str:
    """An estimate's value in percent."""
    return f"{100 * estimate['value']:.2f}"


def interval(estimate: Mapping[str, Any]) -> str:
    """An estimate's interval in percent."""
    return "none" if estimate["low"] is None else f"{100 * estimate['low']:.2f} to {100 * estimate['high']:.2f}"
