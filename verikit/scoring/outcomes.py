"""A score run's values by prompt, for a comparison with another run's."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import NamedTuple

from verikit.errors import UsageError
from verikit.scoring.chunk import SCORES, SELECTED
from verikit.scoring.rows import read_rows
from verikit.scoring.run import SUMMARY
from verikit.stats.early import WHOLE, EarlyStop, proven_all, proven_pass
from verikit.stats.paired import Outcomes
from verikit.stats.subsets import all_at_k, mean_at_k, pass_at_k
from verikit.types import PASS_MARK, UNIT, JsonObject

_AT_K: Mapping[str, Callable[[int, int, int], float]] = {"pass@": pass_at_k, "pass^": all_at_k}
_PROVEN: Mapping[str, Callable[[Sequence[float], int, int], float | None]] = {
    "pass@": proven_pass,
    "pass^": proven_all,
}


class _Prompt(NamedTuple):
    """A prompt's values, those of its samples without early stopping, and how its sampling ended."""

    values: Sequence[float]
    first: Sequence[float]
    early: EarlyStop | None


def outcomes(run: Path, metric: str = "") -> list[Outcomes]:
    """Return the mean score of each prompt's candidates and the selected one's, or another metric of them.

    Args:
        run: The run's folder.
        metric: `mean`, `selected`, `pass@k` or `pass^k`.

    Raises:
        UsageError: The run has no such metric.
    """
    prompts: dict[str, _Prompt] = {}
    for id, rows in groupby(read_rows(run / SCORES), key=itemgetter("id")):
        prompts[id] = _prompt([dict(row) for row in rows])
    questions = {id: id for id in prompts}
    found = _mean_and_selected(run, prompts)
    if metric and metric not in found:
        found[metric] = _at_k(metric, prompts, found)
    names = [metric] if metric else list(found)
    drawn, bounds = _drawn(prompts.values()), _bounds(run)
    return [
        Outcomes(name, "score", found[name], questions, UNIT if name.startswith("pass") else bounds, drawn)
        for name in names
    ]


def _mean_and_selected(run: Path, prompts: Mapping[str, _Prompt]) -> dict[str, dict[str, float]]:
    """Return each prompt's mean and, in a run that selects, also the value of its selected candidate."""
    chosen = {row["id"]: row.get("value") for row in read_rows(run / SELECTED)}
    found = {"mean": {id: mean_at_k(held.first, 1) for id, held in prompts.items() if held.first}}
    if chosen:
        found["selected"] = {id: value for id, value in chosen.items() if value is not None}
    return found


def _drawn(prompts: Iterable[_Prompt]) -> str:
    """Describe how the samples of these prompts were obtained. Empty if none was stopped early."""
    ways = sorted({prompt.early.told() if prompt.early else WHOLE for prompt in prompts})
    return "" if ways == [WHOLE] else " or ".join(ways)


def _bounds(run: Path) -> tuple[float, float]:
    """Return the range of its verifier's scores. Runs of earlier releases do not contain it."""
    low, high = json.loads((run / SUMMARY).read_bytes()).get("bounds", UNIT)
    return -math.inf if low is None else low, math.inf if high is None else high


def _prompt(rows: Sequence[JsonObject]) -> _Prompt:
    early = EarlyStop.of(rows[0])
    first = rows if early is None else rows[: early.first]
    values, head = ([row["value"] for row in some if row["value"] is not None] for some in (rows, first))
    return _Prompt(values, head, early)


def _at_k(metric: str, prompts: Mapping[str, _Prompt], known: Mapping[str, object]) -> dict[str, float]:
    """Return a metric at k of each prompt that has k scored candidates.

    Raises:
        UsageError: There is no such metric, or the samples of a prompt that was stopped early do not determine it.
    """
    named = re.fullmatch(r"(pass[@^])([1-9]\d{0,6})", metric)
    if named is None:
        raise UsageError(f"a score run has no metric {metric!r}", hint=f"{', '.join(known)}, pass@k or pass^k")
    kind, k = named[1], int(named[2])
    found = {}
    for id, (values, first, early) in prompts.items():
        if early is not None and _is_cut(early, k, len(values)):
            value = _PROVEN[kind](values, early.n, k)
            if value is None:
                raise UsageError(
                    f"{metric} is not determined: prompt {id!r} was stopped early ({early.told()}), and its samples do "
                    "not settle it",
                    hint=f"a k up to {early.least}, or sample without --until",
                )
            found[id] = value
            continue
        held = values if early is None or k > early.least else first
        if len(held) >= k:
            found[id] = _AT_K[kind](len(held), sum(value >= PASS_MARK for value in held), k)
    return found


def _is_cut(early: EarlyStop, k: int, scored: int) -> bool:
    """Whether a prompt was stopped before it had the scored samples that a metric at k needs."""
    return early.why is not None and early.least < k <= early.n and scored < early.n
