"""Items of OpenAI's Responses API as messages: what the model said, the tools it called, and their results.

Each of the API's own tools (`shell`, `apply_patch`, `computer`, …) has items of its own. They become calls
with the tool's name, and results. Other items, such as lists of tools, are left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from verikit.message_formats import result_text

Item = Mapping[str, Any]
_CALL, _OUTPUT, _CALL_OUTPUT = "_call", "_output", "_call_output"
_RESULTS = ("output", "outputs", "results", "result", "error")
"""Fields with what a tool returned. Tools that the API runs itself have them in the item of their call."""
_FRAME = frozenset(
    """id call_id type status name caller created_by environment container_id fingerprint namespace
    pending_safety_checks acknowledged_safety_checks approval_request_id server_label""".split()
)
"""Fields of a call that are not its arguments."""


def output_of(response: Any) -> Any:
    """The items of a whole response, or the value itself if it is something else."""
    read = response.get if isinstance(response, Mapping) else partial(getattr, response)
    if read("object", None) != "response":
        return response
    items = read("output", None)
    return items if isinstance(items, list) else response


def are_items(value: Sequence[Any]) -> bool:
    """Whether a list has calls, results or thoughts as items of their own, next to messages or alone."""
    others = [item for item in value if type(item) is not dict or "role" not in item]  # none, as a rule
    return any(map(_is_step, others)) and all(_kind(item) or _has_role(item) for item in others)


def from_responses(items: Iterable[Any]) -> Sequence[Item]:
    """Return the messages of `output` in OpenAI's Responses API, from mappings or the client's objects.

    Calls and thoughts go to the message they belong to.
    """
    turns: list[dict[str, Any]] = []
    thoughts: list[str] = []
    for item in map(plain, items):
        if _kind(item) == "reasoning":
            thoughts += _reasoning_texts(item)
        elif _add(turns, item) and thoughts:
            turns[-1]["reasoning_content"] = "\n\n".join(thoughts)
            thoughts = []
        if _is_call(_kind(item)) and _has_result(item):
            turns.append(_result(item))
    return turns


def _add(turns: list[dict[str, Any]], item: Item) -> bool:
    """Add an item to the messages. Returns whether the model said or did it."""
    kind = _kind(item)
    if kind.endswith(_OUTPUT):
        turns.append(_result(item))
    elif _is_call(kind):
        _add_call(turns, item, kind)
        return True
    elif kind == "message" or (not kind and _has_role(item)):
        turns.append({**item, "role": item.get("role", "assistant"), "content": item.get("content")})
        return bool(turns[-1]["role"] == "assistant")
    return False


def _kind(item: Any) -> str:
    """An item's type; "" if it has none."""
    kind = item.get("type") if isinstance(item, Mapping) else getattr(item, "type", None)
    return kind if isinstance(kind, str) else ""


def _has_role(item: Any) -> bool:
    return "role" in item if isinstance(item, Mapping) else hasattr(item, "role")


def _is_call(kind: str) -> bool:
    return kind.endswith(_CALL) or kind == "program"


def _is_step(item: Any) -> bool:
    """Whether an item is a call, a result or thoughts."""
    if _has_role(item):
        return False
    kind = _kind(item)
    return _is_call(kind) or kind.endswith(_CALL_OUTPUT) or kind in ("reasoning", "program_output")


def plain(item: Any) -> Item:
    """An item or a part as a mapping, empty if it can't be one. The client's objects have a method for it."""
    if isinstance(item, Mapping):
        return item
    dumped = item.model_dump(mode="json", exclude_none=True) if hasattr(item, "model_dump") else None
    return dumped if isinstance(dumped, Mapping) else {}


def _reasoning_texts(item: Item) -> list[str]:
    parts = item.get("content") or item.get("summary") or ()
    texts = [part.get("text") for part in parts if isinstance(part, Mapping)] if isinstance(parts, list) else []
    return [text for text in texts if isinstance(text, str)]


def _add_call(turns: list[dict[str, Any]], item: Item, kind: str) -> None:
    """Add a call to the calls before it, or in a message of its own."""
    if not (turns and "tool_calls" in turns[-1]):
        turns.append({"role": "assistant", "content": None, "tool_calls": []})
    called = {"name": item.get("name") or kind.removesuffix(_CALL), "arguments": _arguments(item)}
    turns[-1]["tool_calls"].append({"id": _call_id(item), "type": "function", "function": called})


def _arguments(item: Item) -> Any:
    """A call's arguments: `arguments`, the object that describes the action, or the fields of the item."""
    if item.get("arguments") is not None:
        return item["arguments"]
    given = {key: value for key, value in item.items() if key not in (*_FRAME, *_RESULTS) and value is not None}
    only = next(iter(given.values())) if len(given) == 1 else None
    return only if isinstance(only, Mapping) else given


def _has_result(item: Item) -> bool:
    return any(item.get(key) is not None for key in _RESULTS)


def _call_id(item: Item) -> Any:
    return item.get("call_id") or item.get("id")


def _result(item: Item) -> dict[str, Any]:
    """What a tool returned, as a message."""
    found = next((item[key] for key in _RESULTS if item.get(key) is not None), None)
    failed = item.get("error") is not None or item.get("status") == "failed"
    content = _picture_made(found) if item.get("type") == "image_generation_call" else _content(found)
    message = {"role": "tool", "content": content, "tool_call_id": _call_id(item)}
    return message | ({"is_error": True} if failed else {})


def _content(found: Any) -> Any:
    """A result as a message's content. Values in other formats become JSON."""
    if found is None or isinstance(found, str):
        return found or ""
    return [_part(part) for part in (found if isinstance(found, list) else [found])]


def _part(value: Any) -> Any:
    """One part of a result: text, a screenshot, or what a shell printed."""
    if not isinstance(value, Mapping):
        return {"type": "text", "text": str(value)}
    if value.get("type") == "computer_screenshot":
        return {"type": "input_image", "image_url": value.get("image_url")}
    if value.get("type") == "image" and isinstance(value.get("url"), str):
        return {"type": "input_image", "image_url": value["url"]}
    if value.get("type") in ("input_text", "input_image", "input_file"):
        return value
    return {"type": "text", "text": _printed(value)}


def _printed(value: Item) -> str:
    """What a shell or an interpreter printed, and how it ended."""
    if isinstance(value.get("logs"), str):
        return str(value["logs"])
    if "stdout" not in value:
        return result_text(value)
    outcome = value.get("outcome")
    ended = outcome if isinstance(outcome, Mapping) else {}
    code = ended.get("exit_code")
    end = f"exit code {code}" if code is not None else str(ended.get("type") or "")
    return "\n".join(text for text in (value.get("stdout"), value.get("stderr"), end) if isinstance(text, str) and text)


def _picture_made(found: Any) -> Any:
    """A generated picture as a content part."""
    if not isinstance(found, str):
        return _content(found)
    return [{"type": "input_image", "image_url": f"data:image/png;base64,{found}"}]
