"""Replies that the token limit cut off: kept by an eval run, counted, and told."""

import json

import pytest
from click.testing import CliRunner

pytest.importorskip("lm_eval")

from tests.engines.server import Server, chat_reply
from tests.evals.scripted import MATH, write
from verikit.cli import cli
from verikit.evals.loading import Settings
from verikit.evals.replies import Noted, TurnReplies, finish_of
from verikit.evals.run import run_tasks
from verikit.evals.stored import Stored


def invoke(*arguments):
    return CliRunner().invoke(cli, list(map(str, arguments)), catch_exceptions=False, standalone_mode=False)


def stored(path, cut, count):
    """Rows of outputs, the first of which were cut off."""
    rows = [
        {"id": str(i), "problem": f"{i}?", "output": {"text": "\\boxed{5}", "finish_reason": "stop"}}
        for i in range(count)
    ]
    for row in rows[:cut]:
        row["output"] |= {"text": "Let me see", "finish_reason": "length"}
    return write(path, rows)


def suite(folder, cuts, count=40):
    data = write(folder / "rows.jsonl", [{"id": str(i), "problem": f"{i}?", "answer": "5"} for i in range(count)])
    text = f'tasks = ["verikit_math500"]\n[settings]\ndata = "{data}"\n'
    for name, cut in cuts.items():
        text += f'[[models]]\nname = "{name}"\nmodel = "replay:{stored(folder / f"{name}.jsonl", cut, count)}"\n'
    (folder / "suite.toml").write_text(text)
    return invoke("eval", folder / "suite.toml", "-o", folder / "out", "-q").stdout


def test_a_suite_where_more_than_one_in_twenty_is_cut_off_says_so_in_its_last_line(tmp_path):
    told = suite(tmp_path, {"one": 1, "two": 4})
    last = told.splitlines()[-1]
    assert last.startswith("5 of 80 replies (6.2%) were cut off at the token limit")
    assert "verikit_math500 of two (10.0%)" in last
    assert "max_gen_toks" in last
    assert "4 cut off" in told
    assert (tmp_path / "out/suite.md").read_text().splitlines()[-1] == last
    assert json.loads((tmp_path / "out/suite.json").read_text())["cut"] == last


def test_a_suite_where_one_in_twenty_is_cut_off_counts_it_in_its_cell_alone(tmp_path):
    told = suite(tmp_path, {"one": 0, "two": 4})
    assert "4 cut off" in told
    assert "token limit" not in told


def test_an_engines_finish_reasons_are_in_the_rows_and_the_scores_made_of_them(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def answer(body, k):
        said = chat_reply("\\boxed{5}" if "2 + 3" in body["messages"][-1]["content"] else "Let me think")
        said["choices"][0]["finish_reason"] = (
            "stop" if "\\boxed" in said["choices"][0]["message"]["content"] else "length"
        )
        return said

    with Server(answer) as server:
        model = ["--model", f"openai:{server.url}#m", "--model-args", "api_key=k", "--chat", "--no-cache"]
        data = ["--data", write(tmp_path / "rows.jsonl", MATH), "-o", "run", "-q"]
        told = invoke("eval", "verikit_math500", *model, *data).stdout
    assert "2 of 3 replies (66.7%) were cut off at the token limit" in told.splitlines()[-1]
    rows = [json.loads(line) for line in (tmp_path / "run/samples_verikit_math500.jsonl").read_text().splitlines()]
    assert [row["finish_reasons"] for row in rows] == [["stop"], ["length"], ["length"]]
    assert all("notes" not in row for row in rows)
    results = json.loads((tmp_path / "run/results.json").read_text())["tasks"]["verikit_math500"]
    assert results["cut"] == 2
    assert "cut off at the token limit" in (tmp_path / "run/report.md").read_text()
    scored = invoke("score", "run/samples_verikit_math500.jsonl", "-q", "-o", "scored").stdout
    assert "cut off at the token limit: 2 of 3 candidates (66.7%)" in scored
    invoke("report", "run", "--html", "page.html")
    assert "were cut off at the token limit" in (tmp_path / "page.html").read_text()


def test_own_keys_of_stored_outputs_stay_beside_their_finish_reasons(tmp_path):
    outputs = [{"id": "a", "problem": MATH[0]["problem"], "output": {"text": "5", "rm": 0.5, "finish_reason": "stop"}}]
    lm = Stored(write(tmp_path / "stored.jsonl", outputs))
    run_tasks(["verikit_math500"], "m", lm, Settings(data=write(tmp_path / "rows.jsonl", MATH[:1])), tmp_path / "run")
    (row,) = [json.loads(line) for line in (tmp_path / "run/samples_verikit_math500.jsonl").read_text().splitlines()]
    assert (row["notes"], row["finish_reasons"]) == ([{"rm": 0.5}], ["stop"])


def test_a_conversation_one_of_whose_turns_was_cut_off_is_cut_off():
    turns = [Noted("a", {"finish_reason": reason}) for reason in ("stop", "length", "stop")]
    assert finish_of(TurnReplies(turns)) == "length"
    assert finish_of(TurnReplies([turns[0], turns[2]])) == "stop"
    assert finish_of(TurnReplies(["a", "b"])) == finish_of("a") == ""
