"""Messages in the formats of Gemini, LangChain and ShareGPT, as messages in OpenAI's format."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, filterfalse, groupby
from typing import Any

_ROLES = {
    **dict.fromkeys(("ai", "AIMessageChunk", "gpt", "chatgpt", "model", "function_call"), "assistant"),
    **dict.fromkeys(("human", "user"), "user"),
    **dict.fromkeys(("tool", "function", "observation", "function_response"), "tool"),
    "system": "system", "assistant": "assistant",
}  # fmt: skip
"""Our role for each role of Gemini, `type` of LangChain and `from` of ShareGPT."""

_ALIASES = {"model": "assistant", "ai": "assistant", "gpt": "assistant", "human": "user"}
"""Other names of our roles, in messages that are otherwise in our format."""


def role_of_type(kind: Any) -> str | None:
    """The role of LangChain's messages by their `type`. None for other values."""
    return _ROLES.get(kind) if isinstance(kind, str) else None


def in_openai_format(message: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a message in OpenAI's format. Messages in none of the other formats are returned unchanged."""
    if "content" in message and "role" in message:
        other = _ALIASES.get(message["role"]) if isinstance(message["role"], str) else None
        return {**message, "role": other} if other else message
    if isinstance(parts := message.get("parts"), list) and "content" not in message:
        return _of_gemini(message, parts)
    if "role" in message:
        return message
    if "value" in message and (role := role_of_type(message.get("from"))):
        return {"role": role, "content": message["value"]}
    return _of_langchain(message)


def _of_langchain(message: Mapping[str, Any]) -> Mapping[str, Any]:
    role, stored = role_of_type(message.get("type")), message.get("data")
    if role and isinstance(stored, Mapping):
        return {"role": role, **stored}
    return {"role": role, **message} if role and "content" in message else message


def _of_gemini(message: Mapping[str, Any], parts: Sequence[Any]) -> Mapping[str, Any]:
    """A message whose content is in `parts`. Text of several parts is one text, as in the client."""
    known = [part for part in parts if isinstance(part, Mapping)]
    thoughts = _joined(filter(_is_thought, known))
    said = list[Mapping[str, Any]]()
    for is_text, run in groupby(filterfalse(_is_thought, known), _is_text):
        same = list(run)
        said += (
            [{"type": "text", "text": _joined(same)}] if is_text else chain.from_iterable(map(_parts_of_gemini, same))
        )
    role = message.get("role", "model")
    kept = {"reasoning_content": thoughts} if thoughts else {}
    return {"role": role_of_type(role) or str(role), "content": said, **kept}


def _joined(parts: Iterable[Mapping[str, Any]]) -> str:
    return "".join(part["text"] for part in parts)


def _is_thought(part: Mapping[str, Any]) -> bool:
    return _is_text(part) and bool(part.get("thought"))


def _is_text(part: Mapping[str, Any]) -> bool:
    return isinstance(part.get("text"), str)


def _parts_of_gemini(part: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """A part as a content part: a picture, a call or a result. Its keys have either of the API's two styles."""
    own = {str(key).replace("_", "").lower(): value for key, value in part.items()}
    inner = {key: value for key, value in own.items() if isinstance(value, Mapping)}
    if data := inner.get("inlinedata"):
        yield {"type": "image", "source": {"data": data.get("data")}}
    if call := inner.get("functioncall"):
        yield {"type": "tool_call", "id": call.get("id"), "name": call.get("name"), "args": call.get("args") or {}}
    if code := inner.get("executablecode"):
        yield {"type": "tool_call", "name": "code_execution", "args": {"code": code.get("code")}}
    if answer := inner.get("functionresponse"):
        yield {"type": "tool_result", "tool_use_id": answer.get("id"), "content": result_text(answer.get("response"))}
    if result := inner.get("codeexecutionresult"):
        yield {"type": "tool_result", "content": result_text(result.get("output"))}


def result_text(value: Any) -> str:
    """What a tool returned as text: a string unchanged, another value as JSON."""
    if isinstance(value, str):
        return value
    try:
        return json.dumps(value, ensure_ascii=False, default=repr)
    except (ValueError, RecursionError):
        return "a result that is nested too deeply to be shown"
