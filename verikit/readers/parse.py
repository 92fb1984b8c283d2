"""Parses one row's bytes to a dict: JSON, hardened against rows that would crash code that handles them later.

NaN and Infinity are kept as floats (Python's JSON accepts them). A lone surrogate, which no UTF-8 file can contain, is
replaced by U+FFFD. Everything else that is not one JSON object raises a `SchemaError` without file and line.
"""

from __future__ import annotations

import json
import re
from typing import Any

from verikit.errors import SchemaError

MAX_DEPTH = 100
"""Maximum nesting. Deeper rows are rejected: they parse, but exhaust the stack of code that writes them again."""

JsonRow = dict[str, Any]

_decode = json.JSONDecoder().raw_decode
_ESCAPE = re.compile(
    r"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(u[dD][89a-fA-F][0-9a-fA-F]{2})|.)", re.DOTALL
)
_KINDS = {dict: "an object", list: "a list", str: "a string", bool: "a boolean", int: "a number", float: "a number"}


def kind(value: object) -> str:
    """Return the type of a JSON value, in words."""
    return "null" if value is None else _KINDS.get(type(value), type(value).__name__)


def parse(data: bytes) -> JsonRow:
    """Parse one row. `data` has no whitespace at its ends."""
    text = _text(data)
    try:
        value, end = _decode(text)
    except json.JSONDecodeError as error:
        raise SchemaError(f"invalid JSON: {error.msg} at character {error.pos + 1}", hint=_json_hint(text)) from None
    except RecursionError:
        raise _too_deep() from None
    except ValueError:
        raise SchemaError("invalid JSON: a number with too many digits", hint="write it as a string") from None
    if end != len(text):
        raise SchemaError(f"invalid JSON: the row has more text at character {end + 1}", hint="one JSON object a line")
    if type(value) is not dict:
        raise SchemaError(
            f"a row is a JSON object, this is {kind(value)}", hint='such as {"prompt": …, "completions": […]}'
        )
    if text.count("[") + text.count("{") > MAX_DEPTH and _deeper_than(MAX_DEPTH, value):
        raise _too_deep()
    return value


def _text(data: bytes) -> str:
    """The row as text. Escapes of lone surrogates become replacement characters."""
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        byte, column = data[error.start], error.start + 1
        raise SchemaError(
            f"invalid UTF-8: byte 0x{byte:02x} at byte {column} of the row", hint="write it as UTF-8"
        ) from None
    if "\\ud" in text or "\\uD" in text:
        text = _ESCAPE.sub(lambda match: r"\ufffd" if match[1] else match[0], text)
    return text


def _json_hint(text: str) -> str:
    if text in ("{", "["):
        return (
            "one JSON object a line: `jq -c . FILE` rewrites an object spread over lines, `jq -c '.[]' FILE` an array"
        )
    return "mend or delete this line; one JSON object a line"


def _too_deep() -> SchemaError:
    return SchemaError(f"nested deeper than {MAX_DEPTH} levels", hint="flatten it, or leave that key out")


def _deeper_than(limit: int, value: Any) -> bool:
    level = [value]
    for _ in range(limit):
        level = [
            child
            for node in level
            for child in (node.values() if type(node) is dict else node)
            if type(child) is dict or type(child) is list
        ]
        if not level:
            return False
    return True
