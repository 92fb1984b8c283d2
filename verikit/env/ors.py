"""Completions played in an ORS server (OpenReward 0.1): a session a row, one call of the tool that takes the answer."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import quote
from uuid import uuid4

from verikit.env.openenv import played_sample
from verikit.env.rollouts import Rollout
from verikit.env.served import MAX_BYTES, TIMEOUT_S, asked, environment_name, environment_of
from verikit.errors import SchemaError, VerikitError
from verikit.platform.numbers import number
from verikit.types import Sample

SESSION = "X-Session-ID"


def play_ors(
    address: str,
    rows: Iterable[Mapping[str, Any] | SchemaError],
    *,
    tool: str,
    field: str = "answer",
    timeout_s: float = TIMEOUT_S,
) -> Iterator[Rollout | SchemaError]:
    """Give completions to an environment's tool, and yield each with its reward.

    Args:
        address: `http://HOST:PORT`, followed by the environment's name if the server has several.
        rows: Each with `completion`, `index` and `split` (default: `train`); `answer` is the gold answer. Errors are
            yielded unchanged.
        tool: The tool that takes the answer.
        field: The field of its input for the completion.
        timeout_s: For one reply.

    Raises:
        UsageError: The server has no such environment.
        VerikitError: It can't be reached, or answers in another form.
    """
    import httpx

    base, wanted = environment_of(address)
    with httpx.Client(base_url=base, timeout=timeout_s, follow_redirects=False) as client:
        name = environment_name(client, wanted)
        for position, row in enumerate(rows):
            where = f"{address}#{position}"
            sample = row if isinstance(row, SchemaError) else played_sample(row, where)
            if isinstance(sample, SchemaError):
                yield sample
            elif sample.meta.get("index") is None:
                yield SchemaError(f"{where}: needs a number that identifies the task", field="index")
            else:
                client.headers[SESSION] = uuid4().hex
                yield _episode(client, name, sample, tool, field, where)


def _episode(client: Any, name: str, sample: Sample, tool: str, field: str, where: str) -> Rollout:
    task = {"split": sample.meta.get("split", "train"), "index": sample.meta["index"]}
    path = f"/{quote(name, safe='')}"
    prompt, reward, why = "", None, ""
    try:
        asked(client, "POST", "/create", env_name=name, **task)
        try:
            prompt = _text(asked(client, "GET", f"{path}/prompt"))
            ended = _called(client, f"{path}/call", {"name": tool, "input": {field: sample.completion}})
            output = ended.get("output")
            reward = number(output.get("reward")) if isinstance(output, Mapping) else None
            why = "" if reward is not None else str(ended.get("error") or "the environment gave no reward")[:500]
        finally:
            asked(client, "POST", "/delete")
    except VerikitError as error:
        reward, why = None, str(error)
    return Rollout(replace(sample, prompt=prompt), reward, why, where)


def _called(client: Any, path: str, body: Mapping[str, Any]) -> Mapping[str, Any]:
    """The result of a tool, which comes as server-sent events: pieces of its JSON, the last under `end`."""
    import httpx

    event, pieces, size = "", list[str](), 0
    try:
        with client.stream("POST", path, json=body) as response:
            if response.status_code != 200:
                raise VerikitError(f"{path}: HTTP {response.status_code}")
            for line in response.iter_lines():
                kind, _, value = line.partition(":")
                value = value.removeprefix(" ")
                event = value if kind == "event" else event
                if kind != "data" or event == "task_id":
                    continue
                if event == "error":
                    raise VerikitError(f"{path}: {value[:500]}")
                pieces.append(value)
                size += len(value)
                if size > MAX_BYTES:
                    raise VerikitError(f"{path}: a reply larger than {MAX_BYTES >> 20} MiB")
        found = json.loads("".join(pieces))
    except httpx.HTTPError as error:
        raise VerikitError(f"{path}: {error or type(error).__name__}") from None
    except (ValueError, RecursionError) as error:
        raise VerikitError(f"{path}: the result must be JSON: {error}") from None
    return found if isinstance(found, Mapping) else {}


def _text(blocks: Any) -> str:
    """The text of a prompt's blocks."""
    texts = [block.get("text") for block in blocks if isinstance(block, Mapping)] if isinstance(blocks, list) else []
    return "\n\n".join(text for text in texts if isinstance(text, str))
