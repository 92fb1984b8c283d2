"""Converts values of the formats to strings: prompts, candidates and gold answers.

Each function raises a `SchemaError`.

A conversation's text is the last text of its assistant. The messages are stored with it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from verikit.errors import SchemaError
from verikit.message_formats import in_openai_format
from verikit.messages import MESSAGE_KEYS, THOUGHT_KEYS, THOUGHT_PARTS, are_parts, calls_among, media_of, thoughts_in
from verikit.readers.parse import kind
from verikit.replies.text import accepted
from verikit.responses import are_items, from_responses, output_of
from verikit.types import Gold, Prompt

TEXT_KEYS = ("text", "completion", "content", "response", "output", "solution")
"""Keys of the text in a candidate that is an object. The first one that it has is used."""

_OBJECT_KEYS = (*TEXT_KEYS, "message", "role")
"""Keys by which an object with a `type` is a candidate rather than a content part."""

Own = Mapping[str, Any]
"""A candidate's own keys."""

NO_KEYS: Own = {}


def prompt(value: Any) -> Prompt:
    """Convert a prompt: a string or a list of messages.

    A message's content parts become their text, unless one is a picture or a file: engines and judges must see it.
    """
    if type(value) is str:
        return value
    if type(value) is not list or not value:
        raise SchemaError(f"a prompt must be a string or a list of messages, got {_what(value)}", field="prompt")
    messages = []
    for number, message in enumerate(from_responses(value) if are_items(value) else _in_openai_format(value)):
        if type(message) is not dict or type(message.get("role")) is not str:
            raise SchemaError("a message is an object with 'role' and 'content'", field=f"prompt[{number}]")
        parts = message.get("content")
        text = content(parts, f"prompt[{number}]")
        messages.append({**message, "content": parts if media_of(parts) else text})
    return messages  # type: ignore[return-value]  # mypy sees dict, not the TypedDict


def answer(value: Any) -> Gold:
    """Convert a gold answer: a string, a number (as JSON), a list of these, content parts, or null.

    Content parts become their text, unless one is a picture or a file: judges must see it. Blank parts are no answer.
    """
    if value is None or type(value) is str:
        return value
    if are_parts(value):
        return value if media_of(value) else next(iter(accepted(value)), None)  # parts for judges
    if type(value) is list and value:
        return [_scalar(item, f"answer[{number}]") for number, item in enumerate(value)]
    return _scalar(value, "answer")


def identity(value: Any) -> str:
    """Return an id, a string or a number, as a string. Null, NaN (a data frame's null) and "" are not ids."""
    return "" if value is None or value != value else _scalar(value, "id")


def candidate(value: Any, field: str) -> tuple[str, Own]:
    """Return a candidate's text and its own keys (all except the one with its text)."""
    if type(value) is str:
        return value, NO_KEYS
    value = output_of(value)
    if type(value) is list:
        return _listed(value, field)
    if type(value) is not dict:
        raise SchemaError(
            f"a completion must be a string, messages or an object with text, got {_what(value)}", field=field
        )
    if media_of(value) and not any(key in value for key in _OBJECT_KEYS):
        return _listed([value], field)
    return _labelled(value, field)


def _listed(value: list[Any], field: str) -> tuple[str, Own]:
    """The text and the own keys of messages, or of content parts."""
    if are_parts(value):
        return content(value, field), _message(value, {})
    value = list(from_responses(value)) if are_items(value) else _in_openai_format(value)
    own = {"messages": value}
    thoughts = "\n\n".join(filter(None, (thoughts_in(turn) for turn in value if type(turn) is dict)))
    return conversation(value, field), own | ({THOUGHT_KEYS[0]: thoughts} if thoughts else {})


def _in_openai_format(messages: list[Any]) -> list[Any]:
    return [in_openai_format(message) if type(message) is dict else message for message in messages]


def _labelled(value: dict[str, Any], field: str) -> tuple[str, Own]:
    """The text and the own keys of an object that has its text under one of TEXT_KEYS."""
    own = value
    if type(value.get("message")) is dict:  # a choice of an OpenAI reply
        own = {key: item for key, item in value.items() if key != "message"} | value["message"]
    for key in TEXT_KEYS:
        if key in own and (own[key] is not None or "role" in own):
            text = content(own[key], f"{field}.{key}")
            rest = {name: item for name, item in own.items() if name != key}
            return text, {**_message(own[key], rest), **rest}
    raise SchemaError(f"text not found in {_what(own)}", field=field, hint=f"text goes under {', '.join(TEXT_KEYS)}")


def _message(parts: Any, keys: Own) -> Own:
    """Content parts with a picture, a file or a call as the message that contains them. For others, text is enough."""
    if type(parts) is not list or not (media_of(parts) or calls_among(parts)):
        return NO_KEYS
    message = {key: keys[key] for key in MESSAGE_KEYS if key in keys}
    return {"messages": [{"role": "assistant", **message, "content": parts}]}


def candidates(values: list[Any], field: str) -> tuple[list[str], list[Own]]:
    """Return the strings of a list of candidates and each one's own keys. No keys at all if none has any."""
    if not values:
        raise SchemaError("the list of completions is empty", field=field, hint="drop the row, or give it candidates")
    for value in values:
        if type(value) is dict and value.get("role", "assistant") != "assistant":
            problem = "expected a list of completions, got a single conversation"
            hint = 'make each completion a list, or use for a single one the key "completion"'
            raise SchemaError(problem, field=field, hint=hint)
    found = [candidate(value, f"{field}[{number}]") for number, value in enumerate(values)]
    own = [keys for _, keys in found]
    return [text for text, _ in found], own if any(own) else []


def conversation(messages: list[Any], field: str) -> str:
    """Return the assistant's last text in a conversation, or "" if it only calls tools."""
    turns = []
    for number, message in enumerate(messages):
        if type(message) is not dict:
            raise SchemaError(f"a message is an object, this is {_what(message)}", field=f"{field}[{number}]")
        if message.get("role", "assistant") == "assistant":
            turns.append(content(message.get("content"), f"{field}[{number}].content"))
    if not turns:
        raise SchemaError("the messages contain no assistant turn", field=field)
    return next((turn for turn in reversed(turns) if turn), "")


def content(value: Any, field: str) -> str:
    """Return a message's content as a string. Null (a tool call) becomes "".

    A list of parts becomes its text parts, without thoughts.
    """
    if type(value) is str:
        return value
    if value is None:
        return ""
    if type(value) is list and all(type(part) is dict for part in value):
        said = (part.get("text") for part in value if part.get("type") not in THOUGHT_PARTS)
        return "\n\n".join(text for text in said if type(text) is str)
    raise SchemaError(f"text is expected here, this is {_what(value)}", field=field)


def _scalar(value: Any, field: str) -> str:
    if type(value) is str:
        return value
    if type(value) in (int, float, bool):
        return json.dumps(value)
    expected = "text, a number, a list of these, or null" if field == "answer" else "text or a number"
    hint = (
        f"--map answer=KEY.{next(iter(value))} reaches into it"
        if field == "answer" and type(value) is dict and value
        else ""
    )
    raise SchemaError(f"{expected} is expected, this is {_what(value)}", field=field, hint=hint)


def _what(value: Any) -> str:
    if type(value) is dict:
        return f"an object with the keys {', '.join(map(repr, list(value)[:8]))}" if value else "an empty object"
    return "an empty list" if value == [] else kind(value)
