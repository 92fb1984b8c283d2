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
    """Print counts, then the metrics over k in percent, each with its 95 % interval, and what they mean."""
    metrics = summary["metrics"]
    console.print(
        f"[bold]{escape(config['verifier'])}[/]: {summary['prompts']:,} prompts, {summary['candidates']:,} candidates: "
        + ", ".join(f"{count:,} {name}" for name, count in _counts(summary).items()),
        highlight=False,
    )
    for reason, count in summary["unscored_reasons"].items():
        console.print(f"  [yellow]{count:,} unscored:[/] {escape(reason)}", highlight=False)
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


def _counts(summary: Mapping[str, Any]) -> dict[str, int]:
    counts = {"scored": summary["status"]["ok"], **summary["status"], "bad rows": summary["bad_rows"]}
    del counts["ok"]
    return {name: count for name, count in counts.items() if count or name == "scored"}


def _percent(estimate: Mapping[str, Any] | None) -> str:
    if estimate is None:
        return "-"
    value, low, high = (100 * estimate[key] for key in ("value", "low", "high"))
    digits = 0 if high - low >= 5 else 1  # a wide interval's tenths say nothing, and four columns have to fit
    return f"{value:.1f} \\[{low:.{digits}f}, {high:.{digits}f}]"
