"""A span for each request of an engine, by OpenTelemetry's conventions for generative AI (`gen_ai.*`).

Names and units: https://opentelemetry.io/docs/specs/semconv/gen-ai/gen-ai-spans/. A span is created when its result
arrives, with the times of the engine. A cache hit has no span, because no model was called.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import wraps
from typing import Any, TypeVar, cast
from urllib.parse import urlsplit

from verikit.engines.types import Engine, Generation, Request, TakeBack
from verikit.messages import content_text
from verikit.platform import tracing

Method = TypeVar("Method", bound=Callable[..., Any])
Results = Iterator[tuple[int, Generation]]
PROVIDERS = {"gemini": "gcp.gemini", "openai-batch": "openai"}
"""The conventions' names of providers, if they differ from the spec's."""
REMOTE = ("openai", "openai-batch", "anthropic", "gemini")
SHOWN_CHARS = 20_000
"""Maximum characters of a text in a span, if texts are enabled."""


def traced_stream(stream: Method) -> Method:
    """Create spans of the results of an engine's `stream`, if the process records spans."""

    @wraps(stream)
    def observed(self: Engine, requests: Sequence[Request]) -> Results:
        tracer = tracing.tracer()
        results: Results = stream(self, requests)
        return results if tracer is None else _observed(tracer, self, requests, results)

    return cast(Method, observed)


def traced_generate(generate: Method) -> Method:
    """The same for an engine's `generate`."""

    @wraps(generate)
    def observed(self: Engine, requests: Sequence[Request]) -> list[Generation]:
        tracer = tracing.tracer()
        if tracer is None:
            return cast(list[Generation], generate(self, requests))

        def results() -> Results:  # starts when it is iterated, after the spans' start time
            yield from enumerate(generate(self, requests))

        return [result for _, result in _observed(tracer, self, requests, results())]

    return cast(Method, observed)


def traced_submit(submit: Method) -> Method:
    """The same for an engine's `submit`."""

    @wraps(submit)
    def observed(self: Engine, request: Request, done: Callable[[Generation | BaseException], None]) -> TakeBack:
        tracer = tracing.tracer()
        if tracer is None:
            return cast(TakeBack, submit(self, request, done))
        began, common = time.time_ns(), _engine_attributes(self)

        def record(found: Generation | BaseException) -> None:
            if isinstance(found, Generation):
                _record(tracer, common, request, found, began)
            done(found)

        return cast(TakeBack, submit(self, request, record))

    return cast(Method, observed)


def _observed(tracer: Any, engine: Engine, requests: Sequence[Request], results: Results) -> Results:
    began = time.time_ns()
    common = _engine_attributes(engine)
    for index, generation in results:
        _record(tracer, common, requests[index], generation, began)
        yield index, generation


def _record(tracer: Any, common: dict[str, Any], request: Request, generation: Generation, began: int) -> None:
    """Create the span of a finished request."""
    from opentelemetry.trace import SpanKind, StatusCode

    end = time.time_ns()
    seconds = generation.usage.get("seconds")
    operation = "chat" if request.kind == "chat" else "text_completion"
    remote = common["gen_ai.provider.name"] in {PROVIDERS.get(name, name) for name in REMOTE}
    span = tracer.start_span(
        f"{operation} {common['gen_ai.request.model']}",
        kind=SpanKind.CLIENT if remote else SpanKind.INTERNAL,
        start_time=began if seconds is None else max(began, end - round(seconds * 1e9)),
        attributes={"gen_ai.operation.name": operation, **common, **_request_attributes(request)},
    )
    if span.is_recording():
        span.set_attributes(_result_attributes(generation))
        if tracing.shows_texts():
            span.set_attributes(_texts(request, generation))
        if generation.error is not None:
            # A server's message about a rejected request may repeat the prompt.
            told = str(generation.error) if tracing.shows_texts() else None
            span.set_status(StatusCode.ERROR, told)
    span.end(end)


def _engine_attributes(engine: Engine) -> dict[str, Any]:
    kind, _, rest = engine.name.partition(":")
    found: dict[str, Any] = {
        "gen_ai.provider.name": PROVIDERS.get(kind, kind),
        "gen_ai.request.model": str(getattr(engine, "model", "") if kind in REMOTE else rest) or rest,
    }
    if isinstance(url := getattr(engine, "url", None), str):
        parts = urlsplit(url)
        found["server.address"] = parts.hostname or url
        found["server.port"] = parts.port or (443 if parts.scheme == "https" else 80)
    return found


def _request_attributes(request: Request) -> dict[str, Any]:
    found: dict[str, Any] = {
        "gen_ai.request.max_tokens": request.max_tokens,
        "gen_ai.request.temperature": float(request.temperature),
        "gen_ai.request.top_p": float(request.top_p),
    }
    if request.n != 1:
        found["gen_ai.request.choice.count"] = request.n
    if request.top_k:
        found["gen_ai.request.top_k"] = request.top_k
    if request.seed is not None:
        found["gen_ai.request.seed"] = request.seed
    if request.stop:
        found["gen_ai.request.stop_sequences"] = list(request.stop)
    if request.structured is not None:
        found["gen_ai.output.type"] = "json" if request.structured.kind == "json" else "text"
    return found


def _result_attributes(generation: Generation) -> dict[str, Any]:
    usage = generation.usage
    found: dict[str, Any] = {}
    for key, name in (("prompt_tokens", "input_tokens"), ("completion_tokens", "output_tokens")):
        if key in usage:
            found[f"gen_ai.usage.{name}"] = int(usage[key])
    if usage.get("calls", 1) > 1:
        found["verikit.tries"] = int(usage["calls"])
    if reasons := [output.finish_reason for output in generation.outputs if output.finish_reason]:
        found["gen_ai.response.finish_reasons"] = reasons
    if generation.error is not None:
        found["error.type"] = type(generation.error).__name__
    return found


def _texts(request: Request, generation: Generation) -> dict[str, Any]:
    """Return prompt and outputs as messages with parts, the conventions' format."""
    if request.kind == "ids":
        asked: list[dict[str, Any]] = []
    elif isinstance(request.prompt, str):
        asked = [_message("user", request.prompt)]
    else:
        turns = [turn for turn in request.prompt if isinstance(turn, Mapping)]
        asked = [_message(str(turn.get("role")), content_text(turn.get("content"))) for turn in turns]
    given = [
        _message("assistant", output.text) | {"finish_reason": output.finish_reason} for output in generation.outputs
    ]
    named = {"gen_ai.input.messages": asked, "gen_ai.output.messages": given}
    return {name: json.dumps(messages, ensure_ascii=False) for name, messages in named.items() if messages}


def _message(role: str, text: str) -> dict[str, Any]:
    return {"role": role, "parts": [{"type": "text", "content": text[:SHOWN_CHARS]}]}
