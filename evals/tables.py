"""Parses values that text tables store as strings: lists."""

from __future__ import annotations

import ast
from typing import Any

from verikit.errors import SchemaError

MAX_LIST = 100_000
"""Maximum characters of a list in a text table."""


def text_list(text: str) -> list[Any]:
    """Parse a list as written in a text table by Python, as JSON or by numpy, which writes no commas.

    Raises:
        SchemaError: The string is not a list.
    """
    try:
        found = ast.literal_eval(text[:MAX_LIST])
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        found = None
    if not isinstance(found, list):
        raise SchemaError(f"expected a list of options, got {text[:60]!r}", field="choices")
    return found
