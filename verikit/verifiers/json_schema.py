"""Is the text JSON of the right shape?"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, cast

from verikit.errors import UsageError
from verikit.types import Sample, Score
from verikit.verifier import Verifier

_FENCE = re.compile(r"\A\s*```(?:json)?[ \t]*\n(.*)\n[ \t]*```\s*\Z", re.DOTALL | re.IGNORECASE)


@dataclass(frozen=True)
class JsonSchema(Verifier):
    """1.0 if the completion (a code fence around it is allowed) is JSON that a JSON Schema accepts."""

    schema: str | Mapping[str, Any] = field(default_factory=dict)
    """The schema, or the path of a JSON file that holds it; {} accepts any JSON."""
    max_chars: int = 1_000_000
    """A longer completion is 0.0 unread."""
    timeout_s: float = 1.0
    """Time for each `pattern` of the schema on one text; running it out counts as not matching."""
    name = "json_schema"

    def __post_init__(self) -> None:
        from jsonschema import Draft202012Validator, SchemaError

        if isinstance(self.schema, str):
            try:
                object.__setattr__(self, "schema", json.loads(Path(self.schema).read_text(encoding="utf-8")))
            except (OSError, ValueError) as error:
                raise UsageError(f"can't read the JSON schema {self.schema!r}: {error}") from None
        try:
            Draft202012Validator.check_schema(cast(Mapping[str, Any], self.schema))
        except SchemaError as error:
            raise UsageError(f"bad JSON schema: {error.message} at {error.json_path}") from None

    def score(self, samples: Sequence[Sample]) -> list[Score]:
        """Score each sample by itself."""
        return [self._one(sample.completion) for sample in samples]

    def _one(self, text: str) -> Score:
        from jsonschema.exceptions import best_match

        if len(text) > self.max_chars:
            return Score(0.0, reason=f"{len(text)} characters, over the cap of {self.max_chars}")
        fenced = _FENCE.match(text)
        validator = _validator(json.dumps(self.schema), self.timeout_s)
        body = (fenced[1] if fenced else text).strip()
        try:
            document = json.loads(body, parse_constant=_no_constant)
            problem = best_match(validator.iter_errors(document))
        except (ValueError, RecursionError) as error:
            return Score(0.0, reason=f"not JSON: {str(error)[:80]}")
        if problem is not None:
            return Score(0.0, answer=body, reason=f"{problem.json_path[:80]}: {problem.message[:120]}")
        return Score(1.0, answer=body, reason="the schema accepts it")


@lru_cache(maxsize=16)
def _validator(schema: str, timeout_s: float) -> Any:
    """The library's validator with a time limit on `pattern`: its own `re.search` can be made to hang by a text."""
    import regex
    from jsonschema import Draft202012Validator, ValidationError, validators

    def pattern(validator: Any, wanted: str, instance: Any, schema: Any) -> Iterator[Any]:
        try:
            if isinstance(instance, str) and not regex.search(wanted, instance, timeout=timeout_s):
                yield ValidationError(f"does not match {wanted!r}")
        except TimeoutError:
            yield ValidationError(f"ran out of time on {wanted!r}")

    extend: Any = validators.extend
    return extend(Draft202012Validator, {"pattern": pattern})(json.loads(schema))


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")
