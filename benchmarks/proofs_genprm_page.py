"""The tables of what `proofs_genprm.py` found."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from proofs_page import replaced, row, runs

JsonObject = dict[str, Any]
JUDGES = {
    "vote": "vote: how many of the 8 replies begin with the same lines",
    "full": "GenPRM, code executed",
    "unexecuted": "GenPRM, code only written",
    "head": "discriminative model",
}
BENCHMARKS = {
    "processbench": ("f1", "acc_error", "acc_correct", "auc"),
    "prmbench": ("prmscore", "first_error_acc", "counterfactual", "step_contradiction", "missing_condition",
                 "deception"),
}  # fmt: skip
"""The metrics shown of each protocol."""


def write_page(results: Path, page: Path) -> None:
    """Put the tables between their marks in the page."""
    found = {file.stem: json.loads(file.read_text("utf-8")) for file in sorted(results.glob("*.json"))}
    text = page.read_text("utf-8")
    measured = runs(found, "measure-")
    text = replaced(text, "rewards", rewards_table(measured))
    text = replaced(text, "selection", selection_table(measured))
    for name in BENCHMARKS:
        text = replaced(text, name, protocol_table(name, runs(found, "protocols-")))
    page.write_text(text, "utf-8")


def rewards_table(measured: Sequence[JsonObject]) -> str:
    """AUC of each step reward, by seed."""
    lines = ["| step reward | AUC | AUC of 2 to 4 operations | steps without a verdict |", "|---|---|---|---|"]
    for name, label in JUDGES.items():
        some = [one[name] for one in measured]
        missing = "" if name == "vote" else listed(some, lambda one: str(one["no verdict"]))
        lines.append(
            row(label, [listed(some, lambda one: share(one["AUC"])),
                        listed(some, lambda one: share(one["seen lengths"])), missing])
        )  # fmt: skip
    return "\n".join(lines)


def selection_table(measured: Sequence[JsonObject]) -> str:
    """Right answers and tokens per question of each way to spend them."""
    lines = ["| | right answers, % | tokens per question |", "|---|---|---|"]
    reply = fmean(one["reply tokens"] for one in measured)
    for count in ("1", "8", "16", "24", "32"):
        label = "one reply" if count == "1" else f"majority of {count}"
        lines.append(row(label, [percent([measured[0]["majority"][count]]), f"{int(count) * reply:.0f}"]))
    for name in ("full", "unexecuted", "head"):
        tokens = f"{8 * reply + fmean(one[name]['tokens'] for one in measured):.0f}"
        for key, label in (("best of 8", "best of 8 by the"), ("weighted", "vote of 8 weighted by the")):
            values = percent([one[name][key] for one in measured])
            lines.append(row(f"{label} {JUDGES[name]}", [values, tokens]))
    turns = len(measured[0]["critic"]["right"]) - 1
    tokens = f"{reply + fmean(one['critic']['tokens'] for one in measured):.0f}"
    for turn in range(1, turns + 1):
        values = percent([one["critic"]["right"][turn] for one in measured])
        lines.append(row(f"critic, turn {turn}", [values, tokens if turn == turns else ""]))
    return "\n".join(lines)


def protocol_table(name: str, protocols: Sequence[JsonObject]) -> str:
    """A protocol's metrics of both models, by seed."""
    metrics = BENCHMARKS[name]
    lines = [f"| | {' | '.join(f'`{metric}`' for metric in metrics)} |", "|---|" + "---|" * len(metrics)]
    for judge in ("full", "head"):
        some = [one[f"{name} {judge}"] for one in protocols]
        cells = [listed(some, lambda one, metric=metric: share(one[metric])) for metric in metrics]  # type: ignore[misc]
        lines.append(row(JUDGES[judge], cells))
    return "\n".join(lines)


def listed(some: Sequence[JsonObject], shown: Callable[[JsonObject], str]) -> str:
    """One value per seed."""
    return ", ".join(shown(one) for one in some)


def share(value: float) -> str:
    """A share with two digits."""
    return f"{value:.2f}"


def percent(values: Sequence[float]) -> str:
    """Shares in percent, one per seed."""
    return ", ".join(f"{100 * value:.0f}" for value in values)
