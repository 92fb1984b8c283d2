"""A summary as a person reads it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

_COLUMNS = {
    "pass": "pass@k: any of k candidates is right",
    "bon": "bon@k: the best of k by {by} is right",
    "maj": "maj@k: the majority answer of k is right",
    "wmaj": "wmaj@k: the majority answer of k, votes weighted by {by}, is right",
}


def show(summary: Mapping[str, Any], config: Mapping[str, Any], console: Console) -> None:
    """Print counts, then the metrics over k, each with its 95 % interval, and what they mean.

    Metrics are in percent; where one leaves the range of 0 to 1, it is printed as it is.
    """
    metrics = summary["metrics"]
    console.print(
        f"[bold]{escape(config['verifier'])}[/]: {summary['prompts']:,} prompts, {summary['candidates']:,} candidates: "
        + ", ".join(f"{count:,} {name}" for name, count in _counts(summary).items()),
        highlight=False,
    )
    for reason, count in summary["unscored_reasons"].items():
        console.print(f"  [yellow]{count:,} unscored:[/] {escape(printable(reason))}", highlight=False)
    for name, label in (("mean", "mean of one candidate"), ("selected", f"selected by {config['select']}")):
        if name in metrics:
            console.print(f"  {label}: {_percent(metrics[name])}", highlight=False)
    ks = sorted({int(name.partition("@")[2]) for name in metrics if "@" in name} - {1})
    columns = [metric for metric in _COLUMNS if any(f"{metric}@{k}" in metrics for k in ks)]
    if ks:
        table = Table(box=None, header_style="bold")
        table.add_column("k", justify="right", no_wrap=True)
        for metric in columns:
            table.add_column(f"{metric}@k", justify="right", no_wrap=True)
        for k in ks:
            table.add_row(str(k), *(_percent(metrics.get(f"{metric}@{k}")) for metric in columns))
        console.print(table)
        for metric in columns:
            console.print("  " + escape(_COLUMNS[metric].format(by=config["by"])), style="dim", highlight=False)


def printable(text: str) -> str:
    """Text for a terminal: what a model wrote must not move the cursor."""
    return "".join(char if char.isprintable() else " " for char in text)


def _counts(summary: Mapping[str, Any]) -> dict[str, int]:
    counts = {"scored": summary["status"]["ok"], **summary["status"], "bad rows": summary["bad_rows"]}
    del counts["ok"]
    return {name: count for name, count in counts.items() if count or name == "scored"}


def _percent(estimate: Mapping[str, Any] | None) -> str:
    if estimate is None:
        return "-"
    value, low, high = (estimate[key] for key in ("value", "low", "high"))
    if low < 0 or high > 1:
        return f"{value:.4g} \\[{low:.4g}, {high:.4g}]"
    value, low, high = 100 * value, 100 * low, 100 * high
    digits = 0 if high - low >= 5 else 1  # a wide interval's tenths say nothing, and four columns have to fit
    return f"{value:.1f} \\[{low:.{digits}f}, {high:.{digits}f}]"
