"""OpenTelemetry spans of engines' requests, of verifiers and judges, and of the reward server.

They are recorded if the process has a tracer provider. It may be set by a program, by `opentelemetry-instrument`, or by
`configure`, which verikit's commands call to apply the standard environment (`OTEL_EXPORTER_OTLP_ENDPOINT`,
`OTEL_TRACES_EXPORTER`). Otherwise `tracer` only looks up a table entry, and nothing of OpenTelemetry is imported. Spans
contain the text of prompts and completions only if `OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT` enables it.
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from verikit.types import Score

ASKED = ("OTEL_TRACES_EXPORTER", "OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
"""Environment variables that enable traces."""
CONTENT = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
EVENTS = 16
"""Number of scores of one span that are recorded individually, as events."""
LINKS = 128
"""Maximum number of requests that a batch's span is linked to."""
_API = "opentelemetry.trace"


def tracer() -> Any:
    """Return the tracer if spans are recorded, otherwise None."""
    api: Any = sys.modules.get(_API)
    if api is None or getattr(api, "_TRACER_PROVIDER", api) is None:  # getting it would read the environment
        return None
    provider = api.get_tracer_provider()
    return None if isinstance(provider, api.ProxyTracerProvider) else provider.get_tracer("verikit")


def configure() -> bool:
    """Record spans in this process if the environment enables them and the extra `otel` is installed.

    Return whether it does.

    An existing provider is kept.
    """
    exporter = os.environ.get("OTEL_TRACES_EXPORTER", "otlp")
    if not any(os.environ.get(name) for name in ASKED) or exporter == "none":
        return False
    try:
        api, sdk = import_module(_API), import_module("opentelemetry.sdk.trace")
        export = import_module("opentelemetry.sdk.trace.export")
        resources = import_module("opentelemetry.sdk.resources")
        made = export.ConsoleSpanExporter(out=sys.stderr) if exporter == "console" else _otlp()
    except ImportError:
        return False
    if tracer() is None:
        named = "OTEL_SERVICE_NAME" in os.environ or "service.name=" in os.environ.get("OTEL_RESOURCE_ATTRIBUTES", "")
        resource = resources.Resource.create({} if named else {"service.name": "verikit"})
        provider = sdk.TracerProvider(resource=resource)
        provider.add_span_processor(export.BatchSpanProcessor(made))
        api.set_tracer_provider(provider)
    return True


def _otlp() -> Any:
    protocol = os.environ.get("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", os.environ.get("OTEL_EXPORTER_OTLP_PROTOCOL", ""))
    way = "grpc" if protocol == "grpc" else "http"
    return import_module(f"opentelemetry.exporter.otlp.proto.{way}.trace_exporter").OTLPSpanExporter()


def shows_texts() -> bool:
    """Whether the environment enables the text of prompts and completions in spans."""
    return os.environ.get(CONTENT, "").lower() in ("true", "1", "span_only", "span_and_event")


def span(name: str, **attributes: Any) -> AbstractContextManager[Any]:
    """Return a new current span within the current one. The context yields None if nothing is recorded.

    Double underscores in an attribute's name become dots: `verikit__samples`.
    """
    found = tracer()
    if found is None:
        return nullcontext()
    named = {key.replace("__", "."): value for key, value in attributes.items()}
    context: AbstractContextManager[Any] = found.start_as_current_span(name, attributes=named)
    return context


def carrier() -> dict[str, str]:
    """Return the current span as W3C headers (`traceparent`) for another process, or {} if nothing is recorded."""
    if tracer() is None:
        return {}
    headers: dict[str, str] = {}
    import_module("opentelemetry.propagate").inject(headers)
    return headers


@contextmanager
def served(name: str, headers: Mapping[str, str], attributes: Mapping[str, Any]) -> Iterator[Any]:
    """Open the span of a request that a server handles, within the trace that its headers name."""
    found = tracer()
    if found is None:
        yield None
        return
    api = sys.modules[_API]
    before = import_module("opentelemetry.propagate").extract(dict(headers))
    kind = api.SpanKind.SERVER
    with found.start_as_current_span(name, context=before, kind=kind, attributes=dict(attributes)) as made:
        yield made


def answered(made: Any, status: int) -> None:
    """Record the status of a served request's reply. Server errors are marked as errors."""
    if made is not None:
        made.set_attribute("http.response.status_code", status)
        if status >= 500:
            made.set_attribute("error.type", str(status))
            made.set_status(sys.modules[_API].StatusCode.ERROR)


@contextmanager
def batched(name: str, carriers: Sequence[Mapping[str, str]]) -> Iterator[None]:
    """Open the span of work for several requests: within their span if there is only one, otherwise linked to each."""
    found = tracer()
    if found is None:
        yield
        return
    api, propagate = sys.modules[_API], import_module("opentelemetry.propagate")
    contexts = [propagate.extract(dict(carrier_)) for carrier_ in carriers[:LINKS] if carrier_]
    links = [api.Link(api.get_current_span(context).get_span_context()) for context in contexts]
    alone = contexts[0] if len(contexts) == 1 else None
    with found.start_as_current_span(name, context=alone, links=[] if alone is not None else links):
        yield


def evaluation(name: str, samples: int) -> AbstractContextManager[Any]:
    """Return the span of a verifier over a batch. `scored` adds the scores."""
    return span(f"evaluate {name}", gen_ai__evaluation__name=name, verikit__samples=samples)


def scored(made: Any, name: str, scores: Sequence[Score]) -> None:
    """Record scores on a verifier's span: the number of each status, their mean, and the first ones as events.

    Each event is a `gen_ai.evaluation.result` of the conventions for generative AI. Reasons are treated as text
    content.
    """
    if made is None or not made.is_recording():
        return
    _set_counts(made, scores)
    for score in scores[:EVENTS]:
        made.add_event("gen_ai.evaluation.result", _evaluation(name, score))
    failed = [score.status for score in scores if score.status in ("error", "timeout")]
    if failed:
        made.set_attribute("error.type", failed[0])
    if failed and len(failed) == len(scores):
        made.set_status(sys.modules[_API].StatusCode.ERROR)


def _set_counts(made: Any, scores: Sequence[Score]) -> None:
    for status, count in Counter(score.status for score in scores).items():
        made.set_attribute(f"verikit.scores.{status}", count)
    values = [score.value for score in scores if score.value is not None]
    if values:
        made.set_attribute("verikit.scores.mean", sum(values) / len(values))


def _evaluation(name: str, score: Score) -> dict[str, Any]:
    told: dict[str, Any] = {"gen_ai.evaluation.name": name, "gen_ai.evaluation.score.label": score.status}
    if score.value is not None:
        told["gen_ai.evaluation.score.value"] = score.value
    elif score.status != "abstained":
        told["error.type"] = score.status
    if shows_texts() and score.reason:
        told["gen_ai.evaluation.explanation"] = score.reason
    return told
