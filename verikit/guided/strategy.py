"""The interface of all strategies: a generator that yields growths and is sent the grown and judged drafts."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Generator, Sequence
from dataclasses import KW_ONLY, dataclass

from verikit.base import Verifier
from verikit.errors import UsageError
from verikit.guided.draft import Draft, Growth

Walk = Generator[Sequence[Growth], list[list[Draft]], list[Draft]]
"""Yields growths, which are sampled in parallel. It is sent the drafts of each, in order, and returns solutions."""


@dataclass(slots=True)
class TokenBudget:
    """The tokens of one prompt: those written by the policy, and those spent on judging."""

    limit: int | None = None
    """Maximum number of tokens, or None for no limit."""
    generated: int = 0
    """Tokens written by the policy."""
    judged: int = 0
    """Tokens written by the reward model, or read by it if it writes none."""

    @property
    def spent(self) -> int:
        """The sum of both, to which the limit applies."""
        return self.generated + self.judged

    @property
    def left(self) -> float:
        """Number of tokens that may still be spent. 0 if the limit is exceeded."""
        return float("inf") if self.limit is None else max(0, self.limit - self.spent)


@dataclass(frozen=True)
class SearchStrategy(ABC):
    """A way to search for a solution, guided by a verifier's scores of the text so far.

    Raises:
        UsageError: An option is out of range.
    """

    _: KW_ONLY
    prm: Verifier
    """Scores partial and finished solutions. A process reward model, or any verifier that needs no gold answer."""
    step: str = "\n\n"
    """The string that ends a step."""
    step_tokens: int = 256
    """Maximum tokens of a step. A longer step is judged as far as it is written, and then continues."""
    max_steps: int = 64
    """Maximum steps of a solution, which ends at this number."""

    def __post_init__(self) -> None:
        if not self.step:
            raise UsageError("step is the text that ends a step, and not empty")
        self.check(step_tokens=self.step_tokens, max_steps=self.max_steps)

    def check(self, **counts: int) -> None:
        """Reject counts below 1.

        Raises:
            UsageError: A count is below 1.
        """
        for name, count in counts.items():
            if not isinstance(count, int) or count < 1:
                raise UsageError(f"{name} must be a number >= 1, got {count!r}")

    @abstractmethod
    def search(self, budget: TokenBudget) -> Walk:
        """Search for one prompt's solutions.

        If the budget cuts a growth short, fewer drafts than requested are returned, but at least one per yield. A draft
        that was not grown is returned unchanged. Drafts without a value are unscored, which is not the same as zero.

        Args:
            budget: The tokens spent so far. Check it before each yield.
        """


def sampled(count: int, budget: TokenBudget) -> Generator[Sequence[Growth], list[list[Draft]], list[Draft]]:
    """Request whole solutions, the first `count` of the prompt's samples, as far as the budget allows."""
    found: list[Draft] = []
    while len(found) < count and budget.left:
        (grown,) = yield [Growth(Draft(), count - len(found), len(found), whole=True)]
        found += grown
    return found
