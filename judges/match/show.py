"""Format a judge run's summary as text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import click

from verikit.judges.asking.contradicted import CONTRADICTED
from verikit.judges.match.sliced import table_rows
from verikit.platform.terminal import printable, table
from verikit.scoring.show import SLICES

BIAS = {
    "consistency": "same verdict in both orders",
    "first_rate": "for the answer shown first (50 is fair)",
    "tie_rate": "ties",
    "length_win_rate": "won by the longer answer",
    "unparsed_rate": "replies without a verdict",
}
CANARY_ALARM = 0.1
"""Win rate above which a canary is named."""


def show(summary: Mapping[str, Any]) -> Iterator[str]:
    """The lines of a summary: win rates with 95 % intervals, bias metrics, ratings, and warnings."""
    counts = ", ".join(f"{summary[name]:,} {name}" for name in ("judged", "unread", "failed") if summary[name])
    yield f"{summary['comparisons']:,} comparisons: {counts}"
    yield from _win_rates(summary["pairs"])
    for key, values in table_rows(summary.get("slices", {})):
        yield from _by_value(key, values)
    for name, text in BIAS.items():
        if summary["bias"][name] is not None:
            yield f"  {_percent(summary['bias'][name])} % {text}"
    if "ratings" in summary:
        yield from _ratings(summary["ratings"])
    if "agreement" in summary:
        yield "  agreement with labels: " + _agreement(summary["agreement"])
    if contradicted := summary.get(CONTRADICTED):
        yield f"  {contradicted:,} replies conclude the opposite of their verdict"
    for warning in warnings(summary):
        yield "  " + click.style(printable(warning), fg="yellow")
    for reason, count in summary["reasons"].items():
        yield f"  {click.style(f'{count:,} without a verdict:', fg='yellow')} {printable(reason)}"


def warnings(summary: Mapping[str, Any]) -> list[str]:
    """Warnings that a reader of the win rates must see first."""
    found = []
    for name, model in summary["models"].items():
        again = model["repeats"]
        if again["suspicious"]:
            found.append(f"{name}: {_percent(again['share'])} % of its answers are one text: {again['text']!r}")
        if model["verdict_like"]:
            found.append(f"{name}: {model['verdict_like']:,} answers hold a verdict of the judge's own form")
    for pair in summary["pairs"]:
        if pair.get("length_controlled", {}).get("extreme"):
            moved = "length control moves the win rate so far that its fit is in doubt"
            found.append(f"{pair['a']} against {pair['b']}: {moved}")
    for name, rate in summary.get("canaries", {}).items():
        if rate is not None and rate["value"] > CANARY_ALARM:
            found.append(f"the canary {name!r} wins {_percent(rate['value'])} %: this judge can be gamed")
    return found


_PAIR = ["win rate of", "against", "%", "win", "tie", "loss"]


def _win_rates(pairs: list[Mapping[str, Any]]) -> Iterator[str]:
    controlled = any("length_controlled" in pair for pair in pairs)
    rows = []
    for pair in pairs:
        row = _pair(pair)
        if controlled:
            found = pair.get("length_controlled")
            row.append(f"{_percent(found['value'])} ({found['form']})" if found else "-")
        rows.append(row)
    yield from ("  " + line for line in table([*_PAIR, "length-controlled"] if controlled else _PAIR, rows))


def _pair(pair: Mapping[str, Any]) -> list[str]:
    row = [printable(pair["a"]), printable(pair["b"]), "-", "-", "-", "-"]
    if "win_rate" in pair:
        row[2:] = [_interval(pair["win_rate"]), *(f"{pair[name]:,}" for name in ("wins", "ties", "losses"))]
    return row


def _by_value(key: str, values: Sequence[tuple[str, Mapping[str, Any]]]) -> Iterator[str]:
    """A table of a key's values, at most `SLICES` lines."""
    rows = [[printable(value), *_pair(pair), f"{pair['unjudged']:,}"] for value, pair in values[:SLICES]]
    yield from ("  " + line for line in table([printable(key), *_PAIR, "no verdict"], rows))
    if len(values) > SLICES:
        yield "  " + click.style(f"and {len(values) - SLICES:,} more, in summary.json", dim=True)


def _ratings(ratings: list[Mapping[str, Any]]) -> Iterator[str]:
    header = ["model", "Bradley-Terry", "95 %", "games"]
    rows = [
        [
            printable(rating["name"]),
            f"{rating['rating']:.0f}",
            f"{rating['low']:.0f} to {rating['high']:.0f}",
            f"{rating['games']:,}",
        ]
        for rating in ratings
    ]
    yield from ("  " + line for line in table(header, rows))


def _agreement(found: Mapping[str, Any]) -> str:
    text = f"{_percent(found['accuracy'])} % of {found['n']:,}, {shown_kappa(found)}"
    if "both" in found:
        text += f"; right in both orders {_percent(found['both'])} %, in each {_percent(found['first'])} and "
        text += _percent(found["second"])
    return text


def shown_kappa(agreement: Mapping[str, Any]) -> str:
    """Kappa as text. A note if it is undefined."""
    kappa = agreement["kappa"]
    return "no kappa: one label alone" if kappa is None else f"kappa {kappa:.3f}"


def _interval(rate: Mapping[str, float]) -> str:
    return f"{_percent(rate['value'])} [{_percent(rate['low'])}, {_percent(rate['high'])}]"


def _percent(share: float) -> str:
    return f"{100 * share:.1f}"
