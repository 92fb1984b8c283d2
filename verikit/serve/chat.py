"""The server side of OpenAI's chat completions: parses requests, and builds replies, whole or as an event stream.

Unsupported features are rejected with an error that names them, never ignored: tools, reply formats, other modalities.
Keys that only concern a provider (`user`, `store`, penalties of 0, …) are ignored.
"""

from __future__ import annotations

import json
import os
import secrets
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from starlette.responses import JSONResponse, Response

from verikit.errors import SchemaError, UsageError
from verikit.platform.numbers import number
from verikit.readers import fields
from verikit.sampling import SamplingSettings
from verikit.types import JsonObject, Prompt

REFUSED = ("tools", "functions", "tool_choice", "audio", "modalities", "logit_bias", "prediction", "web_search_options")
NEUTRAL: Mapping[str, Any] = {
    "tool_choice": "none",
    "modalities": ["text"],
    "presence_penalty": 0,
    "frequency_penalty": 0,
    "response_format": {"type": "text"},
}
"""Values of unsupported keys that have no effect and are accepted."""
PIECE = 48
"""Characters per event of a stream."""


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """A client's request."""

    prompt: Prompt
    n: int = 1
    """Choices to return."""
    temperature: float = 1.0
    top_p: float = 1.0
    max_tokens: int | None = None
    stop: tuple[str, ...] = ()
    seed: int | None = None
    logprobs: int | None = None
    stream: bool = False
    stream_usage: bool = False
    """Whether the stream ends with the usage."""


def read_chat(body: Mapping[str, Any]) -> ChatRequest:
    """Read a request.

    Raises:
        UsageError: A field is invalid, or requests something unsupported.
    """
    for key in (*REFUSED, *NEUTRAL):
        if body.get(key) not in (None, [], {}, NEUTRAL.get(key)):
            raise UsageError(f"{key}: best-of-n sampling does not do this", hint=f"leave {key} out")
    _refuse_parts(body.get("messages"))
    stop = body.get("stop") or ()
    options = body.get("stream_options") or {}
    try:
        prompt = fields.prompt(body.get("messages"))
        if isinstance(prompt, str):
            raise SchemaError("messages is a list of messages", field="messages")
        return ChatRequest(
            prompt,
            n=_number(body, "n", int, 1),
            temperature=_number(body, "temperature", float, 1.0),
            top_p=_number(body, "top_p", float, 1.0),
            max_tokens=_number(body, "max_completion_tokens", int, None) or _number(body, "max_tokens", int, None),
            stop=(stop,) if isinstance(stop, str) else tuple(map(_text, filter(None, stop))),
            seed=_number(body, "seed", int, None),
            logprobs=(_number(body, "top_logprobs", int, 0) if body.get("logprobs") else None),
            stream=bool(body.get("stream")),
            stream_usage=isinstance(options, Mapping) and bool(options.get("include_usage")),
        )
    except TypeError:
        raise UsageError("stop must be a string or a list of strings") from None


def _refuse_parts(messages: Any) -> None:
    """Reject message parts that are not text, which would otherwise be dropped.

    Raises:
        UsageError: There is such a part. The error names it.
    """
    for index, message in enumerate(messages if isinstance(messages, list) else ()):
        parts = message.get("content") if isinstance(message, dict) else None
        for part in parts if isinstance(parts, list) else ():
            kind = part.get("type") if isinstance(part, dict) else type(part).__name__
            if kind not in ("text", "refusal", None):
                raise UsageError(f"messages[{index}]: best-of-n sampling requires text, got {kind!r}")


def _number(body: Mapping[str, Any], key: str, kind: type[int] | type[float], default: Any) -> Any:
    value = body.get(key)
    if value is None:
        return default
    known = not isinstance(value, bool) and number(value) is not None
    if not known or (kind is int and value != int(value)):
        raise UsageError(f"{key} must be {'an integer' if kind is int else 'a number'}, got {value!r}")
    return kind(value)


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def settings_of(asked: ChatRequest, *, n: int, temperature: float | None, max_tokens: int) -> SamplingSettings:
    """Return the sampling settings for a request.

    Args:
        asked: The request.
        n: Number of samples. A greedy request gets one, since all its samples would be equal.
        temperature: The server's temperature. None uses the request's.
        max_tokens: Maximum tokens per sample, unless the request sets it.

    Raises:
        UsageError: A value is invalid in any request.
    """
    warmth = asked.temperature if temperature is None else temperature
    return SamplingSettings(
        n=n if warmth else 1,
        temperature=warmth,
        top_p=asked.top_p,
        max_tokens=asked.max_tokens or max_tokens,
        stop=asked.stop,
        seed=secrets.randbits(31) if asked.seed is None else asked.seed,
        logprobs=asked.logprobs,
        chat=True,
    )


def reply(model: str, chosen: Sequence[JsonObject], usage: JsonObject) -> dict[str, Any]:
    """The whole reply: candidates, best first, as choices."""
    choices = [
        {
            "index": index,
            "message": _message(candidate),
            "finish_reason": candidate.get("finish_reason") or "stop",
            "logprobs": _logprobs(candidate),
        }
        for index, candidate in enumerate(chosen)
    ]
    return {**_head(model, "chat.completion"), "choices": choices, "usage": usage}


def events(model: str, chosen: Sequence[JsonObject], usage: JsonObject | None) -> Iterator[bytes]:
    """The reply as server-sent events: for each choice its role, its text in pieces, its end; then the usage."""
    head = _head(model, "chat.completion.chunk")

    def event(index: int, delta: JsonObject, reason: str | None = None) -> bytes:
        choice = {"index": index, "delta": delta, "finish_reason": reason, "logprobs": None}
        return _event({**head, "choices": [choice]})

    for index, candidate in enumerate(chosen):
        message = _message(candidate)
        yield event(index, {"role": "assistant", "content": ""})
        for key in ("reasoning_content", "content"):
            text = message.get(key, "")
            for start in range(0, len(text), PIECE):
                yield event(index, {key: text[start : start + PIECE]})
        yield event(index, {}, candidate.get("finish_reason") or "stop")
    if usage is not None:
        yield _event({**head, "choices": [], "usage": usage})
    yield b"data: [DONE]\n\n"


def refusal(status: int, problem: str, *, hint: str = "", retry_s: int = 0) -> Response:
    """A rejected request, in OpenAI's format."""
    kind = "invalid_request_error" if status in (400, 404, 413, 422) else "server_error"
    headers = {"Retry-After": str(retry_s)} if retry_s else {}
    if status in (408, 413):
        headers["Connection"] = "close"
    error = {"message": f"{problem} ({hint})" if hint else problem, "type": kind, "param": None, "code": None}
    return JSONResponse({"error": error}, status, headers)


def model_name(engine: str) -> str:
    """The model in an engine's name (`openai:URL#MODEL`, `hf:PATH`), without its address or folder."""
    name = engine.partition(":")[2] or engine
    name = name.partition("#")[2] or name
    return os.path.basename(os.path.abspath(name)) if os.path.exists(name) else name


def header_text(text: str, most: int = 300) -> str:
    """Convert a string to a valid header value: one line of ASCII."""
    line = " ".join(text.encode("ascii", "replace").decode().split())
    return "".join(char for char in line if char.isprintable())[:most]


def _head(model: str, kind: str) -> dict[str, Any]:
    return {
        "id": f"chatcmpl-{secrets.token_hex(12)}",
        "object": kind,
        "created": int(time.time()),
        "model": model,
    }


def _message(candidate: JsonObject) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": candidate["text"]}
    if thoughts := candidate.get("reasoning_content"):
        message["reasoning_content"] = thoughts
    return message


def _logprobs(candidate: JsonObject) -> dict[str, Any] | None:
    if "logprobs" not in candidate:
        return None
    tops = candidate.get("top_logprobs") or [[]] * len(candidate["logprobs"])
    content = [
        {
            "token": token,
            "logprob": logprob,
            "bytes": None,
            "top_logprobs": [{"token": name, "logprob": value, "bytes": None} for name, value in top],
        }
        for token, logprob, top in zip(candidate["tokens"], candidate["logprobs"], tops, strict=True)
    ]
    return {"content": content, "refusal": None}


def _event(value: JsonObject) -> bytes:
    return b"data: " + json.dumps(value, ensure_ascii=False).encode("utf-8", "replace") + b"\n\n"
