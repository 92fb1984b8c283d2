"""Limits of a cascade from labels: beyond them a judge's verdicts agree with people often enough.

Each side is fitted separately, since judges often err more in one direction. A side's limit is the widest one whose
agreement, by the lower end of its interval over prompts, is at least the target. All limits that are tried have the
chance to pass by luck. So the levels are such that a judge below the target everywhere gets a limit on a side with a
probability of at most 5 % (Bonferroni).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from verikit.judges.calibration.verdicts import RunVerdicts, common
from verikit.judges.match.labels import Key, Label
from verikit.stats import Estimate
from verikit.stats.clustered import clustered_mean
from verikit.types import PASS_MARK

_TRIED = 5
"""Maximum limits that are tried per side. More of them would need more labels."""
_ERROR = 0.05
"""Maximum probability that any limit of a side is below the target. It is shared by the lower ends that are tried."""


@dataclass(frozen=True)
class SideLimit:
    """One side's limit, and the agreement of labelled verdicts beyond it."""

    limit: float
    labels: int
    agreement: Estimate
    """Its interval has the level of one of the limits that were tried."""


@dataclass(frozen=True)
class CascadeLimits:
    """The limits of a judge in a cascade. None: no limit of that side reaches the target."""

    target: float
    low: SideLimit | None
    high: SideLimit | None
    clear: int
    """Number of the run's verdicts that are beyond a limit."""
    of: int
    """Number of the run's candidates, including those without a verdict."""

    @property
    def until(self) -> list[float | None]:
        """The argument of `cascade`."""
        return [None if side is None else side.limit for side in (self.low, self.high)]


def fit_limits(run: RunVerdicts, labels: Mapping[Key, Label], target: float) -> CascadeLimits:
    """Fit the limits of a run's judge.

    Args:
        run: The run's verdicts.
        labels: Labels by id and index.
        target: The agreement with labels that clear verdicts must reach.
    """
    held = {key: (run.raw[key], labels[key].value) for key in common(labels, run.raw)}
    rejects = {key: (value, float(label == 0)) for key, (value, label) in held.items() if value < PASS_MARK}
    accepts = {key: (-value, float(label == 1)) for key, (value, label) in held.items() if _accepts(run, key)}
    low, high = _side(rejects, target), _side(accepts, target)
    if high is not None:
        high = SideLimit(-high.limit, high.labels, high.agreement)
    clear = sum(_is_clear(value, low, high) for value in run.raw.values())
    return CascadeLimits(target, low, high, clear, len(run.raw) + run.unscored)


def _is_clear(value: float, low: SideLimit | None, high: SideLimit | None) -> bool:
    return (low is not None and value <= low.limit) or (high is not None and value >= high.limit)


def _accepts(run: RunVerdicts, key: Key) -> bool:
    """Whether a verdict is on the upper side. A tie of a comparison is on none."""
    return run.values[key] == 1.0


def _side(held: Mapping[Key, tuple[float, float]], target: float) -> SideLimit | None:
    """The highest value up to which verdicts agree often enough. Each item is (value, whether it agrees)."""
    ordered = sorted(held, key=lambda key: held[key][0])
    found = None
    ends = _ends([held[key][0] for key in ordered])
    for end in ends:
        by_prompt: defaultdict[str, list[float]] = defaultdict(list)
        for key in ordered[:end]:
            by_prompt[key[0]].append(held[key][1])
        agreement = clustered_mean(by_prompt.values(), 1 - 2 * _ERROR / len(ends))
        if agreement.low >= target:
            found = SideLimit(held[ordered[end - 1]][0], end, agreement)
    return found


def _ends(values: list[float]) -> list[int]:
    """Where a limit may be: after the last of equal values, at most `_TRIED` places spread over the labels."""
    places = [i for i in range(1, len(values) + 1) if i == len(values) or values[i] != values[i - 1]]
    step = max(1, -(-len(places) // _TRIED))
    return places[::-1][::step][::-1]
