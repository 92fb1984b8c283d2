"""A summary as a person reads it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.table import Table

_ROWS = {
    "pass": "any of k right",
    "bon": "best of k by",
    "maj": "majority vote of k",
    "wmaj": "vote weighted by",
    "mean": "mean of k",
}


def show(summary: Mapping[str, Any], config: Mapping[str, Any], console: Console) -> None:
    """Print counts, then the metrics as a table over k, each with its 95 % interval in percent."""
    status, metrics = summary["status"], summary["metrics"]
    console.print(f"[bold]{config['verifier']}[/]: {summary['prompts']} prompts, {summary['candidates']} candidates")
    counts = {**status, "bad rows": summary["bad_rows"]}
    console.print("  " + "  ".join(f"{name} {count}" for name, count in counts.items() if count or name == "ok"))
    for reason, count in summary["unscored_reasons"].items():
        console.print(f"  [yellow]unscored {count}x:[/] {reason}", highlight=False)
    ks = sorted({int(name.partition("@")[2]) for name in metrics if "@" in name})
    if ks:
        console.print(_over_k(metrics, ks, config))
    for name, label in (("mean", "mean of one"), ("selected", f"selected by {config.get('select')}")):
        if name in metrics:
            console.print(f"  {label}: {_percent(metrics[name])}, over {metrics[name]['n']} prompts", highlight=False)


def _over_k(metrics: Mapping[str, Any], ks: list[int], config: Mapping[str, Any]) -> Table:
    table = Table(box=None, pad_edge=True, header_style="bold")
    table.add_column("percent [95 % interval]")
    for k in ks:
        table.add_column(f"k={k}", justify="right")
    for metric, label in _ROWS.items():
        if metric == "mean" or not any(f"{metric}@{k}" in metrics for k in ks):
            continue
        ranked = f" {config['by']}" if metric in ("bon", "wmaj") else ""
        cells = [_percent(metrics[f"{metric}@{k}"]) if f"{metric}@{k}" in metrics else "-" for k in ks]
        table.add_row(f"{metric}@k  {label}{ranked}", *cells)
    return table


def _percent(estimate: Mapping[str, Any]) -> str:
    value, low, high = (100 * estimate[key] for key in ("value", "low", "high"))
    return f"{value:.2f} \\[{low:.1f}, {high:.1f}]"
