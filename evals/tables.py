"""What tables of text hold as text, though it is none: lists."""

from __future__ import annotations

import ast
from typing import Any

from verikit.errors import SchemaError

MAX_LIST = 100_000
"""Characters of a list in a table of text."""


def text_list(text: str) -> list[Any]:
    """A list as it is written in a table of text, by Python or as JSON; numpy writes no commas.

    Raises:
        SchemaError: it is none.
    """
    try:
        found = ast.literal_eval(text[:MAX_LIST])
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        found = None
    if not isinstance(found, list):
        raise SchemaError(f"expected a list of options, got {text[:60]!r}", field="choices")
    return found
