"""The recipe: each prompt's outputs meet an opponent near the policy's strength, and a judge says which is better.

Opponents' answers are made beforehand (`verikit synth opponents`), or sampled when first needed. One game a prompt
moves the policy's rating, and with it which opponents are drawn.

A trap: where one opponent is drawn for a group and its rewards rank the outputs alike whoever it is (a judge of
correctness alone), dividing by their deviation cancels the opponent. So a group of each step meets a second opponent
too, and the recipe warns when that never changes a thing.
"""

from __future__ import annotations

import time
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from statistics import fmean
from typing import Any, ClassVar, NamedTuple

from pydantic import Field, PositiveFloat, PositiveInt

import verikit
from verikit.base import Verifier
from verikit.engines.load import load_engine
from verikit.engines.types import Generation, Request
from verikit.errors import ConfigError, VerikitError
from verikit.judges.opponents import Opponents, prompt_key
from verikit.judges.rates.elo import K, Reduction, performance
from verikit.trainers.costs import StepCost, exactly, judge_requests, prompt_length
from verikit.trainers.probes import engine_probe, judge_probes
from verikit.trainers.recipe import Probe, Sampler, Setting, Trajectory
from verikit.trainers.recipes.elo_evolve.games import (
    Objective,
    OpponentBout,
    bouts,
    results,
    same_lesson,
)
from verikit.trainers.recipes.elo_evolve.pool import OpponentPool
from verikit.trainers.recipes.single_turn import SingleTurn, SingleTurnOptions, guarded
from verikit.types import Group, Sample

PROBES = 32
"""Groups that met a second opponent before the recipe says whether the opponent matters."""


class EloEvolveOptions(SingleTurnOptions):
    """[options] of `elo-evolve`."""

    judge: str = ""
    """What compares an output with an opponent's answer: "pairwise('openai:http://host:8000/v1#judge')"."""
    objective: Objective = "binary"
    """What is rewarded: `binary` a win; `graded` the judge's value."""
    pool: dict[str, float] = Field(default_factory=dict)
    """Opponents by name with their ratings, which stay."""
    answers: str = ""
    """The file of opponents' answers, as `verikit synth opponents` writes it."""
    engines: dict[str, str] = Field(default_factory=dict)
    """Engines that make answers missing from the file, by opponent; a miss of another is an error."""
    rating: float = 1350.0
    """The policy's at the start."""
    k: PositiveFloat = K
    reduction: Reduction = "mean"
    """Over a step's games; the paper's `sum` overshoots where they are many."""
    draw_temperature: PositiveFloat = 200.0
    opponents_per_group: PositiveInt = 1
    """Opponents drawn for one prompt; its outputs are dealt out to them."""
    max_longer: int = Field(default=300, ge=0)
    """An output more than so many words longer than the opponent's answer loses unasked; 0: no guard."""
    snapshot_every: int = Field(default=0, ge=0)
    """Steps after which the policy as it stands joins the pool; 0: never."""
    snapshot_prompts: PositiveInt = 1024
    """How many of the next prompts a snapshot answers; it is drawn for these only."""
    probes: int = Field(default=1, ge=0)
    """Groups of a step that meet a second opponent, to see whether the opponent matters; it does where several share a
    group."""
    unseen: dict[str, float] = Field(default_factory=dict)
    """Opponents for evaluation, never trained against; {}: the pool."""


class GroupMatch(NamedTuple):
    """What the judge said of one prompt's outputs."""

    played: list[OpponentBout]
    same: bool | None
    """Whether a second opponent would have taught the same; None: not asked, or neither taught anything."""
    seconds: float


class EloEvolve(SingleTurn):
    """Rewards being better than an opponent of about the same strength."""

    name: ClassVar[str] = "elo-evolve"
    Options: ClassVar[type[EloEvolveOptions]] = EloEvolveOptions
    options: EloEvolveOptions
    judge: Verifier
    pool: OpponentPool
    probed: Counter[str]

    def __init__(self, options: EloEvolveOptions, setting: Setting) -> None:
        super().__init__(options, setting)
        if not options.judge or not options.pool:
            raise ConfigError("options.judge names what compares, and options.pool the opponents with their ratings")
        self.judge = guarded(verikit.load(options.judge), options.reward_timeout)
        self.pool = OpponentPool(options.pool, self.make_answers(), options.rating)
        self.probed = Counter[str]()
        """Groups whose second opponent taught the same, and those where it taught something else."""
        self._engines = {name: load_engine(spec) for name, spec in options.engines.items()}

    def probes(self) -> Iterator[Probe]:
        """Yield the data, the judge, and the opponents' engines."""
        yield "data", lambda: f"{len(self.problems):,} problems, {len(self.held_out):,} held out"
        problem = self.problems[0]
        sample = Sample(
            problem.prompt, "I don't know.", problem.answer, problem.id, {**problem.meta, "opponent": "No."}
        )
        yield from judge_probes("judge", self.judge, sample)
        for name, engine in self._engines.items():
            yield f"opponent {name}", partial(engine_probe, engine)

    def step_cost(self) -> StepCost:
        """Bounds of one training step."""
        options = self.options
        judged, each = options.prompts * options.samples, judge_requests(self.judge)
        probed = min(options.probes, options.prompts) * options.samples
        return StepCost(
            exactly(judged),
            options.max_tokens,
            exactly(options.prompts),
            prompt_length(self.setting.tokenizer, self.problems),
            # Outputs that are too long lose unasked, and a second opponent is met while that may matter.
            {"judge requests": (0 if options.max_longer else judged * each, (judged + probed) * each)},
        )

    def make_answers(self) -> Opponents:
        """Return the opponents' answers."""
        path = self.setting.folder / self.options.answers if self.options.answers else None
        return Opponents(path, max_tokens=self.options.max_tokens)

    def collect(self, sampler: Sampler, step: int) -> list[Trajectory]:
        """Sample the next prompts' outputs and let each meet an opponent; the games move the rating."""
        self._snapshot(sampler, step)
        chosen = list(self._next(sampler))
        drawn = [self._draw(number, problem) for number, problem, _ in chosen]
        self._fill(
            sampler, [(name, problem) for (_, problem, _), names in zip(chosen, drawn, strict=True) for name in names]
        )

        def play(index: int, generation: Generation) -> GroupMatch:
            return self._match(chosen[index][1], drawn[index], generation, probe=index < self.options.probes)

        done = sampler.generate_then(self.requests(sampler, chosen), play)
        games = [game for _, match in done for game in results(match.played)]
        before = self.pool.ratings
        self.pool.play(games, self.options.k, self.options.reduction)
        self._note(done, before)
        return [
            trajectory
            for (number, problem, _), (generation, found) in zip(chosen, done, strict=True)
            for trajectory in self.compared(number, problem, generation, found.played)
        ]

    def evaluate(self, sampler: Sampler, step: int) -> dict[str, float]:
        """Return the share of held-out prompts won (a tie half) against opponents not trained on, and ratings.

        `performance` is the rating those games are worth, `rating` the one that training's games led to.
        """
        opponents = self.options.unseen or self.options.pool
        names = list(opponents)
        met = [names[index % len(names)] for index in range(len(self.held_out))]
        self._fill(sampler, list(zip(met, self.held_out, strict=True)))
        n = self.options.evaluate_samples
        temperature = self.options.temperature if n else 0.0
        requests = self.held_out_requests(sampler, temperature, max(1, n))

        def compare(index: int, generation: Generation) -> list[OpponentBout]:
            return self._meet(self.held_out[index], [met[index]] * len(generation.outputs), generation)

        played = [bout for _, found in sampler.generate_then(requests, compare) for bout in found]
        wins = {name: [b.outcome for b in played if b.opponent == name and b.outcome is not None] for name in names}
        means = {f"win_rate/{name}": fmean(outcomes) for name, outcomes in wins.items() if outcomes}
        games = [(opponents[name], outcome) for name, outcomes in wins.items() for outcome in outcomes]
        metrics = {"win_rate": fmean(means.values()), "performance": performance(games)} if games else {}
        unjudged = float(sum(bout.outcome is None for bout in played))
        return metrics | {"rating": self.pool.rating, "unjudged": unjudged} | means

    def state(self) -> dict[str, Any]:
        """Return the position in the data, the rating, the snapshots and what the probes said."""
        return super().state() | {"pool": self.pool.state(), "probed": dict(self.probed)}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Take a state that `state` returned."""
        super().restore(state)
        self.pool.restore(state["pool"])
        self.probed = Counter(state["probed"])

    def metrics(self) -> dict[str, float]:
        """Return the rating, the opponents' shares, wins, the guard's share, and what the judge cost."""
        return super().metrics() | self._metrics

    def close(self) -> None:
        """Give back the opponents' connections."""
        for engine in self._engines.values():
            engine.close()

    def _draw(self, number: int, problem: Group) -> list[str]:
        """Return each output's opponent: so many draws, dealt out in turn."""
        draws = [
            self.pool.draw(problem.prompt, self.options.draw_temperature, f"{self.setting.seed}:{number}:{index}")
            for index in range(self.options.opponents_per_group)
        ]
        return [draws[index % len(draws)] for index in range(self.options.samples)]

    def _match(self, problem: Group, names: Sequence[str], generation: Generation, *, probe: bool) -> GroupMatch:
        began = time.perf_counter()
        played = self._meet(problem, names[: len(generation.outputs)], generation)
        seconds = time.perf_counter() - began
        probe = probe and self.options.opponents_per_group == 1
        second = self.pool.farthest(problem.prompt, names[0]) if probe else None
        if second is None or not played:
            return GroupMatch(played, None, seconds)
        again = self._meet(problem, [second] * len(generation.outputs), generation)
        objective = self.options.objective
        same = same_lesson([bout.reward(objective) for bout in played], [bout.reward(objective) for bout in again])
        return GroupMatch(played, same, seconds)

    def _meet(self, problem: Group, names: Sequence[str], generation: Generation) -> list[OpponentBout]:
        opponents = [(name, self.pool.answers.answer(name, problem.prompt)) for name in names]
        texts = [output.text for output in generation.outputs]
        return bouts(self.judge, problem, texts, opponents, self.options.max_longer)

    def compared(
        self, number: int, problem: Group, generation: Generation, played: Sequence[OpponentBout]
    ) -> list[Trajectory]:
        """Return the trajectories of a prompt's outputs, rewarded for their games."""
        made = []
        for output, bout in zip(generation.outputs, played, strict=True):
            reward = bout.reward(self.options.objective)
            trajectory = self._trajectory(number, problem, generation, output, bout.score)
            made.append(replace(trajectory, reward=reward, answer=f"{bout.opponent}: {trajectory.answer}"))
        return made

    def _fill(self, sampler: Sampler, wanted: Sequence[tuple[str, Group]]) -> None:
        """Let engines make answers that are missing, each on one process.

        Raises:
            VerikitError: an answer is missing and no engine is named for its opponent, or the engine failed.
        """
        missing: dict[str, dict[str, Group]] = {}
        for name, problem in wanted:
            if name in self._engines and not self.pool.answers.has(name, problem.prompt):
                missing.setdefault(name, {})[prompt_key(problem.prompt)] = problem

        def fill(name: str) -> dict[str, str] | str:
            problems = missing[name]
            failed = self.pool.answers.fill(
                name, [problem.prompt for problem in problems.values()], self._engines[name]
            )
            if failed:
                return str(next(iter(failed.values())))
            return {key: self.pool.answers.answer(name, problem.prompt) for key, problem in problems.items()}

        for name, made in zip(missing, sampler.map(fill, list(missing)), strict=True):
            if isinstance(made, str):
                raise VerikitError(
                    f"opponent {name!r} can't answer: {made}", hint="run `verikit train --resume` to continue"
                )
            self.pool.answers.add(name, made)

    def _snapshot(self, sampler: Sampler, step: int) -> None:
        """Let the policy as it stands join the pool, with greedy answers to the next prompts."""
        every, name = self.options.snapshot_every, f"policy@{step}"
        if not every or step == 1 or (step - 1) % every or name in self.pool.joined:
            return
        ahead = min(self.options.snapshot_prompts, len(self.problems))
        problems = [self.problems[self._epochs.index(self.position + offset)] for offset in range(ahead)]
        requests = [Request(self._encode(sampler, problem), max_tokens=self.options.max_tokens) for problem in problems]
        done = zip(problems, sampler.generate(requests), strict=True)
        self.pool.join(name, {prompt_key(problem.prompt): made.text for problem, made in done if made.error is None})

    def _note(self, done: Sequence[tuple[Generation, GroupMatch]], ratings: Mapping[str, float]) -> None:
        """Keep the step's metrics, and warn once where the opponent never mattered."""
        played = [bout for _, match in done for bout in match.played]
        outcomes = [bout.outcome for bout in played if bout.outcome is not None]
        met, count = Counter(bout.opponent for bout in played), len(played) or 1
        before = self.probed.total()
        self.probed.update("same" if match.same else "other" for _, match in done if match.same is not None)
        probes = self.probed.total()
        self._metrics = {
            "rating": self.pool.rating,
            "opponent_rating": sum(ratings[name] * n for name, n in met.items()) / count,
            "won": fmean(outcomes) if outcomes else 0.0,
            "tied": sum(outcome == 0.5 for outcome in outcomes) / (len(outcomes) or 1),
            "unjudged": (len(played) - len(outcomes)) / count,
            "too_long": sum(bout.guarded for bout in played) / count,
            "judge_seconds": sum(match.seconds for _, match in done),
            **({"opponent_matters": self.probed["other"] / probes} if probes else {}),
            **{f"opponent/{name}": met[name] / count for name in self.pool.ratings},
        }
        if before < PROBES <= probes and not self.probed["other"]:
            warnings.warn(CANCELS.format(probes=probes), stacklevel=2)


CANCELS = (
    "in {probes} groups that met a second opponent, rewards divided by their deviation were the same: the opponent"
    " cancels out, and its strength teaches nothing. Let it matter: a judge that tells degrees of quality, several"
    " opponents in a group (options.opponents_per_group = 4), or wins alone rewarded (options.objective = 'binary')"
)
