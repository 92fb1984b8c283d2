"""Vendors' real clients against a server on loopback that speaks their wire forms, as their documentation has them."""

import json
import pickle

import pytest

from tests.engines.server import Server, cut, drop, hang
from verikit.engines import Request, Structured, load_engine
from verikit.engines.errors import BadReply, BadRequest, ServerFailed, UnknownModel, Unreachable, Unsupported
from verikit.errors import AuthError, ContextOverflow, EngineError, EngineTimeout, RateLimited, SpecError

KEY = "sk-very-secret-0123456789"
CHAT = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "1+1?"},
    {"role": "assistant", "content": "3"},
    {"role": "user", "content": "Sure?"},
]


def message(text="2", reason="end_turn", thoughts=""):
    blocks = [{"type": "thinking", "thinking": thoughts, "signature": "EqQB"}] if thoughts else []
    return {
        "id": "msg_013Zva2CMHLNnXjNJJKqJ2EF",
        "type": "message",
        "role": "assistant",
        "model": "claude-x",
        "content": [*blocks, {"type": "text", "text": text}],
        "stop_reason": reason,
        "stop_sequence": None,
        "usage": {
            "input_tokens": 5,
            "cache_creation_input_tokens": 2,
            "cache_read_input_tokens": 1,
            "output_tokens": 7,
        },
    }


def content(text="2", reason="STOP", thoughts="", **more):
    parts = [{"text": thoughts, "thought": True}] if thoughts else []
    candidate = {"content": {"parts": [*parts, {"text": text}], "role": "model"}, "finishReason": reason, "index": 0}
    usage = {"promptTokenCount": 8, "candidatesTokenCount": 3, "thoughtsTokenCount": 4, "totalTokenCount": 15}
    return {"candidates": [candidate | more], "usageMetadata": usage, "modelVersion": "gemini-x"}


def anthropic_error(status, kind, text):
    return status, {"type": "error", "error": {"type": kind, "message": text}, "request_id": "req_011"}


def google_error(status, kind, text):
    return status, {"error": {"code": status, "message": text, "status": kind}}


VENDORS = {"anthropic": message, "gemini": content}


def made(kind, server, **options):
    options = {"api_key": KEY, "timeout_s": 2, "deadline_s": 20, "retries": 2, **options}
    return load_engine(f"{kind}:model-x", url=server.url.removesuffix("/v1"), **options)


@pytest.fixture(autouse=True)
def libraries():
    pytest.importorskip("anthropic")
    pytest.importorskip("google.genai")


def ask(kind, answer, request=None, **options):
    """One request against a scripted server: the generation and the server."""
    with Server(answer) as server, made(kind, server, **options) as engine:
        return engine.generate([request or Request(CHAT)])[0], server


def test_a_request_reaches_anthropic_in_its_form():
    request = Request(CHAT, max_tokens=9, temperature=0.5, top_p=0.9, top_k=4, stop=("\n",), seed=3)
    found, server = ask(
        "anthropic", lambda body, k: message(thoughts="Hm."), request, body={"metadata": {"user_id": "u"}}
    )
    assert server.paths == ["/v1/messages"]
    assert sum(KEY in value for value in server.headers[0].values()) == 1
    assert server.bodies[0] == {
        "model": "model-x",
        "max_tokens": 9,
        "system": "Be brief.",
        "messages": CHAT[1:],
        "temperature": 0.5,
        "top_p": 0.9,
        "top_k": 4,
        "stop_sequences": ["\n"],
        "metadata": {"user_id": "u"},
    }
    output = found.outputs[0]
    assert (output.text, output.thoughts, output.finish_reason) == ("2", "Hm.", "stop")
    assert {name: found.usage[name] for name in ("prompt_tokens", "completion_tokens", "calls")} == {
        "prompt_tokens": 8,
        "completion_tokens": 7,
        "calls": 1,
    }


SEEN = [
    {"type": "text", "text": "What is it?"},
    {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0K"}},
]


def test_a_picture_reaches_each_vendor_in_its_form():
    request = Request([{"role": "user", "content": SEEN}])
    _, server = ask("anthropic", lambda body, k: message(), request)
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0K"}}
    assert server.bodies[0]["messages"][0]["content"] == [SEEN[0], picture]
    _, server = ask("gemini", lambda body, k: content(), request)
    text, shown = server.bodies[0]["contents"][0]["parts"]
    assert text == {"text": "What is it?"}
    assert set(shown["inlineData"].values()) == {"iVBORw0K", "image/png"}


def test_a_request_reaches_gemini_in_its_form_and_its_log_probabilities_come_back():
    request = Request(CHAT, max_tokens=9, temperature=0.5, top_p=0.9, top_k=4, stop=("\n",), seed=3, logprobs=1)
    chosen = {"token": "2", "tokenId": 17, "logProbability": -0.25}
    given = {"chosenCandidates": [chosen], "topCandidates": [{"candidates": [chosen]}]}
    found, server = ask("gemini", lambda body, k: content(thoughts="Hm.", logprobsResult=given), request)
    assert [path.partition("/models/")[2] for path in server.paths] == ["model-x:generateContent"]
    assert {name.lower(): value for name, value in server.headers[0].items()}["x-goog-api-key"] == KEY
    assert server.bodies[0]["systemInstruction"]["parts"] == [{"text": "Be brief."}]
    assert [turn["role"] for turn in server.bodies[0]["contents"]] == ["user", "model", "user"]
    assert server.bodies[0]["generationConfig"] == {
        "temperature": 0.5,
        "topP": 0.9,
        "topK": 4,
        "maxOutputTokens": 9,
        "stopSequences": ["\n"],
        "seed": 3,
        "responseLogprobs": True,
        "logprobs": 1,
    }
    output = found.outputs[0]
    assert (output.text, output.thoughts, output.finish_reason) == ("2", "Hm.", "stop")
    assert output.logprobs == (-0.25,)
    assert output.top_logprobs[0][0].id == 17
    assert found.usage["completion_tokens"] == 7  # thoughts are paid


@pytest.mark.parametrize(
    ("kind", "reason", "expected"),
    [
        ("anthropic", "stop_sequence", "stop"),
        ("anthropic", "max_tokens", "length"),
        ("anthropic", "refusal", "refusal"),
        ("gemini", "MAX_TOKENS", "length"),
        ("gemini", "SAFETY", "safety"),
    ],
)
def test_finish_reasons_are_those_of_all_engines(kind, reason, expected):
    found, _ = ask(kind, lambda body, k: VENDORS[kind](reason=reason))
    assert found.outputs[0].finish_reason == expected


FAULTS = [
    ("anthropic", anthropic_error(401, "authentication_error", "invalid x-api-key"), AuthError, 1),
    ("anthropic", anthropic_error(403, "permission_error", f"not for {KEY}"), AuthError, 1),
    ("anthropic", anthropic_error(404, "not_found_error", "model: model-x not found"), UnknownModel, 1),
    ("anthropic", anthropic_error(400, "invalid_request_error", "prompt is too long: 9 > 5"), ContextOverflow, 1),
    ("anthropic", anthropic_error(400, "invalid_request_error", "max_tokens: must be"), BadRequest, 1),
    ("anthropic", anthropic_error(429, "rate_limit_error", "slow down"), RateLimited, 3),
    ("anthropic", anthropic_error(529, "overloaded_error", "Overloaded"), ServerFailed, 3),
    ("gemini", google_error(400, "INVALID_ARGUMENT", "temperature"), BadRequest, 1),
    ("gemini", google_error(403, "PERMISSION_DENIED", f"key {KEY}"), AuthError, 1),
    ("gemini", google_error(404, "NOT_FOUND", "models/model-x is not found for API version"), UnknownModel, 1),
    ("gemini", google_error(429, "RESOURCE_EXHAUSTED", "quota"), RateLimited, 3),
    ("gemini", google_error(503, "UNAVAILABLE", "overloaded"), ServerFailed, 3),
    ("anthropic", drop, Unreachable, 3),
    ("gemini", drop, Unreachable, 3),
    ("anthropic", hang, EngineTimeout, 3),
    ("gemini", hang, EngineTimeout, 3),
    ("anthropic", (200, "<html>"), BadReply, 1),
    ("gemini", (200, "<html>"), BadReply, 1),
    ("gemini", {"promptFeedback": {"blockReason": "SAFETY"}}, BadRequest, 1),
]


@pytest.mark.parametrize(("kind", "fault", "error", "tries"), FAULTS)
def test_faults_are_typed_and_tried_again_where_that_may_help(kind, fault, error, tries):
    found, server = ask(kind, lambda body, k: fault, timeout_s=0.3 if fault is hang else 30)
    assert type(found.error) is error, repr(found.error)
    assert len(server.bodies) == tries
    assert KEY not in f"{found.error} {found.error.hint} {found.error!r}"
    assert found.error.__cause__ is None


@pytest.mark.parametrize("kind", VENDORS)
def test_a_passing_failure_is_tried_again_and_n_outputs_are_n_calls(kind):
    def answer(body, k):
        return cut if k == 0 else VENDORS[kind](text=str(k))

    found, server = ask(kind, answer, Request(CHAT, n=3, temperature=0.7))
    assert len({output.text for output in found.outputs}) == 3
    assert len(server.bodies) == 4
    assert found.usage["prompt_tokens"] == 24


@pytest.mark.parametrize("kind", VENDORS)
@pytest.mark.parametrize("cached", [[3, 0], [0, 3]])
def test_cached_tokens_of_some_of_the_outputs_are_counted(kind, cached):
    def answer(body, k):
        reply = VENDORS[kind](text=str(k))
        usage = reply["usage" if kind == "anthropic" else "usageMetadata"]
        usage["cache_read_input_tokens" if kind == "anthropic" else "cachedContentTokenCount"] = cached[k]
        return reply

    found, _ = ask(kind, answer, Request(CHAT, n=2, temperature=0.7))
    assert found.usage["prompt_cached"] == 3
    assert found.usage["completion_tokens"] == 14


@pytest.mark.parametrize("kind", VENDORS)
def test_what_a_vendor_can_not_do_is_never_sent(kind):
    schema = Structured(json={"type": "object", "properties": {"a": {"type": "integer"}}})
    with Server(lambda body, k: VENDORS[kind]()) as server, made(kind, server) as engine:
        refused = [Request("text"), Request(CHAT, prompt_logprobs=1), Request(CHAT, structured=Structured(regex="a"))]
        if kind == "anthropic":
            refused.append(Request(CHAT, logprobs=1))
        assert {type(found.error) for found in engine.generate(refused)} == {Unsupported}
        assert server.bodies == []
        assert engine.generate([Request(CHAT, structured=schema)])[0].text == "2"
    assert "integer" in json.dumps(server.bodies[0])


@pytest.mark.parametrize("kind", VENDORS)
def test_an_engine_is_pickled_with_its_key_and_names_none(kind, monkeypatch):
    with Server(lambda body, k: VENDORS[kind]()) as server, made(kind, server) as engine:
        again = pickle.loads(pickle.dumps(engine))
        assert again.generate([Request(CHAT)])[0].text == "2"
        assert KEY not in again.name + again.identity
        again.close()
    with pytest.raises(SpecError, match=f"engine {kind}: retries"):
        load_engine(f"{kind}:m", retries=-1)
    with pytest.raises(SpecError, match="parameters"):
        load_engine(f"{kind}:m?key={KEY}")


@pytest.mark.parametrize("kind", VENDORS)
def test_a_server_that_is_not_there_is_unreachable(kind):
    with load_engine(f"{kind}:m", url="http://127.0.0.1:9", api_key="k", retries=0) as engine:
        error = engine.generate([Request(CHAT)])[0].error
    assert isinstance(error, EngineError)
    assert type(error) is Unreachable
