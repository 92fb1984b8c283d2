"""The recipe: each prompt's outputs meet an opponent near the policy's strength, and a judge compares them.

Opponents' answers are generated in advance (`verikit synth opponents`), or sampled when first needed. One game per
prompt moves the policy's rating. The rating determines which opponents are selected.

One case makes opponents irrelevant: a group meets one opponent, and its rewards rank the outputs in the same order for
any opponent. A judge of correctness only is an example. Dividing by the standard deviation then cancels the opponent.
So one group of each step also meets a second opponent. The recipe warns if that never changes the result.
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
from verikit.trainers.probes import engine_probe, guarded, judge_probes
from verikit.trainers.recipe import Probe, Recipe, Sampler, Setting, Trajectory
from verikit.trainers.recipes.elo_evolve.games import (
    Objective,
    OpponentBout,
    bouts,
    results,
    same_lesson,
)
from verikit.trainers.recipes.elo_evolve.pool import OpponentPool
from verikit.trainers.recipes.single_turn import SingleTurn, SingleTurnOptions
from verikit.types import Group, Sample

PROBES = 32
"""Number of groups with a second opponent before the recipe reports whether the opponent matters."""


class EloEvolveOptions(SingleTurnOptions):
    """[options] of `elo-evolve`."""

    judge: str = ""
    """Verifier that compares an output with an opponent's answer: "pairwise('openai:http://host:8000/v1#judge')"."""
    objective: Objective = "binary"
    """The reward: `binary` for a win; `graded` the judge's value."""
    pool: dict[str, float] = Field(default_factory=dict)
    """Names of opponents, with their fixed ratings."""
    answers: str = ""
    """The file of opponents' answers from `verikit synth opponents`."""
    engines: dict[str, str] = Field(default_factory=dict)
    """Engines that generate answers missing from the file, by opponent. Without one, a missing answer is an error."""
    rating: float = 1350.0
    """The policy's rating at the start."""
    k: PositiveFloat = K
    """K-factor: how far one game moves a rating."""
    reduction: Reduction = "mean"
    """Reduction over a step's games. The paper's `sum` overshoots if there are many."""
    draw_temperature: PositiveFloat = 200.0
    """Temperature of the draw of opponents, in rating points. A low one draws the nearest rating."""
    opponents_per_group: PositiveInt = 1
    """Opponents per prompt. Its outputs are divided among them."""
    max_longer: int = Field(default=300, ge=0)
    """An output with over this many more words than the opponent's answer loses without a judge call; 0: no guard."""
    snapshot_every: int = Field(default=0, ge=0)
    """Number of steps between snapshots of the policy that join the pool; 0: no snapshots."""
    snapshot_prompts: PositiveInt = 1024
    """Number of upcoming prompts that a snapshot answers. It is an opponent for these only."""
    probes: int = Field(default=1, ge=0)
    """Groups per step that meet a second opponent, to check whether the opponent matters.

    It always matters if several opponents share a group.
    """
    unseen: dict[str, float] = Field(default_factory=dict)
    """Opponents for evaluation, never used in training; {}: the pool."""


class GroupMatch(NamedTuple):
    """The judge's results for one prompt's outputs."""

    played: list[OpponentBout]
    same: bool | None
    """Whether a second opponent would have had the same effect; None: not checked, or neither had any."""
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
        if options.curriculum:
            raise ConfigError("options.curriculum needs success rates, and elo-evolve rewards games")
        self.judge = guarded(verikit.load(options.judge), options.reward_timeout)
        self.pool = OpponentPool(options.pool, self.make_answers(), options.rating)
        self.probed = Counter[str]()
        """Groups whose second opponent had the same effect, and groups with another effect."""
        self._engines = {name: load_engine(spec) for name, spec in options.engines.items()}

    def probes(self) -> Iterator[Probe]:
        """Yield probes of the data, the judge, and the opponents' engines."""
        yield "data", lambda: f"{len(self.problems):,} problems, {len(self.held_out):,} held out"
        problem = self.problems[0]
        sample = Sample(
            problem.prompt, "I don't know.", problem.answer, problem.id, {**problem.meta, "opponent": "No."}
        )
        yield from judge_probes("judge", self.judge, sample)
        for name, engine in self._engines.items():
            yield f"opponent {name}", partial(engine_probe, engine)

    def step_cost(self) -> StepCost:
        """Return the bounds of one training step."""
        options = self.options
        judged, each = options.prompts * options.samples, judge_requests(self.judge)
        probed = min(options.probes, options.prompts) * options.samples
        return StepCost(
            exactly(judged),
            options.max_tokens,
            exactly(options.prompts),
            prompt_length(self.setting.tokenizer, self.problems),
            # Outputs that are too long need no judge. Groups meet a second opponent only while that may matter.
            {"judge requests": (0 if options.max_longer else judged * each, (judged + probed) * each)},
        )

    def make_answers(self) -> Opponents:
        """Return the opponents' answers."""
        path = self.setting.folder / self.options.answers if self.options.answers else None
        return Opponents(path, max_tokens=self.options.max_tokens)

    def collect(self, sampler: Sampler, step: int) -> list[Trajectory]:
        """Sample the next prompts' outputs and let each meet an opponent. The games update the rating."""
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
        """Return the held-out win rate (a tie is half a win) against opponents not trained on, and ratings.

        `performance` is the rating computed from those games, and `rating` the one from training's games.
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

    def gold_rows(self) -> int:
        """Reject `run.gold`: the reward is the result of games, not a verifier's score.

        Raises:
            ConfigError: Always.
        """
        return Recipe.gold_rows(self)

    def state(self) -> dict[str, Any]:
        """Return the position in the data, the rating, the snapshots and the results of the probes."""
        return super().state() | {"pool": self.pool.state(), "probed": dict(self.probed)}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Restore a state that `state` returned."""
        super().restore(state)
        self.pool.restore(state["pool"])
        self.probed = Counter(state["probed"])

    def metrics(self) -> dict[str, float]:
        """Return the rating, opponent frequencies, wins, the guard's frequency, and the judge's time."""
        return super().metrics() | self._metrics

    def close(self) -> None:
        """Close the connections of the opponents' engines."""
        for engine in self._engines.values():
            engine.close()

    def _draw(self, number: int, problem: Group) -> list[str]:
        """Return each output's opponent: `opponents_per_group` random ones, assigned in turn."""
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
        """Generate missing answers with engines, each on one process.

        Raises:
            VerikitError: An answer is missing and its opponent has no engine, or the engine failed.
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
        """Add the current policy to the pool, with greedy answers to the next prompts."""
        every, name = self.options.snapshot_every, f"policy@{step}"
        if not every or step == 1 or (step - 1) % every or name in self.pool.joined:
            return
        ahead = min(self.options.snapshot_prompts, len(self.problems))
        problems = [self.problems[self._epochs.index(self.position + offset)] for offset in range(ahead)]
        requests = [Request(self._encode(sampler, problem), max_tokens=self.options.max_tokens) for problem in problems]
        done = zip(problems, sampler.generate(requests), strict=True)
        self.pool.join(name, {prompt_key(problem.prompt): made.text for problem, made in done if made.error is None})

    def _note(self, done: Sequence[tuple[Generation, GroupMatch]], ratings: Mapping[str, float]) -> None:
        """Store the step's metrics, and warn once if the opponent never mattered."""
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
