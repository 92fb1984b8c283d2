"""Several runs in order, with the ranks that their differences leave open."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from verikit.report.differences import RunDifference
from verikit.stats import Estimate, mean_interval
from verikit.stats.paired import LEVEL, Outcomes, holm


class Standing(NamedTuple):
    """A run's place in a leaderboard."""

    run: str
    task: str
    metric: str
    estimate: Estimate
    """Over the questions that every run has a value for."""
    first_rank: int
    """1 plus the number of runs that are significantly better."""
    last_rank: int
    """The number of runs minus those that are significantly worse."""


def leaderboard(runs: Mapping[str, Sequence[Outcomes]], differences: Sequence[RunDifference]) -> list[Standing]:
    """Return the runs, best first, for each task that all have.

    Two runs share ranks unless their paired difference is significant at 5%, with Holm's correction over the task's
    pairs.
    """
    standings = []
    for task in dict.fromkeys(outcomes.task for several in runs.values() for outcomes in several):
        on_task = {run: outcomes for run, several in runs.items() for outcomes in several if outcomes.task == task}
        if len(on_task) == len(runs):
            standings += _on_task(task, on_task, [pair for pair in differences if pair.difference.task == task])
    return standings


def _on_task(task: str, runs: Mapping[str, Outcomes], differences: Sequence[RunDifference]) -> list[Standing]:
    """Rank the runs on their shared questions, best first. Empty if they share no question."""
    shared = sorted(set.intersection(*(set(outcomes.values) for outcomes in runs.values())))
    if not shared:
        return []
    beaten = _beaten(differences)
    standings = [
        Standing(
            run,
            task,
            outcomes.metric,
            mean_interval((outcomes.values[key] for key in shared), bounds=outcomes.bounds),
            1 + sum(loser == run for _, loser in beaten),
            len(runs) - sum(winner == run for winner, _ in beaten),
        )
        for run, outcomes in runs.items()
    ]
    return sorted(standings, key=lambda standing: (-standing.estimate.value, standing.run))


def _beaten(pairs: Sequence[RunDifference]) -> list[tuple[str, str]]:
    """Winner and loser of each significant difference."""
    ps = holm([pair.difference.p for pair in pairs])
    real = [pair for pair, p in zip(pairs, ps, strict=True) if p < LEVEL]
    return [(pair.second, pair.first) if pair.difference.value > 0 else (pair.first, pair.second) for pair in real]
