"""Spans of engines, verifiers and judges, by the SDK's in-memory exporter; none, and no import, where it is off."""

import subprocess
import sys

import pytest

from tests.engines.server import Server, chat_reply
from verikit import Sample, load
from verikit.engines import Request
from verikit.engines.openai import OpenAI
from verikit.platform import tracing

SECRET = "what is the colour of my passport"
CHAT = [{"role": "user", "content": SECRET}]


@pytest.fixture
def spans(monkeypatch):
    """Record spans in memory; gives a function that returns those that ended."""
    pytest.importorskip("opentelemetry.sdk.trace")
    from opentelemetry import trace
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(trace, "_TRACER_PROVIDER", provider)  # it may be set once in a process only
    monkeypatch.delenv(tracing.CONTENT, raising=False)
    return exporter.get_finished_spans


def ask(answer, *requests, **options):
    with Server(answer) as server, OpenAI(server.url, "m", server="openai", retries=1, **options) as engine:
        return engine.generate(requests), server


def test_a_request_has_a_span_by_the_conventions_with_its_tokens_and_no_text(spans):
    request = Request(CHAT, n=2, temperature=0.5, max_tokens=7, seed=3, stop=("\n",))
    _, server = ask(lambda body, k: chat_reply("blue", n=body.get("n", 1)), request)
    (span,) = spans()
    assert span.name == "chat m"
    assert span.kind.name == "CLIENT"
    assert dict(span.attributes) == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": "m",
        "gen_ai.request.max_tokens": 7,
        "gen_ai.request.temperature": 0.5,
        "gen_ai.request.top_p": 1.0,
        "gen_ai.request.choice.count": 2,
        "gen_ai.request.seed": 3,
        "gen_ai.request.stop_sequences": ("\n",),
        "gen_ai.response.finish_reasons": ("stop", "stop"),
        "gen_ai.usage.input_tokens": 3,
        "gen_ai.usage.output_tokens": 2,
        "server.address": "127.0.0.1",
        "server.port": int(server.url.split(":")[2].split("/")[0]),
    }
    assert 0 < span.end_time - span.start_time < 60e9
    assert SECRET not in span.to_json()


def test_texts_are_there_where_they_are_asked_for(spans, monkeypatch):
    monkeypatch.setenv(tracing.CONTENT, "true")
    ask(lambda body, k: chat_reply("blue"), Request(CHAT))
    (span,) = spans()
    assert SECRET in span.attributes["gen_ai.input.messages"]
    assert '"parts": [{"type": "text", "content": "blue"}]' in span.attributes["gen_ai.output.messages"]


def test_an_error_is_on_its_requests_span_without_what_the_server_repeats(spans):
    bad = Request([{"role": "user", "content": "bad"}])
    refuse = lambda body, k: (400, {"error": {"message": f"can't read {SECRET}"}})  # noqa: E731
    ask(lambda body, k: refuse(body, k) if "bad" in str(body) else chat_reply(), bad, Request(CHAT))
    by_error = {span.attributes.get("error.type"): span for span in spans()}
    assert set(by_error) == {None, "BadRequest"}
    assert by_error["BadRequest"].status.status_code.name == "ERROR"
    assert SECRET not in by_error["BadRequest"].to_json()


def test_a_judges_span_lies_in_its_verifiers_and_holds_its_requests(spans):
    with Server(lambda body, k: chat_reply("Score: 1" if "right" in str(body) else "hm")) as server:
        judge = load(f"judge('openai:{server.url}#m', cache=False, retry=False, structured=False)")
        judge.score([Sample("?", "right"), Sample("?", "other")])
    by_name = {span.name: span for span in spans()}
    outer, inner, request = by_name["evaluate judge"], by_name["judge judge"], by_name["chat m"]
    assert inner.parent.span_id == outer.context.span_id
    assert request.parent.span_id == inner.context.span_id
    assert inner.attributes["verikit.requests"] == 2
    assert outer.attributes["verikit.samples"] == 2
    events = [event for event in outer.events if event.name == "gen_ai.evaluation.result"]
    assert len(events) == 2
    assert "gen_ai.evaluation.explanation" not in str([dict(event.attributes) for event in events])


def test_scores_are_counted_by_status_and_every_part_has_a_span(spans):
    rows = [Sample("?", "4", "4"), Sample("?", "5", "4"), Sample("?", "5")]
    load("0.5*exact + 0.5*answer").score(rows)
    outer, *parts = sorted(spans(), key=lambda span: span.start_time)
    assert [span.name for span in parts] == ["evaluate exact", "evaluate answer"]
    assert outer.attributes["verikit.scores.ok"] == 2
    assert outer.attributes["verikit.scores.mean"] == 0.5
    assert outer.attributes["verikit.scores.error"] == 1
    assert outer.attributes["error.type"] == "error"
    assert outer.status.status_code.name == "UNSET"


def test_a_batch_of_several_requests_is_linked_to_each_and_one_of_a_single_request_lies_in_it(spans):
    carriers = []
    for name in ("first", "second"):
        with tracing.span(name):
            carriers.append(tracing.carrier())
    with tracing.batched("both", carriers), tracing.batched("nothing", [{}]):
        pass
    with tracing.batched("one", carriers[:1]):
        pass
    by_name = {span.name: span for span in spans()}
    want = [by_name[name].context.span_id for name in ("first", "second")]
    assert [link.context.span_id for link in by_name["both"].links] == want
    assert by_name["both"].parent is None
    assert by_name["one"].parent.span_id == want[0]


@pytest.mark.parametrize("api", ["", "import opentelemetry.trace"])
def test_nothing_is_recorded_or_imported_where_no_provider_is_set(api):
    if api:
        pytest.importorskip("opentelemetry.trace")
    code = f"""
{api}
import sys
from verikit import Sample, load, tracing
assert not tracing.configure()
load("exact").score([Sample("?", "4", "4")])
assert tracing.tracer() is None and tracing.carrier() == {{}}
assert {bool(api)} or not any(name.startswith("opentelemetry") for name in sys.modules)
"""
    environment = {"PATH": "", "PYTHONPATH": ":".join(filter(None, sys.path))}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
