"""Best of n behind the chat endpoint, asked by OpenAI's own client and by lm-eval, as they are."""

import json
import socket
import threading
import time
from collections import Counter
from contextlib import contextmanager

import httpx
import pytest

from tests.engines.server import Server, chat_reply
from tests.serve.conftest import REWARDS
from tests.waiting import until
from verikit import Score
from verikit.select import Best, First, Majority

for extra in ("uvicorn", "httptools", "starlette", "prometheus_client"):
    pytest.importorskip(extra)

from verikit.serve import chat  # noqa: E402 - needs the extra
from verikit.serve.best import why_first  # noqa: E402

ADDS = f"{REWARDS}:adds"
FIRST = f"first({ADDS})"


def model(right=3, delay=0.0, text="It is \\boxed{%d}."):
    """A model that adds rightly in the k-th sample of each prompt alone; otherwise each sum is off by its number."""
    asked, lock = Counter(), threading.Lock()

    def answer(body, k):
        question = body["messages"][-1]["content"]
        with lock:
            number = asked[question]
            asked[question] += 1
        if delay:
            time.sleep(delay * number)
        a, b = question.removesuffix("=").split("+")
        total = int(a) + int(b) + (0 if number == right else 10 + number)
        return chat_reply(text % total) | {"usage": {"prompt_tokens": 5, "completion_tokens": 7}}

    return answer


@contextmanager
def served(serve, answer, *options, spec=ADDS, **more):
    with (
        Server(answer) as upstream,
        serve(
            *("--best-of", 6, "--model", f"openai:{upstream.url}#m", "--model-args", "api_key=k", *options),
            spec=spec,
            **more,
        ) as server,
    ):
        yield server, upstream


def client(server, **options):
    openai = pytest.importorskip("openai")
    return openai.OpenAI(
        base_url=f"{server.address}/v1", **{"api_key": "swordfish", "max_retries": 0, "timeout": 60, **options}
    )


def ask(content="2+3=", **options):
    return {"model": "m", "messages": [{"role": "user", "content": content}], **options}


def test_openais_client_gets_the_best_sample_the_usage_of_all_and_the_reason(serve):
    with served(serve, model(), token="swordfish") as (server, upstream), client(server) as openai:
        raw = openai.chat.completions.with_raw_response.create(**ask())
        found = raw.parse()
        assert [choice.message.content for choice in found.choices] == ["It is \\boxed{5}."]
        assert found.choices[0].finish_reason == "stop"
        usage = found.usage
        assert (usage.prompt_tokens, usage.completion_tokens, usage.total_tokens) == (30, 42, 72)
        assert len(upstream.bodies) == 6
        reason = raw.headers["x-verikit-reason"]
        assert reason.startswith("best of 6, 6 scored: sample ")
        assert "score 1: added up" in reason
        every = openai.chat.completions.create(**ask("4+5=", n=6))
        assert every.choices[0].message.content == "It is \\boxed{9}."
        assert len({choice.message.content for choice in every.choices}) == 6
        assert [choice.index for choice in every.choices] == list(range(6))
        with openai.chat.completions.create(
            **ask("6+7=", stream=True, stream_options={"include_usage": True})
        ) as stream:
            parts = list(stream)
        text = "".join(part.choices[0].delta.content or "" for part in parts if part.choices)
        assert text == "It is \\boxed{13}."
        assert parts[-1].usage.total_tokens == 72
        assert [part.choices[0].finish_reason for part in parts if part.choices][-1] == "stop"
        assert [found.id for found in openai.models.list()] == ["m"]
        assert {found.model, every.model, parts[0].model} == {"m"}
        assert server.score("x", "x").status_code == 401  # the reward server is there as well, behind the same token


def test_what_the_endpoint_does_not_do_is_refused_in_the_form_that_the_client_reads(serve):
    library = pytest.importorskip("openai")
    with served(serve, model(), token="swordfish") as (server, upstream), client(server) as openai:
        for wrong in (
            {"n": 7},
            {"tools": [{"type": "function", "function": {"name": "f"}}]},
            {"temperature": -1},
            {"seed": 10**400},
        ):
            with pytest.raises(library.BadRequestError, match=next(iter(wrong))):
                openai.chat.completions.create(**ask(**wrong))
        with pytest.raises(library.BadRequestError, match="prompt"):
            openai.chat.completions.create(model="m", messages=[])
        image = {"type": "image_url", "image_url": {"url": "data:,"}}
        for body in (
            ask(n=1e999),
            ask(max_tokens=float("nan")),
            ask(max_tokens=-1),
            ask(seed="x"),
            ask(stop=5),
            ask([image]),
            ask(response_format={"type": "json_object"}),
            {"messages": "hello"},
            {"messages": [{"content": "x"}]},
            {"messages": [7]},
            [],
        ):
            headers = {"authorization": "Bearer swordfish"}
            found = server.http.post("/v1/chat/completions", content=json.dumps(body), headers=headers)
            assert (found.status_code, found.json()["error"]["type"]) == (400, "invalid_request_error"), body
        with client(server, api_key="wrong") as stranger, pytest.raises(library.AuthenticationError):
            stranger.chat.completions.create(**ask())
        assert upstream.bodies == []


def test_a_seeded_request_gets_the_same_samples_and_a_greedy_one_is_drawn_once(serve):
    def seeded(body, k):
        return chat_reply(str(body.get("seed")))

    with served(serve, seeded, spec="length(max=99)") as (server, upstream):
        first, second = (server.http.post("/v1/chat/completions", json=ask(seed=7, n=6)).json() for _ in range(2))
        assert first["choices"] == second["choices"]
        upstream.bodies.clear()
        server.http.post("/v1/chat/completions", json=ask(temperature=0))
        assert len(upstream.bodies) == 1


def test_majority_votes_without_a_gold(serve):
    def answer(body, k):
        return chat_reply(f"So \\boxed{{{4 + (body['seed'] % 3 == 0)}}}.")

    with served(serve, answer, "--select", "majority", spec="answer") as (server, _):
        reply = server.http.post("/v1/chat/completions", json=ask(seed=1, n=6))
    texts = [choice["message"]["content"] for choice in reply.json()["choices"]]
    [(most, count), _] = Counter(texts).most_common()
    assert texts[0] == most
    first = reply.headers["x-verikit-chosen"].partition(",")[0]
    assert reply.headers["x-verikit-reason"] == f"majority of 6, 6 with an answer: sample {first}, {count} votes"


@pytest.mark.parametrize(
    ("selector", "scores", "why"),
    [
        (Best(), [Score(0.5, reason="half"), Score(0.0)], "best of 2, 2 scored: sample 0, score 0.5: half"),
        (Best(), [Score.error("away")], "best of 1, 0 scored: sample 0, no score: away"),
        (First(), [Score.abstained("no gold answer")], "first of 1: sample 0"),
        (Majority(), [Score.abstained("no gold answer", answer="4")],
         "majority of 1, 1 with an answer: sample 0, 1 vote"),
        (Majority(), [Score(1.0, answer="4", reason="equal")] * 2,
         "majority of 2, 2 with an answer: sample 0, 2 votes, score 1: equal"),
        (Majority(), [Score.abstained("no gold answer")] * 2, "majority of 2, 0 with an answer: sample 0, 0 votes"),
    ],
)  # fmt: skip
def test_the_reason_names_a_missing_score_only_if_scores_rank(selector, scores, why):
    assert why_first(selector, scores, 0) == why


def test_clients_see_the_models_name_and_not_where_it_comes_from(tmp_path):
    (tmp_path / "tiny").mkdir()
    names = {
        "openai:http://10.0.0.5:8000/v1#org/model": "org/model",
        "anthropic:claude": "claude",
        "hf:org/model": "org/model",
        f"hf:{tmp_path}/tiny": "tiny",
        f"hf:{tmp_path}/tiny/": "tiny",
        "mine": "mine",
    }
    assert {name: chat.model_name(name) for name in names} == names


def test_a_rule_ends_sampling_early_unless_all_choices_are_wanted(serve):
    with served(serve, model(right=1), "--until", FIRST) as (server, upstream):
        found = server.http.post("/v1/chat/completions", json=ask())
        assert found.headers["x-verikit-samples"] == "2"
        assert found.json()["choices"][0]["message"]["content"] == "It is \\boxed{5}."
        assert len(upstream.bodies) == 2
        assert len(server.http.post("/v1/chat/completions", json=ask(n=6)).json()["choices"]) == 6


def test_at_the_deadline_the_samples_that_are_there_are_chosen_among(serve):
    chosen, some = threading.Event(), model(right=1)

    def answer(body, k):
        reply = some(body, k)
        assert "5}" in reply["choices"][0]["message"]["content"] or chosen.wait(60)  # those of the first two
        return reply

    with served(serve, answer, "--deadline", 4) as (server, _):
        found = server.http.post("/v1/chat/completions", json=ask())
        chosen.set()
        assert found.json()["choices"][0]["message"]["content"] == "It is \\boxed{5}."


def test_an_upstream_that_fails_or_hangs_is_told_by_its_status(serve):
    state, told = {"reply": (503, "down")}, threading.Event()

    def answer(body, k):
        if state["reply"] is None:
            told.wait(60)
        return state["reply"] or chat_reply()

    options = ("--deadline", 3, "--model-args", "retries=0")
    with served(serve, answer, *options) as (server, _):
        statuses = {}
        for name, reply in {
            "down": (503, "down"),
            "key": (401, {"error": {"message": "bad key"}}),
            "long": (400, {"error": {"message": "x", "code": "context_length_exceeded"}}),
            "slow": (429, {"error": {"message": "slow down"}}),
            "hangs": None,
        }.items():
            state["reply"] = reply
            found = server.http.post("/v1/chat/completions", json=ask())
            statuses[name] = found.status_code
            assert found.json()["error"]["message"]
        told.set()
        assert statuses == {"down": 502, "key": 502, "long": 400, "slow": 429, "hangs": 504}


@pytest.mark.parametrize(
    ("reply", "status", "cause"),
    [
        (None, 502, "can't connect"),
        ((500, {"error": {"message": "out of memory"}}), 502, "HTTP 500: out of memory"),
        ((429, {"error": {"message": "slow down"}}), 429, "HTTP 429: slow down"),
        ((401, {"error": {"message": "bad key"}}), 502, "HTTP 401: bad key"),
    ],
)
@pytest.mark.parametrize("options", [(), ("--model-args", "deadline_s=600"), ("--until", FIRST)])
def test_a_dead_engines_last_error_is_told_within_a_short_deadline_and_without_hints(
    serve, log, reply, status, cause, options
):
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))  # and nobody listens
        dead = f"openai:http://127.0.0.1:{unused.getsockname()[1]}/v1#m"
        backend = ("--model", dead) if reply is None else ()
        with served(serve, lambda body, k: reply, "--deadline", 6, *backend, *options) as (server, _):
            found = server.http.post("/v1/chat/completions", json=ask())
    error = found.json()["error"]
    assert found.status_code == status
    assert error["message"].startswith("no sample came: ")
    assert cause in error["message"]
    assert "(" not in error["message"]  # a hint would stand there
    assert found.headers.get("retry-after") == ("1" if status == 429 else None)
    said = log.read_text()
    assert ("no sample came: " in said) == (status == 502)
    assert ("OPENAI_API_KEY" in said) == (cause == "HTTP 401: bad key")
    assert "command again" not in said


def test_requests_that_wait_for_each_other_at_a_dead_engine_are_told_its_last_error(serve):
    def answer(body, k):
        time.sleep(1.2)
        return 500, {"error": {"message": "out of memory"}}

    with served(serve, answer, "--deadline", 6, "--model-args", "concurrency=1") as (server, _):
        found = server.http.post("/v1/chat/completions", json=ask())
    assert found.status_code == 502
    assert "out of memory" in found.json()["error"]["message"]


def test_a_sample_that_can_not_be_scored_is_chosen_last_and_too_much_at_once_is_sent_away(serve):
    refused = threading.Event()
    refused.set()

    def answer(body, k):
        refused.wait(60)
        return chat_reply("unscorable" if body["seed"] % 2 else "\\boxed{0}")

    with served(serve, answer, "--max-waiting", 12) as (server, _):
        found = server.http.post("/v1/chat/completions", json=ask(n=6)).json()
        texts = [choice["message"]["content"] for choice in found["choices"]]
        assert texts == sorted(texts)  # a wrong sample before one without a score
        replies = []

        def post():
            replies.append(httpx.post(f"{server.address}/v1/chat/completions", json=ask(), timeout=120))
            if replies[-1].status_code == 429:
                refused.set()

        refused.clear()
        threads = [threading.Thread(target=post) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        codes = Counter(reply.status_code for reply in replies)
        assert set(codes) == {200, 429}
        assert all(reply.headers["retry-after"] == "1" for reply in replies if reply.status_code == 429)
        assert server.http.post("/v1/chat/completions", json=ask()).status_code == 200


def test_half_of_a_character_in_a_sample_or_a_prompt_ends_no_request(serve):
    with served(serve, lambda body, k: chat_reply("\ud800 \\boxed{5}")) as (server, _):
        prompt = json.dumps(ask("\udfff 2+3="))
        for body in (json.dumps(ask()), prompt, json.dumps(ask(stream=True))):
            reply = server.http.post("/v1/chat/completions", content=body)
            assert reply.status_code == 200, reply.text
            assert "? \\\\boxed{5}" in reply.text


def test_a_client_that_leaves_takes_its_samples_with_it(serve):
    all_left = threading.Event()

    def answer(body, k):
        all_left.wait(60)
        return chat_reply("\\boxed{0}")

    options = ("--model-args", "concurrency=1", "--until", FIRST)
    with served(serve, answer, *options) as (server, upstream):
        for _ in range(3):
            with pytest.raises(httpx.ReadTimeout):
                httpx.post(f"{server.address}/v1/chat/completions", json=ask(), timeout=0.5)
        until(lambda: server.metric("verikit_drawing_samples") == 0, "the samples to be dropped")
        all_left.set()
        assert server.http.post("/v1/chat/completions", json=ask()).status_code == 200
        assert len(upstream.bodies) <= 3 + 6  # one of each client that left was under way


@pytest.mark.slow
def test_lm_eval_runs_against_it_unchanged(serve, monkeypatch, tmp_path):
    pytest.importorskip("lm_eval")
    from lm_eval import simple_evaluate
    from lm_eval.tasks import TaskManager

    rows = tmp_path / "rows.jsonl"
    rows.write_text(
        "".join(json.dumps({"q": f"{i}+{i}=", "a": f"It is \\boxed{{{2 * i}}}."}) + "\n" for i in range(1, 9))
    )
    task = {
        "task": "sums",
        "dataset_path": "json",
        "dataset_kwargs": {"data_files": {"test": str(rows)}},
        "test_split": "test",
        "output_type": "generate_until",
        "doc_to_text": "{{q}}",
        "doc_to_target": "{{a}}",
        "generation_kwargs": {"until": ["\n\n"], "max_gen_toks": 32, "do_sample": False, "temperature": 0},
        "metric_list": [{"metric": "exact_match", "aggregation": "mean", "higher_is_better": True}],
    }
    monkeypatch.setenv("OPENAI_API_KEY", "swordfish")
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with served(serve, model(), "--temperature", 1, token="swordfish") as (server, upstream):
        found = simple_evaluate(
            model="local-chat-completions",
            model_args=f"base_url={server.address}/v1/chat/completions,model=m,num_concurrent=2",
            tasks=[task],
            task_manager=TaskManager(include_defaults=False),
            apply_chat_template=True,
            bootstrap_iters=0,
        )
    assert found["results"]["sums"]["exact_match,none"] == 1.0
    assert len(upstream.bodies) == 8 * 6
