"""Several judges on the same comparisons: how far they agree, and whether one prefers its own model.

Self-preference (Panickssery et al. 2024) and preference leakage (Li et al. 2025, a judge and a model trained on its
data) show in the same metric. It is how much more often a judge prefers that model than the other judges do.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import fmean

from verikit.errors import UsageError, nearest
from verikit.judges.calibration.verdicts import RunVerdicts, common
from verikit.judges.rates.agreement import cohen_kappa
from verikit.stats import Estimate, mean_interval


@dataclass(frozen=True)
class JudgeAgreement:
    """Agreement of two judges on their shared comparisons."""

    first: str
    second: str
    n: int
    agree: float
    kappa: float
    """NaN if both give a single value throughout."""


@dataclass(frozen=True)
class OwnPreference:
    """How much more a judge prefers a model than the other judges do on the same comparisons."""

    judge: str
    model: str
    difference: Estimate
    """In [-1, 1]. 0 means no self-preference. The interval is over prompts."""


def judge_agreement(runs: Mapping[str, RunVerdicts]) -> list[JudgeAgreement]:
    """Compare each two judges' verdicts. Pairs without a shared comparison are skipped."""
    found = []
    for a, b in combinations(runs, 2):
        shared = common(runs[a].values, runs[b].values)
        if shared:
            first, second = ([runs[name].values[key] for key in shared] for name in (a, b))
            agree = fmean(x == y for x, y in zip(first, second, strict=True))
            found.append(JudgeAgreement(a, b, len(shared), agree, cohen_kappa(first, second)))
    return found


def own_preference(runs: Mapping[str, RunVerdicts], judge: str, model: str) -> OwnPreference:
    """Return how a judge's preference for a model differs from the other judges' preference, over shared comparisons.

    Raises:
        UsageError: The judge does not exist, or it shares no comparison with that model with another judge.
    """
    if judge not in runs:
        raise UsageError(f"run {judge!r} not found", hint=nearest(judge, runs))
    others = [run for name, run in runs.items() if name != judge]
    by_prompt: dict[str, list[float]] = defaultdict(list)
    for prompt, difference in _differences(runs[judge], others, model):
        by_prompt[prompt].append(difference)
    if not by_prompt:
        raise UsageError(f"{judge} and another judge share no comparison with {model!r}")
    return OwnPreference(judge, model, mean_interval(list(map(fmean, by_prompt.values())), bounds=(-1.0, 1.0)))


def _differences(run: RunVerdicts, others: Sequence[RunVerdicts], model: str) -> Iterator[tuple[str, float]]:
    """The prompt of each shared comparison, and how much more than the others the judge prefers the model."""
    for key, models in run.models.items():
        beside = [other.values[key] for other in others if key in other.values]
        if model in models and key in run.values and beside:
            sign = 1 if models[0] == model else -1
            yield key[0], sign * (run.values[key] - fmean(beside))
