"""Harbor's trajectories (ATIF), and files of messages, as a prompt and messages."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from verikit.errors import WorkspaceError
from verikit.messages import CompletionMessage
from verikit.workspaces.beneath import open_within
from verikit.workspaces.names import shown

MAX_BYTES = 64 * 2**20
"""Maximum size of a file of steps. Longer files are rejected."""


def read_file(root: str, within: Sequence[str]) -> bytes:
    """Read a file beneath a folder that verikit controls, of at most `MAX_BYTES`.

    Raises:
        WorkspaceError: It doesn't exist, is longer, or can't be read.
    """
    name = shown("/".join((root, *within)))
    try:
        with open(open_within(root, within), "rb") as stream:
            data = stream.read(MAX_BYTES + 1)
    except OSError as error:
        raise WorkspaceError(f"{name} can't be read: {error.strerror}") from None
    if len(data) > MAX_BYTES:
        raise WorkspaceError(f"{name} is larger than {MAX_BYTES >> 20} MB")
    return data


def read_trajectory(root: str, within: Sequence[str]) -> list[CompletionMessage]:
    """The messages of a file: an ATIF trajectory, a list of messages, or an object with `messages`.

    Raises:
        WorkspaceError: It has another format, or can't be read.
    """
    name = shown("/".join((root, *within)))
    try:
        found = json.loads(read_file(root, within))
    except (ValueError, RecursionError):
        raise WorkspaceError(f"{name} is not JSON") from None
    if isinstance(found, Mapping) and isinstance(steps := found.get("steps"), list):
        return list(conversation(steps)[1])
    turns = found.get("messages") if isinstance(found, Mapping) else found
    if not isinstance(turns, list) or not all(isinstance(turn, Mapping) and "role" in turn for turn in turns):
        raise WorkspaceError(f"{name} contains neither ATIF steps nor messages")
    return list(turns)


def conversation(steps: Sequence[Any]) -> tuple[str, list[dict[str, Any]]]:
    """The prompt and the messages after it of an ATIF trajectory."""
    prompt, turns = "", list[dict[str, Any]]()
    for step in steps:
        if not isinstance(step, Mapping):
            continue
        if step.get("source") == "agent":
            turns += _agent_turns(step)
        elif turns:
            turns.append({"role": str(step.get("source")), "content": _said(step.get("message"))})
        elif step.get("source") == "user" and not prompt:
            prompt = _said(step.get("message"))
    return prompt, turns


def _agent_turns(step: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """A turn with its calls and thoughts, and the results of the calls."""
    turn: dict[str, Any] = {"role": "assistant", "content": _said(step.get("message"))}
    calls = _objects(step.get("tool_calls"))
    if calls:
        turn["tool_calls"] = [_call(call) for call in calls]
    if isinstance(thoughts := step.get("reasoning_content"), str):
        turn["reasoning_content"] = thoughts
    yield turn
    seen = step.get("observation")
    for result in _objects(seen.get("results")) if isinstance(seen, Mapping) else ():
        named = result.get("source_call_id")
        yield {"role": "tool", "tool_call_id": named, "content": _said(result.get("content"))}


def _objects(told: Any) -> list[Mapping[str, Any]]:
    """The objects of a list; empty if the value is not a list."""
    return [one for one in told if isinstance(one, Mapping)] if isinstance(told, list) else []


def _call(call: Mapping[str, Any]) -> dict[str, Any]:
    arguments = call.get("arguments")
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    return {
        "id": call.get("tool_call_id"),
        "type": "function",
        "function": {"name": call.get("function_name"), "arguments": text},
    }


def _said(content: Any) -> str:
    if isinstance(content, list):
        texts = [part.get("text") for part in content if isinstance(part, Mapping)]
        return "\n\n".join(text for text in texts if isinstance(text, str))
    return content if isinstance(content, str) else ""
