"""The recipe: problems, rollouts that call tools, and any verifier's reward for the whole conversation.

Tool-integrated reasoning as in ReTool (arXiv 2504.11536) and ToRL (arXiv 2503.23383): tool output is in the rollout and
gets no gradient. The verifier sees the conversation's messages with their calls and results, and the model's last words
as the completion. With `advantage.credit` = turn or step, a turn is also rewarded for calls that ran (see
`ToolRollout.turn_rewards`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

from pydantic import BaseModel, Field, PositiveInt

from verikit.base import Verifier
from verikit.engines.rollouts import Rollout, Together
from verikit.errors import ConfigError, TrainerError
from verikit.sandbox import RunLimits
from verikit.trainers.costs import StepCost, exactly, judge_requests, prompt_length
from verikit.trainers.recipe import Probe, Sampler, Setting, Trajectory
from verikit.trainers.recipes.single_turn import SingleTurn, SingleTurnOptions
from verikit.trainers.recipes.tools.forms import CallForm, make_form
from verikit.trainers.recipes.tools.rollout import (
    RolloutLimits,
    Seeds,
    ToolRollout,
    ToolRollouts,
    rollout_metrics,
)
from verikit.trainers.recipes.tools.toolbox import INTERPRETER, FunctionTool, Interpreter, Tool, Toolbox
from verikit.types import Group, Sample, Score

AT_ONCE = 64
"""Rollouts scored in one call of the verifier."""


class ToolOptions(SingleTurnOptions):
    """[options] of `tools`; `max_tokens` is the limit per turn."""

    tools: list[str] = Field(default=[INTERPRETER], min_length=1)
    """`python` is an interpreter in the sandbox; others are functions, file.py:name or package.module:name."""
    calls: CallForm = "hermes"
    """Format of calls: `hermes` (`<tool_call>` tags), `any` (other model families' formats too), `fenced` code."""
    max_tokens: PositiveInt = 512
    """Maximum sampled tokens per turn."""
    top_p: float = Field(default=1.0, gt=0, le=1)
    """Nucleus of sampling, in training and for sampled held-out rollouts. Below 1 needs `batch.allow_truncated`."""
    turns: PositiveInt = 4
    """Maximum turns of the model. The calls of the last one are not run."""
    max_calls: PositiveInt = 8
    """Maximum calls to run per rollout."""
    total_tokens: PositiveInt = 8192
    """Maximum tokens of prompt, turns and results together."""
    result_chars: PositiveInt = 4000
    """Maximum characters to show of a result."""
    tool_seconds: float = Field(default=5.0, gt=0)
    """Time limit per call, in seconds."""
    tool_memory_mb: PositiveInt = 512
    """Memory limit of a program in the interpreter."""
    sandbox: str | None = None
    """Sandbox for programs, as in `code(sandbox=…)`. None: the environment's, or `local`."""


class ToolRecipe(SingleTurn):
    """Samples groups of rollouts that may call tools, and scores each conversation with a verifier."""

    name: ClassVar[str] = "tools"
    Options: ClassVar[type[BaseModel]] = ToolOptions
    gives_step_rewards = True
    options: ToolOptions

    def __init__(self, options: ToolOptions, setting: Setting) -> None:
        super().__init__(options, setting)
        self.toolbox = Toolbox(self.make_tools(), options.result_chars)
        self.form = make_form(options.calls, setting.tokenizer, self.toolbox.schemas)
        if not options.chat and options.calls != "fenced":
            raise ConfigError("calls must be fenced code if there is no chat template", hint='options.calls = "fenced"')

    def make_tools(self) -> list[Tool]:
        """Return the tools."""
        limits = RunLimits(wall_s=self.options.tool_seconds, memory_mb=self.options.tool_memory_mb)
        return [
            Interpreter(limits, self.options.sandbox)
            if name == INTERPRETER
            else FunctionTool(name, self.setting.folder, self.options.tool_seconds)
            for name in self.options.tools
        ]

    def probes(self) -> Iterator[Probe]:
        """Yield the probes of single-turn, and of the interpreter."""
        yield from super().probes()
        yield "tools", self._try_tools

    def step_cost(self) -> StepCost:
        """Return the bounds of one training step."""
        options, rollouts = self.options, self.options.prompts * self.options.samples
        calls = options.max_calls if options.turns > 1 else 0  # calls of the last turn are not run
        return StepCost(
            exactly(rollouts),
            min(options.total_tokens, options.turns * options.max_tokens),
            exactly(options.prompts),
            prompt_length(self.setting.tokenizer, self.problems),
            {"judge requests": exactly(rollouts * judge_requests(self.reward)), "tool calls": (0, rollouts * calls)},
        )

    def _try_tools(self) -> str:
        """Run a program if there is an interpreter.

        Raises:
            TrainerError: It does not run.
        """
        names = ", ".join(self.toolbox.tools)
        if INTERPRETER in self.toolbox.tools:
            (result,) = self.toolbox.tools[INTERPRETER].run([{"code": "print(1 + 1)"}])
            if result.fault or result.text != "2":
                raise TrainerError(f"the interpreter can't run a program: {result.fault or result.text}")
        return f"{names} as {self.options.calls} calls"

    def collect(self, sampler: Sampler, step: int) -> list[Trajectory]:
        """Roll out and score the next problems. Each is one group."""
        chosen = [
            (number, member, problem, ids)
            for number, problem, ids in self._next(sampler)
            for member in range(self.options.samples)
        ]
        made = self.rollouts(
            self.limits(self.options.temperature),
            lambda index, turn: sampler.seed(chosen[index][0], chosen[index][1], turn),
        )
        done = sampler.roll_out([
            self.scored(made, index, problem, ids) for index, (_, _, problem, ids) in enumerate(chosen)
        ])  # fmt: skip
        rollouts = [rollout for rollout, _ in done]
        self._metrics = rollout_metrics(rollouts)
        result = [
            self._rolled_out(number, problem, rollout, score)
            for (number, _, problem, _), (rollout, score) in zip(chosen, done, strict=True)
        ]
        self._note_rates(result)
        return result

    def accuracy(self, sampler: Sampler, temperature: float, n: int) -> float:
        """Return the mean score on the held-out problems, excluding unscored rollouts.

        Raises:
            TrainerError: All rollouts are unscored.
        """
        done = self._held_out_rollouts(sampler, temperature, n)
        scores = [score for _, score in done]
        values = [score.value for score in scores if score.value is not None]
        if scores and not values:
            raise TrainerError(f"the rollouts of the held-out problems are all unscored: {scores[0].reason}")
        return sum(values) / len(values) if values else 0.0

    def gold_scores(self, sampler: Sampler, gold: Verifier, samples: int) -> list[list[tuple[Score, Score]]]:
        """Score sampled rollouts of the held-out problems with the reward and with `gold`."""
        done = self._held_out_rollouts(sampler, self.options.temperature, samples)
        rows = [done[start : start + samples] for start in range(0, len(done), samples)]

        def score(row: tuple[Group, list[tuple[ToolRollout, Score]]]) -> list[tuple[Score, Score]]:
            problem, members = row
            golds = gold.score([as_sample(problem, rollout) for rollout, _ in members])
            return [(own, given) for (_, own), given in zip(members, golds, strict=True)]

        return sampler.map(score, list(zip(self.held_out, rows, strict=True)))

    def _held_out_rollouts(self, sampler: Sampler, temperature: float, n: int) -> list[tuple[ToolRollout, Score]]:
        """Return n rollouts of each held-out problem in turn, with the reward's scores."""
        asked = [(number, member) for number in range(len(self.held_out)) for member in range(n)]
        prompts = [self._encode(sampler, problem) for problem in self.held_out]
        made = self.rollouts(
            self.limits(temperature), lambda index, turn: sampler.seed("held-out", *asked[index], turn), logprobs=False
        )
        return sampler.roll_out([
            self.scored(made, index, self.held_out[number], prompts[number]) for index, (number, _) in enumerate(asked)
        ])  # fmt: skip

    def limits(self, temperature: float) -> RolloutLimits:
        """Return the limits of a rollout."""
        options = self.options
        return RolloutLimits(
            options.turns,
            options.max_calls,
            options.max_tokens,
            options.total_tokens,
            temperature,
            options.top_p if temperature else 1.0,
        )

    def rollouts(self, limits: RolloutLimits, seeds: Seeds, *, logprobs: bool = True) -> ToolRollouts:
        """Return the object that makes rollouts."""
        return ToolRollouts(self.form, self.toolbox, limits, seeds, logprobs=logprobs)

    def scored(
        self, made: ToolRollouts, index: int, problem: Group, prompt: Sequence[int]
    ) -> Rollout[tuple[ToolRollout, Score]]:
        """Roll a prompt out and score the conversation. A rollout with an infrastructure error is unscored."""
        rollout = yield from made.roll_out(index, prompt)
        if rollout.error is not None:
            return rollout, Score.error(str(rollout.error))
        score: Score = yield Together(self._score, as_sample(problem, rollout), AT_ONCE)
        return rollout, score

    def _score(self, samples: Sequence[Sample]) -> list[Score]:
        return self.reward.score(samples)

    def metrics(self) -> dict[str, float]:
        """Return the metrics of single-turn, and of tool use."""
        return super().metrics() | self._metrics

    def close(self) -> None:
        """Close the tools."""
        self.toolbox.close()

    def _encode(self, sampler: Sampler, problem: Group) -> list[int]:
        asked = self.prompt(problem)
        if isinstance(asked, str):
            return super()._encode(sampler, problem)
        return self.form.prompt(asked)

    def _rolled_out(self, number: int, problem: Group, rollout: ToolRollout, score: Score) -> Trajectory:
        return rollout.transcript.trajectory(
            score.value,
            number,
            task=str(problem.meta.get("task", "")),
            finished=rollout.finished,
            step_rewards=tuple(rollout.turn_rewards),
            temperature=self.options.temperature,
            parts={name: part.value for name, part in score.parts.items() if part.value is not None},
            prompt=problem.prompt if isinstance(problem.prompt, str) else problem.prompt[-1]["content"],
            completion=rollout.text,
            answer=(score.answer if score.scored else score.reason) or "",
        )


def as_sample(problem: Group, rollout: ToolRollout) -> Sample:
    """Return a conversation as a sample, with the number of tokens that the model wrote."""
    messages: Sequence[Mapping[str, Any]] = rollout.messages
    meta = {**problem.meta, "completion_tokens": sum(rollout.transcript.mask)}
    return Sample(problem.prompt, messages, problem.answer, problem.id, meta)
