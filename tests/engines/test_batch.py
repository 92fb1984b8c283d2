"""The batch interface by OpenAI's real client: submitted, polled, found again after a kill, nothing paid twice."""

import json
import os
import signal
import subprocess
import sys

import pytest

from tests.engines.batches import BatchServer
from tests.engines.server import chat_reply
from tests.waiting import until
from verikit.engines import Request, load_engine
from verikit.engines.errors import BadRequest, Unreachable, Unsupported
from verikit.errors import AuthError, EngineTimeout, RateLimited, SpecError
from verikit.readers.problems import iter_problems
from verikit.sampling import SamplingSettings
from verikit.sampling.run import SampleFile, SamplingRun

KEY = "sk-very-secret-0123456789"


@pytest.fixture(autouse=True)
def cache(monkeypatch, tmp_path):
    pytest.importorskip("openai")
    monkeypatch.setenv("VERIKIT_CACHE", str(tmp_path / "cache" / "generations.sqlite"))
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


def answer(body):
    text = f"{body['messages'][-1]['content']} {body.get('seed')}"
    return chat_reply(text) | {"usage": {"prompt_tokens": 5, "completion_tokens": 7}}


def engine(server, **options):
    return load_engine(f"openai-batch:{server.url}#m", **{"poll_s": 0.01, **options})


def chats(*texts, **options):
    return [Request([{"role": "user", "content": text}], **options) for text in texts]


def problem_file(path, count=6):
    path.write_text("".join(json.dumps({"id": f"q{i}", "prompt": f"p{i}"}) + "\n" for i in range(count)))


def run(server, folder, name, n=3):
    with engine(server) as made, SampleFile(folder / name, {"n": n}) as out:
        sampling = SamplingRun(made, SamplingSettings(n=n))
        list(sampling.rows(iter_problems(folder / "in.jsonl", {}), out))
    return sampling


def test_a_whole_run_is_one_batch_and_its_rows_come_in_order(tmp_path):
    problem_file(tmp_path / "in.jsonl")
    with BatchServer(answer) as server:
        server.released.set()
        sampling = run(server, tmp_path, "out")
    assert [len(upload) for upload in server.uploads] == [18]
    row = server.uploads[0][0]
    assert (row["method"], row["url"]) == ("POST", "/v1/chat/completions")
    assert row["body"]["max_completion_tokens"] == 1024
    rows = [json.loads(line) for line in (tmp_path / "out").read_text().splitlines()]
    assert [found["id"] for found in rows] == [f"q{i}" for i in range(6)]
    for i, found in enumerate(rows):
        assert [sampled["text"] for sampled in found["completions"]] == [
            f"p{i} {sampled['seed']}" for sampled in found["completions"]
        ]
    assert (sampling.prompt_tokens, sampling.completion_tokens) == (90, 126)


def test_rows_that_failed_are_submitted_anew_and_no_others(tmp_path):
    problem_file(tmp_path / "in.jsonl")
    slow = {"error": {"message": "slow down", "code": "rate_limit_exceeded"}}
    broken = True

    def sometimes(body):
        return (429, slow) if broken and body["seed"] % 2 else answer(body)

    with BatchServer(sometimes) as server:
        server.released.set()
        first = run(server, tmp_path, "out")
        assert 0 < first.failed < 18
        assert "RateLimited" in (tmp_path / "out").read_text()
        broken = False
        assert run(server, tmp_path, "out").failed == 0
        assert [len(upload) for upload in server.uploads] == [18, first.failed]
        run(server, tmp_path, "whole")  # the same requests: their batches are at hand
        assert len(server.uploads) == 2
    assert (tmp_path / "out").read_bytes() == (tmp_path / "whole").read_bytes()


@pytest.mark.parametrize("mute", [False, True], ids=["while it waits", "before it heard of its batch"])
def test_a_killed_command_finds_its_batch_again_and_ends_in_the_same_bytes(tmp_path, mute):
    problem_file(tmp_path / "in.jsonl")
    (tmp_path / "prices.json").write_text('{"m": {"prompt": 2000000, "completion": 1000000}}')
    with BatchServer(answer) as server:
        server.mute = mute
        command = [sys.executable, "-m", "verikit", "sample", f"openai-batch:{server.url}#m", "in.jsonl", "-n", "3"]
        command += ["-o", "out", "--model-args", "poll_s=0.05", "--prices", "prices.json"]
        with subprocess.Popen(command, cwd=tmp_path, env={**os.environ}) as process:
            until(
                lambda: any(batch["status"] == "in_progress" or mute for batch in server.batches.values()), "the batch"
            )
            process.send_signal(signal.SIGKILL)
        assert (tmp_path / "out").read_bytes() == b""
        server.mute = False
        server.released.set()
        done = subprocess.run(command, cwd=tmp_path, env={**os.environ}, capture_output=True, text=True, check=True)
        assert len(server.batches) == len(server.uploads) == 1
        paid = 90 * 2 + 126
        assert f"{paid / 2:.4g} spent ({paid:.4g} without the batch's discount)" in done.stderr
        (tmp_path / "cache" / "batches").rename(tmp_path / "cache" / "away")
        run(server, tmp_path, "whole")
        assert len(server.batches) == 2
    assert (tmp_path / "out").read_bytes() == (tmp_path / "whole").read_bytes()
    assert KEY not in "".join(path.read_text() for path in (tmp_path / "cache").rglob("*.jsonl"))


@pytest.mark.parametrize(
    ("status", "kind", "good"), [("failed", BadRequest, 0), ("expired", EngineTimeout, 2), ("cancelled", None, 4)]
)
def test_a_batch_that_ends_otherwise_keeps_what_it_has_and_says_why_the_rest_is_missing(status, kind, good):
    with BatchServer(answer) as server, engine(server) as made:
        server.status = status
        server.released.set()
        found = made.generate(chats("a", "b", "c", "d", seed=1))
        assert sum(generation.error is None for generation in found) == good
        assert {type(generation.error) for generation in found if generation.error} == ({kind} if kind else set())
        server.status = "completed"
        assert [generation.text for generation in made.generate(chats("a", "b", "c", "d", seed=1))] == [
            f"{text} 1" for text in "abcd"
        ]


def test_equal_unseeded_requests_are_rows_of_their_own_and_bad_ones_are_never_sent():
    with BatchServer(answer) as server, engine(server) as made:
        server.released.set()
        requests = [*chats("a", "a", temperature=1.0), *chats("b", top_k=3), *chats("b", "b")]
        found = made.generate(requests)
    assert isinstance(found[2].error, Unsupported)
    assert [generation.error for i, generation in enumerate(found) if i != 2] == [None] * 4
    assert len(server.uploads[0]) == 3  # greedy ones are equal


def test_a_ledger_that_was_cut_short_loses_its_last_line_only(tmp_path):
    with BatchServer(answer) as server:
        server.released.set()
        with engine(server, state=str(tmp_path / "state")) as made:
            made.generate(chats("a", seed=1))
            made.generate(chats("b", seed=1))
        path = tmp_path / "state"
        whole = path.read_bytes()
        path.write_bytes(whole[:-9])  # the batch of the second file is not known: it is looked for
        with engine(server, state=str(path)) as made:
            assert [found.text for found in made.generate(chats("a", "b", seed=1))] == ["a 1", "b 1"]
        assert len(server.batches) == len(server.uploads) == 2


def test_a_provider_that_lost_a_batch_or_is_not_there_is_told_and_the_requests_can_be_asked_again():
    with BatchServer(answer) as server, engine(server) as made:
        server.released.set()
        made.generate(chats("a", seed=1))
        server.batches.clear()
        error = made.generate(chats("a", seed=1))[0].error
        assert "No such batch" in str(error)
        assert made.generate(chats("a", seed=1))[0].text == "a 1"
    with load_engine("openai-batch:http://127.0.0.1:9/v1#m") as made:
        made._client = made._client.with_options(max_retries=0)
        assert type(made.generate(chats("a"))[0].error) is Unreachable


def test_options_are_checked_and_row_errors_are_typed():
    for spec, options in {"http://h/v1": {}, "http://h/v1#m": {"poll_s": 0}, "http://u:p@h/v1#m": {}}.items():
        with pytest.raises(SpecError):
            load_engine(f"openai-batch:{spec}", **options)
    for status, kind in ((401, AuthError), (429, RateLimited), (400, BadRequest)):
        said = {"error": {"message": f"no, {KEY}", "code": "x"}}
        with BatchServer(lambda body, reply=(status, said): reply) as server, engine(server) as made:
            server.released.set()
            error = made.generate(chats("a", seed=status))[0].error
        assert type(error) is kind
        assert KEY not in str(error)
