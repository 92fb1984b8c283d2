"""Runs of `verikit score` or `verikit eval`, paired by question."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from importlib import import_module
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

from verikit.errors import UsageError
from verikit.platform.folders import refuse_links
from verikit.report.kinds import KINDS, kind_of
from verikit.scoring.sums import verify
from verikit.stats.early import WHOLE
from verikit.stats.paired import Difference, Outcomes, paired_difference


class RunDifference(NamedTuple):
    """The difference between the second of two runs and the first."""

    first: str
    second: str
    difference: Difference


def read_outcomes(run: Path, metric: str = "") -> list[Outcomes]:
    """Return a run's values by question, one set for each metric it is judged by, or only for the named metric.

    Raises:
        UsageError: The folder is not a finished run of a kind with questions, is damaged, or has no such metric.
    """
    refuse_links(run)
    verify(run)
    kind = kind_of(run)
    if kind is None or not kind.outcomes:
        known = ", ".join(kind.name for kind in KINDS if kind.outcomes)
        raise UsageError(f"{run} is not a run that can be compared", hint=f"give folders of verikit {known}")
    module, _, attribute = kind.outcomes.partition(":")
    try:
        found: list[Outcomes] = getattr(import_module(module), attribute)(run, metric)
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise UsageError(f"{run} is damaged: {type(error).__name__}: {error}") from error
    return found


def compare_outcomes(first: Sequence[Outcomes], second: Sequence[Outcomes]) -> list[Difference]:
    """Return the differences on the metrics that both have."""
    others = {outcomes.task: outcomes for outcomes in second}
    pairs = [(outcomes, others[outcomes.task]) for outcomes in first if outcomes.task in others]
    return [difference for pair in pairs if (difference := paired_difference(*pair)) is not None]


def compare_runs(first: Path, second: Path, metric: str = "") -> list[Difference]:
    """Return the second run minus the first, on each metric that both have.

    Raises:
        UsageError: See `read_outcomes`, or no question has a value in both.
    """
    before, after = read_outcomes(first, metric), read_outcomes(second, metric)
    check_drawn_alike({str(first): before, str(second): after})
    found = compare_outcomes(before, after)
    if not found:
        raise UsageError(f"{first} and {second} share no question with results", hint="run both on the same questions")
    return found


def check_drawn_alike(runs: Mapping[str, Sequence[Outcomes]]) -> None:
    """Reject runs with different sampling: a rule that reads samples before it stops biases them.

    Raises:
        UsageError: One run was sampled with early stopping, and another without or with another rule.
    """
    ways = {name: outcomes[0].drawn for name, outcomes in runs.items() if outcomes}
    if len(set(ways.values())) > 1:
        told = "; ".join(f"{name}: {way or WHOLE}" for name, way in ways.items())
        hint = "sample all with the same --until and -n, or all without --until"
        raise UsageError(f"these runs were not sampled alike and can't be compared ({told})", hint=hint)


def compare_all(runs: Mapping[str, Sequence[Outcomes]]) -> list[RunDifference]:
    """Return the differences of each pair of runs by name.

    Raises:
        UsageError: The runs were sampled in different ways.
    """
    check_drawn_alike(runs)
    return [
        RunDifference(a, b, found) for a, b in combinations(runs, 2) for found in compare_outcomes(runs[a], runs[b])
    ]


def as_json(difference: Difference) -> dict[str, Any]:
    """Return a difference for a file."""
    kept = {name: getattr(difference, name) for name in difference.__dataclass_fields__ if name != "changed"}
    kept |= {name: None for name in ("low", "high") if math.isinf(kept[name])}
    return kept | {"value": difference.value, "changed": [vars(change) for change in difference.changed]}
