"""Estimates at all n requested samples for prompts whose sampling was stopped early.

A rule that looks at the samples before it stops leaves a biased sample. Easy prompts stop first, and right after the
sample that settles them. Two kinds of estimates stay valid.

The first `least` samples of a prompt are always taken, since no rule stops before. They are an unbiased sample, so
every estimate at k <= `least` uses only these, for every prompt, and is unbiased.

At a larger k the samples can determine a value, if it is the same for every possible outcome of the missing samples.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from verikit.stats.subsets import all_at_k, pass_at_k
from verikit.types import PASS_MARK

EARLY_STOP = "early_stop"
"""The key of a row with the way its samples were taken."""
WHOLE = "without --until"
"""The value for samples that no rule could stop early."""


@dataclass(frozen=True, slots=True)
class EarlyStop:
    """The sampling of one prompt that a rule could stop early."""

    rule: str
    """The rule, in the format of `--until`."""
    n: int
    """Number of samples requested."""
    least: int
    """Minimum number of samples before the rule can stop."""
    first: int
    """Number of the row's completions among these first samples. Lower if requests failed."""
    why: str | None
    """The reason why the rule stopped, or None if all n samples were requested."""

    @classmethod
    def of(cls, meta: Mapping[str, Any]) -> EarlyStop | None:
        """Read it from a row's keys. None if the row does not have it."""
        found = meta.get(EARLY_STOP)
        if not isinstance(found, Mapping) or any(type(found.get(key)) is not int for key in ("n", "least", "first")):
            return None
        why = found.get("why")
        return cls(
            str(found.get("rule", "")),
            found["n"],
            found["least"],
            found["first"],
            why if isinstance(why, str) else None,
        )

    def as_row(self) -> dict[str, Any]:
        """Return it in the format of a file."""
        return asdict(self)

    def told(self) -> str:
        """Return the rule and n. Two runs can be compared only if these are equal."""
        return f"--until {self.rule}, n = {self.n}"


def proven_pass(values: Sequence[float], n: int, k: int) -> float | None:
    """Return pass@k of all n, or None if the missing samples could change it."""
    return _bounded(pass_at_k, values, n, k)


def proven_all(values: Sequence[float], n: int, k: int) -> float | None:
    """Return pass^k of all n, or None if the missing samples could change it."""
    return _bounded(all_at_k, values, n, k)


def proven_majority(values: Sequence[float], votes: Sequence[int | None], n: int) -> float | None:
    """Return the truth of the majority answer of all n, or None if the missing samples could change the answer.

    A tie goes to the answer that came first. All votes for one answer must have the same truth. Otherwise the truth of
    the missing votes is unknown.
    """
    counts = Counter(vote for vote in votes if vote is not None)
    if not counts or not is_settled(counts, n - len(values)):
        return None
    leader = min(counts, key=lambda number: (-counts[number], number))
    truths = {value for value, vote in zip(values, votes, strict=True) if vote == leader}
    return truths.pop() if len(truths) == 1 else None


def is_settled(votes: Mapping[int, int], remaining: int) -> bool:
    """Whether the leading answer stays in the lead regardless of the remaining votes.

    Args:
        votes: Votes per answer, numbered in order of first appearance. A tie goes to the lower number.
        remaining: Number of samples still to come.
    """
    leader = min(votes, key=lambda number: (-votes[number], number))
    most = votes[leader]
    rivals = (count + remaining - (number > leader) for number, count in votes.items() if number != leader)
    return max(remaining - 1, *rivals, -1) < most


def _bounded(of: Callable[[int, int, int], float], values: Sequence[float], n: int, k: int) -> float | None:
    """The value at k of all n if it is the same whether all missing samples are wrong or all are right."""
    right, missing = sum(value >= PASS_MARK for value in values), n - len(values)
    low, high = of(n, right, k), of(n, right + missing, k)
    return low if math.isclose(low, high, rel_tol=0.0, abs_tol=1e-12) else None
