"""Numbers and keys of untrusted JSON."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any


def number(value: Any) -> float | None:
    """Return a finite number as a float, anything else as None."""
    try:
        found = float(value) if isinstance(value, (int, float)) else math.nan
    except OverflowError:
        return None
    return found if math.isfinite(found) else None


def distinct(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object's keys and values. For `object_pairs_hook` of a JSON reader.

    Raises:
        ValueError: A key is repeated. Readers disagree on which value to use, so neither is used.
    """
    found = dict(pairs)
    if len(found) < len(pairs):
        twice = Counter(key for key, _ in pairs).most_common(1)[0][0]
        raise ValueError(f"a duplicate key: {twice[:80]!r}")
    return found


def refuse_constant(name: str) -> Any:
    """Reject NaN and the infinities. For `parse_constant` of a JSON reader.

    Raises:
        ValueError: Always.
    """
    raise ValueError(f"{name} is not JSON")


def span(*values: float) -> tuple[float, float]:
    """Return the smallest and the largest of some numbers."""
    return min(values), max(values)
