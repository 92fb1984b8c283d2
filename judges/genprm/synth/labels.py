"""Step labels from Monte Carlo estimates: relative progress and its variants.

MC(s_t, a_t), the value after step t, is the fraction of completions from there that reach the gold answer. MC(s_1),
before the first step, is pass@1. Everything is computed in integers and exact fractions: as floats, (3/5)/(3/4) is
below 0.8, and the boundary decides labels. (GenPRM, arXiv 2504.00891, sections 3.1 and A.)
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Literal

Variant = Literal["ratio", "difference", "hard"]


PAPERS = (128, 64, 32)


def completions_for(pass_at_1: Fraction, counts: tuple[int, int, int] | None = None) -> int:
    """Return K, the number of completions that estimate a step's value. It is larger for rarely solved problems.

    pass@1 in [0, .1) uses 128, in [.1, .9) 64, in [.9, 1] 32, or other `counts`.
    """
    seldom, sometimes, mostly = counts or PAPERS
    if pass_at_1 < Fraction(1, 10):
        return seldom
    return sometimes if pass_at_1 < Fraction(9, 10) else mostly


def with_zeros(values: Sequence[Fraction]) -> list[Fraction]:
    """Return the values with everything after the first zero set to zero: a failed path can't recover."""
    found: list[Fraction] = []
    for value in values:
        found.append(Fraction(0) if found and found[-1] == 0 else Fraction(value))
    return found


def step_labels(
    pass_at_1: Fraction, values: Sequence[Fraction], variant: Variant = "ratio", threshold: Fraction = Fraction(4, 5)
) -> list[bool]:
    """Label each step: whether it makes progress.

    Args:
        pass_at_1: MC(s_1), the value before the first step.
        values: MC(s_t, a_t), the value after each step.
        variant: `ratio`: value after / value before >= threshold, and 0/0 is no progress. `difference`: value after -
            value before >= threshold (a negative one). `hard`: value after > 0.
        threshold: The paper uses 4/5 for `ratio`, and -1/10, -3/10, -1/2 for `difference`.
    """
    after = with_zeros(values)
    before = [Fraction(pass_at_1), *after[:-1]]
    if variant == "hard":
        return [value > 0 for value in after]
    if variant == "difference":
        return [new - old >= threshold for old, new in zip(before, after, strict=True)]
    return [old > 0 and new >= threshold * old for old, new in zip(before, after, strict=True)]


def agrees(labels: Sequence[bool], judged: Sequence[bool | None]) -> bool:
    """Whether a reviewer's verdict on each step equals the label (the consensus filter). A missing one never agrees."""
    return len(labels) == len(judged) and all(label is verdict for label, verdict in zip(labels, judged, strict=True))
