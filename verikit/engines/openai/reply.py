"""Converts the server's reply to a generation: chat and completions, with and without vLLM's token ids.

No part of a reply is trusted. Each string, count and log-probability is checked where it is read, and a reply with an
invalid one is rejected as a whole.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from verikit.engines.errors import BadReply
from verikit.engines.types import Generation, Output, Request, TopLogprob, TopLogprobs
from verikit.messages import thoughts_in

_Logprobs = tuple[tuple[str, ...], tuple[float, ...], tuple[TopLogprobs, ...]]
"""Tokens, their log-probabilities, and the likeliest tokens at their positions."""
_ROUNDING = 1e-3
"""How far above 0 arithmetic in a small number format may lift the logarithm of a probability of 1."""


def generation_of(reply: Any, request: Request) -> Generation:
    """Read a reply. usage contains the server's token counts.

    Raises:
        BadReply: A field is missing or has the wrong shape, or outputs are missing.
    """
    try:
        choices = sorted(reply["choices"], key=lambda choice: choice.get("index") or 0)
        if len(choices) != request.draws:
            raise BadReply(f"asked for {request.draws} outputs, got {len(choices)}", hint="some servers ignore n")
        counts = reply.get("usage") or {}
        usage = {name: _count(counts[name]) for name in ("prompt_tokens", "completion_tokens") if counts.get(name)}
        details = counts.get("prompt_tokens_details") or {}
        if cached := details.get("cached_tokens"):
            usage["prompt_cached"] = min(_count(cached), usage.get("prompt_tokens", 0.0))
        generation = _read(reply, choices, request, int(usage.get("prompt_tokens", 0)))
        return replace(generation, outputs=generation.outputs * (request.n // request.draws), usage=usage)
    except (KeyError, TypeError, AttributeError, ValueError, IndexError, OverflowError) as problem:
        raise BadReply(f"the reply is not in the protocol's form: {type(problem).__name__} {problem}") from None


def _text(value: Any) -> str:
    """Read a string. Half of a surrogate pair, which no file or answer can contain, becomes a question mark."""
    if not isinstance(value, str):
        raise TypeError(f"text is {type(value).__name__}")
    return value.encode("utf-8", "replace").decode("utf-8")


def _count(value: Any) -> float:
    number = float(value)
    if not 0 <= number < math.inf:
        raise ValueError(f"{number:g} tokens")
    return number


def _whole(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"a token's id is {type(value).__name__}")
    return value


def _logprob(value: Any) -> float:
    """Read a log-probability. Minus infinity is valid. Values that rounding lifts above 0 become 0."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(f"a log-probability is {type(value).__name__}")
    if not value <= _ROUNDING:
        raise BadReply(f"{value:g} is not a log-probability", hint="does the server return logits?")
    return min(float(value), 0.0)


def _prompt_logprobs(values: Sequence[Any]) -> tuple[float | None, ...]:
    """Read the log-probabilities of a prompt. Its first token has none."""
    return tuple(None if value is None and not index else _logprob(value) for index, value in enumerate(values))


def _ids(values: Iterable[Any] | None) -> tuple[int, ...]:
    return tuple(map(_whole, values or ()))


def _read(reply: Any, choices: list[Any], request: Request, prompt_tokens: int) -> Generation:
    first = choices[0]
    ids = _ids(reply.get("prompt_token_ids") or first.get("prompt_token_ids") or request.prompt_ids)
    # vLLM returns it in the reply (chat) or in the choice (completions). The protocol's own way is an echo.
    given = reply.get("prompt_logprobs") or first.get("prompt_logprobs")
    if request.prompt_logprobs is None or given is not None:
        outputs = tuple(_output(choice, request) for choice in choices)
        return Generation(outputs, ids, *_vllm_prompt(given, ids, request))
    echo = first["logprobs"]
    tops = tuple(_ranked(top, request.prompt_logprobs) for top in (echo.get("top_logprobs") or [])[:prompt_tokens])
    outputs = tuple(_output(choice, request, skip=prompt_tokens) for choice in choices)
    return Generation(outputs, ids, _prompt_logprobs(echo["token_logprobs"][:prompt_tokens]), tops)


def _output(choice: Any, request: Request, skip: int = 0) -> Output:
    """Read one choice; `skip` tokens of it are the prompt's echo."""
    text = _text(choice["message"].get("content") or "" if request.kind == "chat" else choice["text"])
    tokens, logprobs, tops = _logprobs(choice.get("logprobs"), request, skip)
    if skip:
        text = "".join(tokens)
    ids = _ids(choice.get("token_ids"))
    reason = str(choice.get("finish_reason") or "")
    thoughts = thoughts_in(choice["message"]) if request.kind == "chat" else ""
    if request.max_tokens == 0:
        return Output("", finish_reason=reason)
    if request.logprobs is None:
        return Output(text, ids, finish_reason=reason, thoughts=thoughts, stopped_by=_stopped_by(choice, request))
    return Output(text, ids, tokens, logprobs, tops, reason, thoughts, _stopped_by(choice, request))


def _stopped_by(choice: Any, request: Request) -> str | None:
    """Return what ended the output, if the server reports it: vLLM's `stop_reason`, SGLang's `matched_stop`."""
    name = next((name for name in ("stop_reason", "matched_stop") if name in choice), "")
    if not name or not request.stop or choice.get("finish_reason") != "stop":
        return None
    given = choice[name]
    return given if isinstance(given, str) else ""


def _logprobs(given: Any, request: Request, skip: int) -> _Logprobs:
    if given is None:
        if request.logprobs is not None:
            raise BadReply("the server gave no log-probabilities", hint="does it support them for this model?")
        return (), (), ()
    k = request.logprobs or 0
    return _chat_logprobs(given["content"] or [], k) if "content" in given else _text_logprobs(given, k, skip)


def _chat_logprobs(steps: Any, k: int) -> _Logprobs:
    tops = tuple(
        tuple(TopLogprob(_text(top["token"]), _logprob(top["logprob"])) for top in step.get("top_logprobs") or ())
        for step in steps
    )
    tokens = tuple(_text(step["token"]) for step in steps)
    return tokens, tuple(_logprob(step["logprob"]) for step in steps), tops if k else ()


def _text_logprobs(given: Any, k: int, skip: int) -> _Logprobs:
    """Those of the completions endpoint, without its first `skip` tokens, which are the prompt's."""
    tops = tuple(_ranked(top, k) for top in (given.get("top_logprobs") or [])[skip:]) if k else ()
    tokens, logprobs = tuple(map(_text, given["tokens"][skip:])), tuple(map(_logprob, given["token_logprobs"][skip:]))
    if len(tokens) != len(logprobs) or (tops and len(tops) != len(tokens)):
        raise BadReply(f"{len(logprobs)} log-probabilities and {len(tops)} of the likeliest for {len(tokens)} tokens")
    return tokens, logprobs, tops


def _ranked(top: Mapping[str, float] | None, k: int) -> TopLogprobs:
    """Return the most likely tokens of a {text: log-probability} object, best first."""
    best = sorted(
        ((_text(token), _logprob(logprob)) for token, logprob in (top or {}).items()), key=lambda pair: -pair[1]
    )
    return tuple(TopLogprob(token, logprob) for token, logprob in best[: k + 1] if k)


def _vllm_tops(entry: Mapping[str, Any]) -> TopLogprobs:
    """Return the candidates of one token, most likely first."""
    ranked = sorted(entry.items(), key=lambda pair: pair[1]["rank"])
    return tuple(
        TopLogprob(_text(candidate.get("decoded_token") or ""), _logprob(candidate["logprob"]), int(key))
        for key, candidate in ranked
    )


def _vllm_prompt(
    given: list[Any] | None, ids: tuple[int, ...], request: Request
) -> tuple[tuple[float | None, ...], tuple[TopLogprobs, ...]]:
    """Read vLLM's format: for each prompt token None (the first) or {id: {logprob, rank, decoded_token}}."""
    if request.prompt_logprobs is None or given is None:
        return (), ()
    if len(ids) != len(given):
        raise BadReply(f"{len(given)} prompt log-probabilities for {len(ids)} prompt ids")
    of_tokens = [
        None if entry is None else entry[str(token)]["logprob"] for token, entry in zip(ids, given, strict=True)
    ]
    tops = [_vllm_tops(entry or {}) for entry in given]
    return _prompt_logprobs(of_tokens), tuple(tops) if request.prompt_logprobs else ()
