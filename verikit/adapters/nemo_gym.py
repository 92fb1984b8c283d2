"""NeMo-Gym's rollouts as samples: the row's fields, OpenAI's Responses items as the completion's messages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from verikit.adapters.reward import GOLD_KEYS, gold_of, prompt_of
from verikit.errors import SchemaError
from verikit.responses import from_responses
from verikit.types import Sample

GOLDS = ("expected_answer", *GOLD_KEYS)
"""Fields that may contain a rollout's gold answer, in order of preference."""


def _object(row: Mapping[str, Any], field: str) -> Mapping[str, Any]:
    value = row.get(field)
    if not isinstance(value, Mapping):
        raise SchemaError("must be an object", field=field)
    return value


def rollout_sample(row: Mapping[str, Any], gold: str | None = None) -> Sample:
    """Convert a rollout (a `/verify` request, or a line of `rollouts.jsonl`) to a sample.

    Its meta has the row without the conversation, the fields of `verifier_metadata`, and the available tools.

    Args:
        row: A row with `responses_create_params` and `response`.
        gold: The field with the gold answer. None uses the first of `GOLDS` that is present.

    Raises:
        SchemaError: A field is missing or has another format.
        UsageError: The conversation can't be read.
    """
    asked, response = (_object(row, field) for field in ("responses_create_params", "response"))
    output = response.get("output")
    if not isinstance(output, list):
        raise SchemaError(
            "must be a list", field="output", hint=f"response has the keys {', '.join(map(str, response))}"
        )
    meta = {key: value for key, value in row.items() if key not in ("responses_create_params", "response")}
    if isinstance(more := row.get("verifier_metadata"), Mapping):
        meta = {**more, **meta}
    if asked.get("tools"):
        meta.setdefault("tools", asked["tools"])
    keys = (gold,) if gold else GOLDS
    answer = next((meta[key] for key in keys if meta.get(key) is not None), None)
    return Sample(prompt_of(asked.get("input")), from_responses(output), gold_of(answer), meta=meta)
