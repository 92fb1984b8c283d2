"""The smallest world with opponents: sums worked out step by step, compared by the number of correct results.

The policy is `arithmetic`'s model. Its warm-up spoils each result of a working at random, so the model learns the
procedure and samples wrong. Each opponent's results are right with a fixed probability per opponent. Their answers are
sampled once, and their ratings come from a round robin. With a judge that checks all results, an opponent's strength
matters: half-right workings beat a weak one and lose to a strong one. With a judge that checks only the last result, it
does not.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import ClassVar, Literal

from pydantic import Field, PositiveInt

from verikit.base import Verifier
from verikit.judges.opponents import Opponents, prompt_key
from verikit.judges.rates.bradley_terry import Game, bradley_terry
from verikit.trainers.recipe import Sampler, Setting, Trajectory
from verikit.trainers.recipes.arithmetic import Arithmetic, ArithmeticOptions, working
from verikit.trainers.recipes.base import demonstration
from verikit.trainers.recipes.elo_evolve.recipe import EloEvolve, EloEvolveOptions
from verikit.types import Group, Sample, Score

RATED_ON = 256
"""Prompts of the round robin."""


class EloWorldOptions(EloEvolveOptions, ArithmeticOptions):
    """[options] of `elo-evolve-world`."""

    chat: bool = False
    max_tokens: PositiveInt = 32
    """Maximum sampled tokens per completion."""
    judge: str = "verikit.trainers.recipes.elo_evolve.world:all_results"
    reward: str = "verikit.trainers.recipes.elo_evolve.world:results_right"
    players: dict[str, float] = Field(default_factory=dict)
    """Names of opponents, with the probability that each result is right; {}: only `pool`'s."""
    strangers: dict[str, float] = Field(default_factory=dict)
    """The same for evaluation."""
    spoilt: float = Field(default=0.35, ge=0, le=1)
    """Fraction of a demonstration's results that are wrong."""


class EloEvolveWorld(EloEvolve, Arithmetic):
    """Adds numbers against players of known strength."""

    name: ClassVar[str] = "elo-evolve-world"
    Options: ClassVar[type[EloWorldOptions]] = EloWorldOptions
    options: EloWorldOptions

    def __init__(self, options: EloWorldOptions, setting: Setting) -> None:
        players = options.players | options.strangers
        rated = ratings(players, setting.seed, options.digits)
        pool, unseen = ({name: rated[name] for name in names} for names in (options.players, options.strangers))
        super().__init__(options.model_copy(update={"pool": pool, "unseen": unseen}), setting)

    def make_answers(self) -> Opponents:
        """Return the players' answers to every problem."""
        known = Opponents()
        for name, strength in (self.options.players | self.options.strangers).items():
            known.add(
                name,
                {
                    prompt_key(problem.prompt): played(str(problem.prompt), name, strength, self.setting.seed)
                    for problem in (*self.problems, *self.held_out)
                },
            )
        return known

    def gate(self, sampler: Sampler) -> float:
        """Return the fraction of right results in greedy workings, which measures whether the procedure is learned."""
        return self.accuracy(sampler, 0.0, 1)

    def evaluate(self, sampler: Sampler, step: int) -> dict[str, float]:
        """Return win rates, the rating, and the fraction of right results in sampled workings."""
        metrics = super().evaluate(sampler, step)
        return metrics | {"right": self.accuracy(sampler, self.options.temperature, 1)}

    def _demonstration(self, problem: Group, draw: random.Random) -> Trajectory:
        text = spoil(working(*terms(str(problem.prompt))), self.options.spoilt, draw)
        return demonstration(self.setting.tokenizer, str(problem.prompt), text, problem.id)


@dataclass(frozen=True)
class MoreRight(Verifier):
    """Whether a working has more right results than the opponent's: win, tie or loss."""

    looks_at: Literal["all", "last"] = "all"
    name = "more-right"

    def score_batch(self, samples: Sequence[Sample]) -> list[Score]:
        """Compare each working with `meta["opponent"]`."""
        return [self._compared(sample) for sample in samples]

    def _compared(self, sample: Sample) -> Score:
        ours, theirs = (right(str(sample.prompt), text) for text in (sample.completion, sample.meta["opponent"]))
        if self.looks_at == "last":
            ours, theirs = ours[-1:], theirs[-1:]
        gap = sum(ours) - sum(theirs)
        outcome = "tie"
        if gap:
            outcome = "win" if gap > 0 else "loss"
        return Score({"win": 1.0, "tie": 0.5, "loss": 0.0}[outcome], answer=outcome)


@dataclass(frozen=True)
class ResultsRight(Verifier):
    """The fraction of a working's results that are right."""

    name = "results-right"

    def score_batch(self, samples: Sequence[Sample]) -> list[Score]:
        """Score each working separately."""
        found = [right(str(sample.prompt), sample.completion) for sample in samples]
        return [Score(sum(results) / len(results)) for results in found]


all_results: MoreRight = MoreRight("all")
last_result: MoreRight = MoreRight("last")
results_right: ResultsRight = ResultsRight()


def terms(prompt: str) -> tuple[int, int]:
    """Return the two numbers of `47+85=`."""
    first, second = prompt.rstrip("=").split("+")
    return int(first), int(second)


def right(prompt: str, text: str) -> list[bool]:
    """Return for each result of a working (column sums, answer) whether it is right; all False for a wrong format."""
    wanted = working(*terms(prompt)).split(";")
    found = text.split(";")
    if len(found) != len(wanted):
        return [False] * len(wanted)
    return [result == other for result, other in zip(found, wanted, strict=True)]


def spoil(text: str, share: float, draw: random.Random) -> str:
    """Replace the last digit of each result by another, with probability `share`."""
    parts = []
    for part in text.split(";"):
        at = max(index for index, char in enumerate(part) if char.isdigit())
        other = draw.choice([digit for digit in "0123456789" if digit != part[at]])
        parts.append(part[:at] + other + part[at + 1 :] if draw.random() < share else part)
    return ";".join(parts)


def played(prompt: str, name: str, strength: float, seed: int) -> str:
    """Return a player's working, always the same."""
    return spoil(working(*terms(prompt)), 1 - strength, random.Random(f"{seed} {name} {prompt}"))


def ratings(players: dict[str, float], seed: int, digits: int = 2) -> dict[str, float]:
    """Rate players by all their games on random prompts (Bradley-Terry on Elo's scale, mean 1000)."""
    draw = random.Random(f"{seed} round robin")
    least, most = 10 ** (digits - 1), 10**digits - 1
    prompts = [f"{draw.randint(least, most)}+{draw.randint(least, most)}=" for _ in range(RATED_ON)]
    games = [
        Game(first, second, _outcome(prompt, first, second, players, seed), prompt)
        for prompt in prompts
        for first, second in combinations(players, 2)
    ]
    return {player.name: player.rating for player in bradley_terry(games)}


def _outcome(prompt: str, first: str, second: str, players: dict[str, float], seed: int) -> float:
    texts = [played(prompt, name, players[name], seed) for name in (first, second)]
    sample = Sample(prompt, texts[0], meta={"opponent": texts[1]})
    return float(all_results.score([sample])[0])
