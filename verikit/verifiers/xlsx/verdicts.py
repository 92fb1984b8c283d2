"""Scores of single checks, and the comparison of values."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, TypeGuard

from verikit.types import Score
from verikit.verifiers.xlsx.engines import Found

YES = Score(1.0)
_ROUNDING = 1e-8
"""A tolerance up to this only covers rounding errors. They do not make one integer another."""
_SECOND = 1 / 86_400
"""In days, the unit of dates and times in workbooks."""
_DIGITS = 1e15
"""Workbooks keep 15 digits, so integers below this are exact."""


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
        return _near(value, expected, tolerance, decimals)
    return bool(value == expected or (expected is None and value == ""))


def _near(value: float, expected: float, tolerance: float, decimals: int | None) -> bool:
    """Whether a number is equal to another after rounding, or nearly equal."""
    if not (math.isfinite(value) and math.isfinite(expected)):
        return value == expected
    slack = tolerance * max(abs(value), abs(expected), 1.0)
    if decimals is not None:
        if round(value, decimals) == round(expected, decimals):
            return True
        if tolerance <= _ROUNDING:  # 1,000,000.10 is not 1,000,000.12
            slack = min(slack, max(0.5 * 10.0**-decimals, 4 * math.ulp(value)))
    if tolerance <= _ROUNDING and all(abs(one) < _DIGITS and one == int(one) for one in (value, expected)):
        slack = 0.0
    return abs(value - expected) <= slack


def at_moment(found: Found, expected: Any) -> bool:
    """Whether a value is an expected date or time, to the nearest second. Other values must be equal."""
    value = found.value
    if _is_number(value) and _is_number(expected) and not (found.error or found.unknown):
        return abs(value - expected) <= _SECOND / 2
    return matches(found, expected, 0.0)


def _is_number(value: Any) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


def alike(tolerance: float, a: Found, b: Found) -> bool:
    """Whether two values are the same."""
    return a.error == b.error if a.error or b.error else matches(a, b.value, tolerance)


def together(scores: Sequence[Score]) -> Score:
    """One score of all: the first that fails, or else the first that is undecided."""
    failed = next((score for score in scores if score.value == 0.0), None)
    open_ones = next((score for score in scores if score.value is None), None)
    return failed or open_ones or YES
