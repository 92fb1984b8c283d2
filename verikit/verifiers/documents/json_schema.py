"""Is the text JSON of the right shape?

The library checks with `re` and compares items pair by pair. A hostile document can make both take forever. So this
module replaces the checks that a document can slow down (patterns, uniqueness). Every keyword checks the CPU time of
its thread, so a busy machine does not change verdicts.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

from verikit.base import TextVerifier
from verikit.errors import UsageError
from verikit.types import Sample, Score
from verikit.verifiers.reading.json_reply import document

_BOUNDS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")
_DATA = ("const", "enum", "default", "examples", "example")
"""Keywords that contain data. A `$ref` in them is not a reference."""
_SPARE_FRAMES = 200
"""Stack frames that a schema must leave for documents and callers."""
_DEADLINE: ContextVar[float] = ContextVar("deadline")


@dataclass(frozen=True)
class JsonSchema(TextVerifier):
    """1.0 if the JSON in the completion is valid under a JSON Schema.

    The JSON is the whole completion, its last JSON fence, or the last document in prose. Invalid JSON, such as a
    trailing comma, is 0.0 with the error as the reason.
    """

    schema: str | Mapping[str, Any] = field(default_factory=dict, hash=False)
    """The schema, or the path of its JSON file. `$ref` stays within the schema. With {}, a row's own schema counts."""
    bare: bool = False
    """Whether only a fence may surround the JSON."""
    max_chars: int = 1_000_000
    """A longer completion is 0.0 without being read."""
    timeout_s: float = 1.0
    """CPU seconds for checking one completion. One that needs more is 0.0, because the candidate wrote it."""
    key: str = "schema"
    """The row's key that contains its schema, an object or JSON text. A row without it accepts any JSON, as "" does."""
    name = "json_schema"
    local_files = ("schema",)

    def __post_init__(self) -> None:
        super().__post_init__()
        from jsonschema import SchemaError
        from referencing.exceptions import Unresolvable

        if not (self.max_chars >= 0 and self.timeout_s > 0):
            raise UsageError("json_schema needs max_chars >= 0 and timeout_s > 0")
        try:
            text = Path(self.schema).read_text("utf-8") if isinstance(self.schema, str) else json.dumps(self.schema)
            object.__setattr__(self, "schema", json.loads(text))
        except (OSError, TypeError, ValueError, RecursionError) as error:
            named = f" {self.schema[:80]!r}" if isinstance(self.schema, str) else ""
            raise UsageError(f"can't read the JSON schema{named}: {str(error)[:200]}") from None
        if not isinstance(self.schema, dict):
            raise UsageError(f"a JSON schema must be an object, got {text[:80]}")
        if '"patternProperties"' in text and '"unevaluatedProperties"' in text:
            raise UsageError("patternProperties with unevaluatedProperties can't be checked within a time limit")
        if not isinstance(self.schema.get("$schema", ""), str):
            raise UsageError(f"bad JSON schema: $schema must be a URI, got {str(self.schema['$schema'])[:80]}")
        try:
            for reference in _references(self.schema):
                _resolve(self.schema, reference)
            validator = _validator(json.dumps(self.schema))
            validator.check_schema(self.schema, format_checker=validator.FORMAT_CHECKER)
            _DEADLINE.set(time.thread_time() + self.timeout_s)
            for document in ("null", "[]", "{}"):
                _deeper(_SPARE_FRAMES, partial(validator.is_valid, json.loads(document)))
        except SchemaError as error:
            raise UsageError(f"bad JSON schema: {error.message[:200]} at {error.json_path}") from None
        except Unresolvable as error:
            raise UsageError(f"the JSON schema has an unresolvable $ref: {str(error)[:200]}") from None
        except RecursionError:
            raise UsageError("the JSON schema nests too deeply, or a $ref in it leads back to itself") from None
        except TimeoutError:
            raise UsageError(
                f"checking an empty document against the JSON schema takes more than {self.timeout_s:g} s",
                hint="avoid an anyOf within an anyOf: it multiplies the work. Or set a larger timeout_s",
            ) from None

    def score_batch(self, samples: Sequence[Sample]) -> list[Score]:
        """Score each sample by the schema of this verifier, or else of its row."""
        return [self._score_sample(sample) for sample in samples]

    def _score_sample(self, sample: Sample) -> Score:
        of_row = None if self.schema else sample.meta.get(self.key)
        if of_row is None:
            return self._score_text(sample.completion)
        try:
            text = of_row if isinstance(of_row, str) else json.dumps(of_row)
            verifier = _for_row(text, self.bare, self.max_chars, self.timeout_s)
        except (UsageError, TypeError, ValueError, RecursionError) as error:
            return Score.error(f"the row's {self.key!r} can't be used as a JSON schema: {str(error)[:300]}")
        return verifier._score_text(sample.completion)

    def _score_text(self, text: str) -> Score:
        if len(text) > self.max_chars:
            return Score(0.0, reason=f"{len(text)} characters, over the cap of {self.max_chars}")
        assert isinstance(self.schema, Mapping)
        body, value, problem = document(text, bare=self.bare, array=self.schema.get("type") == "array")
        return Score(0.0, reason=problem) if problem else self.check(value, body)

    def check(self, value: Any, body: str = "") -> Score:
        """The score of a value that has been read.

        Args:
            value: JSON's types only.
            body: The text it was read from, for the score.
        """
        from jsonschema.exceptions import best_match
        from referencing.exceptions import Unresolvable

        _DEADLINE.set(time.thread_time() + self.timeout_s)
        try:
            fault = best_match(_validator(json.dumps(self.schema)).iter_errors(value))
        except Unresolvable as error:
            return Score.error(f"the JSON schema has an unresolvable $ref: {str(error)[:200]}")
        except TimeoutError:
            return Score(0.0, answer=body, reason=f"the check ran out of {self.timeout_s} s on this text")
        except (RecursionError, ArithmeticError, ValueError) as error:  # ValueError: a number too long to write
            return Score(0.0, answer=body, reason=f"can't be checked (nesting, or a number): {str(error)[:80]}")
        if fault is not None:
            return Score(0.0, answer=body, reason=f"{fault.json_path[:80]}: {fault.message[:120]}")
        return Score(1.0, answer=body, reason="the schema accepts it")


def _references(schema: Any) -> Iterator[str]:
    """Each `$ref` of a schema; empty for a schema that changes the base of its references by an inner `$id`."""
    found, waiting = [], [schema]
    while waiting:
        value = waiting.pop()
        if isinstance(value, list):
            waiting += value
        elif isinstance(value, dict):
            if value is not schema and isinstance(value.get("$id", value.get("id")), str):
                return
            if isinstance(reference := value.get("$ref"), str):
                found.append(reference)
            waiting += [part for key, part in value.items() if key not in _DATA]
    yield from found


def _resolve(schema: Mapping[str, Any], reference: str) -> None:
    """Find the target of a reference.

    Raises:
        Unresolvable: The target does not exist.
    """
    from referencing import Registry
    from referencing.jsonschema import DRAFT202012

    if reference.startswith("#"):
        resource: Any = DRAFT202012.create_resource({key: part for key, part in schema.items() if key != "$id"})
        Registry().with_resource("", resource).resolver().lookup(reference)


def _deeper(frames: int, call: Callable[[], object]) -> None:
    """Make a call with `frames` more frames on the stack; a schema that fits here fits during scoring."""
    if frames:
        _deeper(frames - 1, call)
    else:
        call()


@lru_cache(maxsize=16)
def _for_row(text: str, bare: bool, max_chars: int, timeout_s: float) -> JsonSchema:
    """The verifier with the schema of a row. Text is read as JSON, never as the path of a file.

    Raises:
        ValueError: The text is not JSON of an object.
        UsageError: The object is not a JSON Schema.
    """
    schema = json.loads(text)
    if not isinstance(schema, dict):
        raise ValueError(f"it is not an object: {text[:80]}")
    return JsonSchema(schema, bare=bare, max_chars=max_chars, timeout_s=timeout_s, key="")


@lru_cache(maxsize=16)
def _validator(schema: str) -> Any:
    """The library's validator for a schema, with the keywords below and without network access."""
    from jsonschema import Draft202012Validator, validators
    from referencing.jsonschema import EMPTY_REGISTRY

    loaded = json.loads(schema)
    base: Any = validators.validator_for(loaded, default=Draft202012Validator)
    own = {
        "pattern": _pattern,
        "patternProperties": _pattern_properties,
        "additionalProperties": _additional_properties,
        "uniqueItems": _unique_items,
    }
    own |= {name: _ordered(name, base.VALIDATORS[name]) for name in _BOUNDS if name in base.VALIDATORS}
    keywords = {name: _timed(own.get(name, check)) for name, check in base.VALIDATORS.items()}
    extend: Any = validators.extend
    return extend(base, keywords)(loaded, registry=EMPTY_REGISTRY)


def _ordered(name: str, check: Any) -> Any:
    """A bound that a NaN (YAML and TOML have it) does not meet: it compares as neither below nor above anything.

    Raises:
        ValueError: Ends the whole check, so a `not` around the bound can't turn it into a match.
    """

    def keyword(validator: Any, wanted: Any, instance: Any, schema: Any) -> Any:
        if isinstance(instance, float) and math.isnan(instance):
            raise ValueError(f"NaN is not allowed by the schema's {name!r}")
        return check(validator, wanted, instance, schema)

    return keyword


def _timed(check: Any) -> Any:
    def keyword(validator: Any, wanted: Any, instance: Any, schema: Any) -> Any:
        if time.thread_time() > _DEADLINE.get():
            raise TimeoutError
        return check(validator, wanted, instance, schema)

    return keyword


def _matches(pattern: str, text: str) -> bool:
    import regex

    while True:
        try:
            return regex.search(pattern, text, timeout=max(_DEADLINE.get() - time.thread_time(), 0.001)) is not None
        except TimeoutError:  # the time of the whole process, including other threads
            if time.thread_time() > _DEADLINE.get():
                raise


def _pattern(validator: Any, wanted: str, instance: Any, schema: Any) -> Iterator[Any]:
    from jsonschema import ValidationError

    if isinstance(instance, str) and not _matches(wanted, instance):
        yield ValidationError(f"does not match {wanted!r}")


def _pattern_properties(validator: Any, wanted: Mapping[str, Any], instance: Any, schema: Any) -> Iterator[Any]:
    if isinstance(instance, dict):
        for pattern, subschema in wanted.items():
            for key, value in instance.items():
                if _matches(pattern, key):
                    yield from validator.descend(value, subschema, path=key, schema_path=pattern)


def _additional_properties(validator: Any, wanted: Any, instance: Any, schema: Any) -> Iterator[Any]:
    from jsonschema import ValidationError

    if isinstance(instance, dict):
        patterns = schema.get("patternProperties", {})
        for key in instance.keys() - schema.get("properties", {}).keys():
            if any(_matches(pattern, key) for pattern in patterns):
                continue
            if wanted is False:
                yield ValidationError(f"has a key that is not allowed: {key[:80]!r}")
            else:
                yield from validator.descend(instance[key], wanted, path=key)


def _unique_items(validator: Any, wanted: bool, instance: Any, schema: Any) -> Iterator[Any]:
    from jsonschema import ValidationError

    if wanted and isinstance(instance, list):
        distinct = {json.dumps(_canonical(item), sort_keys=True) for item in instance}
        if len(distinct) < len(instance):
            yield ValidationError("has equal items")


def _canonical(value: Any) -> Any:
    """The canonical form of a JSON value: 1.0 is 1."""
    if isinstance(value, list):
        return [_canonical(item) for item in value]
    if isinstance(value, dict):
        return {key: _canonical(item) for key, item in value.items()}
    return int(value) if isinstance(value, float) and value.is_integer() else value
