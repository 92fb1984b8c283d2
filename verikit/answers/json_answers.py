"""Replies that are a JSON object with the answer in one of its fields."""

from __future__ import annotations

import json
import re
from typing import Any

MAX_CHARS = 20_000
_KEYS = ("answer", "final_answer", "final answer", "finalanswer")
_OBJECT = re.compile(r"^[ \t]*(?=\{\s*[\"}])", re.MULTILINE)


def json_answer(text: str) -> str:
    """The answer in the last JSON object of a reply, the text before one that is cut off, else the text itself."""
    places = list(_OBJECT.finditer(text)) if len(text) <= MAX_CHARS else []
    if not places:
        return text
    try:
        value, _ = _DECODER.raw_decode(text, places[-1].end())
    except (ValueError, RecursionError):
        return text[: places[-1].start()]
    found = [value[key] for key in value if key.lower() in _KEYS]
    if len(found) != 1:
        return text
    return found[0] if isinstance(found[0], str) else json.dumps(found[0], ensure_ascii=False).replace('"', "")


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object whose keys are all different."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key stands twice")
    return found


_DECODER = json.JSONDecoder(object_pairs_hook=_once, parse_int=str, parse_float=str)
