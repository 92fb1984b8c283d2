"""Sampling from a server on loopback that answers by the request's seed, so that what a run must hold is known."""

import gzip
import io
import itertools
import json
import os
import signal
import subprocess
import sys
import time

import pytest

from tests.engines.server import Server, chat_reply
from tests.waiting import until
from verikit.cli import main
from verikit.engines import load_engine
from verikit.engines.errors import NoChatTemplate
from verikit.errors import AuthError, ConfigError, UsageError
from verikit.readers import read
from verikit.readers.problems import iter_problems
from verikit.sampling import SamplingSettings, sample
from verikit.sampling.prices import read_prices
from verikit.sampling.run import SampleFile, SamplingRun
from verikit.types import Group


def said(body):
    """What the server says to a request: a function of its prompt and its seed, right in two thirds of cases."""
    a, b = body["messages"][-1]["content"].removesuffix("=").split("+")
    seed = body.get("seed", 0)
    return f"It is \\boxed{{{int(a) + int(b) + (seed % 3 == 0)}}}. ({seed})"


def answer(body, k):
    usage = {"prompt_tokens": 5, "completion_tokens": 7}
    return chat_reply(said(body)) | {"usage": usage}


def problems(count):
    return [(line, Group(f"{line}+{line}=", answer=str(2 * line), id=f"q{line}")) for line in range(1, count + 1)]


def problem_file(path, count):
    rows = [{"id": f"q{i}", "question": f"{i}+{i}=", "answer": 2 * i, "level": i % 2} for i in range(1, count + 1)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def engine(server, **options):
    return load_engine(f"openai:{server.url}#m", **{"retries": 0, "deadline_s": 5, "api_key": "k", **options})


def texts(rows):
    return [[candidate["text"] for candidate in row.candidates] for row in rows]


class Stops:
    """A rule that stops after a number of samples that depends on the prompt; remembers what it was asked."""

    def __init__(self):
        self.asked = []

    def stop(self, samples, n):
        self.asked.append((samples[0].id, len(samples), n))
        return len(samples) == int(samples[0].id[1:]) % 4 + 1


def test_rows_come_in_order_with_n_samples_each_and_the_first_8_of_16_are_the_same_as_8():
    with Server(answer) as server, engine(server) as made:
        eight, sixteen = (list(sample(made, problems(40), SamplingSettings(n=n))) for n in (8, 16))
    assert [row.group.id for row in sixteen] == [f"q{i}" for i in range(1, 41)]
    assert texts(eight) == [found[:8] for found in texts(sixteen)]
    assert all(len(set(found)) == 16 for found in texts(sixteen))  # every sample has a seed of its own


def test_a_rule_is_asked_in_order_about_each_finished_sample_and_what_it_decides_does_not_depend_on_timing():
    jitter = itertools.cycle([0.0, 0.01, 0.003])

    def late(body, k):
        time.sleep(next(jitter))
        return answer(body, k)

    rule = Stops()
    with Server(late) as server, engine(server) as made:
        rows = list(sample(made, problems(30), SamplingSettings(n=4), rule=rule))
        asked = len(server.bodies)
        whole = list(sample(made, problems(30), SamplingSettings(n=4)))
    lengths = [i % 4 + 1 for i in range(1, 31)]
    assert [len(row.candidates) for row in rows] == lengths
    assert asked == sum(lengths)
    assert texts(rows) == [found[:k] for found, k in zip(texts(whole), lengths, strict=True)]
    with Server(late) as server, engine(server) as made:
        ahead = list(sample(made, problems(30), SamplingSettings(n=4), rule=Stops(), ahead=2))
        assert asked < len(server.bodies) < 120
    assert texts(ahead) == texts(rows)
    for i in range(1, 31):
        shown = [count for id, count, n in rule.asked if id == f"q{i}" and n == 4]
        assert shown == list(range(1, min(lengths[i - 1], 3) + 1))


def test_a_failed_request_is_marked_and_the_same_run_asks_for_it_again(tmp_path):
    broken = True

    def sometimes(body, k):
        return (500, "oops") if broken and body["seed"] % 5 == 0 else answer(body, k)

    plan, settings = {"n": 8, "engine": "m"}, SamplingSettings(n=8)
    for name in ("first", "second", "whole"):
        broken = name == "first"
        with Server(sometimes) as server, engine(server) as made:
            path = tmp_path / ("whole" if name == "whole" else "out")
            with SampleFile(path, plan) as out:
                run = SamplingRun(made, settings)
                rows = list(run.rows(problems(12), out))
        if name == "first":
            bad = [failure for row in rows for failure in row.failed]
            assert run.failed == len(bad) > 5
            assert {failure["error"]["type"] for failure in bad} == {"ServerFailed"}
            assert len(texts(rows)) == 12
            lost = len(bad)
        if name == "second":
            assert len(server.bodies) == lost
            assert run.failed == 0
    assert (tmp_path / "out").read_bytes() == (tmp_path / "whole").read_bytes()


def test_with_a_rule_a_run_that_failed_ends_in_the_rows_of_one_that_did_not(tmp_path):
    broken = True

    def sometimes(body, k):
        return (500, "oops") if broken and body["seed"] % 3 == 0 else answer(body, k)

    for name in ("out", "out", "whole"):
        with Server(sometimes) as server, engine(server) as made, SampleFile(tmp_path / name, {"n": 4}) as out:
            list(SamplingRun(made, SamplingSettings(n=4), Stops()).rows(problems(12), out))
        broken = False
    assert (tmp_path / "out").read_bytes() == (tmp_path / "whole").read_bytes()


def test_more_samples_of_the_same_prompts_keep_those_that_are_there(tmp_path):
    for n, asked in ((4, 20), (6, 10)):
        with Server(answer) as server, engine(server) as made, SampleFile(tmp_path / "out", {"n": n}) as out:
            list(SamplingRun(made, SamplingSettings(n=n)).rows(problems(5), out))
        assert len(server.bodies) == asked
    with Server(answer) as server, engine(server) as made, SampleFile(tmp_path / "whole", {"n": 6}) as out:
        list(SamplingRun(made, SamplingSettings(n=6)).rows(problems(5), out))
    for name in ("{}", "{}.run"):
        assert (tmp_path / name.format("out")).read_bytes() == (tmp_path / name.format("whole")).read_bytes()
    with pytest.raises(UsageError, match="n was 6, is 4"):
        SampleFile(tmp_path / "out", {"n": 4})


def test_a_file_is_not_gone_on_with_under_another_plan_from_other_prompts_or_by_two_runs(tmp_path):
    path = tmp_path / "out"
    with Server(answer) as server, engine(server) as made:
        with SampleFile(path, {"n": 1, "engine": "a"}) as out:
            list(SamplingRun(made, SamplingSettings(n=1)).rows(problems(3), out))
            with pytest.raises(UsageError, match="another run"):
                SampleFile(path, {"n": 1, "engine": "a"})
        with pytest.raises(UsageError, match='engine was "a", is "b"'):
            SampleFile(path, {"n": 1, "engine": "b"})
        with SampleFile(path, {"n": 1, "engine": "a"}) as out, pytest.raises(UsageError, match="row 1 is of another"):
            list(SamplingRun(made, SamplingSettings(n=1)).rows(problems(3)[1:], out))
    other = tmp_path / "other"
    other.write_text("mine\n")
    with pytest.raises(UsageError, match="was not written by this command"):
        SampleFile(other, {"n": 1})
    assert other.read_text() == "mine\n"


def test_every_cut_of_the_two_files_ends_in_the_same_bytes(tmp_path):
    plan, settings = {"n": 3}, SamplingSettings(n=3)
    with Server(answer) as server, engine(server) as made:
        with SampleFile(tmp_path / "out", plan) as out:
            list(SamplingRun(made, settings).rows(problems(6), out))
        whole = (tmp_path / "out").read_bytes()
        with SampleFile(tmp_path / "kept", plan) as out:
            rows = SamplingRun(made, settings).rows(problems(6), out)
            for _ in range(5):
                next(rows)
            journal = (tmp_path / "kept.run").read_bytes()
            rows.close()
        head = journal.index(b"\n") + 1
        for end in range(0, len(whole) + 1, 37):
            (tmp_path / "out").write_bytes(whole[:end])
            (tmp_path / "out.run").write_bytes(journal[: max(head, len(journal) - 5 * (end % 97))])
            with SampleFile(tmp_path / "out", plan) as out:
                list(SamplingRun(made, settings).rows(problems(6), out))
            assert (tmp_path / "out").read_bytes() == whole


def test_an_engine_that_is_gone_ends_the_run_and_leaves_no_failed_rows(tmp_path):
    with Server(lambda body, k: (401, {"error": {"message": "bad key"}})) as server, engine(server) as made:
        with SampleFile(tmp_path / "out", {"n": 4}) as out, pytest.raises(AuthError):
            list(SamplingRun(made, SamplingSettings(n=4)).rows(problems(30), out))
        assert (tmp_path / "out").read_bytes() == b""
        assert len(server.bodies) <= 4 * 64


def test_thoughts_finish_reasons_and_log_probabilities_stay_with_each_sample():
    top = [{"token": "2", "logprob": -0.5}, {"token": "3", "logprob": -1.5}]
    content = [{"token": "2", "logprob": -0.5, "top_logprobs": top}]

    def thinking(body, k):
        choice = {"index": 0, "finish_reason": "length", "logprobs": {"content": content}}
        return {"choices": [choice | {"message": {"content": "2", "reasoning_content": "1 and 1"}}]}

    with Server(thinking) as server, engine(server) as made:
        settings = SamplingSettings(n=1, logprobs=2, stop=("\n",), top_p=0.5, temperature=0.7, max_tokens=9, seed=None)
        (row,) = sample(made, problems(1), settings)
    assert row.candidates == [
        {
            "text": "2",
            "reasoning_content": "1 and 1",
            "finish_reason": "length",
            "tokens": ["2"],
            "logprobs": [-0.5],
            "top_logprobs": [[["2", -0.5], ["3", -1.5]]],
            "index": 0,
        }
    ]
    body = server.bodies[0]
    assert "seed" not in body
    assert {name: body[name] for name in ("stop", "top_p", "temperature", "max_tokens")} == {
        "stop": ["\n"],
        "top_p": 0.5,
        "temperature": 0.7,
        "max_tokens": 9,
    }


def test_a_model_in_this_process_is_asked_by_its_template_and_samples_the_same_again(tmp_path):
    pytest.importorskip("torch")
    from tests.engines.tiny import save

    with (
        load_engine(f"hf:{save(tmp_path / 'chat')}") as chat,
        load_engine(f"hf:{save(tmp_path / 'text', template=False)}") as plain,
    ):
        settings = SamplingSettings(n=4, max_tokens=8, logprobs=0)
        whole = list(sample(chat, problems(3), settings))
        assert texts(sample(chat, problems(3)[1:], SamplingSettings(n=2, max_tokens=8))) == [
            found[:2] for found in texts(whole)[1:]
        ]
        assert texts(sample(chat, problems(3), settings, rule=Stops())) == [
            found[: i % 4 + 1] for i, found in enumerate(texts(whole), 1)
        ]
        asked = [row.candidates[0]["usage"]["prompt_tokens"] for row in whole]
        (bare,) = sample(plain, problems(1), settings)
        (system,) = sample(chat, problems(1), SamplingSettings(n=1, max_tokens=1, system="the quick brown fox"))
        assert bare.candidates[0]["usage"]["prompt_tokens"] < asked[0] < system.candidates[0]["usage"]["prompt_tokens"]
        assert all(len(c["logprobs"]) == c["usage"]["completion_tokens"] for row in whole for c in row.candidates)
        with pytest.raises(NoChatTemplate):
            list(sample(plain, problems(2), SamplingSettings(n=2, chat=True)))


def test_settings_that_no_request_can_have_are_refused():
    for wrong in ({"n": 0}, {"temperature": -1}, {"top_p": 0}, {"stop": ("",)}, {"system": "x", "chat": False}):
        with pytest.raises(UsageError):
            SamplingSettings(**wrong)


def test_prompts_are_read_from_any_file_and_candidates_of_an_earlier_run_are_left_out(tmp_path):
    rows = [
        {"prompt": [{"role": "user", "content": "1+1="}], "gold": 2, "completions": ["3"], "failed": []},
        {"problem": "2+2=", "id": 7, "answer": ["4", "four"], "level": 3},
    ]
    for name, data in {
        "a.jsonl": b"\n".join(json.dumps(row).encode() for row in rows),
        "a.json": json.dumps(rows).encode(),
        "a.jsonl.gz": gzip.compress(b"\n".join(json.dumps(row).encode() for row in rows)),
    }.items():
        (tmp_path / name).write_bytes(data)
        (first, second) = [group for _, group in iter_problems(tmp_path / name, {})]
        assert (first.id, first.answer, dict(first.meta)) == ("1", "2", {})
        assert (second.id, second.prompt, second.answer, dict(second.meta)) == (
            "7",
            "2+2=",
            ["4", "four"],
            {"level": 3},
        )
    with pytest.raises(UsageError):
        list(iter_problems(tmp_path / "absent", {}))
    with pytest.raises(ConfigError):
        list(iter_problems(tmp_path / "a.jsonl", {"nothing": "x"}))


def test_prices_are_found_by_the_models_name_and_a_batch_costs_its_share(tmp_path):
    path = tmp_path / "prices.toml"
    path.write_text('["m-1"]\nprompt = 2\ncompletion = 8\nbatch = 0.25\n')
    for name in ("openai:http://h/v1#m-1", "anthropic:m-1", "m-1"):
        prices = read_prices(path, name)
        assert prices.cost(1e6, 1e6) == 10
        assert prices.cost(1e6, 1e6, batch=True) == 2.5
    for text in (
        "[m]\nprompt = 1\n",
        "[m]\nprompt = -1\ncompletion = 1\n",
        "[m]\nprompt = true\ncompletion = 1\n",
        "[",
    ):
        path.write_text(text)
        with pytest.raises(ConfigError):
            read_prices(path, "m")


@pytest.fixture
def run(monkeypatch, capfdbinary, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret-0123456789")

    def call(*words, stdin=b""):
        monkeypatch.setattr(sys, "argv", ["verikit", *map(str, words)])
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        capfdbinary.readouterr()
        with pytest.raises(SystemExit) as ended:
            main()
        out, err = capfdbinary.readouterr()
        return int(ended.value.code or 0), out, err.decode()

    return call


def test_the_command_writes_rows_that_score_reads_through_a_pipe(run, tmp_path):
    problem_file(tmp_path / "in.jsonl", 6)
    with Server(answer) as server:
        code, out, err = run("sample", f"openai:{server.url}#m", "in.jsonl", "-n", 5, "--system", "Be brief.")
    assert code == 0, err
    assert all(body["messages"][0] == {"role": "system", "content": "Be brief."} for body in server.bodies)
    rows = [json.loads(line) for line in out.splitlines()]
    assert rows[0]["meta"] == {"level": 1}
    first = rows[0]["completions"][0]
    assert first["finish_reason"] == "stop"
    assert first["usage"] == {"prompt_tokens": 5, "completion_tokens": 7}
    assert first["text"].endswith(f"({first['seed']})")
    code, _, err = run("score", "-", "--select", "best", "-o", "scored", stdin=out)
    assert code == 0, err
    assert len((tmp_path / "scored/selected.jsonl").read_text().splitlines()) == 6


def test_the_command_tells_what_was_spent_and_keeps_the_key_out_of_its_files(run, tmp_path):
    problem_file(tmp_path / "in.jsonl", 4)
    (tmp_path / "prices.toml").write_text("[m]\nprompt = 1000000\ncompletion = 2000000\n")
    with Server(answer) as server:
        words = ("sample", f"openai:{server.url}#m", "in.jsonl", "-n", 2, "-o", "out.jsonl", "--prices", "prices.toml")
        code, out, err = run(*words, "--model-args", "api_key=sk-other-0123456789")
    assert (code, out) == (0, b"")
    assert f"{8 * (5 + 2 * 7)} spent" in err
    assert "secret" not in (tmp_path / "out.jsonl.run").read_text()
    assert "sk-other" not in (tmp_path / "out.jsonl.run").read_text()
    assert len(list(read("out.jsonl"))) == 4


def test_bad_rows_and_failed_requests_are_told_and_exit_with_3(run, tmp_path):
    (tmp_path / "in.jsonl").write_text('{"prompt": "1+1=", "answer": "2"}\nnot json\n{"answer": 3}\n')
    with Server(answer) as server:
        code, out, err = run("sample", f"openai:{server.url}#m", "in.jsonl", "-n", 2)
    assert code == 3
    assert "in.jsonl:2" in err
    assert "in.jsonl:3" in err
    assert len(out.splitlines()) == 1


def test_a_killed_command_goes_on_to_the_same_bytes(tmp_path):
    problem_file(tmp_path / "in.jsonl", 30)

    def slow(body, k):
        time.sleep(0.02)
        return answer(body, k)

    with Server(slow) as server:
        command = [sys.executable, "-m", "verikit", "sample", f"openai:{server.url}#m", "in.jsonl", "-n", "4", "-q"]
        command += ["--model-args", "concurrency=4"]
        environment = {**os.environ, "OPENAI_API_KEY": "k"}
        with subprocess.Popen([*command, "-o", "out"], cwd=tmp_path, env=environment) as process:
            until(lambda: len(server.bodies) >= 50, "fifty requests")
            process.send_signal(signal.SIGKILL)
        before = len(server.bodies)
        subprocess.run([*command, "-o", "out"], cwd=tmp_path, env=environment, check=True)
        assert 120 - before <= len(server.bodies) - before <= 120 - before + 8  # those under way are asked again
        with engine(server) as made, SampleFile(tmp_path / "whole", {"n": 4}) as out:
            list(SamplingRun(made, SamplingSettings(n=4)).rows(iter_problems(tmp_path / "in.jsonl", {}), out))
    assert (tmp_path / "out").read_bytes() == (tmp_path / "whole").read_bytes()


def test_all_prompts_have_rows_when_an_earlier_run_left_nothing_to_ask(monkeypatch):
    monkeypatch.setattr("verikit.sampling.core.OPEN", 2)
    known = {index: {"text": "x", "index": index} for index in range(2)}
    with Server(answer) as server, engine(server) as made:
        settings = SamplingSettings(n=2)
        rows = list(sample(made, problems(7), settings, kept=lambda line, group: known))
        assert [row.group.id for row in rows] == [f"q{i}" for i in range(1, 8)]
        half = list(sample(made, problems(7), settings, kept=lambda line, group: known if line < 6 else {}))
    assert [len(row.candidates) for row in half] == [2] * 7
