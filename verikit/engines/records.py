"""Requests and generations as JSON, for recordings and the cache.

Fields with their default value are omitted, so a hand-written record is short and a field added later leaves old keys
valid. A request's `meta` belongs to the caller and is never written. Reading validates its input: an invalid record is
a `ValueError`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import MISSING, fields
from typing import Any

from verikit import errors as core_errors
from verikit.engines import errors as engine_errors
from verikit.engines.types import Generation, Output, Request, Structured, TopLogprob, TopLogprobs
from verikit.errors import EngineError


def request_key(request: Request, *salt: str) -> str:
    """Return 64 hex digits for the request's content (and `salt`). Equal requests have equal keys."""
    content = [*salt, request_to_json(request)]
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def request_to_json(request: Request) -> dict[str, Any]:
    """Return the fields that determine the result and differ from their defaults."""
    record = _changed(request)
    record.pop("meta", None)
    if request.structured is not None:
        record["structured"] = _changed(request.structured)
    return record


def request_from_json(record: Mapping[str, Any]) -> Request:
    """Read a request.

    Raises:
        ValueError: An unknown field, or one that no request can have.
    """
    values = _known(Request, record)
    if values.get("structured") is not None:
        values["structured"] = Structured(**_known(Structured, values["structured"]))
    try:
        return Request(**values)
    except TypeError as error:
        raise ValueError(f"invalid request: {error}") from None


def generation_to_json(generation: Generation) -> dict[str, Any]:
    """Return a generation's fields. An error is represented by its type, message and hint."""
    record = _changed(generation)
    record["outputs"] = [_output_to_json(output) for output in generation.outputs]
    if generation.prompt_top_logprobs:
        record["prompt_top_logprobs"] = [_top_to_json(top) for top in generation.prompt_top_logprobs]
    if (error := generation.error) is not None:
        del record["outputs"]
        record["error"] = {"type": type(error).__name__, "message": str(error), "hint": error.hint}
    return record


def generation_from_json(record: Mapping[str, Any]) -> Generation:
    """Read a generation. An error is restored with its original type.

    Raises:
        ValueError: An unknown field, or a value of the wrong shape.
    """
    values = _known(Generation, record)
    try:
        values["outputs"] = tuple(_output_from_json(output) for output in values.get("outputs", ()))
        for name in ("prompt_ids", "prompt_logprobs"):
            values[name] = tuple(values.get(name, ()))
        values["prompt_top_logprobs"] = tuple(map(_top_from_json, values.get("prompt_top_logprobs", ())))
        if (error := values.get("error")) is not None:
            values["error"] = error_from_json(error)
        return Generation(**values)
    except (TypeError, KeyError, AttributeError) as problem:
        raise ValueError(f"invalid generation: {type(problem).__name__}: {problem}") from None


def error_from_json(record: Mapping[str, Any]) -> EngineError:
    """Create the engine error that a record describes. An unknown type becomes a plain `EngineError`."""
    name = str(record["type"])
    kind = getattr(engine_errors, name, None) or getattr(core_errors, name, None)
    if not (isinstance(kind, type) and issubclass(kind, EngineError)):
        kind = EngineError
    return kind(str(record["message"]), hint=str(record.get("hint", "")))


def _output_to_json(output: Output) -> dict[str, Any]:
    record = _changed(output)
    if output.top_logprobs:
        record["top_logprobs"] = [_top_to_json(top) for top in output.top_logprobs]
    return record


def _output_from_json(record: Mapping[str, Any]) -> Output:
    values = _known(Output, record)
    for name in ("ids", "tokens", "logprobs"):
        values[name] = tuple(values.get(name, ()))
    values["top_logprobs"] = tuple(map(_top_from_json, values.get("top_logprobs", ())))
    return Output(**values)


def _top_to_json(top: TopLogprobs) -> list[list[Any]]:
    return [[entry.token, entry.logprob, entry.id] for entry in top]


def _top_from_json(record: list[list[Any]]) -> TopLogprobs:
    return tuple(TopLogprob(*entry) for entry in record)


def _changed(value: Any) -> dict[str, Any]:
    """Return the fields that differ from their defaults, and all fields without a default."""
    found = {}
    for field in fields(value):
        default = field.default_factory() if field.default_factory is not MISSING else field.default
        current = getattr(value, field.name)
        if current != default:
            found[field.name] = dict(current) if isinstance(current, Mapping) else current
    return found


def _known(kind: type[Any], record: Any) -> dict[str, Any]:
    if not isinstance(record, Mapping):
        raise ValueError(f"{kind.__name__} must be an object, got {type(record).__name__}")
    names = [field.name for field in fields(kind)]
    if unknown := set(record) - set(names):
        raise ValueError(f"{kind.__name__} has no field {', '.join(sorted(map(repr, unknown)))}")
    return dict(record)
