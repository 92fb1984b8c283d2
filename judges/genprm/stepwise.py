"""The base of every process reward model: it takes a solution's steps, scores each, and combines them into one value.

The three kinds (generative with rationales, generative without, discriminative) differ only in `score_steps`, so they
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
from verikit.judges.evidence import as_text, turns
from verikit.judges.evidence.shown import MAX_CHARS, visible
from verikit.judges.evidence.special_tokens import clearing
from verikit.judges.genprm.aggregate import Aggregation, check_aggregation, scored_steps
from verikit.judges.genprm.review import Solution
from verikit.judges.genprm.steps import Splitting, split_steps
from verikit.types import Sample, Score
from verikit.verifiers.answer import Answer


@dataclass(frozen=True, repr=False)
class StepVerifier(TextVerifier):
    """A process reward model: the value is aggregated from the steps' rewards, which are in `Score.steps`.

    The steps are `sample.meta["steps"]` if the row has them. Otherwise the completion is split. `Score.answer` is the
    completion's final answer, so majority and weighted votes work.
    """

    _: KW_ONLY
    aggregate: Aggregation = "min"
    """How the steps' rewards become one value: `last`, `min`, `mean` or `product`."""
    split: Splitting = "auto"
    """Where steps start (see `split_steps`)."""
    max_chars: int = 32_000
    """Maximum characters of a solution. A longer one scores 0."""
    max_steps: int = 64
    """Maximum steps of a solution. One with more scores 0."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_aggregation(self.aggregate)
        split_steps("", self.split)

    @abstractmethod
    def score_steps(self, solutions: Sequence[Solution], samples: Sequence[Sample]) -> list[list[Score] | Score]:
        """Return one score per step of each solution, or the single score of a solution that could not be reviewed."""

    def criticism(self, index: int, score: Score) -> str:
        """The criticism of a step (counted from 0) of a solution with this score, or ""."""
        return ""

    def score_batch(self, samples: Sequence[Sample]) -> list[Score]:
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
        """The steps unchanged: the row's own, or the parts of the completion."""
        given = sample.meta.get("steps")
        return split_steps(sample.completion[: self.max_chars + 1], self.split) if given is None else tuple(given)

    def solution(self, sample: Sample) -> Solution | Score:
        """The steps of a sample as a reviewer may see them. A score if the candidate left nothing to review."""
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
        if media := [item.word for turn in turns(sample.prompt) for item in turn.media]:
            return Score.error(f"the prompt has a {media[0]}, and {self.name} reads text")
        question = as_text(sample.prompt)
        if len(question) > MAX_CHARS:
            return Score.error(f"the prompt has {len(question):,} characters, over {MAX_CHARS:,}")
        show = partial(visible, clear=clearing(self.tokenizer))
        return Solution(show(question), tuple(map(show, steps)))

    @property
    def tokenizer(self) -> Any:
        """The reviewer's tokenizer, whose special tokens are broken in its input. None if it is unknown."""
        return None

    def equal(self, a: str, b: str) -> bool | None:
        """Whether two final answers are the same, as defined by `answer`."""
        return Answer().equal(a, b)

    def _whole(self, steps: list[Score] | Score, sample: Sample) -> Score:
        answer = final_answer(sample.completion)
        if isinstance(steps, Score):
            return replace(steps, answer=answer)
        return scored_steps(steps, self.aggregate, answer)


def final_answer(text: str) -> str | None:
    """The final answer of a solution, or None."""
    part = final_part(text)
    found = marked(part)
    return (found[-1] if found else last_line(part)).text or None
