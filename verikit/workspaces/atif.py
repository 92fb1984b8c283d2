"""Harbor's trajectories (ATIF), and files of messages, as a prompt and messages."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, partial
from typing import Any

from verikit.errors import WorkspaceError
from verikit.message_formats import in_openai_format
from verikit.messages import CompletionMessage
from verikit.responses import are_items, from_responses, output_of
from verikit.workspaces.beneath import open_within
from verikit.workspaces.names import shown

MAX_BYTES = 64 * 2**20
"""Maximum size of a file of steps. Longer files are rejected."""
MAX_PICTURES, MAX_PICTURE_BYTES = 32, 8 * 2**20
"""Maximum number and size of the pictures that are read from files: the first one and the last ones."""
Load = Callable[[str], str]
"""Maps a picture's path in a trajectory to its base64; "" if it is not read."""


def read_file(root: str, within: Sequence[str], most: int = MAX_BYTES) -> bytes:
    """Read a file beneath a folder that verikit controls, of at most so many bytes.

    Raises:
        WorkspaceError: It doesn't exist, is longer, or can't be read.
    """
    name = shown("/".join((root, *within)))
    try:
        with open(open_within(root, within), "rb") as stream:
            data = stream.read(most + 1)
    except OSError as error:
        raise WorkspaceError(f"{name} can't be read: {error.strerror}") from None
    except ValueError as error:  # a name that no file can have
        raise WorkspaceError(f"{name} can't be read: {error}") from None
    if len(data) > most:
        raise WorkspaceError(f"{name} is larger than {most >> 20} MB")
    return data


def read_trajectory(root: str, within: Sequence[str]) -> list[CompletionMessage]:
    """The messages of a file: an ATIF trajectory, messages (or an object with `messages`), or a response's items.

    Raises:
        WorkspaceError: It has another format, or can't be read.
    """
    name = shown("/".join((root, *within)))
    try:
        found = json.loads(read_file(root, within))
    except (ValueError, RecursionError):
        raise WorkspaceError(f"{name} is not JSON") from None
    if isinstance(found, Mapping) and isinstance(steps := found.get("steps"), list):
        return list(conversation(steps, pictures_of(steps, root, within[:-1]))[1])
    found = output_of(found)
    turns = found.get("messages") if isinstance(found, Mapping) else found
    if isinstance(turns, list) and are_items(turns):
        return list(from_responses(turns))
    if isinstance(turns, list) and all(isinstance(turn, Mapping) for turn in turns):
        turns = list(map(in_openai_format, turns))
        if all("role" in turn for turn in turns):
            return turns
    raise WorkspaceError(f"{name} contains neither ATIF steps nor messages")


def conversation(steps: Sequence[Any], load: Load = lambda path: "") -> tuple[str, list[dict[str, Any]]]:
    """The prompt and the messages after it of an ATIF trajectory. `load` reads its pictures."""
    prompt, turns = "", list[dict[str, Any]]()
    for step in steps:
        if not isinstance(step, Mapping):
            continue
        if step.get("source") == "agent":
            turns += _agent_turns(step, load)
        elif turns:
            turns.append({"role": str(step.get("source")), "content": _content(step.get("message"), load)})
        elif step.get("source") == "user" and not prompt:
            prompt = _said(step.get("message"))
    return prompt, turns


def pictures_of(steps: Sequence[Any], root: str, folder: Sequence[str]) -> Load:
    """Reads the pictures of a trajectory from its folder, without those in the middle of a long one.

    An agent may have written the paths: none leads out of the folder, and what can't be read is left out.
    """
    named = list(dict.fromkeys(path for step in steps for path in _picture_paths(step)))
    chosen = {*named[:1], *named[-MAX_PICTURES + 1 :]}
    return cache(partial(_loaded, chosen, root, folder))  # a picture that is named often is read once


def _loaded(chosen: set[str], root: str, folder: Sequence[str], path: str) -> str:
    names = path.split("/")
    if path not in chosen or not all(names) or {".", ".."} & set(names) or "\0" in path:
        return ""
    try:
        return base64.b64encode(read_file(root, (*folder, *names), MAX_PICTURE_BYTES)).decode()
    except WorkspaceError:
        return ""


def _picture_paths(step: Any) -> Iterator[str]:
    """The paths of a step's pictures, in its message and in its results."""
    if not isinstance(step, Mapping):
        return
    seen = step.get("observation")
    results = _objects(seen.get("results")) if isinstance(seen, Mapping) else []
    for content in (step.get("message"), *(result.get("content") for result in results)):
        yield from filter(None, map(_picture_path, _objects(content)))


def _picture_path(part: Mapping[str, Any]) -> str:
    """The path or address of a content part with a picture; "" for other parts."""
    source = part.get("source")
    path = source.get("path") if isinstance(source, Mapping) and part.get("type") == "image" else ""
    return path if isinstance(path, str) else ""


def _content(content: Any, load: Load) -> Any:
    """A content's text; with pictures, its parts."""
    if not any(map(_picture_path, _objects(content))):
        return _said(content)
    return [_part(part, load) for part in _objects(content)]


def _part(part: Mapping[str, Any], load: Load) -> Mapping[str, Any]:
    path = _picture_path(part)
    if not path:
        return {"type": "text", "text": part["text"] if isinstance(part.get("text"), str) else ""}
    data = load(path)
    return {"type": "image", "source": {"data": data}} if data else {"type": "image", "image_url": path}


def _agent_turns(step: Mapping[str, Any], load: Load) -> Iterator[dict[str, Any]]:
    """A turn with its calls and thoughts, and the results of the calls."""
    turn: dict[str, Any] = {"role": "assistant", "content": _content(step.get("message"), load)}
    calls = _objects(step.get("tool_calls"))
    if calls:
        turn["tool_calls"] = [_call(call) for call in calls]
    if isinstance(thoughts := step.get("reasoning_content"), str):
        turn["reasoning_content"] = thoughts
    yield turn
    seen = step.get("observation")
    for result in _objects(seen.get("results")) if isinstance(seen, Mapping) else ():
        named = result.get("source_call_id")
        yield {"role": "tool", "tool_call_id": named, "content": _content(result.get("content"), load)}


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
