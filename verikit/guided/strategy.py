"""What every strategy is: a generator that asks for growths and is sent the grown drafts, which are judged by then."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Generator, Sequence
from dataclasses import KW_ONLY, dataclass

from verikit.base import Verifier
from verikit.errors import UsageError
from verikit.guided.draft import Draft, Growth

Walk = Generator[Sequence[Growth], list[list[Draft]], list[Draft]]
"""Yields growths, all of which are made at once; is sent the drafts of each, in order; returns the solutions."""


@dataclass(slots=True)
class TokenBudget:
    """One prompt's tokens: those the policy wrote, and those that were spent on judging."""

    limit: int | None = None
    """None: no limit."""
    generated: int = 0
    """Written by the policy."""
    judged: int = 0
    """Written by the reward model, or read by it where it writes none."""

    @property
    def spent(self) -> int:
        """Both together, which is what the limit is for."""
        return self.generated + self.judged

    @property
    def left(self) -> float:
        """How many may still be spent; 0 where more were."""
        return float("inf") if self.limit is None else max(0, self.limit - self.spent)


@dataclass(frozen=True)
class SearchStrategy(ABC):
    """A way to search for a solution, by any verifier's scores of what is written so far.

    Raises:
        UsageError: an option is out of range.
    """

    _: KW_ONLY
    prm: Verifier
    """Scores begun and ended solutions: a process reward model, or any verifier that needs no gold answer."""
    step: str = "\n\n"
    """The text that ends a step."""
    step_tokens: int = 256
    """A longer step is judged, and goes on, as far as it is written."""
    max_steps: int = 64
    """A solution with so many ends there."""

    def __post_init__(self) -> None:
        if not self.step:
            raise UsageError("step is the text that ends a step, and not empty")
        self.check(step_tokens=self.step_tokens, max_steps=self.max_steps)

    def check(self, **counts: int) -> None:
        """Refuse counts below 1.

        Raises:
            UsageError: one is.
        """
        for name, count in counts.items():
            if not isinstance(count, int) or count < 1:
                raise UsageError(f"{name} must be a number >= 1, got {count!r}")

    @abstractmethod
    def search(self, budget: TokenBudget) -> Walk:
        """Search for one prompt's solutions.

        A growth that the budget cuts short comes back with fewer drafts than were asked for, at least one a yield; a
        draft that was not grown at all comes back as it was. Drafts without a value have no score and are no zeros.

        Args:
            budget: What is spent; to be looked at before each yield.
        """


def sampled(count: int, budget: TokenBudget) -> Generator[Sequence[Growth], list[list[Draft]], list[Draft]]:
    """Ask for whole solutions, the first so many of the prompt's samples, as far as the budget goes."""
    found: list[Draft] = []
    while len(found) < count and budget.left:
        (grown,) = yield [Growth(Draft(), count - len(found), len(found), whole=True)]
        found += grown
    return found
