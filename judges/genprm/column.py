"""`step_column`: step scores of any process reward model, stored with the candidate."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from verikit.errors import UsageError
from verikit.judges.genprm.review import Solution
from verikit.judges.genprm.stepwise import StepVerifier
from verikit.types import Sample, Score
from verikit.verifiers.column import value_at


@dataclass(frozen=True, repr=False)
class StepColumn(StepVerifier):
    """The candidate's (or its row's) own list of step scores. Its length determines the number of steps."""

    name = "step_column"
    key: str = "step_scores"
    """Name of the key with the list. `a.b` reads inside objects."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.key, str) or not self.key:
            raise UsageError(f"step_column requires the name of a key, got {self.key!r}")

    def solution(self, sample: Sample) -> Solution | Score:
        """A placeholder solution: the stored scores represent the steps."""
        return Solution("", ("",))

    def score_steps(self, solutions: Sequence[Solution], samples: Sequence[Sample]) -> list[list[Score] | Score]:
        """Read the key of each sample. A missing or invalid list is unscored."""
        return [self._read(sample) for sample in samples]

    def _read(self, sample: Sample) -> list[Score] | Score:
        try:
            values = value_at(sample.meta, self.key)
        except KeyError:
            return Score.error(f"key {self.key!r} not found. Keys of this row: {', '.join(sample.meta) or 'none'}")
        if not isinstance(values, list | tuple) or not values:
            return Score.error(f"{self.key} must be a list of step scores")
        return [
            Score(float(value), reason=self.key)
            if isinstance(value, int | float) and math.isfinite(value)
            else Score.error(f"{self.key} must contain finite numbers, got {str(value)[:20]}")
            for value in values
        ]
