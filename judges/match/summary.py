"""Summarise a run's verdicts: win rates with intervals, bias metrics, ratings, agreement with labels.

The summary is computed only from the folder's rows and the answers, so a resumed run gives the same result as an
uninterrupted one.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from verikit.judges.asking.contradicted import CONTRADICTED, prefers_other
from verikit.judges.bias import Judged, bias
from verikit.judges.evidence.shown import repeats
from verikit.judges.match.rows import from_row
from verikit.judges.rates.agreement import accuracy, both_orders, cohen_kappa
from verikit.judges.rates.bradley_terry import Game, bradley_terry
from verikit.judges.rates.length_control import Gamed, length_controlled
from verikit.judges.rates.winrate import win_rate
from verikit.replies.split import split
from verikit.stats import mean_interval

Row = Mapping[str, Any]


@dataclass(frozen=True)
class LengthControl:
    """How a run's win rates are controlled for length."""

    gamed: Gamed | None = None
    """Data for the version v1. None is the minimal version."""
    numbers: Mapping[str, int] | None = None
    """Number of the instruction of each row's id, for v1."""


def summarize(
    rows: Iterable[Row],
    answers: Mapping[str, Mapping[str, str]],
    *,
    control: LengthControl | None = None,
    looks_like_verdict: Callable[[str], bool] = lambda text: False,
) -> dict[str, Any]:
    """Summarise verdict rows.

    Args:
        rows: Rows of verdicts.jsonl.
        answers: Answers by model, then by id.
        control: Also compute length-controlled win rates (requires numpy).
        looks_like_verdict: Detects an answer that contains a verdict in the judge's own format.
    """
    contradicted = 0
    kept: list[Row] = []
    for row in rows:
        contradicted += sum(map(_contradicted, row["orders"]))
        kept.append(_without_replies(row))
    rows = kept
    by_pair = by_models(rows)
    summary: dict[str, Any] = {
        "comparisons": len(rows),
        "judged": sum(row["preference"] is not None for row in rows),
        "unread": sum(row.get("error") == "unread" for row in rows),
        "failed": sum(row.get("error") == "failed" for row in rows),
        CONTRADICTED: contradicted,
        "bias": asdict(bias(map(from_row, rows))),
        "pairs": [pair_summary(a, b, some, control) for (a, b), some in by_pair],
        "models": {name: _model(texts, looks_like_verdict) for name, texts in answers.items()},
    }
    games = [Game(row["a"], row["b"], row["preference"], row["id"]) for row in rows if row["preference"] is not None]
    if len(by_pair) > 1 and games:
        summary["ratings"] = [asdict(rating) for rating in bradley_terry(games)]
    # A failure of the engine shows nothing about the judge. A reply without a verdict counts as wrong.
    if labelled := [row for row in rows if "label" in row and row.get("error") != "failed"]:
        summary["agreement"] = _agreement(labelled)
    summary["reasons"] = _reasons(rows)
    return summary


def _contradicted(order: Mapping[str, Any]) -> bool:
    """Whether the reply in one order concludes the opposite of its verdict."""
    preference = order["preference"]
    if preference is None:
        return False
    shown_first = preference if order["first"] == "a" else 1 - preference
    return prefers_other(split(order["reply"]).reply, shown_first)


def _without_replies(row: Row) -> Row:
    """A row without the reply texts, which are nearly all of its size."""
    return {**row, "orders": [{**order, "reply": ""} for order in row["orders"]]}


def by_models(rows: Iterable[Row]) -> list[tuple[tuple[str, str], list[Row]]]:
    """Group rows by their two models."""
    found: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for row in rows:
        found[row["a"], row["b"]].append(row)
    return list(found.items())


def pair_summary(a: str, b: str, rows: Sequence[Row], control: LengthControl | None = None) -> dict[str, Any]:
    """Summarise the verdicts on two models: win rate with interval, counts, bias."""
    preferences = [row["preference"] for row in rows]
    known = [preference for preference in preferences if preference is not None]
    found: dict[str, Any] = {"a": a, "b": b, "n": len(known), "unjudged": len(rows) - len(known)}
    if not known:
        return found
    rate, interval = win_rate(preferences), mean_interval(known)
    found["win_rate"] = {"value": rate.value, "low": interval.low, "high": interval.high}
    found["win_rate"]["stderr"] = _defined(rate.stderr)
    found |= {"discrete": rate.discrete, "wins": rate.wins, "ties": rate.ties, "losses": rate.losses}
    found["bias"] = asdict(bias(map(from_row, rows)))
    if control is not None:
        found["length_controlled"] = _controlled(rows, preferences, control)
    return found


def _controlled(rows: Sequence[Row], preferences: Sequence[float | None], control: LengthControl) -> dict[str, Any]:
    numbers = None if control.numbers is None else [control.numbers[row["id"]] for row in rows]
    fitted = length_controlled(
        preferences,
        baseline_lengths=[row["lengths"][1] for row in rows],
        model_lengths=[row["lengths"][0] for row in rows],
        instructions=numbers,
        gamed=control.gamed,
    )
    return asdict(fitted) | {"weights": fitted.weights._asdict()}


def _model(texts: Mapping[str, str], looks_like_verdict: Callable[[str], bool]) -> dict[str, Any]:
    return {
        "answers": len(texts),
        "mean_length": sum(map(len, texts.values())) / len(texts) if texts else 0.0,
        "repeats": asdict(repeats(texts)),
        "verdict_like": sum(map(looks_like_verdict, texts.values())),
    }


def _agreement(rows: Sequence[Row]) -> dict[str, Any]:
    """Agreement with labels: over both orders if every comparison has both, otherwise over the comparisons."""
    labels = [row["label"] for row in rows]
    golds = [_side(label) for label in labels]
    verdicts = [_side(row["preference"]) for row in rows]
    found: dict[str, Any] = {
        "n": len(rows),
        "accuracy": accuracy(verdicts, golds),
        "kappa": _defined(cohen_kappa(verdicts, golds)),
    }
    judged: list[Judged] = list(map(from_row, rows))
    if all([order.swapped for order in judgement.comparison.orders] == [False, True] for judgement in judged):
        orders = [tuple(order.preference for order in judgement.comparison.orders) for judgement in judged]
        found |= asdict(both_orders(orders, labels))  # type: ignore[arg-type]
    return found


def _defined(value: float) -> float | None:
    """NaN as None, because JSON has no NaN."""
    return None if math.isnan(value) else value


def _side(preference: float | None) -> int | None:
    return None if preference is None else (preference > 0.5) - (preference < 0.5)


def _reasons(rows: Sequence[Row]) -> dict[str, int]:
    """The most common reasons for comparisons without a verdict."""
    counts: dict[str, int] = defaultdict(int)
    for row in rows:
        if row["preference"] is None:
            counts[row["reason"][:200]] += 1
    return dict(sorted(counts.items(), key=lambda item: -item[1])[:5])
