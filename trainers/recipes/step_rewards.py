"""Single turns with step rewards by a process reward model, in addition to the reward of the whole completion."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, ClassVar

from pydantic import BaseModel

import verikit
from verikit.engines.types import Generation, Output
from verikit.errors import ConfigError, TrainerError
from verikit.judges.genprm.stepwise import StepVerifier
from verikit.replies.views import view
from verikit.scoring.tally import LOST
from verikit.trainers.recipe import Probe, Setting, StepReward, Trajectory
from verikit.trainers.recipes.single_turn import SingleTurn, SingleTurnOptions
from verikit.types import Group, Sample, Score


class StepRewardOptions(SingleTurnOptions):
    """[options] of `step-rewards`."""

    steps: str = ""
    """The spec of a process reward model, such as `genprm(engine='…')`. Its score of a step is the step's reward."""


class StepRewards(SingleTurn):
    """Single-turn with a reward at the last token of each step; `advantage.credit` = step trains on them."""

    name: ClassVar[str] = "step-rewards"
    Options: ClassVar[type[BaseModel]] = StepRewardOptions
    gives_step_rewards = True
    options: StepRewardOptions

    def __init__(self, options: StepRewardOptions, setting: Setting) -> None:
        super().__init__(options, setting)
        self.options = options
        if not options.steps:
            raise ConfigError("options.steps names no process reward model", hint="such as genprm(engine='…')")
        found = verikit.load(options.steps)
        if not isinstance(found, StepVerifier):
            raise ConfigError(f"options.steps = {options.steps!r} scores no steps", hint="take genprm(…) or prm(…)")
        self.process: StepVerifier = found

    def probes(self) -> Iterator[Probe]:
        """Yield the probes of single-turn, and of the process reward model on a first problem."""
        yield from super().probes()
        yield "steps", self._try_steps

    def train_scores(self, problem: Group, generation: Generation) -> list[Score]:
        """Score each output, with the scores of its steps as `Score.steps`."""
        reviews = self.process.score([_sample(problem, output) for output in generation.outputs])
        return [
            # A solution without steps has one score at its end: 0 if it is too long, otherwise unscored.
            replace(score, steps=review.steps or (review,))
            for score, review in zip(self.score(problem, generation), reviews, strict=True)
        ]

    def _try_steps(self) -> str:
        """Review a gold answer.

        Raises:
            TrainerError: It has no score.
        """
        (review,) = self.process.score([self._gold_sample()])
        if review.status in LOST:
            raise TrainerError(f"{self.options.steps} can't score: {review.reason}")
        return f"{self.options.steps} scores"

    def _trajectory(
        self, number: int, problem: Group, generation: Generation, output: Output, score: Score
    ) -> Trajectory:
        made = super()._trajectory(number, problem, generation, output, score)
        read = view(_sample(problem, output), self.process.reads, media=False).sample
        rewards = place(self.process.steps_of(read), score.steps, output, self.setting.tokenizer)
        first = len(made.ids) - len(output.ids)
        return replace(made, step_rewards=tuple(StepReward(first + end, value) for end, value in rewards))


def place(texts: Sequence[str], scores: Sequence[Score], output: Output, tokenizer: Any) -> list[StepReward]:
    """Return each step's reward at the output token that ends its text.

    Text after the last step, such as the end token, belongs to it. A step whose text is not in the output is unscored.
    If there is not one score per text, the solution was not reviewed by step. Its one score is at the end.
    """
    last = len(output.ids) - 1
    if len(texts) != len(scores):
        return [StepReward(last, scores[0].value if len(scores) == 1 else None)]
    placed, cursor, end = [], 0, 0
    for text, score in zip(texts, scores, strict=True):
        found = output.text.find(text, cursor)
        if found >= 0:
            cursor = found + len(text)
            end = _token_at(cursor, output.ids, tokenizer)
        placed.append(StepReward(end, score.value if found >= 0 else None))
    return [*placed[:-1], StepReward(last, placed[-1].value)]


def _token_at(characters: int, ids: Sequence[int], tokenizer: Any) -> int:
    """Return the index of the token that completes the given number of characters."""

    def written(count: int) -> int:
        return len(tokenizer.decode(list(ids[:count]), skip_special_tokens=True))

    return max(0, min(bisect_left(range(len(ids) + 1), characters, key=written), len(ids)) - 1)


def _sample(problem: Group, output: Output) -> Sample:
    """Return the completion as a sample without the row's `steps`, which belong to another solution."""
    meta = {key: value for key, value in problem.meta.items() if key != "steps"}
    return Sample(problem.prompt, output.text, problem.answer, problem.id, meta)
