"""Formats of requests and replies in each protocol.

An unscored sample is `null`, with its status or `scored` next to it. For NeMo-Gym it is an HTTP error or a masked row.
Clients that can't read `null` get the server's `unscored` number.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from verikit.adapters.openrlhf import samples as openrlhf_samples
from verikit.adapters.openrlhf import without_closing_tokens
from verikit.adapters.reward import gold_of, prompt_of
from verikit.errors import SchemaError, UsageError
from verikit.serve import nemo_gym
from verikit.types import WORKSPACE, Sample, Score

Samples = Sequence[Sample | Score]


@dataclass(frozen=True, slots=True)
class RewardProtocol:
    """The request and reply format of one kind of client."""

    path: str
    read: Callable[[Mapping[str, Any]], Samples]
    reply: Callable[[Mapping[str, Any], Sequence[bytes], float | None], bytes]
    """Builds the reply from the request, the rows, and the value of unscored samples: None (`null`) or a number."""
    needs_number: bool = False
    """Whether its clients reject a reply with `null`."""


def _need(body: Mapping[str, Any], key: str, kind: type[list[Any]] | type[str]) -> Any:
    if not isinstance(found := body.get(key), kind):
        keys = ", ".join(sorted(map(str, body))[:20]) or "none"
        raise SchemaError(f"must be a {kind.__name__}", field=key, hint=f"the request has the keys {keys}")
    return found


def _samples(rows: Sequence[Any], name: str, given: Mapping[str, Any]) -> Samples:
    """Read samples in verikit's format. `name` is the list that contains them, and `given` has their shared keys."""
    samples = []
    for number, row in enumerate(rows):
        try:
            samples.append(_sample(row, given))
        except SchemaError as error:
            field = f"{name}[{number}]" + (f".{error.field}" if error.field else "")
            raise SchemaError(error.problem, field=field, hint=error.hint) from None
    return samples


def _sample(row: Any, given: Mapping[str, Any]) -> Sample:
    """Read a sample in verikit's format. `given` has the keys that the samples of a group share."""
    if not isinstance(row, Mapping):
        raise SchemaError("a sample is an object", hint='{"prompt": …, "completion": …, "answer": …}')
    row = {**given, **row}
    meta = row.pop("meta", None) or {}
    if WORKSPACE in row:
        row.setdefault("completion", "")
    if not isinstance(meta, Mapping) or "completion" not in row:
        field = "meta" if "completion" in row else "completion"
        raise SchemaError("must be an object" if field == "meta" else "is missing", field=field)
    prompt, completion, answer, id = (row.pop(key, None) for key in ("prompt", "completion", "answer", "id"))
    try:
        return Sample(
            prompt_of(prompt),
            completion,
            gold_of(answer),
            "" if id is None else str(id),
            {**meta, **row},
        )
    except UsageError as error:
        raise SchemaError(f"can't be read: {error}") from None


def _native(body: Mapping[str, Any]) -> Samples:
    """`{"samples": [sample, …]}`, one sample, or a prompt with `completions`."""
    if "samples" in body:
        return _samples(_need(body, "samples", list), "samples", {})
    if "completions" in body:
        shared = {key: value for key, value in body.items() if key != "completions"}
        candidates = [_candidate(completion) for completion in _need(body, "completions", list)]
        return _samples(candidates, "completions", shared)
    return [_sample(body, {})]


def _candidate(value: Any) -> dict[str, Any]:
    """Convert a candidate to a sample's keys. An object with `text` may have further keys."""
    if isinstance(value, Mapping) and "text" in value:
        own = dict(value)
        text = own.pop("text")
        return own | {"completion": text}
    return {"completion": value}


def _native_reply(body: Mapping[str, Any], rows: Sequence[bytes], unscored: float | None) -> bytes:
    return b'{"scores":[' + b",".join(rows) + b"]}\n"


def _openrlhf(body: Mapping[str, Any]) -> Samples:
    queries = _need(body, "query", list)
    given = {key: _need(body, key, list) for key in ("prompts", "labels") if body.get(key)}
    prompts, labels = given.get("prompts", [""] * len(queries)), given.get("labels", [])
    for key, values in given.items():
        if len(values) != len(queries):
            raise SchemaError("must be as long as query", field=key)
    if not all(isinstance(text, str) for text in (*queries, *prompts)):
        raise SchemaError("must contain strings", field="query")
    return openrlhf_samples(queries, prompts, labels)


def _openrlhf_reply(body: Mapping[str, Any], rows: Sequence[bytes], unscored: float | None) -> bytes:
    values = [json.loads(row)["value"] for row in rows]
    rewards = [unscored if value is None else value for value in values]
    return _json(
        {
            "rewards": rewards,
            "scores": [None if reward is None else min(1.0, max(0.0, reward)) for reward in rewards],
            "extra_logs": {"scored": [float(value is not None) for value in values]},
        }
    )


_ANSWERS = (
    "<|im_start|>assistant\n",
    "<|start_header_id|>assistant<|end_header_id|>",
    "<start_of_turn>model\n",
    "<|assistant|>",
    "<｜Assistant｜>",
    "[/INST]",
    "ASSISTANT:",
    "Assistant:",
)
"""Markers with which chat templates start an answer."""


def _llama_factory(body: Mapping[str, Any]) -> Samples:
    """Whole conversations as strings, decoded with special tokens. The answer starts at its first marker.

    The last marker is not used: an answer could contain one to hide the text before it.
    """
    texts = _need(body, "messages", list)
    if not all(isinstance(text, str) for text in texts):
        raise SchemaError("must contain strings", field="messages")
    return [_answered(text) for text in texts]


def _answered(text: str) -> Sample | Score:
    marks = [(at, mark) for mark in _ANSWERS if (at := text.find(mark)) >= 0]
    if not marks:
        return Score.error("start of the answer not found: the chat template is unknown")
    at, mark = min(marks)
    return Sample(text[:at], without_closing_tokens(text[at + len(mark) :]))


def _llama_factory_reply(body: Mapping[str, Any], rows: Sequence[bytes], unscored: float | None) -> bytes:
    values = [json.loads(row)["value"] for row in rows]
    scored = [float(value is not None) for value in values]
    return _json({"scores": [unscored if value is None else value for value in values], "scored": scored})


def _slime(body: Mapping[str, Any]) -> Samples:
    return [Sample(prompt_of(body.get("prompt")), _need(body, "response", str), gold_of(body.get("label")))]


def _slime_reply(body: Mapping[str, Any], rows: Sequence[bytes], unscored: float | None) -> bytes:
    row = json.loads(rows[0])
    return _json({"reward": unscored if row["value"] is None else row["value"]} | row)


def _json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "replace") + b"\n"


NATIVE = RewardProtocol("/score", _native, _native_reply)
PROTOCOLS = {
    "llama-factory": RewardProtocol("/scores", _llama_factory, _llama_factory_reply),
    "openrlhf": RewardProtocol("/get_reward", _openrlhf, _openrlhf_reply),
    "slime": RewardProtocol("/reward", _slime, _slime_reply),
    "nemo-gym": RewardProtocol("/verify", nemo_gym.read, nemo_gym.reply),
    "nemo-gym-mask": RewardProtocol("/verify", nemo_gym.read, nemo_gym.masked_reply, needs_number=True),
}
"""The protocols other than verikit's own, by name."""
