"""Messages of a conversation in OpenAI's format, from any library: their text, thoughts and tool calls.

A message has a `role` and optionally `content` (a string or parts), `tool_calls`, `reasoning_content`, `name` and
`tool_call_id`. Objects with these attributes (OpenAI's client, Inspect, verifiers) become mappings.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from verikit.errors import UsageError
from verikit.message_formats import in_openai_format, role_of_type
from verikit.responses import are_items, from_responses, output_of, plain

CompletionMessage = Mapping[str, Any]
"""One message of a completion."""
THOUGHT_KEYS = ("reasoning_content", "reasoning")
"""Keys under which servers return a message's thoughts next to its content."""
THOUGHT_PARTS = ("thinking", "reasoning")
"""Types of content parts that contain thoughts."""
TEXT_PARTS = ("text", "input_text", "output_text")
"""Types of content parts that contain text."""
MEDIA_PARTS: Mapping[str, str] = {
    **dict.fromkeys(("image_url", "image", "input_image", "output_image"), "picture"),
    **dict.fromkeys(("input_audio", "audio", "audio_url"), "sound"),
    **dict.fromkeys(("video", "video_url", "input_video"), "film"),
    **dict.fromkeys(("file", "input_file", "document"), "file"),
}
"""Types of content parts without text, and a word for each."""
CALL_PARTS = ("tool_use", "server_tool_use", "mcp_tool_use", "tool_call")
"""Types of content parts that are a tool call."""
_PARTS = frozenset((*TEXT_PARTS, *THOUGHT_PARTS, *MEDIA_PARTS, *CALL_PARTS))
MESSAGE_KEYS = ("role", "content", "tool_calls", *THOUGHT_KEYS, "name", "tool_call_id")
"""Keys that are read from a message."""


def thoughts_in(message: CompletionMessage) -> str:
    """Return the thoughts stored next to a message's content, or "" if there are none."""
    return next((text for key in THOUGHT_KEYS if isinstance(text := message.get(key), str) and text), "")


def thoughts_of(completion: Any) -> str:
    """Return the thoughts stored next to the assistant's text in messages, joined by blank lines, or ""."""
    return "" if isinstance(completion, str) else thoughts_beside(messages_of(completion))


def thoughts_beside(messages: Sequence[CompletionMessage]) -> str:
    """Return the thoughts stored next to the text of messages, joined by blank lines."""
    return "\n\n".join(filter(None, map(thoughts_in, messages)))


def text_of(completion: Any) -> str:
    """Return a completion's text: the string itself, or the assistant's last text in a list of messages.

    Raises:
        UsageError: It is neither.
    """
    return completion if isinstance(completion, str) else last_said(messages_of(completion))


def last_said(messages: Sequence[CompletionMessage]) -> str:
    """Return the last text of an assistant's message, or "" if no message has any."""
    turns = (message for message in reversed(messages) if by_assistant(message))
    return next(filter(None, (content_text(turn.get("content")) for turn in turns)), "")


def by_assistant(message: CompletionMessage) -> bool:
    """Whether a message is the model's. One without a role is."""
    return bool(message.get("role", "assistant") == "assistant")


def messages_of(completion: Any) -> Sequence[CompletionMessage]:
    """Return a completion's messages as mappings. Empty for a string.

    A response of OpenAI's Responses API, or its items, become messages. So do messages of Gemini, LangChain and
    ShareGPT.

    Raises:
        UsageError: It is neither a string nor messages.
    """
    if isinstance(completion, str):
        return ()
    completion = output_of(completion)
    if isinstance(completion, Mapping):
        completion = [completion]
    if are_parts(completion):
        return ({"role": "assistant", "content": completion},)
    if not isinstance(completion, Iterable):
        raise UsageError(f"a completion must be a string or a list of messages, got {type(completion).__name__}")
    completion = tuple(completion)
    if are_items(completion):
        return tuple(from_responses(completion))
    return tuple(in_openai_format(item if type(item) is dict else as_mapping(item)) for item in completion)


def as_mapping(message: Any) -> CompletionMessage:
    """Return a message as a mapping. Objects with `role` and `content` are converted.

    Raises:
        UsageError: It is neither.
    """
    if isinstance(message, Mapping):
        return message
    if not hasattr(message, "content"):
        raise UsageError(f"a message has a role and a content, which a {type(message).__name__} has not")
    own = {key: value for key in MESSAGE_KEYS if (value := getattr(message, key, None)) is not None}
    if isinstance(parts := own.get("content"), list):
        own["content"] = list(map(_as_part, parts))
    if calls := own.get("tool_calls"):
        own["tool_calls"] = [_as_call(call) for call in calls] if isinstance(calls, Iterable) else []
    role = role_of_type(getattr(message, "type", None)) or "assistant"  # LangChain's messages have no `role`
    return {"role": role, "content": None, **own}


def _as_part(part: Any) -> Any:
    """A content part as a mapping, if it can be one."""
    return part if isinstance(part, (str, Mapping)) else plain(part) or part


def content_text(content: Any) -> str:
    """Return a message content's text: the string, or the text of its parts (or only part), joined by blank lines.

    Thoughts are excluded.

    Raises:
        UsageError: It is neither.
    """
    if isinstance(content, str) or content is None:
        return content or ""
    if isinstance(content, Mapping):
        content = [content]
    if not isinstance(content, Iterable):
        raise UsageError(f"a message's content must be a string or a list of parts, got {type(content).__name__}")
    return "\n\n".join(text for part in content if isinstance(text := _text_of_part(part), str))


def are_parts(value: Any) -> bool:
    """Whether a list contains content parts (`{"type": "text", …}`) rather than messages."""
    if type(value) is list and value and type(value[0]) is dict and "role" in value[0]:
        return False  # messages, the usual case
    return isinstance(value, Sequence) and bool(value) and all(map(_is_part, value))


def _is_part(part: Any) -> bool:
    kind = part.get("type") if isinstance(part, Mapping) else None
    return isinstance(kind, str) and kind in _PARTS and "role" not in part and "content" not in part


def media_of(content: Any) -> list[str]:
    """Return a word for each part of a message's content without text: picture, sound, film or file."""
    if isinstance(content, str) or not isinstance(content, Iterable):
        return []
    parts = [content] if isinstance(content, Mapping) else content
    kinds = [part.get("type") if isinstance(part, Mapping) else getattr(part, "type", None) for part in parts]
    return [MEDIA_PARTS[kind] for kind in kinds if isinstance(kind, str) and kind in MEDIA_PARTS]


def media_said(messages: Sequence[CompletionMessage]) -> list[str]:
    """Return a word for each part without text in the assistant's messages."""
    return [word for message in messages if by_assistant(message) for word in media_of(message.get("content"))]


def calls_among(content: Any) -> list[Any]:
    """Return the parts of a message's content that are tool calls, as in Anthropic's format."""
    parts = content if isinstance(content, Sequence) and not isinstance(content, str) else ()
    return [part for part in parts if isinstance(part, Mapping) and part.get("type") in (*CALL_PARTS, "function_call")]


def calls_beside(message: CompletionMessage) -> list[Any]:
    """Return the tool calls next to a message's content, as they are stored: `tool_calls`, or `function_call`.

    Calls that the content has too are left out: LangChain stores Anthropic's calls in both places.
    """
    listed, legacy = message.get("tool_calls"), message.get("function_call")
    if listed and isinstance(listed, Sequence) and not isinstance(listed, str):
        known = [part["id"] for part in calls_among(message.get("content")) if part.get("id")]
        return [call for call in listed if not (known and isinstance(call, Mapping) and call.get("id") in known)]
    return [legacy] if isinstance(legacy, Mapping) and any(value is not None for value in legacy.values()) else []


def continuation(messages: Any, prompt: str | Sequence[CompletionMessage]) -> Sequence[CompletionMessage]:
    """Return the messages after the prompt. If the conversation doesn't start with it, start at the model's first turn.

    Raises:
        UsageError: These are not messages.
    """
    turns = messages_of(messages)
    begin = len(prompt)
    if isinstance(prompt, str) or any(_differ(a, b) for a, b in zip(turns, prompt, strict=False)):
        begin = next((number for number, turn in enumerate(turns) if by_assistant(turn)), len(turns))
    return turns[begin:]


def _differ(a: CompletionMessage, b: CompletionMessage) -> bool:
    return a.get("role") != b.get("role") or content_text(a.get("content")) != content_text(b.get("content"))


def rebuilt(text: str, keys: Mapping[str, Any]) -> Sequence[CompletionMessage]:
    """Rebuild a candidate's messages from the text and keys in a file. Empty if the candidate was a plain string."""
    turns = keys.get("messages")
    if isinstance(turns, list) and turns and all(type(turn) is dict for turn in turns):
        return turns
    if "role" not in keys and not keys.get("tool_calls"):
        return ()
    return ({"role": "assistant", **{key: keys[key] for key in MESSAGE_KEYS if key in keys}, "content": text},)


def _as_call(call: Any) -> Any:
    """Return a call in OpenAI's format.

    OpenAI's own objects have `function.name`, Inspect's `function`, others `name`.
    """
    if isinstance(call, (Mapping, str)):
        return call
    function = getattr(call, "function", None)
    if isinstance(function, Mapping):
        called = dict(function)
    elif function is None or isinstance(function, str):
        called = {"name": function or getattr(call, "name", None), "arguments": getattr(call, "arguments", None)}
    else:
        called = {"name": getattr(function, "name", None), "arguments": getattr(function, "arguments", None)}
    return {"id": getattr(call, "id", None), "type": "function", "function": called}


def _text_of_part(part: Any) -> Any:
    if isinstance(part, Mapping):
        return None if part.get("type") in THOUGHT_PARTS else part.get("text")
    return part if isinstance(part, str) else getattr(part, "text", None)
