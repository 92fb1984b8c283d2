import asyncio
import json
import logging
import pickle
import socket
import threading
import time
import traceback
from types import SimpleNamespace

import pytest

from tests.engines.server import Server, chat_reply, cut, drip, drop, hang
from verikit.engines import Recorder, Request, Structured, TopLogprob, load_engine
from verikit.engines.errors import (
    BadReply,
    BadRequest,
    NotRecorded,
    ServerFailed,
    TruncatedReply,
    UnknownModel,
    Unreachable,
    Unsupported,
)
from verikit.engines.openai import OpenAI, pace
from verikit.engines.openai.call import Call
from verikit.engines.openai.dispatch import Dispatcher
from verikit.engines.rollouts import Work
from verikit.errors import AuthError, ContextOverflow, EngineError, EngineTimeout, RateLimited, SpecError

KEY = "sk-very/secret-0123456789"
CHAT = [{"role": "user", "content": "hi"}]


def engine(server, **options):
    return OpenAI(server.url, "m", **{"api_key": KEY, "timeout_s": 30, "deadline_s": 90, "retries": 3, **options})


def ask(answer, request=None, *, models=None, **options):
    """One request against a scripted server: the generation and the server."""
    with Server(answer, models) as server, engine(server, **options) as made:
        return made.generate([request or Request(CHAT)])[0], server


def text_of(body):
    return body["messages"][0]["content"] if "messages" in body else body["prompt"]


def test_results_keep_their_order_under_faults_and_none_is_lost_or_doubled():
    def answer(body, k):
        number = int(text_of(body))
        if k == 0 and number % 5 == 0:
            return [(429, {"error": {"message": "slow"}}), (500, "oops"), drop, cut][number // 5 % 4]
        return chat_reply(f"re {number}")

    with Server(answer) as server, engine(server, concurrency=16, timeout_s=30, deadline_s=90) as made:
        results = made.generate([Request([{"role": "user", "content": str(i)}], meta={"i": i}) for i in range(200)])
    assert [result.text for result in results] == [f"re {i}" for i in range(200)]
    assert sum(result.usage["calls"] for result in results) == 240 == len(server.bodies)
    assert server.most_at_once <= 16


def test_requests_may_join_one_by_one_and_failed_tries_are_made_again():
    def answer(body, k):
        number = int(text_of(body))
        return (429, {"error": {"message": "slow"}}) if k == 0 and number % 3 == 0 else chat_reply(f"re {number}")

    def story(number):
        first = yield Request([{"role": "user", "content": str(number)}])
        second = yield Request([{"role": "user", "content": str(number + 100)}])
        return first.text, second.text

    with Server(answer) as server, engine(server, concurrency=4, timeout_s=30, deadline_s=90) as made:
        found = made.roll_out([story(number) for number in range(20)])
    assert found == [(f"re {number}", f"re {number + 100}") for number in range(20)]
    assert server.most_at_once <= 4


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_programming_error_of_a_request_that_joined_is_raised():
    def story():
        yield Request(CHAT)

    with Server(lambda body, k: chat_reply()) as server, engine(server) as made:
        made.ask = None
        with pytest.raises(RuntimeError, match="programming error"):
            made.roll_out([story()])
        for thread in threading.enumerate():
            if thread.name == "verikit-engine":
                thread.join(60)  # its last words are this test's


def test_one_failing_request_leaves_the_others_their_results():
    def answer(body, k):
        return (400, {"error": {"message": "no"}}) if text_of(body) == "bad" else chat_reply()

    with Server(answer) as server, engine(server) as made:
        good, bad, other = made.generate([Request("good"), Request("bad"), Request(CHAT)])
    assert isinstance(bad.error, BadRequest)
    assert isinstance(good.error, BadReply)  # a chat reply to a completion: `text` is missing
    assert other.text == "A"


FAULTS = [
    ((401, {"error": {"message": "Incorrect API key provided"}}), AuthError, 1),
    ((403, "Forbidden"), AuthError, 1),
    ((404, {"error": {"message": "The model `m` does not exist.", "code": 404}}), UnknownModel, 1),
    ((404, {"error": {"message": "x", "code": "model_not_found"}}), UnknownModel, 1),
    ((404, {"detail": "Not Found"}), BadRequest, 1),
    ((400, {"error": {"message": "This model's maximum context length is 256 tokens. However"}}), ContextOverflow, 1),
    ((400, {"error": {"message": "x", "code": "context_length_exceeded"}}), ContextOverflow, 1),
    ((400, {"message": "max_tokens must be at least 1", "object": "error"}), BadRequest, 1),
    ((429, {"error": {"message": "x", "code": "insufficient_quota"}}), AuthError, 1),
    ((429, "slow down"), RateLimited, 3),
    ((503, "<html>down</html>"), ServerFailed, 3),
    ((301, "", {"location": "https://elsewhere/v1"}), BadRequest, 1),
    ((200, "<!DOCTYPE html><title>Welcome</title>"), BadReply, 1),
    ((200, "Welcome"), BadReply, 1),
    ((200, '{"choices": [{"mess'), TruncatedReply, 3),
    ((200, ""), TruncatedReply, 3),
    ((200, "[" * 100_000), BadReply, 1),
    ((200, b"\xff\xfe\x00"), BadReply, 1),
    ({"error": {"message": "upstream", "code": 502}}, ServerFailed, 3),
    ({"choices": []}, BadReply, 1),
    ({"choices": [{"message": {"content": 3}}]}, BadReply, 1),
    ({"choices": "x"}, BadReply, 1),
    ([], BadReply, 1),
    ((200, '{"choices": [{"message": {"content": "x"}, "logprobs": {"content": [{"logprob": NaN}]}}]}'), BadReply, 1),
    (cut, TruncatedReply, 3),
    (drop, TruncatedReply, 3),
    (hang, EngineTimeout, 3),
    (drip, EngineTimeout, 3),
]


@pytest.mark.parametrize(("fault", "kind", "calls"), FAULTS)
def test_a_bad_end_point_gives_its_own_error_and_only_what_may_pass_is_tried_again(fault, kind, calls):
    if fault == []:
        fault = (200, "[]")
    result, _ = ask(lambda body, k: fault, retries=2, timeout_s=0.2 if fault in (hang, drip) else 30)
    assert type(result.error) is kind
    assert (result.outputs, result.usage["calls"]) == ((), calls)


def test_nobody_at_the_address_is_unreachable():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with OpenAI(f"http://127.0.0.1:{port}/v1", "m", retries=1, server="openai") as made:
        result = made.generate([Request("x")])[0]
    assert type(result.error) is Unreachable
    assert "can't connect" in str(result.error)


def test_a_server_that_comes_up_between_two_tries_is_found():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with OpenAI(f"http://127.0.0.1:{port}/v1", "m", deadline_s=20) as made:
        results = []
        thread = threading.Thread(target=lambda: results.extend(made.generate([Request(CHAT)])))
        thread.start()
        time.sleep(0.4)
        with Server(lambda body, k: chat_reply("up"), port=port):
            thread.join(timeout=20)
    assert results[0].text == "up"


def test_retry_after_is_waited_for_and_a_wait_past_the_deadline_is_not_begun():
    wait = {"retry-after": "20"}
    with Server(lambda body, k: chat_reply() if k else (429, "slow", wait)) as server, engine(server) as made:
        call = Call(made, Request(CHAT))
        assert 20 <= call() <= 22
        assert (call(), call.result.text) == (None, "A")
        made._close_client()
    for header in (
        {"retry-after": "100"},
        {"retry-after-ms": "100000"},
        {"retry-after": "Fri, 01 Jan 2100 00:00:00 GMT"},
    ):
        result, server = ask(lambda body, k, header=header: (503, "x", header))
        assert isinstance(result.error, ServerFailed)
        assert len(server.bodies) == 1
    result, _ = ask(lambda body, k: chat_reply() if k else (429, "slow", {"retry-after": "soon"}))
    assert result.text == "A"


def test_a_dispatcher_gives_each_job_its_next_turn_after_the_wait_it_asked_for():
    turns = []

    def job(name, wait):
        def turn():
            turns.append(name)
            return wait if turns.count(name) == 1 else None

        return turn

    dispatcher = Dispatcher(1, lambda: None)
    jobs = [job("late", 0.2), job("soon", 0.1), job("now", None)]
    assert [turns[-1] for _ in dispatcher.run(jobs)] == ["now", "soon", "late"]
    assert turns == ["late", "soon", "now", "soon", "late"]
    dispatcher.close()


def test_waiting_for_another_try_leaves_the_thread_to_other_requests():
    def answer(body, k):
        return (429, "slow", {"retry-after": "1"}) if text_of(body) == "0" and not k else chat_reply()

    with Server(answer) as server, engine(server, concurrency=1) as made:
        requests = [Request([{"role": "user", "content": str(i)}]) for i in range(20)]
        results = made.generate(requests)
    assert all(result.text == "A" for result in results)
    assert [text_of(body) for body in server.bodies] == [*sorted(map(str, range(20))), "0"]


def test_a_try_that_the_deadline_cuts_short_does_not_hide_why_the_tries_before_it_failed():
    result, server = ask(lambda body, k: hang if k else (500, "broken"), timeout_s=30, deadline_s=2, retries=50)
    assert len(server.bodies) == 2
    assert isinstance(result.error, ServerFailed)
    assert "broken" in str(result.error)


def test_requests_that_wait_for_a_server_to_say_what_it_is_share_the_failure_to_do_so():
    def models():
        time.sleep(0.5)
        return 502, "the gateway is alone"

    with Server(lambda body, k: chat_reply(), models) as server, engine(server, timeout_s=30, retries=0) as made:
        results = made.generate([Request([{"role": "user", "content": str(i)}]) for i in range(8)])
    assert {type(result.error) for result in results} == {ServerFailed}
    assert len(server.paths) < 8  # each in turn would take 8 times as long


def test_a_deadline_covers_all_tries_together():
    result, _ = ask(lambda body, k: hang, timeout_s=0.3, deadline_s=1, retries=8)
    assert isinstance(result.error, EngineTimeout)
    assert result.usage["calls"] <= 4  # and not 9


def test_request_and_token_rates_are_waited_for_before_anything_is_sent(monkeypatch):
    """A second's worth goes out at once, what is over it waits its turn."""
    now = [1000.0]
    monkeypatch.setattr(pace, "time", SimpleNamespace(monotonic=lambda: now[0]))
    for options, request, waits in (
        ({"requests_per_minute": 1200}, Request(CHAT), [max(0.0, i / 20 - 1) for i in range(40)]),
        ({"tokens_per_minute": 6000}, Request([1] * 96, max_tokens=4), [0.0, 0.0, 1.0, 2.0]),
    ):
        with Server(lambda body, k: chat_reply()) as server, engine(server, **options) as made:
            calls = [Call(made, request) for _ in waits]
            made.tokens.settle = lambda more: None  # as if each used what it reserved
            assert [call() or 0.0 for call in calls] == pytest.approx(waits)
            at_once = sum(wait == 0 for wait in waits)
            assert len(server.bodies) == at_once
            assert [call() for call in calls[at_once:]] == [None] * len(waits[at_once:])
            assert len(server.bodies) == len(waits)
            made._close_client()
        now[0] += 60


def test_conversations_go_to_chat_and_text_and_ids_to_completions():
    def answer(body, k):
        return chat_reply() if "messages" in body else {"choices": [{"text": "B", "finish_reason": "length"}]}

    with Server(answer) as server, engine(server) as made:
        results = made.generate([Request(CHAT), Request("hi"), Request([5, 6])])
    assert [result.text for result in results] == ["A", "B", "B"]
    assert results[2].prompt_ids == (5, 6)
    assert sorted(server.paths) == ["/v1/chat/completions", "/v1/completions", "/v1/completions", "/v1/models"]
    prompts = [body.get("messages") or body["prompt"] for body in server.bodies]
    assert all(prompt in prompts for prompt in (CHAT, "hi", [5, 6]))


def test_a_turn_is_continued_by_a_server_that_can_and_never_answered_anew_by_one_that_cannot():
    request = Request([*CHAT, {"role": "assistant", "content": "So"}])
    result, server = ask(lambda body, k: chat_reply(), request, models=[{"id": "m", "owned_by": "vllm"}])
    assert server.bodies[0]["continue_final_message"] is True
    assert server.bodies[0]["add_generation_prompt"] is False
    result, server = ask(lambda body, k: chat_reply(), request)
    assert isinstance(result.error, Unsupported)
    assert server.bodies == []


def test_options_are_sent_by_their_names_and_defaults_are_not():
    request = Request(CHAT, n=2, max_tokens=7, temperature=0.5, top_p=0.9, stop=("x", "y"), seed=3, logprobs=None)
    _, server = ask(lambda body, k: chat_reply(n=2), request, body={"chat_template_kwargs": {"a": 1}})
    assert server.bodies[0] == {
        "model": "m", "messages": CHAT, "n": 2, "max_tokens": 7, "temperature": 0.5, "top_p": 0.9, "stop": ["x", "y"],
        "seed": 3, "chat_template_kwargs": {"a": 1},
    }  # fmt: skip
    _, server = ask(lambda body, k: chat_reply(), Request(CHAT, max_tokens=1))
    assert server.bodies[0] == {"model": "m", "messages": CHAT, "max_tokens": 1, "temperature": 0.0}


def test_top_k_goes_to_vllm_and_other_servers_are_not_asked():
    request = Request(CHAT, temperature=1.0, seed=1, top_k=20)
    _, server = ask(lambda body, k: chat_reply(), request, models=[{"id": "m", "owned_by": "vllm"}])
    assert server.bodies[0]["top_k"] == 20
    result, server = ask(lambda body, k: chat_reply(), request)
    assert isinstance(result.error, Unsupported)
    assert server.bodies == []


def test_a_server_that_knows_the_token_limit_by_its_new_name_gets_that():
    def answer(body, k):
        if "max_tokens" in body:
            return 400, {"error": {"message": "Unsupported parameter: use 'max_completion_tokens' instead."}}
        return chat_reply() if body["max_completion_tokens"] == 9 else (400, "wrong")

    with Server(answer) as server, engine(server) as made:
        assert all(generation.text == "A" for generation in made.generate([Request(CHAT, max_tokens=9)] * 20))
        count = len(server.bodies)
        made.generate([Request(CHAT, max_tokens=9)])
        assert len(server.bodies) == count + 1


def test_structured_outputs_use_the_modern_keys_and_never_the_old_ones():
    vllm = [{"id": "m", "owned_by": "vllm"}]
    forms = [Structured(choice=("A", "B")), Structured(regex="A+"), Structured(grammar='root ::= "A"')]
    for form in forms:
        _, server = ask(lambda body, k: chat_reply(), Request(CHAT, structured=form), models=vllm)
        value = getattr(form, form.kind)
        assert server.bodies[0]["structured_outputs"] == {form.kind: list(value) if form.choice else value}
        assert "guided" not in json.dumps(server.bodies)
        result, server = ask(lambda body, k: chat_reply(), Request(CHAT, structured=form))
        assert isinstance(result.error, Unsupported)
        assert server.bodies == []
    schema = {"type": "object"}
    for models in (vllm, None):
        _, server = ask(lambda body, k: chat_reply(), Request(CHAT, structured=Structured(json=schema)), models=models)
        assert server.bodies[0]["response_format"]["json_schema"]["schema"] == schema
        assert "guided" not in json.dumps(server.bodies)


def test_an_engine_says_which_structured_outputs_its_server_has():
    for models, kinds in (
        ([{"owned_by": "vllm"}], {"choice", "regex", "grammar", "json"}),
        ([], {"json"}),
        (None, {"json"}),
    ):
        with Server(lambda body, k: chat_reply(), models) as server, engine(server) as made:
            assert made.structured == kinds
            assert server.paths == ["/v1/models"]


def test_log_probabilities_of_chat_and_completions_are_read_alike():
    def answer(body, k):
        if "messages" in body:
            step = {
                "token": "m",
                "logprob": -0.1,
                "top_logprobs": [{"token": "m", "logprob": -0.1}, {"token": "M", "logprob": -3}],
            }
            return chat_reply() | {"choices": [{"message": {"content": "m"}, "logprobs": {"content": [step]}}]}
        return {
            "choices": [
                {
                    "text": "m",
                    "logprobs": {"tokens": ["m"], "token_logprobs": [-0.1], "top_logprobs": [{"M": -3, "m": -0.1}]},
                }
            ]
        }

    with Server(answer) as server, engine(server) as made:
        chat, text = made.generate([Request(CHAT, logprobs=2), Request("x", logprobs=2)])
        assert {"logprobs": True, "top_logprobs": 2}.items() <= next(
            b for b in server.bodies if "messages" in b
        ).items()
        assert next(b for b in server.bodies if "prompt" in b)["logprobs"] == 2
    for generation in (chat, text):
        output = generation.outputs[0]
        assert (output.tokens, output.logprobs) == (("m",), (-0.1,))
        assert output.top_logprobs == ((TopLogprob("m", -0.1), TopLogprob("M", -3)),)


def test_log_probabilities_asked_for_and_not_given_are_an_error():
    result, _ = ask(lambda body, k: chat_reply(), Request(CHAT, logprobs=2))
    assert isinstance(result.error, BadReply)
    assert "no log-probabilities" in str(result.error)


def test_prompt_log_probabilities_come_from_an_echo_on_plain_servers():
    def answer(body, k):
        assert body["echo"] is True
        logprobs = {
            "tokens": ["a", "b", "c"],
            "token_logprobs": [None, -1, -2],
            "top_logprobs": [None, {"b": -1}, {"c": -2}],
        }
        return {
            "choices": [{"text": "abc", "logprobs": logprobs}],
            "usage": {"prompt_tokens": 2, "completion_tokens": 1},
        }

    result, _ = ask(answer, Request("ab", max_tokens=1, prompt_logprobs=1))
    assert result.prompt_logprobs == (None, -1)
    assert result.prompt_top_logprobs == ((), (TopLogprob("b", -1),))
    assert result.text == "c"
    result, server = ask(answer, Request(CHAT, prompt_logprobs=1))
    assert isinstance(result.error, Unsupported)
    assert server.bodies == []


def test_fewer_outputs_than_asked_for_is_an_error_not_a_short_result():
    result, _ = ask(lambda body, k: chat_reply(), Request(CHAT, n=3, temperature=1))
    assert str(result.error) == "asked for 3 outputs, got 1"


def test_greedy_outputs_are_asked_for_once_however_many_are_wanted():
    result, server = ask(lambda body, k: chat_reply(), Request(CHAT, n=3))
    assert [output.text for output in result.outputs] == ["A"] * 3
    assert "n" not in server.bodies[0]


def test_usage_counts_tokens_calls_and_cost():
    result, _ = ask(
        lambda body, k: chat_reply(n=2) if k else (500, ""), Request(CHAT, n=2, temperature=1), prices=(1.0, 10.0)
    )
    usage = dict(result.usage)
    assert 0 < usage.pop("seconds") < 5
    assert usage == {"prompt_tokens": 3, "completion_tokens": 2, "calls": 2, "cost": pytest.approx(23e-6)}


@pytest.mark.parametrize(("prices", "cost"), [((1.0, 10.0), 110e-6), ((1.0, 10.0, 0.1), 47e-6)])
def test_prompt_tokens_from_the_servers_cache_are_counted_and_priced_apart(prices, cost):
    def reply(body, k):
        counts = {"prompt_tokens": 100, "completion_tokens": 1, "prompt_tokens_details": {"cached_tokens": 70}}
        return {**chat_reply(), "usage": counts}

    result, _ = ask(reply, Request(CHAT), prices=prices)
    assert result.usage["prompt_cached"] == 70
    assert result.usage["cost"] == pytest.approx(cost)


@pytest.mark.parametrize("details", [None, {}, {"cached_tokens": None}, {"cached_tokens": 9}])
def test_no_more_of_a_prompt_is_cached_than_it_has(details):
    counts = {"prompt_tokens": 3, "completion_tokens": 1, "prompt_tokens_details": details}
    result, _ = ask(lambda body, k: {**chat_reply(), "usage": counts}, Request(CHAT))
    assert result.usage.get("prompt_cached", 0) == (3 if (details or {}).get("cached_tokens") else 0)


def test_an_address_with_credentials_is_refused_without_repeating_them():
    for url in (f"http://user:{KEY}@h/v1", f"http://h/v1?key={KEY}", f"{KEY}", f"ftp://{KEY}/"):
        for spec in (f"openai:{url}#m", f"openai:{url}"):
            with pytest.raises(SpecError) as caught:
                load_engine(spec)
            assert KEY not in str(caught.value) + caught.value.hint


def test_a_key_read_with_its_newline_is_cut_to_the_key_and_one_that_no_header_holds_is_refused(caplog):
    with Server(lambda body, k: chat_reply()) as server, engine(server, api_key=f" {KEY}\n") as made:
        assert made.generate([Request(CHAT)])[0].text == "A"
    assert server.headers[0]["authorization"] == f"Bearer {KEY}"
    for key in (f"{KEY}\r\nx: y", f"{KEY}é", f"{KEY} {KEY}"):
        with pytest.raises(SpecError) as caught:
            OpenAI(server.url, "m", api_key=key)
        assert KEY not in str(caught.value)


def test_an_address_may_be_ipv6_or_have_no_path():
    for url in ("http://[::1]:8000/v1", "https://api.example.org", "http://host:1/v1/"):
        assert load_engine(f"openai:{url}#a/b").name == f"openai:{url.rstrip('/')}#a/b"


WRONG_OPTIONS = [
    ({"concurrency": 0}, "concurrency must be an integer >= 1, got 0"),
    ({"concurrency": "8"}, "concurrency"),
    ({"concurrency": 2.5}, "concurrency"),
    ({"timeout_s": 0}, "timeout_s must be a number > 0"),
    ({"deadline_s": float("inf")}, "deadline_s"),
    ({"retries": -1}, "retries"),
    ({"tokens_per_minute": 0}, "tokens_per_minute"),
    ({"prices": 3}, "prices must be two numbers"),
    ({"server": "vLLM"}, "server must be auto, vllm or openai"),
    ({"body": ["top_k"]}, "body"),
    ({"api_key": 12345678}, "API key"),
    ({"concurency": 8}, "option 'concurency' not found"),
]


@pytest.mark.parametrize(("options", "said"), WRONG_OPTIONS)
def test_an_option_that_could_only_hang_or_crash_later_is_refused_by_name(options, said):
    with pytest.raises(SpecError, match=said):
        load_engine("openai:http://127.0.0.1:9/v1#m", **options)


def test_a_caller_that_stops_listening_takes_back_what_has_not_begun():
    closed = threading.Event()

    def answer(body, k):
        assert text_of(body) == "0" or closed.wait(60)
        return chat_reply()

    with Server(answer) as server, engine(server, concurrency=2) as made:
        stream = made.stream([Request([{"role": "user", "content": str(i)}]) for i in range(100)])
        next(stream)
        stream.close()
        closed.set()
        assert made.generate([Request(CHAT)])[0].text == "A"
        assert len(server.bodies) < 10


def test_the_key_is_sent_and_appears_nowhere_else(tmp_path, caplog, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    caplog.set_level(logging.DEBUG)

    def answer(body, k):
        kind = text_of(body)
        echo = json.dumps(f"your key {KEY}")
        return {"text": chat_reply(f"key {KEY}"), "401": (401, {"error": {"message": f"bad key {KEY}"}}),
                "raw": (400, f"Authorization: Bearer {KEY}"), "escaped": (400, echo.replace("/", "\\/")),
                "html": (200, f"<html>{KEY}"), "hang": hang}[kind]  # fmt: skip

    with Server(answer) as server:
        made = OpenAI(server.url, "m", timeout_s=0.3, retries=0)
        kinds = ["text", "401", "raw", "escaped", "html", "hang"]
        with Recorder(made, tmp_path / "r.jsonl") as recorder:
            results = recorder.generate([Request([{"role": "user", "content": kind}]) for kind in kinds])
    assert all(headers["authorization"] == f"Bearer {KEY}" for headers in server.headers)
    seen = [repr(made), made.name, made.identity, repr(vars(made)), repr(results), caplog.text]
    seen += [(tmp_path / "r.jsonl").read_text()]
    for result in results:
        try:
            seen.append(result.text)
        except EngineError as error:
            seen += traceback.TracebackException.from_exception(error, capture_locals=True).format()
            seen.append(error.hint)
    assert results[0].text == "key ***"
    secret = KEY.split("/")[1]
    assert not [text for text in seen if secret in text]


def test_an_engine_crosses_to_another_process_with_its_key():
    with Server(lambda body, k: chat_reply()) as server:
        with pickle.loads(pickle.dumps(engine(server, concurrency=3))) as made:
            assert made.generate([Request(CHAT)])[0].text == "A"
        assert server.headers[0]["authorization"] == f"Bearer {KEY}"


def test_generate_works_inside_a_running_event_loop_and_from_many_threads():
    with Server(lambda body, k: chat_reply(text_of(body))) as server, engine(server, concurrency=8) as made:

        async def cell():
            return made.generate([Request(CHAT)])[0].text

        assert asyncio.run(cell()) == "hi"
        results = {}

        def work(i):
            results[i] = [
                generation.text
                for generation in made.generate([Request([{"role": "user", "content": f"{i}.{j}"}]) for j in range(9)])
            ]

        threads = [threading.Thread(target=work, args=(i,)) for i in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert results == {i: [f"{i}.{j}" for j in range(9)] for i in range(6)}
        assert server.most_at_once <= 8


def test_nothing_to_ask_asks_nothing():
    with Server(lambda body, k: chat_reply()) as server, engine(server) as made:
        assert made.generate([]) == []
    assert server.paths == []
    assert issubclass(NotRecorded, EngineError)


def test_requests_that_are_taken_back_are_not_sent():
    begun, hold = threading.Event(), threading.Event()

    def answer(body, k):
        begun.set()
        hold.wait(30)
        return chat_reply(text_of(body))

    def story(number):
        yield Request([{"role": "user", "content": str(number)}])

    def fails():
        yield Work(begun.wait, (30,))
        raise ValueError("no story")

    with Server(answer) as server, engine(server, concurrency=2, timeout_s=30, deadline_s=90) as made:
        with pytest.raises(ValueError, match="no story"):
            made.roll_out([*map(story, range(40)), fails()])
        hold.set()
        assert made.generate([Request(CHAT)])[0].text
        assert len(server.bodies) <= 3


def test_requests_that_wait_for_another_try_need_no_thread_each():
    most = 0

    def answer(body, k):
        nonlocal most
        most = max(most, threading.active_count())
        return (429, {"error": {"message": "slow"}}) if k == 0 else chat_reply(text_of(body))

    def story(number):
        reply = yield Request([{"role": "user", "content": str(number)}])
        return reply.text

    with Server(answer) as server, engine(server, concurrency=2, timeout_s=30, deadline_s=90) as made:
        before = threading.active_count()
        assert made.roll_out([story(number) for number in range(60)]) == [str(number) for number in range(60)]
    assert most <= before + 10  # its own two, the server's, and a clock
