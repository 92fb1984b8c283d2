"""JSON as an answer: replies with the answer in one field of an object, and golds that are objects or lists."""

from __future__ import annotations

import json
import re
from functools import lru_cache
from typing import Any, Literal, NamedTuple

from verikit.answers.claims.json_fields import unfit
from verikit.platform.numbers import distinct, refuse_constant

MAX_CHARS = 20_000
_KEYS = ("answer", "final_answer", "final answer", "finalanswer")
_OBJECT = re.compile(r"^[ \t]*(?=\{\s*[\"}])", re.MULTILINE)


def json_answer(text: str) -> str:
    """The answer in the last JSON object of a reply, the text before a truncated one, or the text itself."""
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


class JsonGold(NamedTuple):
    """A gold answer that is a JSON object or list."""

    value: Any
    kind: Literal["objects", "words", "numbers"]
    """`words` is a list with strings, booleans or nulls and no object. `numbers` may also be an interval or matrix."""


@lru_cache(maxsize=1024)
def gold_json(text: str) -> JsonGold | None:
    """The JSON object or list that a gold answer is, or None if it is anything else. Its value must not be changed."""
    text = text.strip()
    if text[:1] + text[-1:] not in ("{}", "[]"):
        return None
    try:
        value = _STRICT.decode(text)
    except (ValueError, RecursionError):
        return None
    if not value or unfit(value):
        return None
    return JsonGold(value, _kind(value))


def _kind(value: Any) -> Literal["objects", "words", "numbers"]:
    waiting, words = [value], False
    while waiting:
        part = waiting.pop()
        if isinstance(part, dict):
            return "objects"
        if isinstance(part, list):
            waiting += part
        words = words or isinstance(part, str | bool) or part is None
    return "words" if words else "numbers"


def unwrapped(value: Any, gold: Any) -> Any:
    """The value of an object's only field `answer`, unless the gold answer is such an object. Otherwise the value."""
    if not isinstance(value, dict) or (isinstance(gold, dict) and not gold.keys().isdisjoint(value)):
        return value
    found = [part for key, part in value.items() if key.lower() in _KEYS]
    return found[0] if len(found) == 1 else value


_DECODER = json.JSONDecoder(object_pairs_hook=distinct, parse_int=str, parse_float=str)
_STRICT = json.JSONDecoder(object_pairs_hook=distinct, parse_constant=refuse_constant)
