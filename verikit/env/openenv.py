"""Completions played in an OpenEnv server: the reward that the environment itself gives each.

One session over the server's WebSocket (`/ws`, openenv 0.10): `reset`, then one `step` with the completion.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from importlib import import_module
from typing import Any
from urllib.parse import urlsplit

from verikit.env.rollouts import Rollout
from verikit.errors import SchemaError, UsageError, VerikitError
from verikit.platform.numbers import number
from verikit.types import Sample

RESET = ("index", "seed", "split", "task_id", "episode_id")
"""Keys of a row that select the task. They are passed to `reset`."""
PROMPTS = ("messages", "prompt", "question", "instruction", "observation")
MAX_BYTES = 64 * 2**20
"""Of one reply."""
TIMEOUT_S = 60.0


def play(
    address: str,
    rows: Iterable[Mapping[str, Any] | SchemaError],
    *,
    field: str = "message",
    timeout_s: float = TIMEOUT_S,
) -> Iterator[Rollout | SchemaError]:
    """Give completions to an environment, and yield each with its reward.

    Args:
        address: `http://HOST:PORT` of the server.
        rows: Each with `completion`, and the keys of `RESET`. Other keys are the sample's meta, and `answer` is its
            gold
            answer. Errors are yielded unchanged.
        field: The action's field for the completion.
        timeout_s: For one reply.

    Raises:
        UsageError: websockets is not installed, or the address is invalid.
        VerikitError: The server can't be reached, or breaks off.
    """
    try:
        client: Any = import_module("websockets.sync.client")
        errors: Any = import_module("websockets.exceptions")
    except ImportError:
        raise UsageError("OpenEnv servers need the package websockets", hint="pip install websockets") from None
    parts = urlsplit(address)
    if parts.scheme not in ("http", "https", "ws", "wss") or not parts.netloc:
        raise UsageError(f"{address!r} is not a valid address", hint="http://localhost:8000")
    scheme = "wss" if parts.scheme in ("https", "wss") else "ws"
    where = f"{scheme}://{parts.netloc}{parts.path.rstrip('/')}/ws"
    try:
        with client.connect(where, open_timeout=timeout_s, max_size=MAX_BYTES) as socket:
            for position, row in enumerate(rows):
                if isinstance(row, SchemaError):
                    yield row
                else:
                    yield _episode(socket, row, field, timeout_s, f"{address}#{position}")
    except (OSError, errors.WebSocketException) as error:
        raise VerikitError(f"{where}: {error or type(error).__name__}") from None


def _episode(socket: Any, row: Mapping[str, Any], field: str, timeout_s: float, where: str) -> Rollout | SchemaError:
    sample = played_sample(row, where)
    if isinstance(sample, SchemaError):
        return sample
    begun = _asked(socket, "reset", {key: sample.meta[key] for key in RESET if key in sample.meta}, timeout_s)
    sample = replace(sample, prompt=_prompt(begun))
    if problem := _problem(begun):
        return Rollout(sample, None, f"reset: {problem}", where)
    ended = _asked(socket, "step", {field: sample.completion}, timeout_s)
    if problem := _problem(ended):
        return Rollout(sample, None, f"step: {problem}", where)
    reward = number(ended["data"].get("reward"))
    return Rollout(sample, reward, "" if reward is not None else _unrewarded(ended["data"]), where)


def _unrewarded(ended: Mapping[str, Any]) -> str:
    """Why a step has no reward: the reason that verikit's own environments keep in `metadata`, if there is one."""
    metadata = ended.get("metadata")
    told = metadata.get("verikit") if isinstance(metadata, Mapping) else None
    if isinstance(told, Mapping) and told.get("reason"):
        return f"{told.get('status', 'unscored')}: {told['reason']}"[:500]
    why = "the environment gave no reward"
    return why if ended.get("done") else f"{why}: the episode continues after one step"


def played_sample(row: Mapping[str, Any], where: str) -> Sample | SchemaError:
    """A row with a completion as a sample, or why it is invalid. It has no prompt, because the server provides that."""
    if row.get("completion") is None:
        return SchemaError(f"{where}: has no completion", field="completion")
    meta = {**(more if isinstance(more := row.get("meta"), Mapping) else {}), **row}
    for key in ("completion", "answer", "meta", "prompt", "reward"):
        meta.pop(key, None)
    try:
        return Sample("", row["completion"], row.get("answer"), str(row.get("id", where)), meta)
    except UsageError as error:
        return SchemaError(f"{where}: {error}")


def _asked(socket: Any, kind: str, data: Mapping[str, Any], timeout_s: float) -> Mapping[str, Any]:
    """Send a message and read the reply, an object with an object `data`.

    Raises:
        VerikitError: It is not such an object.
    """
    socket.send(json.dumps({"type": kind, "data": data}))
    try:
        found = json.loads(socket.recv(timeout=timeout_s))
    except TimeoutError:
        raise VerikitError(f"the server did not reply to {kind} within {timeout_s:g} s") from None
    except (ValueError, RecursionError) as error:
        raise VerikitError(f"the reply to {kind} must be JSON: {error}") from None
    if not isinstance(found, Mapping) or not isinstance(found.get("data"), Mapping):
        raise VerikitError(f"the reply to {kind} must be an OpenEnv message")
    return found


def _problem(reply: Mapping[str, Any]) -> str:
    return str(reply["data"].get("message", "unknown"))[:500] if reply.get("type") == "error" else ""


def _prompt(reply: Mapping[str, Any]) -> Any:
    """The prompt in an observation: messages or a string. Otherwise the observation as JSON."""
    seen = reply["data"].get("observation")
    if not isinstance(seen, Mapping):
        return seen if isinstance(seen, str) else ""
    found = next((seen[key] for key in PROMPTS if seen.get(key)), None)
    turns = isinstance(found, list) and all(isinstance(turn, Mapping) and "role" in turn for turn in found)
    return found if turns or isinstance(found, str) else json.dumps(seen, ensure_ascii=False)
