"""Bias metrics for every win rate: how much of it may be due to position, length or missing verdicts.

Each fraction is over the comparisons or replies that allow it. Otherwise it is None.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

from verikit.errors import JudgeError
from verikit.judges.asking.reply import JudgeVerdict
from verikit.judges.pairwise import TIE, Comparison


class Judged(NamedTuple):
    """A comparison with the lengths of its two answers (characters)."""

    comparison: Comparison
    first_length: int
    second_length: int


@dataclass(frozen=True, slots=True)
class Bias:
    """Bias metrics of one judge over a set of comparisons."""

    comparisons: int
    consistency: float | None
    """Fraction of comparisons in both orders where both verdicts prefer the same answer."""
    first_rate: float | None
    """Mean preference for the answer shown first. 0.5 is no position preference."""
    tie_rate: float | None
    """Fraction of comparisons that end in a tie."""
    length_win_rate: float | None
    """Fraction of decided comparisons won by the longer answer."""
    unparsed_rate: float | None
    """Fraction of replies without a verdict."""
    failed: int
    """Comparisons without a verdict because of the engine."""


def bias(judged: Iterable[Judged]) -> Bias:
    """Compute the bias metrics of a set of comparisons."""
    rows = list(judged)
    comparisons = [row.comparison for row in rows]
    replies = [order.verdict for comparison in comparisons for order in comparison.orders]
    known = [comparison.preference for comparison in comparisons if comparison.preference is not None]
    return Bias(
        len(rows),
        _mean(list(chain.from_iterable(map(_swaps, comparisons)))),
        _mean([verdict.value for verdict in replies if verdict.value is not None]),
        _mean([preference == TIE for preference in known]),
        _mean(_longer_preferred(rows)),
        _mean(_unread(replies)),
        sum(map(_failed, comparisons)),
    )


def _failed(comparison: Comparison) -> bool:
    return comparison.preference is None and not comparison.unread


def _longer_preferred(rows: Sequence[Judged]) -> list[bool]:
    """Whether the longer answer is preferred, of comparisons with a preference between answers of different lengths."""
    return [
        (row.comparison.preference > TIE) == (row.first_length > row.second_length)
        for row in rows
        if row.comparison.preference not in (None, TIE) and row.first_length != row.second_length
    ]


def _unread(replies: Sequence[JudgeVerdict]) -> list[bool]:
    """Whether a reply has no readable verdict. Failures of the engine show nothing about the judge."""
    errors = [verdict.error for verdict in replies if verdict.error is None or isinstance(verdict.error, JudgeError)]
    return [error is not None for error in errors]


def _swaps(comparison: Comparison) -> Iterator[bool]:
    """For each judge that answered in both orders, whether both verdicts prefer the same answer."""
    for order, swapped in zip(comparison.orders[::2], comparison.orders[1::2], strict=False):
        a, b = order.preference, swapped.preference
        if swapped.swapped and not order.swapped and a is not None and b is not None:
            yield (a > TIE) - (a < TIE) == (b > TIE) - (b < TIE)


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None
