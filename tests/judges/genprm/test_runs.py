"""`verikit score` and `verikit explain` with a process reward model, and runs that are killed in the middle."""

import json
import subprocess
import sys
import time

import pytest

from tests.engines.server import Server
from tests.judges.genprm.reviewer import Reviewer, careful
from verikit.cli import main
from verikit.engines import Recorder
from verikit.engines.types import Request
from verikit.judges.asking import ask
from verikit.judges.genprm import GenPRM
from verikit.types import Sample

CANDIDATES = {  # two of three agree on the wrong answer, each with a step that is wrong
    "a": "Step 1: 2 + 3 = 6 (wrong)\nStep 2: \\boxed{6}",
    "b": "Step 1: 2 + 3 = 5\nStep 2: \\boxed{5}",
    "c": "Step 1: 1 + 5 is it (wrong)\nStep 2: \\boxed{6.0}",
}


def share(paragraph, request):
    """The first step that says it is wrong is found; the next ones too."""
    asked = [m["content"] for m in request.prompt if m["role"] == "user"]
    doubt = 0.1 + (request.seed or 0) % 5 / 100
    return doubt if any("(wrong)" in text for text in asked) else 1 - doubt


RULE = careful(share)


@pytest.fixture
def verikit(monkeypatch, capsys, tmp_path):
    """`verikit` in this process and in an empty folder: its exit code and output."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("VERIKIT_CACHE", str(tmp_path / "cache.sqlite"))

    def run(*arguments):
        ask._connected.cache_clear()  # connections to a server that is gone
        monkeypatch.setattr(sys, "argv", ["verikit", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        out, _ = capsys.readouterr()
        return int(ended.value.code or 0), out

    return run


def write(path, rows=1):
    lines = [
        {"id": f"r{i}", "prompt": f"What is 2 + 3, sum {i}?", "completions": list(CANDIDATES.values()), "answer": "5"}
        for i in range(rows)
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    return path


@pytest.fixture
def recorded(tmp_path):
    """A file of candidates, and the spec of a reviewer whose replies were recorded."""
    write(tmp_path / "rows.jsonl")
    samples = [Sample("What is 2 + 3, sum 0?", text, "5") for text in CANDIDATES.values()]
    GenPRM(Recorder(Reviewer(RULE), tmp_path / "said.jsonl"), paths=3).score(samples)
    return "genprm(engine='replay:said.jsonl', paths=3)"


@pytest.mark.parametrize(("select", "chosen"), [("best", 1), ("majority", 0), ("weighted(weights='raw')", 1)])
def test_a_review_picks_the_right_candidate_where_the_majority_is_wrong(verikit, recorded, tmp_path, select, chosen):
    for out, scoring in (("v", ("-v", recorded)), ("by", ("-v", "answer", "--by", recorded))):
        assert verikit("score", "rows.jsonl", *scoring, "--select", select, "-o", out)[0] == 0
        assert json.loads((tmp_path / out / "selected.jsonl").read_text())["selected"] == chosen


def test_the_reviews_are_kept_for_reading(verikit, recorded, tmp_path):
    assert verikit("score", "rows.jsonl", "-v", recorded, "-o", "out")[0] == 0
    row = json.loads((tmp_path / "out" / "scores.jsonl").read_text().splitlines()[0])
    assert row["value"] == min(step["value"] for step in row["steps"])
    first = row["steps"][0]
    assert first["text"] == "Step 1: 2 + 3 = 6 (wrong)"
    assert set(first["parts"]) == {"path 1", "path 2", "path 3"}
    assert "print(1)\n```\n[Code Output]\n\n```\n1\n```\n" in first["parts"]["path 2"]["text"]


def test_explain_prints_a_step_by_step_review(verikit, recorded):
    code, out = verikit("explain", "rows.jsonl", "-v", recorded, "--index", "1")
    assert code == 0
    assert "min of 2 steps; none is doubtful" in out
    for shown in ("step 1: 0.8", "| Step 1: 2 + 3 = 5", "path 3: 0.8", "| Let's analyze the Paragraph 2", "Yes"):
        assert shown in out


class Served:
    """The reviewer behind a server of vLLM's kind, which can be told to fail after some calls or to be slow."""

    def __init__(self, dies_after=10**9, slow_s=0.0):
        self.left, self.slow_s = dies_after, slow_s

    def __call__(self, body, k):
        self.left -= 1
        if self.left < 0:
            return 400, {"error": {"message": "the engine is dead"}}
        time.sleep(self.slow_s)
        request = Request(body["messages"], seed=body.get("seed"))
        output = Reviewer(RULE).reply(request).outputs[0]
        content = [
            {
                "token": token,
                "logprob": logprob,
                "top_logprobs": [{"token": o.token, "logprob": o.logprob} for o in top],
            }
            for token, logprob, top in zip(output.tokens, output.logprobs, output.top_logprobs, strict=True)
        ]
        choice = {"message": {"content": output.text}, "finish_reason": "stop", "logprobs": {"content": content}}
        return {"choices": [choice], "usage": {"prompt_tokens": 5, "completion_tokens": len(content)}}


MODELS = [{"id": "m", "owned_by": "vllm"}]


def rows_of(folder):
    rows = [json.loads(line) for line in (folder / "scores.jsonl").read_text().splitlines()]
    return [stripped(row) for row in rows]


def stripped(row):
    """A row less what it cost, which a cache makes cheaper."""
    row = {key: value for key, value in row.items() if key != "usage"}
    row["steps"] = [stripped(step) for step in row.get("steps", [])]
    return row


def test_a_run_whose_engine_and_process_die_ends_as_one_that_was_never_disturbed(verikit, tmp_path):
    write(tmp_path / "rows.jsonl", 8)
    with Server(Served(), MODELS) as server:
        port, url = int(server.url.rpartition(":")[2].partition("/")[0]), server.url
        spec = f"genprm(engine='openai:{url}#m', paths=2, options={{'retries': 2}})"
        whole = spec.replace(", options", ", cache=False, options")
        assert verikit("score", "rows.jsonl", "-v", whole, "-o", "whole")[0] == 0
    wanted = rows_of(tmp_path / "whole")
    assert len(wanted) == 24

    with Server(Served(dies_after=100), MODELS, port=port):
        assert verikit("score", "rows.jsonl", "-v", spec, "-o", "run")[0] == 3
    assert any(row["status"] == "error" for row in rows_of(tmp_path / "run"))
    assert all(row["value"] is None or row in wanted for row in rows_of(tmp_path / "run"))

    again = ["score", "rows.jsonl", "-v", spec, "-o", "run", "--retry-errors"]
    with Server(Served(slow_s=0.05), MODELS, port=port) as server:
        run = subprocess.Popen([sys.executable, "-m", "verikit", *again], cwd=tmp_path, stderr=subprocess.DEVNULL)
        while len(server.bodies) < 50:
            assert run.poll() is None
            time.sleep(0.01)
        run.kill()
        run.wait()
    with Server(Served(), MODELS, port=port) as server:
        assert verikit(*again)[0] == 0
        assert len(server.bodies) < 24 * 2 * 2 * 3 - 100  # what was paid for is not asked again
    assert rows_of(tmp_path / "run") == wanted
