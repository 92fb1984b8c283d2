"""Traces of a real server and its scoring processes, sent to a collector over OTLP, within the client's trace."""

import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from tests.engines.server import Server, chat_reply
from tests.waiting import until

TRACE, PARENT = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"


@contextmanager
def collector():
    """An OTLP collector on loopback: yields its address and the list that it puts spans into."""
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

    spans = []

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *args):
            pass

        def do_POST(self):
            data = ExportTraceServiceRequest.FromString(self.rfile.read(int(self.headers["content-length"])))
            for resource in data.resource_spans:
                service = {item.key: item.value.string_value for item in resource.resource.attributes}["service.name"]
                spans.extend((service, span) for scope in resource.scope_spans for span in scope.spans)
            self.send_response(200)
            self.end_headers()

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}", spans
        server.shutdown()


def wait_for(spans, names):
    """The spans by name, as soon as there is one of each."""
    until(lambda: names <= {span.name for _, span in spans}, names)
    return {span.name: span for _, span in spans}


@pytest.fixture
def traced(monkeypatch):
    """An environment that asks for traces; gives the collector's spans."""
    pytest.importorskip("opentelemetry.exporter.otlp.proto.http")
    with collector() as (address, spans):
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", address)
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_COMPRESSION", "none")
        monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "100")
        yield spans


def attributes(span):
    return {item.key: item.value.string_value or item.value.int_value for item in span.attributes}


def test_a_clients_trace_goes_on_through_server_and_scoring_process_to_the_judges_request(serve, traced):
    with Server(lambda body, k: chat_reply("Score: 1"), models=[]) as model:
        judge = f"judge('openai:{model.url}#m', cache=False, structured=False)"
        with serve(spec=judge) as server:
            header = {"traceparent": f"00-{TRACE}-{PARENT}-01"}
            body = {"prompt": "a secret?", "completion": "a secret!"}
            assert server.http.post("/score", json=body, headers=header).status_code == 200
            names = ["POST /score", "score batch", "evaluate judge", "judge judge", "chat m"]
            found = wait_for(traced, set(names))
    chain = [found[name] for name in names]
    assert {span.trace_id.hex() for span in chain} == {TRACE}
    assert [span.parent_span_id.hex() for span in chain] == [PARENT, *(span.span_id.hex() for span in chain[:-1])]
    assert attributes(chain[0])["http.response.status_code"] == 200
    assert attributes(chain[-1])["gen_ai.usage.input_tokens"] == 3
    assert {service for service, _ in traced} == {"verikit"}
    assert b"secret" not in b"".join(span.SerializeToString() for span in chain)


def test_a_header_that_is_none_begins_a_trace_and_a_refused_request_is_the_clients_fault(serve, traced):
    with serve(spec="exact") as server:
        assert (
            server.http.post("/score", json={"completion": "x"}, headers={"traceparent": "00-junk"}).status_code == 200
        )
        found = wait_for(traced, {"POST /score", "score batch"})
        first = found["POST /score"]
        assert first.parent_span_id == b""
        assert found["score batch"].parent_span_id == first.span_id
        assert server.http.post("/score", json=[]).status_code == 400
        until(lambda: sum(span.name == "POST /score" for _, span in traced) == 2, "the second span")
    refused = [span for _, span in traced if span.name == "POST /score"][-1]
    assert attributes(refused)["http.response.status_code"] == 400
    assert refused.status.code == 0  # the client's fault, not the server's
