"""The policy's rating and the opponents it may meet (Elo-Evolve, section 3).

Only the policy's rating moves; an opponent keeps the one it came with. Snapshots of the policy join with the rating the
policy had then, and with answers to the prompts they were asked, which are part of the state.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from verikit.judges.opponents import Opponents
from verikit.judges.rates.elo import Reduction, draw_opponent, updated
from verikit.types import Prompt


class OpponentPool:
    """Who can be drawn, how strong each is, and what each answered."""

    fixed: dict[str, float]
    answers: Opponents
    rating: float

    def __init__(self, ratings: Mapping[str, float], answers: Opponents, rating: float) -> None:
        self.fixed, self.answers, self.rating = dict(ratings), answers, rating
        self.joined: dict[str, float] = {}
        """Snapshots, by their ratings."""
        self._snapshots: dict[str, Mapping[str, str]] = {}

    @property
    def ratings(self) -> dict[str, float]:
        """Every opponent's rating."""
        return self.fixed | self.joined

    def eligible(self, prompt: Prompt) -> dict[str, float]:
        """Return who may be drawn for a prompt: the fixed ones, and snapshots that were asked it."""
        return self.fixed | {name: at for name, at in self.joined.items() if self.answers.has(name, prompt)}

    def draw(self, prompt: Prompt, temperature: float, key: str) -> str:
        """Draw an opponent near the policy's rating; the same key draws the same."""
        return draw_opponent(self.rating, self.eligible(prompt), temperature, key)

    def farthest(self, prompt: Prompt, name: str) -> str | None:
        """Return the opponent whose rating is farthest from that of `name`; None where there is no other."""
        ratings = self.eligible(prompt)
        others = [rating for rating in ratings if rating != name and self.answers.has(rating, prompt)]
        return max(others, key=lambda other: abs(ratings[other] - ratings[name])) if others else None

    def play(self, games: Sequence[tuple[str, float]], k: float, reduction: Reduction) -> None:
        """Move the policy's rating by (opponent, the policy's score in it) of a batch."""
        ratings = self.ratings
        self.rating = updated(self.rating, [(ratings[name], score) for name, score in games], k=k, reduction=reduction)

    def join(self, name: str, answers: Mapping[str, str]) -> None:
        """Let a snapshot of the policy in, with its answers by their prompts' keys, at the policy's rating."""
        self.joined[name] = self.rating
        self._snapshots[name] = answers
        self.answers.add(name, answers)

    def state(self) -> dict[str, Any]:
        """Return the rating and the snapshots."""
        return {"rating": self.rating, "joined": self.joined, "snapshots": self._snapshots}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Take what `state` returned."""
        self.rating, self.joined = state["rating"], dict(state["joined"])
        self._snapshots = dict(state["snapshots"])
        for name, answers in self._snapshots.items():
            self.answers.add(name, answers)
