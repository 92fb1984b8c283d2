"""What every process reward model has: a solution's steps in, a score for each out, and one value from them.

The three kinds (generative with rationales, generative without, discriminative) differ in `score_steps` alone, so they
can be compared on the same rows.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, replace
from functools import partial
from typing import Any

from verikit.answers.claims.extract import final_part, last_line, marked
from verikit.base import TextVerifier
from verikit.judges.evidence import as_text
from verikit.judges.evidence.shown import visible
from verikit.judges.evidence.special_tokens import clearing
from verikit.judges.genprm.aggregate import Aggregation, check_aggregation, scored_steps
from verikit.judges.genprm.review import Solution
from verikit.judges.genprm.steps import Splitting, split_steps
from verikit.types import Sample, Score
from verikit.verifiers.answer import Answer


@dataclass(frozen=True, repr=False)
class StepVerifier(TextVerifier):
    """A process reward model: the value is aggregated from the steps' rewards, which are in `Score.steps`.

    The steps are those of `sample.meta["steps"]` where the row has them, else the completion is split. `Score.answer`
    is the completion's final answer, so that majority and weighted votes work.
    """

    _: KW_ONLY
    aggregate: Aggregation = "min"
    """One value from the steps' rewards: `last`, `min`, `mean` or `product`."""
    split: Splitting = "auto"
    """Where steps begin; see `split_steps`."""
    max_chars: int = 32_000
    """Characters of a solution; a longer one scores 0."""
    max_steps: int = 64
    """Steps of a solution; one with more scores 0."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_aggregation(self.aggregate)
        split_steps("", self.split)

    @abstractmethod
    def score_steps(self, solutions: Sequence[Solution], samples: Sequence[Sample]) -> list[list[Score] | Score]:
        """Return one score per step of each solution, or the one score of a solution that could not be reviewed."""

    def criticism(self, index: int, score: Score) -> str:
        """What is said against a step (counted from 0) of a solution with this score; "" where nothing is."""
        return ""

    def score(self, samples: Sequence[Sample]) -> list[Score]:
        """Review all solutions together."""
        read = [self.solution(sample) for sample in samples]
        live = [
            (solution, sample) for solution, sample in zip(read, samples, strict=True) if isinstance(solution, Solution)
        ]
        reviewed = iter(self.score_steps([solution for solution, _ in live], [sample for _, sample in live]))
        return [
            self._whole(next(reviewed), sample) if isinstance(solution, Solution) else solution
            for solution, sample in zip(read, samples, strict=True)
        ]

    def steps_of(self, sample: Sample) -> tuple[str, ...]:
        """The steps as they stand: the row's own, or what the completion splits into."""
        given = sample.meta.get("steps")
        return split_steps(sample.completion[: self.max_chars + 1], self.split) if given is None else tuple(given)

    def solution(self, sample: Sample) -> Solution | Score:
        """The steps of a sample as a reviewer may see them; its score where the candidate left nothing to review."""
        given = sample.meta.get("steps")
        if given is not None and not (isinstance(given, list | tuple) and all(isinstance(step, str) for step in given)):
            return Score.error("the row's `steps` must be a list of strings")
        steps = self.steps_of(sample)
        size = max(len(sample.completion), sum(map(len, steps)))
        if size > self.max_chars:
            return Score(0.0, reason=f"{size} characters, over the cap of {self.max_chars}")
        if len(steps) > self.max_steps:
            return Score(0.0, reason=f"{len(steps)} steps, over the cap of {self.max_steps}")
        if not steps:
            return Score(0.0, reason="there is no step")
        show = partial(visible, clear=clearing(self.tokenizer))
        return Solution(show(as_text(sample.prompt)), tuple(map(show, steps)))

    @property
    def tokenizer(self) -> Any:
        """The reviewer's, whose special tokens are broken in what it reads; None where it is not known."""
        return None

    def equal(self, a: str, b: str) -> bool | None:
        """Whether two final answers are the same, as `answer` has it."""
        return Answer().equal(a, b)

    def _whole(self, steps: list[Score] | Score, sample: Sample) -> Score:
        answer = final_answer(sample.completion)
        if isinstance(steps, Score):
            return replace(steps, answer=answer)
        return scored_steps(steps, self.aggregate, answer)


def final_answer(text: str) -> str | None:
    """The answer a solution ends with; None where it has none."""
    part = final_part(text)
    found = marked(part)
    return (found[-1] if found else last_line(part)).text or None
