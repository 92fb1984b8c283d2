"""A score run's values by prompt, for a comparison with another run's."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from pathlib import Path

from verikit.errors import UsageError
from verikit.scoring.chunk import SCORES, SELECTED
from verikit.scoring.rows import read_rows
from verikit.scoring.run import SUMMARY
from verikit.stats.paired import Outcomes
from verikit.stats.subsets import all_at_k, mean_at_k, pass_at_k
from verikit.types import PASS_MARK, UNIT

_AT_K: Mapping[str, Callable[[int, int, int], float]] = {"pass@": pass_at_k, "pass^": all_at_k}


def outcomes(run: Path, metric: str = "") -> list[Outcomes]:
    """Return the mean score of each prompt's candidates and the selected one's, or another metric of them.

    Args:
        run: The run's folder.
        metric: `mean`, `selected`, `pass@k` or `pass^k`.

    Raises:
        UsageError: the run has no such metric.
    """
    values: dict[str, list[float]] = {}
    for id, rows in groupby(read_rows(run / SCORES), key=itemgetter("id")):
        values[id] = [row["value"] for row in rows if row["value"] is not None]
    chosen = {row["id"]: row.get("value") for row in read_rows(run / SELECTED)}
    every = dict.fromkeys(values, "")
    questions = {id: id for id in every}
    found = {"mean": {id: mean_at_k(held, 1) for id, held in values.items() if held}}
    if chosen:
        found["selected"] = {id: value for id, value in chosen.items() if value is not None}
    if metric and metric not in found:
        found[metric] = _at_k(metric, values, found)
    names = [metric] if metric else list(found)
    bounds = _bounds(run)
    return [
        Outcomes(name, "score", found[name], questions, UNIT if name.startswith("pass") else bounds) for name in names
    ]


def _bounds(run: Path) -> tuple[float, float]:
    """Between which values its verifier's scores can lie; runs of earlier releases do not say."""
    low, high = json.loads((run / SUMMARY).read_bytes()).get("bounds", UNIT)
    return -math.inf if low is None else low, math.inf if high is None else high


def _at_k(metric: str, values: Mapping[str, Sequence[float]], known: Mapping[str, object]) -> dict[str, float]:
    named = re.fullmatch(r"(pass[@^])([1-9]\d{0,6})", metric)
    if named is None:
        raise UsageError(f"a score run has no metric {metric!r}", hint=f"{', '.join(known)}, pass@k or pass^k")
    of, k = _AT_K[named[1]], int(named[2])
    right = {id: sum(value >= PASS_MARK for value in held) for id, held in values.items() if len(held) >= k}
    return {id: of(len(values[id]), count, k) for id, count in right.items()}
