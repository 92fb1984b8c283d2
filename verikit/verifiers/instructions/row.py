"""The instructions of a row, in the formats of published datasets.

IFEval and IFBench have `instruction_id_list` and `kwargs`; IF-RLVR has both, as `instruction_id` and `kwargs`, in the
string `ground_truth`, written as JSON or as a Python literal.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Mapping, Sequence
from typing import Any

from verikit.replies.text import accepted
from verikit.types import Sample
from verikit.verifiers.instructions.arguments import Arguments, BadArgument

IDS = ("instruction_id_list", "instruction_id", "instruction_ids")
GIVEN = ("ground_truth", "reward_model.ground_truth", "label")
MAX_CHARS = 200_000
"""Maximum characters of an instruction string; a longer one is not read."""
Given = list[tuple[str, Arguments]]


def instructions(sample: Sample) -> Given:
    """The ids with their arguments, in order.

    Raises:
        BadArgument: The row doesn't have any, or they can't be read.
    """
    doc = sample.meta.get("doc")
    for source in (sample.meta, doc if isinstance(doc, Mapping) else {}):
        if any(key in source for key in IDS):
            return _pairs(source)
    for value in (*(sample.meta[key] for key in GIVEN if key in sample.meta), *accepted(sample.answer)):
        if (found := _object(value)) is not None:
            return _pairs(found)
    raise BadArgument("the row has no instructions: neither 'instruction_id_list' nor a 'ground_truth' that holds them")


def _pairs(source: Mapping[str, Any]) -> Given:
    ids = _parsed(next(source[key] for key in IDS if key in source))
    given = _parsed(source.get("kwargs"))
    ids = [ids] if isinstance(ids, str) else ids
    if not isinstance(ids, (list, tuple)) or not ids or not all(isinstance(id, str) for id in ids):
        raise BadArgument(f"the instruction ids are {str(ids)[:80]!r}, not a list of strings")
    return [(id, _without_nulls(argument)) for id, argument in zip(ids, _arguments(given, len(ids)), strict=True)]


def _without_nulls(argument: Mapping[str, Any]) -> Arguments:
    return {key: value for key, value in argument.items() if value is not None}


def _arguments(given: Any, count: int) -> Sequence[Mapping[str, Any]]:
    """The arguments of each instruction. One object is those of a single instruction."""
    if given is None:
        return [{}] * count
    given = [given] if isinstance(given, Mapping) else given
    arguments = [_parsed(argument) or {} for argument in given] if isinstance(given, (list, tuple)) else []
    if len(arguments) != count or not all(isinstance(argument, Mapping) for argument in arguments):
        raise BadArgument(f"'kwargs' are not {count} objects, one for each instruction")
    return arguments


def _object(value: Any) -> Mapping[str, Any] | None:
    """The object with instruction ids: the value itself, its parsed string, or its first list item."""
    value = _parsed(value)
    if isinstance(value, (list, tuple)) and value:
        value = _parsed(value[0])
    return value if isinstance(value, Mapping) and any(key in value for key in IDS) else None


def _parsed(value: Any) -> Any:
    """The value of a string in JSON or as a Python literal; other values and strings unchanged."""
    if not isinstance(value, str) or value.lstrip()[:1] not in ("[", "{") or len(value) > MAX_CHARS:
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        pass
    try:
        return ast.literal_eval(value)
    except (ValueError, SyntaxError, RecursionError, MemoryError, TypeError):
        return value
