"""The `task.toml` of a Harbor task, which may be hostile."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from typing import Any

MAX_CONFIG = 2**16
"""Bytes."""
MAX_NESTED = 50
"""Tables within tables."""
_LONG_KEY = re.compile(rb"""(?:[\w"'-]{1,80}\s?\.\s?){64}""")
"""Dotted keys take the standard library's parser more than quadratic time."""


def parse_config(data: bytes) -> Mapping[str, Any]:
    """The content of a `task.toml`.

    Raises:
        ValueError: It is not TOML, or exceeds the size limit.
    """
    if len(data) > MAX_CONFIG:
        raise ValueError(f"it has more than {MAX_CONFIG >> 10} KiB")
    if _LONG_KEY.search(data):
        raise ValueError("it has a key of 64 names or more")
    try:
        found = tomllib.loads(data.decode())
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    if _depth(found) > MAX_NESTED:
        raise ValueError(f"it has tables nested deeper than {MAX_NESTED}")
    return found


def _depth(value: object) -> int:
    """The nesting depth of lists and tables, at most `MAX_NESTED + 1`."""
    level, depth = [value], 0
    while level and depth <= MAX_NESTED:
        held = [one.values() if isinstance(one, dict) else one for one in level if isinstance(one, dict | list)]
        level = [below for one in held for below in one]
        depth += bool(held)
    return depth
