"""The policy's rating and its possible opponents (Elo-Evolve, section 3).

Only the policy's rating changes. An opponent keeps its initial rating. Snapshots of the policy join with the policy's
rating at that time. Their answers to the prompts sent to them are part of the state.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from verikit.judges.opponents import Opponents
from verikit.judges.rates.elo import Reduction, draw_opponent, updated
from verikit.types import Prompt


class OpponentPool:
    """The opponents, their ratings and their answers."""

    fixed: dict[str, float]
    answers: Opponents
    rating: float

    def __init__(self, ratings: Mapping[str, float], answers: Opponents, rating: float) -> None:
        self.fixed, self.answers, self.rating = dict(ratings), answers, rating
        self.joined: dict[str, float] = {}
        """Ratings of the snapshots."""
        self._snapshots: dict[str, Mapping[str, str]] = {}

    @property
    def ratings(self) -> dict[str, float]:
        """Every opponent's rating."""
        return self.fixed | self.joined

    def eligible(self, prompt: Prompt) -> dict[str, float]:
        """Return the possible opponents for a prompt: the fixed ones, and snapshots that answered it."""
        return self.fixed | {name: at for name, at in self.joined.items() if self.answers.has(name, prompt)}

    def draw(self, prompt: Prompt, temperature: float, key: str) -> str:
        """Sample an opponent near the policy's rating. The same key always gives the same opponent."""
        return draw_opponent(self.rating, self.eligible(prompt), temperature, key)

    def farthest(self, prompt: Prompt, name: str) -> str | None:
        """Return the opponent whose rating is farthest from `name`'s; None if there is no other."""
        ratings = self.eligible(prompt)
        others = [rating for rating in ratings if rating != name and self.answers.has(rating, prompt)]
        return max(others, key=lambda other: abs(ratings[other] - ratings[name])) if others else None

    def play(self, games: Sequence[tuple[str, float]], k: float, reduction: Reduction) -> None:
        """Update the policy's rating with a batch of (opponent, the policy's score in the game)."""
        ratings = self.ratings
        self.rating = updated(self.rating, [(ratings[name], score) for name, score in games], k=k, reduction=reduction)

    def join(self, name: str, answers: Mapping[str, str]) -> None:
        """Add a snapshot of the policy at the policy's rating, with its answers keyed by their prompts."""
        self.joined[name] = self.rating
        self._snapshots[name] = answers
        self.answers.add(name, answers)

    def state(self) -> dict[str, Any]:
        """Return the rating and the snapshots."""
        return {"rating": self.rating, "joined": self.joined, "snapshots": self._snapshots}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Restore the result of `state`."""
        self.rating, self.joined = state["rating"], dict(state["joined"])
        self._snapshots = dict(state["snapshots"])
        for name, answers in self._snapshots.items():
            self.answers.add(name, answers)
