"""A judge run's summary as a person reads it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

_BIAS = {
    "consistency": "same verdict in both orders",
    "first_rate": "for the answer shown first (50 is fair)",
    "tie_rate": "ties",
    "length_win_rate": "won by the longer answer",
    "unparsed_rate": "replies without a verdict",
}
CANARY_ALARM = 0.1


def show(summary: Mapping[str, Any], console: Console) -> None:
    """Print win rates with their 95 % intervals, the bias figures, ratings, and what should be looked into."""
    counts = ", ".join(f"{summary[name]:,} {name}" for name in ("judged", "unread", "failed") if summary[name])
    console.print(f"[bold]{summary['comparisons']:,} comparisons[/]: {counts}", highlight=False)
    console.print(_win_rates(summary["pairs"]))
    figures = summary["bias"]
    for name, text in _BIAS.items():
        if figures[name] is not None:
            console.print(f"  {_percent(figures[name])} % {text}", highlight=False)
    if "ratings" in summary:
        console.print(_ratings(summary["ratings"]))
    if "agreement" in summary:
        console.print("  agreement with labels: " + _agreement(summary["agreement"]), highlight=False)
    for warning in warnings(summary):
        console.print(f"  [yellow]{escape(warning)}[/]", highlight=False, soft_wrap=True)
    for reason, count in summary["reasons"].items():
        console.print(f"  [yellow]{count:,} without a verdict:[/] {escape(reason)}", highlight=False, soft_wrap=True)


def warnings(summary: Mapping[str, Any]) -> list[str]:
    """What a reader of the win rates must know before believing them."""
    found = []
    for name, model in summary["models"].items():
        again = model["repeats"]
        if again["suspicious"]:
            found.append(f"{name}: {_percent(again['share'])} % of its answers are one text: {again['text']!r}")
        if model["verdict_like"]:
            found.append(f"{name}: {model['verdict_like']:,} answers hold a verdict of the judge's own form")
    for pair in summary["pairs"]:
        if pair.get("length_controlled", {}).get("extreme"):
            found.append(
                f"{pair['a']} against {pair['b']}: length control moves the win rate so far that its fit is in doubt"
            )
    for name, rate in summary.get("canaries", {}).items():
        if rate is not None and rate["value"] > CANARY_ALARM:
            found.append(f"the canary {name!r} wins {_percent(rate['value'])} %: this judge can be gamed")
    return found


def _win_rates(pairs: list[Mapping[str, Any]]) -> Table:
    table = Table(box=None, header_style="bold")
    controlled = any("length_controlled" in pair for pair in pairs)
    for title in ("", "win rate of the first", "win", "tie", "loss", *(["length-controlled"] if controlled else [])):
        table.add_column(title, justify="right" if title else "left", no_wrap=bool(title), overflow="fold")
    for pair in pairs:
        cells = [escape(f"{pair['a']} against {pair['b']}"), "-", "", "", ""]
        if "win_rate" in pair:
            rate = pair["win_rate"]
            cells[1] = f"{_percent(rate['value'])} \\[{_percent(rate['low'])}, {_percent(rate['high'])}]"
            cells[2:] = [str(pair[name]) for name in ("wins", "ties", "losses")]
        if "length_controlled" in pair:
            cells.append(f"{_percent(pair['length_controlled']['value'])} ({pair['length_controlled']['form']})")
        table.add_row(*cells)
    return table


def _ratings(ratings: list[Mapping[str, Any]]) -> Table:
    table = Table(box=None, header_style="bold")
    for title in ("rating (Bradley-Terry, mean 1000)", "", "games"):
        table.add_column(title, justify="right" if title == "games" else "left", no_wrap=True)
    for row in ratings:
        table.add_row(
            escape(row["name"]), f"{row['rating']:.0f} \\[{row['low']:.0f}, {row['high']:.0f}]", str(row["games"])
        )
    return table


def _agreement(found: Mapping[str, Any]) -> str:
    text = f"{_percent(found['accuracy'])} % of {found['n']:,}, kappa {found['kappa']:.3f}"
    if "both" in found:
        text += f"; right in both orders {_percent(found['both'])} %, in each {_percent(found['first'])} and "
        text += _percent(found["second"])
    return text


def _percent(share: float) -> str:
    return f"{100 * share:.1f}"
