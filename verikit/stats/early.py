"""What the samples of a prompt that was stopped early say about all n that were asked for.

A rule that looks at the samples before it stops makes what it leaves a biased draw: easy prompts stop first, and right
after the sample that settles them. Two things stay sound.

The first `least` samples of a prompt come whatever they hold, since no rule stops before. They are a plain draw, so
every estimate at k <= `least` uses them alone, of every prompt, and has no bias.

At a larger k the samples can prove a value: it is the same however the missing ones turn out.
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
"""The key of a row that tells how its samples came."""
WHOLE = "without --until"
"""How samples came that no rule could end."""


@dataclass(frozen=True, slots=True)
class EarlyStop:
    """How the samples of one prompt came, where a rule could end them early."""

    rule: str
    """The rule, as `--until` takes it."""
    n: int
    """Samples that were asked for."""
    least: int
    """Samples before which the rule cannot stop."""
    first: int
    """How many of the row's completions are among these: fewer where requests failed."""
    why: str | None
    """Why the rule stopped; None where all n samples were asked for."""

    @classmethod
    def of(cls, meta: Mapping[str, Any]) -> EarlyStop | None:
        """Read it from a row's keys; None where the row does not tell it."""
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
        """Return it for a file."""
        return asdict(self)

    def told(self) -> str:
        """Return the rule and n, which two runs must share to be compared."""
        return f"--until {self.rule}, n = {self.n}"


def proven_pass(values: Sequence[float], n: int, k: int) -> float | None:
    """Return pass@k of all n; None where the samples that are missing could change it."""
    return _bounded(pass_at_k, values, n, k)


def proven_all(values: Sequence[float], n: int, k: int) -> float | None:
    """Return pass^k of all n; None where the samples that are missing could change it."""
    return _bounded(all_at_k, values, n, k)


def proven_majority(values: Sequence[float], votes: Sequence[int | None], n: int) -> float | None:
    """Return the truth of the majority answer of all n; None where the missing samples could change the answer.

    A tie goes to the answer that came first. The votes for one answer must agree in their truth: else that of the
    missing ones is open.
    """
    counts = Counter(vote for vote in votes if vote is not None)
    if not counts or not is_settled(counts, n - len(values)):
        return None
    leader = min(counts, key=lambda number: (-counts[number], number))
    truths = {value for value, vote in zip(values, votes, strict=True) if vote == leader}
    return truths.pop() if len(truths) == 1 else None


def is_settled(votes: Mapping[int, int], remaining: int) -> bool:
    """Whether the leading answer stays so, however the remaining samples vote.

    Args:
        votes: By answer, numbered in order of first appearance: a tie goes to the lower number.
        remaining: Samples still to come.
    """
    leader = min(votes, key=lambda number: (-votes[number], number))
    most = votes[leader]
    rivals = (count + remaining - (number > leader) for number, count in votes.items() if number != leader)
    return max(remaining - 1, *rivals, -1) < most


def _bounded(of: Callable[[int, int, int], float], values: Sequence[float], n: int, k: int) -> float | None:
    """The value at k of all n where it is the same if every missing sample is wrong and if every one is right."""
    right, missing = sum(value >= PASS_MARK for value in values), n - len(values)
    low, high = of(n, right, k), of(n, right + missing, k)
    return low if math.isclose(low, high, rel_tol=0.0, abs_tol=1e-12) else None
