"""A custom recipe: guess a hidden number from 0 to 15 in few guesses. Each guess is answered with `<`, `>` or `=`.

    verikit train examples/train/guess.toml

docs/recipes-custom.md explains it line by line.
"""

from __future__ import annotations

import random
from statistics import fmean
from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict, PositiveInt

from verikit.engines import Request
from verikit.engines.rollouts import Rollout
from verikit.trainers.recipe import Recipe, Sampler, Trajectory, Transcript
from verikit.trainers.recipes.tiny_model import make_llama, make_tokenizer

NUMBERS = 16


class GuessOptions(BaseModel):
    """[options] of the config."""

    model_config = ConfigDict(extra="forbid")
    numbers: PositiveInt = 8
    """Hidden numbers per step. Games about the same number form a group."""
    games: PositiveInt = 16
    """Games per hidden number."""
    guesses: PositiveInt = 8
    """A game ends after this many guesses."""


class Guess(Recipe):
    """Plays games of several turns. The reward falls with each guess that a game takes."""

    name: ClassVar[str] = "guess"
    Options: ClassVar[type[BaseModel]] = GuessOptions

    @classmethod
    def make_model(cls, options: Any, seed: int) -> tuple[Any, Any]:
        """Make a tiny model for which each number is one token."""
        tokenizer = make_tokenizer([*(f"{number:02}" for number in range(NUMBERS)), "<", ">", "=", "?"])
        return make_llama(tokenizer, seed, positions=32), tokenizer

    def collect(self, sampler: Sampler, step: int) -> list[Trajectory]:
        """Play the games of one training step."""
        draw = random.Random(f"{self.setting.seed} {step}")
        hidden = [draw.randrange(NUMBERS) for _ in range(self.options.numbers)]
        return sampler.roll_out(
            [
                self.play(sampler, number, group, game)
                for group, number in enumerate(hidden)
                for game in range(self.options.games)
            ]
        )

    def play(self, sampler: Sampler, hidden: int, group: int, game: int) -> Rollout[Trajectory]:
        """Play one game as a generator: it yields a request and receives the generation."""
        transcript, guesses = Transcript(sampler.encode("?")), 0
        answer = ""
        while answer != "=" and guesses < self.options.guesses:
            seed = sampler.seed(group, game, guesses)
            generation = yield Request(transcript.ids[:], max_tokens=1, temperature=1.0, logprobs=0, seed=seed)
            if generation.error:  # an engine's failure is not a bad game: the game has no reward
                return transcript.trajectory(None, group)
            output = generation.outputs[0]
            transcript.sampled(output)
            guesses += 1
            answer = answer_to(output.text, hidden)
            transcript.foreign(sampler.encode(answer))
        reward = 1 - guesses / self.options.guesses if answer == "=" else -1.0
        return transcript.trajectory(reward, group, completion=sampler.decode(transcript.ids))

    def evaluate(self, sampler: Sampler, step: int) -> dict[str, float]:
        """Play four games for each number."""
        games = sampler.roll_out(
            [self.play(sampler, number, number, game) for number in range(NUMBERS) for game in range(4)]
        )
        return {"reward": fmean(game.reward or 0.0 for game in games)}

    def demonstrations(self, step: int) -> list[Trajectory]:
        """Return games of a poor player for the warm-up: it draws among the numbers that are still possible."""
        draw = random.Random(f"{self.setting.seed} demonstration {step}")
        return [self.poor_game(draw, game) for game in range(64)]

    def poor_game(self, draw: random.Random, game: int) -> Trajectory:
        """Play one game at random. The player learns its guesses, not the answers."""
        encode = self.setting.tokenizer.encode
        hidden, low, high, answer = draw.randrange(NUMBERS), 0, NUMBERS - 1, "?"
        ids, mask = encode("?"), [False]
        while answer != "=":
            guess = draw.randint(low, high)
            answer = answer_to(f"{guess:02}", hidden)
            low, high = (guess + 1, high) if answer == ">" else (low, guess - 1)
            ids, mask = ids + encode(f"{guess:02}{answer}"), [*mask, True, False]
        return Trajectory(ids, mask, [0.0] * len(ids), None, game)


def answer_to(guess: str, hidden: int) -> str:
    """Return `=`, or whether the hidden number is greater (`>`) or less (`<`) than the guess."""
    if not guess.isdigit():
        return "<"
    if int(guess) == hidden:
        return "="
    return ">" if hidden > int(guess) else "<"
