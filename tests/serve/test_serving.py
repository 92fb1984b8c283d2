"""What the server answers: our schema, the other protocols, batches, readiness, draining, and what it logs."""

import asyncio
import signal
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from tests.processes import runs
from tests.serve.conftest import MOODY
from tests.waiting import until
from verikit import load

for extra in ("uvicorn", "httptools", "starlette", "prometheus_client"):
    pytest.importorskip(extra)

SECRET = "swordfish"
RESPONSE = {
    "output": [
        {"type": "reasoning", "summary": []},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "It is \\boxed{42}."}]},
    ]
}


def test_replies_don_t_wait_for_the_clients_acknowledgements():
    from verikit.serve.run import listen

    with (
        listen("127.0.0.1", 0) as listener,
        socket.create_connection(listener.getsockname()),
        listener.accept()[0] as connection,
    ):
        assert connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


def test_every_form_of_a_request_gets_the_scores_made_in_process(serve):
    texts = ["\\boxed{1/2}", "0.5", "I think 3", ""]
    want = [load("answer")(text, "0.5") for text in texts]
    with serve(spec="answer") as server:
        group = server.http.post("/score", json={"prompt": "?", "completions": texts, "answer": "0.5"}).json()
        many = [{"completion": [{"role": "assistant", "content": text}], "answer": ["0.5"]} for text in texts]
        listed = server.http.post("/score", json={"samples": many}).json()
        single = [server.score(text, 0.5).json()["scores"][0] for text in texts]
    for found in (group["scores"], listed["scores"], single):
        assert [row["value"] for row in found] == [score.value for score in want]
        assert [row.get("answer") for row in found] == [score.answer for score in want]


def test_a_candidates_own_keys_reach_the_verifier(serve):
    with serve(spec="column('rm')") as server:
        body = {"prompt": "?", "completions": [{"text": "a", "rm": 1.5}, {"text": "b"}], "meta": {"rm": 0.5}}
        assert [row["value"] for row in server.http.post("/score", json=body).json()["scores"]] == [1.5, 0.5]


OPENRLHF = {"query": ["p fail</s>", "p x</s>"], "prompts": ["p"] * 2, "labels": ["x"] * 2}
SLIME = {"prompt": "?", "response": "fail", "label": "x"}
LLAMA_FACTORY = {"messages": ["<|im_start|>assistant\nfail<|im_end|>", "no mark of a template"]}


@pytest.mark.parametrize(
    ("protocol", "path", "body", "null", "filled"),
    [
        ("openrlhf", "/get_reward", OPENRLHF, {"rewards": [None, 1.0], "scores": [None, 1.0]},
         {"rewards": [-2.5, 1.0], "scores": [0.0, 1.0]}),
        ("slime", "/reward", SLIME, {"reward": None, "value": None}, {"reward": -2.5, "value": None}),
        ("llama-factory", "/scores", LLAMA_FACTORY, {"scores": [None, None]}, {"scores": [-2.5, -2.5]}),
    ],
)  # fmt: skip
def test_no_score_is_null_unless_the_server_was_given_a_number_for_it(serve, protocol, path, body, null, filled):
    for options, expected in (((), null), (("--unscored", -2.5), filled)):
        with serve("--protocol", protocol, *options) as server:
            found = server.http.post(path, json=body).json()
            assert {key: found[key] for key in expected} == expected
            assert server.score("fail").json()["scores"][0]["value"] is None


def test_what_has_no_score_is_said_so_in_every_protocol(serve):
    with serve("--protocol", "openrlhf", "--unscored", -1) as server:
        row = server.score("fail").json()["scores"][0]
        assert (row["value"], row["status"], row["reason"]) == (None, "error", "the judge is away")
        body = {"query": ["<s>p fail</s>", "p x</s>", "q"], "prompts": ["p"] * 3, "labels": ["x"] * 3}
        found = server.http.post("/get_reward", json=body).json()
        assert found["rewards"] == [-1.0, 1.0, -1.0]
        assert found["extra_logs"] == {"scored": [0.0, 1.0, 0.0]}
    with serve("--protocol", "slime", "--unscored", -1) as server:
        ask = {"prompt": "?", "response": "fail", "label": "x"}
        assert server.http.post("/reward", json=ask).json()["reward"] == -1.0
        assert server.http.post("/reward", json=ask).json()["status"] == "error"
        assert server.http.post("/reward", json=ask | {"response": "x"}).json()["reward"] == 1.0
    with serve("--protocol", "nemo-gym") as server:
        ask = {"responses_create_params": {"input": "?"}, "response": RESPONSE, "expected_answer": "x", "uuid": 7}
        found = server.http.post("/verify", json=ask).json()
        assert {key: found[key] for key in ask} == ask
        assert found["reward"] == 0.0
        assert "mask_sample" not in found


def test_nemo_gyms_reply_masks_a_sample_that_could_not_be_scored(serve):
    with serve("--protocol", "nemo-gym-mask", "--unscored", 0, spec="column('rm')") as server:
        ask = {"responses_create_params": {"input": "?"}, "response": RESPONSE}
        found = server.http.post("/verify", json=ask).json()
        assert (found["reward"], found["mask_sample"]) == (0.0, True)
        assert found["instance_config"] == {"mask_sample": True}
        assert found["failure_kind"].startswith("verikit:")
    with serve("--protocol", "nemo-gym", spec="answer") as server:
        assert server.http.post("/verify", json=ask | {"answer": "42"}).json()["reward"] == 1.0


@pytest.mark.filterwarnings("ignore")
def test_openrlhfs_own_client_is_answered(serve):
    pytest.importorskip("openrlhf")
    from openrlhf.utils.agent import SingleTurnAgentExecutor

    with serve("--protocol", "openrlhf", spec="answer") as server:
        executor = SingleTurnAgentExecutor([f"{server.address}/get_reward"])
        [found] = asyncio.run(executor._fetch_rewards_via_http(["p 42</s>"], ["p"], ["42"]))
    assert found == {"rewards": [1.0], "scores": [1.0], "extra_logs": {"scored": [1.0]}}


def test_requests_that_wait_together_are_scored_as_a_batch(serve, tmp_path):
    with serve() as server, ThreadPoolExecutor(32) as threads:
        with server.held(tmp_path / "before"):
            replies = [threads.submit(server.score, str(i), "7") for i in range(31)]
            until(lambda: server.metric("verikit_waiting_samples") == 31, "the samples to wait")
        rest = [reply.result().json()["scores"][0]["value"] for reply in replies]
        assert rest == [float(i == 7) for i in range(31)]
        assert server.metric("verikit_batch_samples_count") <= 8
        assert server.metric("verikit_batch_samples_sum") == 32
        assert server.metric('verikit_samples_total{status="ok"}') == 32


def test_a_stopped_server_finishes_what_is_under_way_and_takes_no_more(serve, tmp_path):
    with serve() as server:

        def takes_no_more():
            try:
                httpx.get(f"{server.address}/health")
            except httpx.ConnectError:
                return True

        with server.held(tmp_path / "under way") as found:
            server.process.send_signal(signal.SIGTERM)
            until(takes_no_more, "the server to listen no more")
        assert found.result().status_code == 200
        assert server.process.wait(120) == 0


def test_scoring_processes_end_with_a_server_that_is_killed(serve):
    with serve("--workers", 2) as server:
        scorers = server.scorers()
        assert len(scorers) == 2
        server.process.kill()
        server.process.wait()
        until(lambda: not any(map(runs, scorers)), "the scoring processes to end")


def test_no_text_of_a_request_gets_into_the_log(serve, log):
    with serve("-v") as server:
        for text in (f"fail {SECRET}", f"{SECRET}", f"die {SECRET}"):
            server.score(text, SECRET)
        server.http.post("/score", content=b'{"%s' % SECRET.encode())
        server.http.get(f"/{SECRET}")
    text = log.read_text()
    assert "/score 200" in text
    assert SECRET not in text


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (["nonsense"], "nonsense"),
        ([MOODY, "--host", "0.0.0.0"], "no token"),
        ([MOODY, "--host", "192.0.2.1", "--port", "1"], "no token"),
        ([MOODY, "--unscored", "nan"], "--unscored must be a finite number, got nan"),
        ([MOODY, "--protocol", "openrlhf", "--unscored", "inf"], "--unscored must be a finite number, got inf"),
        ([MOODY, "--protocol", "nemo-gym-mask"], "--protocol nemo-gym-mask requires a number"),
    ],
)
def test_a_server_that_should_not_start_says_why(options, problem):
    done = subprocess.run([sys.executable, "-m", "verikit", "serve", *options], capture_output=True, text=True)
    assert done.returncode == 2
    assert problem in done.stderr
    assert "Traceback" not in done.stderr


def test_an_address_in_use_is_named(serve):
    with serve() as server:
        command = [sys.executable, "-m", "verikit", "serve", MOODY, "--port", str(server.port)]
        done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 1
    assert f"can't listen on 127.0.0.1:{server.port}" in done.stderr
