"""Numbers of other people's JSON."""

from __future__ import annotations

import math
from typing import Any


def number(value: Any) -> float | None:
    """A finite number as it is, anything else as None."""
    try:
        found = float(value) if isinstance(value, (int, float)) else math.nan
    except OverflowError:
        return None
    return found if math.isfinite(found) else None
