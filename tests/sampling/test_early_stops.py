"""Samples that a rule ended early, from the command that draws them to what is said of them."""

import json
import sys
from collections import Counter

import pytest

from tests.engines.server import Server, chat_reply
from verikit import score
from verikit.cli import main
from verikit.engines import load_engine
from verikit.sampling import SamplingSettings, sample
from verikit.types import Group

N = 8


def verikit(*arguments):
    """Run a command in this process; returns its exit code."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["verikit", *map(str, arguments)])
        with pytest.raises(SystemExit) as end:
            main()
    return end.value.code or 0


def reply(body, k):
    """Even prompts are easy; of odd ones the seed decides, and every ninth reply is cut off."""
    number, seed = int(body["messages"][-1]["content"].split("+")[0]), body["seed"]
    right = number % 2 == 0 or seed % 5 < 2
    said = chat_reply(f"\\boxed{{{2 * number + (0 if right else 1 + seed % 3)}}}")
    said["choices"][0]["finish_reason"] = "length" if seed % 9 == 0 else "stop"
    return said


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """The same prompts sampled whole, twice with a rule, and scored; `k` as the run of the issue would ask."""
    here = tmp_path_factory.mktemp("early")
    problems = here / "problems.jsonl"
    rows = [{"id": f"q{i}", "prompt": f"{i}+{i}=", "answer": str(2 * i)} for i in range(30)]
    problems.write_text("".join(json.dumps(row) + "\n" for row in rows))
    how = {"whole": [], "early": ["--until", "majority"], "first": ["--until", "first(answer)"]}
    with Server(reply) as server:
        for name, options in how.items():
            out = ["-o", str(here / f"{name}.jsonl"), "-q", "--model-args", "api_key=k"]
            assert verikit("sample", f"openai:{server.url}#m", str(problems), "-n", str(N), *options, *out) == 0
    for name in how:
        scored = ["score", str(here / f"{name}.jsonl"), "--k", "1,4,8", "-o", str(here / name), "-q"]
        assert verikit(*scored) == 0
    return here


def rows(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def summary(run):
    return json.loads((run / "summary.json").read_text())


def test_rows_say_that_they_were_stopped_by_which_rule_and_why(runs):
    early = rows(runs / "early.jsonl")
    told = [row["early_stop"] for row in early]
    assert {(found["rule"], found["n"], found["least"], found["first"]) for found in told} == {("majority", N, 4, 4)}
    assert {found["why"] for found in told} == {"settled", None}
    for row in early:
        assert (len(row["completions"]) < N) == (row["early_stop"]["why"] is not None)
    assert {row["early_stop"]["why"] for row in rows(runs / "first.jsonl")} == {"passed", None}
    assert all("early_stop" not in row for row in rows(runs / "whole.jsonl"))


def vote(row, *, first):
    """Whether the majority of all n is right; a tie goes to the answer that came first, or counts in parts."""
    votes = Counter(c["text"] for c in row["completions"])
    leaders = [text for text, count in votes.items() if count == max(votes.values())][: 1 if first else None]
    return sum(f"{{{row['answer']}}}" in text for text in leaders) / len(leaders)


def test_figures_of_stopped_prompts_are_those_of_all_n_or_are_left_out(runs):
    whole, early = summary(runs / "whole"), summary(runs / "early")
    assert early["candidates"] < whole["candidates"]
    stopped = [row["early_stop"]["why"] is not None for row in rows(runs / "early.jsonl")]
    voted = [vote(row, first=end) for row, end in zip(rows(runs / "whole.jsonl"), stopped, strict=True)]
    assert early["metrics"]["maj@8"]["value"] == pytest.approx(sum(voted) / 30)
    assert early["metrics"]["maj@8"]["n"] == whole["prompts"] == 30
    assert {"bon@8", "pass@8"}.isdisjoint(early["metrics"])
    assert "pass@8" in early["early_stop"]["unproven"]
    heads = [row["completions"][:4] for row in rows(runs / "whole.jsonl")]
    right = [[f"{{{2 * i}}}" in head["text"] for head in some] for i, some in enumerate(heads)]
    assert early["metrics"]["mean"]["value"] == pytest.approx(sum(map(sum, right)) / 4 / 30)
    assert early["metrics"]["pass@4"]["value"] == pytest.approx(sum(map(any, right)) / 30)
    first = summary(runs / "first")["metrics"]
    assert first["pass@8"]["value"] == whole["metrics"]["pass@8"]["value"]
    assert first["mean"]["value"] == pytest.approx(sum(some[0] for some in right) / 30)


def test_the_terminal_and_the_page_say_what_the_figures_rest_on(runs, capsys):
    assert verikit("score", runs / "early.jsonl", "--k", "1,4,8", "-o", runs / "early", "-q") == 0
    told = capsys.readouterr().out
    assert "stopped early (--until majority, n = 8)" in told
    assert "settled)" in told
    assert "each k up to 4 use the first 4 samples of each prompt" in told
    assert "no pass@8, pass^8: the samples of stopped prompts do not settle it" in told
    assert "cut off at the token limit: " in told
    page = runs / "page.html"
    assert verikit("report", str(runs / "early"), str(runs / "whole"), "--html", str(page)) == 0
    text = page.read_text()
    assert "stopped early" in text
    assert "no differences between runs" in text


def test_compare_refuses_to_mix_stopped_samples_with_whole_ones_and_another_rule(runs, capsys):
    for others in (["whole", "early"], ["early", "first"], ["whole", "early", "first"]):
        assert verikit("compare", *(str(runs / name) for name in others)) == 2
        assert "not sampled alike" in capsys.readouterr().err
    assert verikit("compare", str(runs / "early"), str(runs / "early")) == 0
    assert verikit("compare", str(runs / "early"), str(runs / "early"), "--metric", "pass@8") == 2
    assert "pass@8 is not determined: prompt 'q" in capsys.readouterr().err
    assert verikit("compare", str(runs / "first"), str(runs / "first"), "--metric", "pass@8") == 0


def test_a_floor_under_a_figure_that_is_not_known_says_why(runs, capsys):
    command = ["score", str(runs / "early.jsonl"), "--k", "1,4,8", "-o", str(runs / "early"), "--fail-under"]
    assert verikit(*command, "pass@8=10%") == 2
    assert "pass@8 is not known: prompts were stopped early" in capsys.readouterr().err


def test_a_resumed_or_parallel_score_run_counts_stops_and_cut_replies_the_same(runs, tmp_path):
    options = ["--k", "1,4,8", "-q"]
    assert verikit("score", str(runs / "early.jsonl"), *options, "-o", str(tmp_path / "a"), "--limit", "11") == 0
    assert verikit("score", str(runs / "early.jsonl"), *options, "-o", str(tmp_path / "a")) == 0
    assert verikit("score", str(runs / "early.jsonl"), *options, "-o", str(tmp_path / "b"), "--jobs", "2") == 0
    assert summary(tmp_path / "a") == summary(tmp_path / "b") == summary(runs / "early")


def test_rows_of_an_earlier_version_get_the_key_without_asking_again(runs, tmp_path):
    old = tmp_path / "old.jsonl"
    kept = [{key: row[key] for key in row if key != "early_stop"} for row in rows(runs / "early.jsonl")]
    old.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in kept))
    journal = json.loads((runs / "early.jsonl.run").read_text().splitlines()[0])

    def silent(body, k):
        raise AssertionError("nothing is to be asked")

    with Server(silent) as server:
        plan = (
            json.dumps({"n": N})[:-1].ljust(18) + ", " + json.dumps({k: v for k, v in journal.items() if k != "n"})[1:]
        )
        plan = plan.replace(journal["engine"], f"openai:{server.url}#m")
        old.with_name("old.jsonl.run").write_text(plan + "\n")
        made = ["sample", f"openai:{server.url}#m", str(runs / "problems.jsonl"), "-n", str(N), "--until", "majority"]
        assert verikit(*made, "-o", str(old), "-q", "--model-args", "api_key=k") == 0
    assert rows(old) == rows(runs / "early.jsonl")


def test_replies_cut_at_the_token_limit_are_counted_where_they_are_scored(runs):
    replies = [c for row in rows(runs / "whole.jsonl") for c in row["completions"]]
    cut = sum(c["finish_reason"] == "length" for c in replies)
    assert 0 < cut < len(replies)
    found = summary(runs / "whole")["cut"]
    assert (found["count"], found["of"]) == (cut, len(replies))
    scores = rows(runs / "whole" / "scores.jsonl")
    assert [row["finish_reason"] for row in scores] == [c["finish_reason"] for c in replies]


def test_the_prompts_behind_each_k_are_told_where_they_are_not_all(tmp_path, capsys):
    here = tmp_path / "uneven.jsonl"
    uneven = [
        {"id": "a", "prompt": "1+1=", "answer": "2", "completions": ["2"] * 4},
        {"id": "b", "prompt": "1+2=", "answer": "3", "completions": ["3", "4"]},
    ]
    here.write_text("".join(json.dumps(row) + "\n" for row in uneven))
    assert verikit("score", here, "--k", "1,2,4", "-o", tmp_path / "run", "-q") == 0
    told = capsys.readouterr().out
    lines = [line.split() for line in told.splitlines()]
    assert next(line for line in lines if line[:1] == ["k"])[-1] == "prompts"
    assert {line[0]: line[-1] for line in lines if line[:1] in (["2"], ["4"])} == {"2": "2", "4": "1"}
    assert "stopped early" not in told
    table = score(here, k=(1, 2, 4), quiet=True)._repr_html_()
    assert ">prompts<" in table


def test_a_rule_of_the_callers_own_is_told_by_its_class_and_trusted_with_one_sample():
    class Two:
        def stop(self, samples, n):
            return len(samples) == 2

    with Server(reply) as server, load_engine(f"openai:{server.url}#m", api_key="k") as engine:
        prompts = [(1, Group("2+2=", answer="4", id="a", meta={"early_stop": {"n": 1, "least": 1, "first": 1}}))]
        (row,) = sample(engine, prompts, SamplingSettings(n=4), rule=Two())
        (whole,) = sample(engine, prompts, SamplingSettings(n=4))
    assert row.to_json()["early_stop"] == {"rule": "Two", "n": 4, "least": 1, "first": 1, "why": "stopped"}
    assert "meta" not in row.to_json()
    assert "early_stop" not in str(whole.to_json())  # what the prompts' file says of other samples
