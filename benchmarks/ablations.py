"""Arms that the recipes' pages measure beside the recipes: what a part of a recipe is worth, seen without it.

    verikit train absolute-zero-tiny --set recipe=benchmarks/ablations.py:UnvalidatedTiny
    verikit train r1-searcher-tiny --set recipe=benchmarks/ablations.py:UnmaskedWorld
    verikit train elo-evolve-tiny --set recipe=benchmarks/ablations.py:PointWiseWorld
    verikit train elo-evolve-tiny --set recipe=benchmarks/ablations.py:DNOWorld

`Unvalidated`, `Unmasked`, `PointWise` and `DNO` do the same to the recipes of the papers' settings.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

from verikit.engines.types import Generation, Request
from verikit.trainers.recipe import Sampler, Trajectory
from verikit.trainers.recipes.absolute_zero.environment import Environment, ProgramVerdict, blocks, inputs_and_message
from verikit.trainers.recipes.absolute_zero.options import Task
from verikit.trainers.recipes.absolute_zero.problem import Problem
from verikit.trainers.recipes.absolute_zero.recipe import AbsoluteZero
from verikit.trainers.recipes.absolute_zero.rounds import ProposalPrompt
from verikit.trainers.recipes.absolute_zero.tiny import AbsoluteZeroTiny
from verikit.trainers.recipes.elo_evolve.games import OpponentBout
from verikit.trainers.recipes.elo_evolve.recipe import EloEvolve
from verikit.trainers.recipes.elo_evolve.world import EloEvolveWorld
from verikit.trainers.recipes.r1_searcher.recipe import R1Searcher
from verikit.trainers.recipes.r1_searcher.world import R1SearcherWorld
from verikit.trainers.recipes.single_turn import SingleTurn
from verikit.types import Group
from verikit.verifiers.reading.fences import last


class UncheckedEnvironment(Environment):
    """Takes every proposal that has the form of one; no program of it runs."""

    def read_program(self, task: Task, answer: str, functions: Sequence[Problem]) -> Problem:
        """Read a proposal of a program and an input."""
        return Problem(task, *blocks(answer))

    def read_inputs(self, answer: str, program: str) -> Problem:
        """Read the inputs and the message of an induction proposal."""
        texts, message = inputs_and_message(answer, self.options.inputs)
        return Problem("induction", program, message=message, pairs=tuple((text, "") for text in texts))


class Unvalidated(AbsoluteZero):
    """Absolute Zero without validation: what a proposal's program returns is what the model says it does."""

    name: ClassVar[str] = "absolute-zero-unvalidated"

    def make_environment(self, opening: str) -> Environment:
        """Return an environment that checks nothing."""
        return UncheckedEnvironment(self.options, opening)

    def judge_proposals(
        self, sampler: Sampler, asked: Sequence[ProposalPrompt], key: str
    ) -> list[tuple[Generation, ProgramVerdict]]:
        """Fill in the outputs of each proposal by one sample of the model's own."""
        done = super().judge_proposals(sampler, asked, key)
        questions = [
            self.prompts.solution(Problem("deduction", problem.program, given))
            for _, verdict in done
            if (problem := verdict.problem) is not None
            for given in ([text for text, _ in problem.pairs] or [problem.input])
        ]
        requests = [
            self.request(sampler, self.encode(sampler, question), "believed", number)
            for number, question in enumerate(questions)
        ]
        replies = sampler.generate(requests)
        said = (
            said_output(self.environment.answer(reply.outputs[0].text) if reply.outputs else None) for reply in replies
        )
        result = []
        for generation, verdict in done:
            problem = verdict.problem
            if problem is not None and problem.task == "induction":
                problem = replace(problem, pairs=tuple((given, next(said)) for given, _ in problem.pairs))
            elif problem is not None:
                problem = replace(problem, output=next(said))
            result.append((generation, replace(verdict, problem=problem)))
        return result


class UnvalidatedTiny(Unvalidated, AbsoluteZeroTiny):
    """The same in the tiny world."""

    name: ClassVar[str] = "absolute-zero-tiny-unvalidated"


def said_output(answer: str | None) -> str:
    """Return the output that an answer gives; `None` where it gives none."""
    return (last(answer, "output") or "None").strip() if answer is not None else "None"


class Unmasked(R1Searcher):
    """R1-Searcher that learns retrieved tokens as if the policy had written them."""

    name: ClassVar[str] = "r1-searcher-unmasked"

    def collect(self, sampler: Sampler, step: int) -> list[Trajectory]:
        """Roll out, reward, and take the mask off the evidence."""
        return unmasked(sampler, super().collect(sampler, step))


class UnmaskedWorld(Unmasked, R1SearcherWorld):
    """The same in the tiny world."""

    name: ClassVar[str] = "r1-searcher-world-unmasked"


def unmasked(sampler: Sampler, trajectories: Sequence[Trajectory]) -> list[Trajectory]:
    """Learn evidence as if the policy had written it, with the probabilities it gives it (the paper's ablation)."""
    scored = [trajectory for trajectory in trajectories if trajectory.reward is not None]
    requests = [
        Request(trajectory.ids, max_tokens=0, temperature=trajectory.temperature, prompt_logprobs=0)
        for trajectory in scored
    ]
    made = []
    for trajectory, known in zip(scored, sampler.generate(requests) if requests else [], strict=True):
        start = trajectory.mask.index(True)
        tokens = zip(trajectory.mask, trajectory.logprobs, known.prompt_logprobs, strict=True)
        logprobs = [
            given if own else (found or 0.0) * (index >= start) for index, (own, given, found) in enumerate(tokens)
        ]
        mask = [index >= start for index in range(len(trajectory.ids))]
        made.append(replace(trajectory, mask=mask, logprobs=logprobs))
    return [*made, *(trajectory for trajectory in trajectories if trajectory.reward is None)]


class PointWise(EloEvolve):
    """Elo-Evolve's point-wise baseline: each output rewarded by what `reward` says of it alone; no games."""

    name: ClassVar[str] = "elo-evolve-point-wise"

    def collect(self, sampler: Sampler, step: int) -> list[Trajectory]:
        """Sample and score the next problems."""
        return SingleTurn.collect(self, sampler, step)


class PointWiseWorld(PointWise, EloEvolveWorld):
    """The same in the tiny world."""

    name: ClassVar[str] = "elo-evolve-world-point-wise"


class DNO(EloEvolve):
    """Elo-Evolve's DNO baseline: the best output of a group (+1) against its worst (-1), by policy gradient."""

    name: ClassVar[str] = "elo-evolve-dno"

    def compared(
        self, number: int, problem: Group, generation: Generation, played: Sequence[OpponentBout]
    ) -> list[Trajectory]:
        """Keep the best and the worst output of a group."""
        made = super().compared(number, problem, generation, played)
        extremes = best_and_worst([bout.score.value for bout in played])
        if extremes is None:
            return []
        return [replace(made[index], reward=sign) for index, sign in zip(extremes, (1.0, -1.0), strict=True)]


class DNOWorld(DNO, EloEvolveWorld):
    """The same in the tiny world."""

    name: ClassVar[str] = "elo-evolve-world-dno"


def best_and_worst(values: Sequence[float | None]) -> tuple[int, int] | None:
    """Return the indices of a group's winner and loser, what DNO contrasts; None where none is better than another."""
    scored = {index: value for index, value in enumerate(values) if value is not None}
    if len(set(scored.values())) < 2:
        return None
    return max(scored, key=lambda index: scored[index]), min(scored, key=lambda index: scored[index])
