"""The recipe: propose, validate, store, solve, reward; one update for both roles of all tasks.

In each step every task gets `batch` proposals. Each valid one enters its buffer, regardless of its reward, and is
solved several times to estimate its learnability. Then `batch` problems per task are solved: new ones, topped up from
the buffer.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

from verikit.engines.types import Generation
from verikit.errors import TrainerError
from verikit.trainers.costs import StepCost
from verikit.trainers.recipe import Probe, Sampler, Setting, Trajectory
from verikit.trainers.recipes.absolute_zero.buffers import Buffer, content, distinct, solve_batch
from verikit.trainers.recipes.absolute_zero.environment import Environment, ProgramVerdict
from verikit.trainers.recipes.absolute_zero.options import AbsoluteZeroOptions, Task
from verikit.trainers.recipes.absolute_zero.problem import SEEDS, Problem, read_held_out
from verikit.trainers.recipes.absolute_zero.prompts import AbsoluteZeroPrompts
from verikit.trainers.recipes.absolute_zero.rewards import solver_reward
from verikit.trainers.recipes.absolute_zero.rounds import (
    ProposalPrompt,
    Proposed,
    Solved,
    proposer_rewards,
    round_metrics,
)
from verikit.trainers.recipes.base import SelfPlay, stratified

BASES: tuple[Task, ...] = ("deduction", "abduction")
"""Tasks that supply the programs for induction. They are always seeded."""


class AbsoluteZero(SelfPlay):
    """Self-play in a Python sandbox, starting from the identity function."""

    name: ClassVar[str] = "absolute-zero"
    Options: ClassVar[type[AbsoluteZeroOptions]] = AbsoluteZeroOptions
    options: AbsoluteZeroOptions
    prompts: AbsoluteZeroPrompts
    environment: Environment
    held_out: list[Problem]
    seeded: bool

    def __init__(self, options: AbsoluteZeroOptions, setting: Setting) -> None:
        super().__init__(options, setting)
        self.prompts = AbsoluteZeroPrompts.load(options.prompts, setting.folder)
        self.environment = self.make_environment("" if options.chat else self.prompts.opening)
        kinds = dict.fromkeys([*BASES, *options.tasks])
        self.buffers: dict[Task, Buffer] = {task: Buffer(options.buffer_size, options.keep) for task in kinds}
        for task, buffer in self.buffers.items():
            buffer.problems = [self.seed_problem(task)]
        self.seeded = False
        self.held_out = self.load_held_out()

    def make_environment(self, opening: str) -> Environment:
        """Return the environment that judges, given the tag that the prompts already end with (`""`: none)."""
        return Environment(self.options, opening)

    def seed_problem(self, task: Task) -> Problem:
        """Return the first problem of a task's buffer."""
        return SEEDS[task]

    def load_held_out(self) -> list[Problem]:
        """Return the problems to evaluate on."""
        return read_held_out(self.setting.folder / self.options.held_out) if self.options.held_out else []

    def probes(self) -> Iterator[Probe]:
        """Yield probes of the held-out problems and of the sandbox, which judges one right and one wrong answer."""
        yield "data", lambda: f"{len(self.held_out):,} problems held out"
        yield "sandbox", self._try_sandbox

    def step_cost(self) -> StepCost:
        """Return the bounds of one training step."""
        options = self.options
        proposals = len(options.tasks) * options.batch
        # The first step also fills the buffers.
        least = proposals * (1 if options.reuse else 1 + options.rollouts)
        most = proposals * (1 + options.estimates + options.rollouts)
        return StepCost(
            (least, most),
            options.max_tokens,
            (proposals if options.reuse else 2 * proposals, 3 * proposals),
            float(options.max_prompt_tokens),
            {"programs": (0, most)},
        )

    def _try_sandbox(self) -> str:
        """Judge the seed's answer and another answer.

        Raises:
            SandboxUnavailable: This machine can't isolate programs.
            TrainerError: The verdicts are not right and wrong.
        """
        began = time.perf_counter()
        seed, opening = SEEDS["deduction"], self.environment.opening
        replies = [f"<think>It is f.</think> <answer>{output}</answer>" for output in (seed.output, "'another'")]
        right, wrong = self.environment.solutions(seed, [reply.removeprefix(opening) for reply in replies])
        if (right.fault, wrong.fault) != ("", "wrong"):
            told = f"the seed's answer is {right.fault or 'right'} ({right.reason}), another {wrong.fault or 'right'}"
            raise TrainerError(
                f"the sandbox can't run programs: {told}", hint="run `verikit doctor` to see the missing parts"
            )
        return f"it judged two answers in {time.perf_counter() - began:.2f} s"

    def admit(self, problem: Problem, draw: random.Random) -> Problem | None:
        """Return the problem to store for a valid proposal. None: it is not stored and remains unscored."""
        return problem

    def stratum(self, problem: Problem) -> str:
        """Return a further key for held-out accuracy, such as the program's length; "" for no key."""
        return ""

    def collect(self, sampler: Sampler, step: int) -> list[Trajectory]:
        """Propose and solve; the first step also fills the buffers."""
        self.judging.reset()
        if not self.seeded:
            self._seed(sampler)
        draw = random.Random(f"{self.setting.seed} {step}")
        asked = [self.ask(sampler, task, step, draw) for task in self.options.tasks for _ in range(self.options.batch)]
        proposed = self.propose(sampler, asked, step, draw)
        new = self._valid(proposed)
        chosen: list[Problem] = []
        for task, fresh in new.items():
            buffer = self.buffers[task]
            chosen += solve_batch(fresh, buffer.problems, self.options.batch, self.options.mix, draw, buffer.rates)
            buffer.add(fresh, draw)
        estimates, trained = self._solve_all(sampler, [problem for task in new.values() for problem in task], chosen)
        for solved in [*estimates, *trained]:
            self.buffers[solved.problem.task].note(solved.problem, *solved.counts)
        rates = [estimate.rate for estimate in estimates]
        self._metrics = round_metrics(proposed, rates, self.buffers) | {"seconds_sandbox": self.judging.seconds}
        return self._proposals(sampler, proposed, rates) + self._solutions(trained)

    def propose(
        self, sampler: Sampler, asked: Sequence[ProposalPrompt], step: int, draw: random.Random, key: str = ""
    ) -> list[Proposed]:
        """Sample and judge a proposal for each prompt, and drop problems that are not admitted."""
        return [
            Proposed(prompt, generation, self._admitted(sampler, verdict, step, draw))
            for prompt, (generation, verdict) in zip(asked, self.judge_proposals(sampler, asked, key), strict=True)
        ]

    def judge_proposals(
        self, sampler: Sampler, asked: Sequence[ProposalPrompt], key: str
    ) -> list[tuple[Generation, ProgramVerdict]]:
        """Sample a proposal for each prompt. Judging runs while others are sampled."""
        requests = [self.request(sampler, prompt.ids, "propose", key, number) for number, prompt in enumerate(asked)]

        def judge(index: int, generation: Generation) -> ProgramVerdict:
            if not generation.outputs:
                return ProgramVerdict("error", str(generation.error))
            prompt, text = asked[index], generation.outputs[0].text
            with self.judging.running():
                return self.environment.proposal(prompt.task, text, prompt.program, prompt.functions)

        return sampler.generate_then(requests, judge)

    def solve(
        self, sampler: Sampler, wanted: Sequence[tuple[Problem, int]], key: str, temperature: float
    ) -> list[Solved]:
        """Sample the given number of solutions per problem. Judging runs while others are sampled."""

        def judge(index: int, generation: Generation) -> list[ProgramVerdict]:
            with self.judging.running():
                return self.environment.solutions(wanted[index][0], [output.text for output in generation.outputs])

        requests = [
            self.request(
                sampler, self.encode(sampler, self.prompts.solution(problem)), key, number, n=n, temperature=temperature
            )
            for number, (problem, n) in enumerate(wanted)
        ]
        done = sampler.generate_then(requests, judge)
        return [
            Solved(problem, generation, verdicts)
            for (problem, _), (generation, verdicts) in zip(wanted, done, strict=True)
        ]

    def evaluate(self, sampler: Sampler, step: int) -> dict[str, float]:
        """Return the sampled accuracy on held-out problems: overall, by task, and by task and stratum."""
        if not self.held_out:
            return {}
        wanted = [(problem, self.options.evaluate_samples) for problem in self.held_out]
        done = self.solve(sampler, wanted, "held-out", self.options.temperature)
        return stratified(
            "accuracy", [(self._strata(solved.problem), [solved.rate]) for solved in done if solved.rate is not None]
        )

    def _strata(self, problem: Problem) -> list[str]:
        stratum = self.stratum(problem)
        return [problem.task, f"{problem.task}/{stratum}"] if stratum else [problem.task]

    def state(self) -> dict[str, Any]:
        """Return the buffers."""
        rows = {task: [problem.as_dict() for problem in buffer.problems] for task, buffer in self.buffers.items()}
        rates = {
            task: [buffer.rates.get(content(problem)) for problem in buffer.problems]
            for task, buffer in self.buffers.items()
        }
        return {"seeded": self.seeded, "buffers": rows, "rates": rates}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Restore the buffers."""
        self.seeded = state["seeded"]
        for task, buffer in self.buffers.items():
            buffer.problems = [Problem.from_dict(row) for row in state["buffers"][task]]
            rates = zip(buffer.problems, state.get("rates", {}).get(task, ()), strict=False)
            buffer.rates = {content(problem): rate for problem, rate in rates if rate is not None}

    def _seed(self, sampler: Sampler) -> None:
        """Fill the buffers with the untrained model's proposals; induction last, because it samples from the others."""
        wanted = self.options.batch * self.options.seed_factor
        for task in sorted(self.buffers, key=lambda task: task == "induction"):
            for attempt in range(self.options.seed_tries):
                missing = wanted - len(self.buffers[task].problems)
                if missing <= 0:
                    break
                draw = random.Random(f"{self.setting.seed} seeding {task} {attempt}")
                asked = [self.ask(sampler, task, 0, draw) for _ in range(self.options.batch)]
                proposed = self.propose(sampler, asked, 0, draw, f"seeding {task} {attempt}")
                found = [proposal.verdict.problem for proposal in proposed if proposal.verdict.problem is not None]
                self.buffers[task].add(found[:missing], draw)
        self.seeded = True

    def ask(self, sampler: Sampler, task: Task, step: int, draw: random.Random) -> ProposalPrompt:
        """Select the inputs of a proposal and write its prompt, with fewer references if it is too long."""
        options = self.options
        if task == "induction":
            source = [problem for base in BASES for problem in self.buffers[base].problems]
            program = distinct(source, 1, draw, options.weights)[0].program
            return ProposalPrompt(
                task, self.encode(sampler, self.prompts.inputs(program, options.inputs)), program=program
            )
        shown = distinct(self.buffers[task].problems, options.references, draw, options.weights)
        functions: list[Problem] = []
        if task in BASES and draw.random() < self._composite_share(step):
            functions = distinct(self.buffers[task].problems, options.composite_functions, draw, "uniform")
        while True:
            ids = self.encode(sampler, self.prompts.proposal(task, shown, functions))
            if len(ids) <= options.max_prompt_tokens or not shown:
                return ProposalPrompt(task, ids, shown, functions)
            shown = shown[:-1]

    def _composite_share(self, step: int) -> float:
        """Return the fraction of composite proposals: 0 before its first step, then rising."""
        start = self.options.composite_from
        rise = (step - start) / start if start else 1.0
        return self.options.composite * min(max(rise, 0.0), 1.0)

    def _admitted(self, sampler: Sampler, verdict: ProgramVerdict, step: int, draw: random.Random) -> ProgramVerdict:
        """Accept a valid problem unless its prompt is too long or the recipe reserves it for evaluation."""
        if verdict.problem is None:
            return verdict
        kept = self.admit(replace(verdict.problem, step=step), draw)
        if kept is None:
            return ProgramVerdict("error", "held out")
        if len(self.encode(sampler, self.prompts.solution(kept))) > self.options.max_prompt_tokens:
            return ProgramVerdict("wrong", "the problem is longer than max_prompt_tokens")
        return replace(verdict, problem=kept)

    def _valid(self, proposed: Sequence[Proposed]) -> dict[Task, list[Problem]]:
        """Return the problems of valid proposals, by task."""
        valid: dict[Task, list[Problem]] = {task: [] for task in self.options.tasks}
        for proposal in proposed:
            if proposal.verdict.problem is not None:
                valid[proposal.asked.task].append(proposal.verdict.problem)
        return valid

    def _solve_all(
        self, sampler: Sampler, new: Sequence[Problem], chosen: Sequence[Problem]
    ) -> tuple[list[Solved], list[Solved]]:
        """Solve the new problems to estimate their rates, and the chosen ones to train on, in one batch.

        Returns:
            The estimates, parallel to `new` (empty if rates are not needed), and the solved problems to train on.
        """
        options = self.options
        estimated = list(new) if options.train_proposer or options.reuse else []
        indices = {id(problem): index for index, problem in enumerate(estimated)} if options.reuse else {}
        sampled = [problem for problem in chosen if id(problem) not in indices]
        wanted = [(problem, options.estimates) for problem in estimated] + [
            (problem, options.rollouts) for problem in sampled
        ]
        done = self.solve(sampler, wanted, "solve", options.temperature)
        estimates, others = done[: len(estimated)], done[len(estimated) :]
        reused = dict.fromkeys(indices[id(problem)] for problem in chosen if id(problem) in indices)
        return estimates, [estimates[index] for index in reused] + others

    def _proposals(
        self, sampler: Sampler, proposed: Sequence[Proposed], rates: Sequence[float | None]
    ) -> list[Trajectory]:
        """Make the proposer's trajectories."""
        if not self.options.train_proposer:
            return []
        rewards = proposer_rewards(sampler, self.environment, self.options, proposed, rates, self.buffers)
        result = []
        for proposal, reward in zip(proposed, rewards, strict=True):
            for output in proposal.generation.outputs:
                result.append(
                    self.reply_trajectory(
                        proposal.generation,
                        output,
                        reward,
                        f"propose {proposal.asked.task}",
                        role="propose",
                        task=proposal.asked.task,
                        prompt=sampler.decode(proposal.generation.prompt_ids),
                        answer=proposal.verdict.reason or proposal.verdict.fault,
                    )
                )
        return result

    def _solutions(self, trained: Sequence[Solved]) -> list[Trajectory]:
        """Make the solver's trajectories."""
        result = []
        for number, solved in enumerate(trained):
            for output, verdict in zip(solved.generation.outputs, solved.verdicts, strict=True):
                result.append(
                    self.reply_trajectory(
                        solved.generation,
                        output,
                        solver_reward(verdict.fault),
                        f"solve {number}",
                        role="solve",
                        task=solved.problem.task,
                        prompt=self.prompts.solution(solved.problem),
                        answer=verdict.reason or verdict.fault,
                    )
                )
        return result
