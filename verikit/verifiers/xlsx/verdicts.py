"""Scores of single checks, and the comparison of values."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

from verikit.types import Score
from verikit.verifiers.xlsx.engines import Found

YES = Score(1.0)


def no(reason: str) -> Score:
    """A check that fails."""
    return Score(0.0, reason=reason)


def undecided(reason: str) -> Score:
    """A check that can't be decided, for a reason other than the agent."""
    return Score.error(reason)


def best(scores: Iterable[Score], missing: str) -> Score:
    """The best of several scores: the first that passes, or else one that is undecided. `missing`: there are none."""
    failed = unclear = None
    for score in scores:
        if score.value == 1.0:
            return score
        failed = failed or score
        unclear = unclear or (score if score.value is None else None)
    return unclear or failed or no(missing)


def matches(found: Found, expected: Any, tolerance: float, decimals: int | None = None) -> bool:
    """Whether a value is the expected one: of its type, numbers within the tolerance or equal after rounding."""
    if found.unknown:
        return False
    if found.error:
        return bool(expected == found.error)
    value = found.value
    if isinstance(expected, bool) or isinstance(value, bool):
        return value is expected
    if isinstance(expected, int | float) and isinstance(value, float):
        rounded = decimals is not None and math.isfinite(value) and round(value, decimals) == round(expected, decimals)
        return rounded or math.isclose(value, expected, rel_tol=tolerance, abs_tol=tolerance)
    return bool(value == expected or (expected is None and value == ""))


def alike(tolerance: float, a: Found, b: Found) -> bool:
    """Whether two values are the same."""
    return a.error == b.error if a.error or b.error else matches(a, b.value, tolerance)


def together(scores: Sequence[Score]) -> Score:
    """One score of all: the first that fails, or else the first that is undecided."""
    failed = next((score for score in scores if score.value == 0.0), None)
    open_ones = next((score for score in scores if score.value is None), None)
    return failed or open_ones or YES
