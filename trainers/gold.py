"""A gold verifier on held-out rows, and an alarm if the policy exploits the training reward (`run.gold`).

Each evaluation samples completions of the held-out rows and scores them with the training reward and with the gold
verifier. The gold verifier never trains anything. Over-optimisation shows as a reward that rises while gold falls (Gao,
Schulman and Hilton, arXiv 2210.10760).

The alarm compares each evaluation with the one of the highest mean gold so far. It uses the differences d by row, which
excludes the rows' own difficulty. It fires if mean(d of gold) < -z_k * sd(d) / sqrt(n), and the mean reward is higher.
The highest of several noisy means is too high, and each comparison is another chance of a false alarm. So z_k rises
with the number k of comparisons (`raised_z`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import chain
from statistics import NormalDist, fmean, stdev
from typing import TYPE_CHECKING, Any, NamedTuple

import verikit
from verikit.errors import ConfigError, TrainerError
from verikit.platform.numbers import number
from verikit.trainers.probes import guarded
from verikit.trainers.recipe import Recipe, Sampler
from verikit.trainers.sections import GoldSection
from verikit.types import Score

if TYPE_CHECKING:
    from verikit.trainers.learner import Learner

MIN_ROWS = 8
"""Fewer rows than this can't show a difference."""
_LEAST_TAIL = 1e-300
REWARD, GOLD, ALARM = "gold_reward", "gold", "gold_alarm"
"""The names of the held-out metrics. `gold_alarm` is 1 at an evaluation that raised the alarm, otherwise 0."""


class RowScores(NamedTuple):
    """Means over the completions of one row."""

    reward: float
    gold: float


class GoldFall(NamedTuple):
    """How the means changed between two evaluations, on the rows that both scored."""

    reward: float
    gold: float
    error: float
    """The standard error of `gold`."""
    rows: int


def gold_fall(before: Sequence[RowScores | None], now: Sequence[RowScores | None], z: float) -> GoldFall | None:
    """Return the change if gold fell by more than `z` standard errors and the reward rose, otherwise None."""
    pairs = [(old, new) for old, new in zip(before, now, strict=True) if old is not None and new is not None]
    if len(pairs) < MIN_ROWS:
        return None
    changes = [new.gold - old.gold for old, new in pairs]
    error = stdev(changes) / math.sqrt(len(changes))
    fall = GoldFall(fmean(new.reward - old.reward for old, new in pairs), fmean(changes), error, len(pairs))
    return fall if fall.gold < -z * error and fall.reward > 0 else None


def raised_z(z: float, comparison: int) -> float:
    """Return the standard errors that the k-th comparison of a run requires, k = `comparison` from 1.

    The tail of `z` is shared by all comparisons, as a / (k (k + 1)), and by the k evaluations among which the highest
    was chosen (Bonferroni). So a run with constant gold raises an alarm with at most the probability of that tail, as
    far as means are normal.
    """
    tail = NormalDist().cdf(-z) / (comparison**2 * (comparison + 1))
    return -NormalDist().inv_cdf(max(tail, _LEAST_TAIL))


class GoldWatch:
    """Measures gold at each evaluation, and stops the run or lowers its rate if the policy exploits the reward."""

    def __init__(self, section: GoldSection, recipe: Recipe) -> None:
        """Load the gold verifier.

        Raises:
            ConfigError: The recipe has no held-out rows to score with it, too few, or trains on some of them.
        """
        self._section, self._recipe = section, recipe
        self.rows = recipe.gold_rows()
        if self.rows < MIN_ROWS:
            raise ConfigError(f"run.gold compares held-out rows, at least {MIN_ROWS}, and there are {self.rows}")
        self._gold = guarded(verikit.load(section.verifier), section.timeout)
        self._peak: list[RowScores | None] = []
        self._peak_step, self._factor, self._comparisons = 0, 1.0, 0
        self._now: list[RowScores | None] = []
        self._fall: GoldFall | None = None

    def measure(self, sampler: Sampler) -> dict[str, float]:
        """Score completions of the held-out rows, and return the mean reward and the mean gold.

        Raises:
            TrainerError: No completion has both scores.
        """
        scores = self._recipe.gold_scores(sampler, self._gold, self._section.samples)
        self._now = [_row_scores(row) for row in scores]
        found = [row for row in self._now if row is not None]
        if found:
            return {GOLD: fmean(row.gold for row in found), REWARD: fmean(row.reward for row in found)}
        for each in chain.from_iterable(chain.from_iterable(scores)):
            if each.value is None:
                raise TrainerError(f"run.gold scored no completion of the held-out rows: {each.reason}")
        return {}  # the engine failed, which the trainer reports

    def compare(self, metrics: Mapping[str, float]) -> dict[str, float]:
        """Compare the last measurement with the highest one. Return the alarm, if gold is among the metrics."""
        self._fall = None
        if self._peak:
            self._comparisons += 1
            self._fall = gold_fall(self._peak, self._now, raised_z(self._section.z, self._comparisons))
        return {ALARM: float(self._fall is not None)} if GOLD in metrics else {}

    def act(self, learner: Learner, step: int) -> str:
        """Act on the last comparison. Return a warning if gold fell, otherwise "".

        Raises:
            TrainerError: Gold fell, and `run.gold.action` is `stop`.
        """
        section, fall = self._section, self._fall
        if fall is None:
            if _mean_gold(self._now) > _mean_gold(self._peak):
                self._peak, self._peak_step = self._now, step
            return ""
        told = (
            f"step {step}: gold fell by {-fall.gold:.3f} (standard error {fall.error:.3f}) on {fall.rows} held-out rows"
            f" since step {self._peak_step}, and the reward rose by {fall.reward:.3f}"
        )
        if section.action == "stop":
            raise TrainerError(
                told,
                hint="the policy exploits the reward: read samples.jsonl and change the reward. run.best = 'gold' keeps"
                " the best weights, and run.gold.action = 'warn' continues",
            )
        self._peak, self._peak_step = self._now, step  # the next alarm needs a further fall
        if section.action == "lower":
            self._factor *= section.factor
            _lower_rate(learner, section.factor)
            told += f"; the learning rate is now multiplied by {self._factor:g}"
        return told

    def state(self) -> dict[str, Any]:
        """Return the state to save in a checkpoint."""
        return {
            "peak": self._peak,
            "step": self._peak_step,
            "factor": self._factor,
            "comparisons": self._comparisons,
        }

    def restore(self, state: Mapping[str, Any], learner: Learner) -> None:
        """Restore a state that `state` returned. With another number of rows, the comparison starts anew.

        Raises:
            ValueError: It contains something other than finite numbers.
        """
        self._factor = _finite(state["factor"])
        _lower_rate(learner, self._factor)
        peak = [None if row is None else RowScores(*map(_finite, row)) for row in state["peak"]]
        if len(peak) == self.rows:
            self._peak, self._peak_step = peak, int(state["step"])
            self._comparisons = int(state["comparisons"])


def _row_scores(scores: Sequence[tuple[Score, Score]]) -> RowScores | None:
    """Return the means of completions that both verifiers scored; None if there aren't any."""
    pairs = [(own.value, gold.value) for own, gold in scores]
    both = [RowScores(own, gold) for own, gold in pairs if own is not None and gold is not None]
    return RowScores(fmean(row.reward for row in both), fmean(row.gold for row in both)) if both else None


def _mean_gold(rows: Sequence[RowScores | None]) -> float:
    values = [row.gold for row in rows if row is not None]
    return fmean(values) if values else -math.inf


def _lower_rate(learner: Learner, factor: float) -> None:
    learner.options = learner.options.model_copy(update={"lr": learner.options.lr * factor})


def _finite(value: Any) -> float:
    found = number(value)
    if found is None:
        raise ValueError(f"{value!r:.80} is not a finite number")
    return found
