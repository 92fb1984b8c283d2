"""Several runs in one page, and the command that writes it."""

import json
import re
from statistics import fmean

import pytest

from tests.conftest import ROOT
from tests.report.conftest import EXAMPLES, edited, island, shown, table, write
from verikit.stats import mean_interval

CANDIDATES = EXAMPLES / "candidates.jsonl"


@pytest.fixture
def two(verikit, tmp_path):
    for name, spec in (("loose", "answer"), ("tight", "exact('squad')")):
        verikit("score", CANDIDATES, "-v", spec, "-o", name, "-q")
    return tmp_path / "loose", tmp_path / "tight"


def test_metrics_stand_side_by_side_and_only_settings_that_differ(two):
    (together,) = shown(*two)["together"]
    shared = table(together, "Metrics")
    assert shared["columns"] == ["", "loose", "tight"]
    held = [json.loads((run / "summary.json").read_bytes())["metrics"]["mean"]["value"] for run in two]
    (mean,) = [row for row in shared["rows"] if row[0] == "Mean of one candidate"]
    assert [entry["value"] for entry in mean[1:]] == held
    settings = {row[0]: row[1:] for row in table(together, "Settings that differ")["rows"]}
    assert settings["verifier"] == ["answer", "exact('squad')"]
    assert "select" not in settings


def test_a_curve_that_both_have_is_one_chart_with_a_line_for_each_run(two):
    charts = {entry["title"]: entry for entry in shown(*two)["together"][0]["charts"]}
    assert list(charts) == [
        "Runs side by side",
        "Over k candidates: pass@k",
        "Over k candidates: pass^k",
        "Over k candidates: maj@k",
    ]
    assert [entry["name"] for entry in charts["Over k candidates: pass@k"]["series"]] == ["loose", "tight"]


def test_the_difference_is_paired_by_prompt_and_its_interval_is_over_prompts(two):
    first, second = (run["items"] for run in shown(*two)["runs"])
    by_prompt = {}
    for entry, other in zip(first, second, strict=True):
        by_prompt.setdefault(entry["id"], []).append(other["value"] - entry["value"])
    changes = [fmean(some) for some in by_prompt.values()]
    farthest = max(map(abs, changes))  # where the unseen prompt lies, since at least six changed
    assert sum(map(bool, changes)) >= 6
    expected = mean_interval(changes, bounds=(-farthest, farthest))
    (row,) = table(shown(*two)["together"][0], "Differences, paired by question")["rows"]
    assert (row[0], row[1], row[-1]) == ("tight less loose", "mean", 12)
    assert row[2]["value"] == pytest.approx(expected.value)
    assert (row[2]["low"], row[2]["high"]) == (pytest.approx(expected.low), pytest.approx(expected.high))
    assert 0 < float(row[3]) <= 1


def test_three_runs_have_a_leaderboard(two, verikit):
    verikit("score", CANDIDATES, "-v", "boxed", "-o", "formed", "-q")
    (together,) = shown(*two, two[0].parent / "formed")["together"]
    board = table(together, "Leaderboard")["rows"]
    values = [row[3]["value"] for row in board]
    assert {row[1] for row in board} == {"loose", "tight", "formed"}
    assert values == sorted(values, reverse=True)


def test_candidates_that_the_runs_judge_otherwise_are_marked_and_no_others(two):
    first, second = (run["items"] for run in shown(*two)["runs"])
    assert any("differs" in item["tags"] for item in first)
    for entry, other in zip(first, second, strict=True):
        assert ("differs" in entry["tags"]) == ("differs" in other["tags"]) == (entry["tags"][0] != other["tags"][0])


def test_a_prompt_and_candidate_in_both_runs_are_held_once(two):
    one, both = shown(two[0])["strings"], shown(*two)["strings"]
    assert sorted(both) == sorted(one)
    assert len(one) > 50


def test_runs_of_one_name_are_told_apart(two, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    two[1].rename(tmp_path / "elsewhere/loose")
    data = shown(two[0], tmp_path / "elsewhere/loose")
    assert [run["name"] for run in data["runs"]] == ["loose", "loose_2"]


def test_a_folder_of_runs_stands_for_all_of_them_and_nothing_else_in_it(two, tmp_path):
    (tmp_path / "notes").mkdir()
    assert [run["name"] for run in shown(tmp_path)["runs"]] == ["loose", "tight"]


def test_runs_of_different_kinds_share_a_page(two, verikit, tmp_path):
    spec = f"pairwise('replay:{EXAMPLES}/judge/judge.jsonl')"
    files = (EXAMPLES / "judge/ours.jsonl", EXAMPLES / "judge/theirs.jsonl")
    verikit("judge", *files, "-j", spec, "-o", "judged", "-q", "--fail-over", "50%")
    data = shown(two[0], tmp_path / "judged")
    assert [run["kind"] for run in data["runs"]] == ["score", "judge"]
    assert data["together"] == []


def test_the_command_writes_the_page_and_says_where(two, verikit, tmp_path, capsys):
    assert verikit("report", *two, "--html", "out.html") == 0
    assert "written to out.html" in capsys.readouterr().err
    assert island((tmp_path / "out.html").read_bytes())["title"] == "verikit report: loose, tight"


def test_without_html_the_command_prints_as_before(two, verikit, capsys):
    capsys.readouterr()
    assert verikit("report", two[0]) == 0
    assert "12 prompts, 96 candidates" in capsys.readouterr().out


def test_mistakes_are_named_with_a_way_out(two, verikit, tmp_path, capsys):
    (tmp_path / "notes").mkdir()
    assert verikit("report", "notes", "--html", "out.html") == 2
    assert "is not the folder of a run" in capsys.readouterr().err
    assert verikit("report", two[0], "--html", "nowhere/out.html") == 1
    assert "can't write nowhere/out.html" in capsys.readouterr().err
    config = (two[0] / "config.json").read_text()
    edited(two[0], json.loads(config.replace("candidates.jsonl", "gone.jsonl")))
    other = write(tmp_path / "other.jsonl", [{"prompt": "?", "completions": ["1"], "answer": "1"}])
    assert verikit("report", two[0], "--html", "out.html", "--data", other) == 2
    assert "changed since the last run" in capsys.readouterr().err


def test_a_folder_of_runs_is_shown_without_those_that_are_not_finished(two, verikit, tmp_path, capsys):
    (two[1] / "summary.json").unlink()
    (run,) = shown(tmp_path)["runs"]
    assert run["name"] == "loose"
    assert "not finished, and so not in this page: tight" in run["notices"]
    capsys.readouterr()
    assert verikit("report", tmp_path) == 0
    told = capsys.readouterr()
    assert "12 prompts, 96 candidates" in told.out
    assert "tight: the run is not finished" in told.err
    (two[0] / "summary.json").unlink()
    for arguments in ((tmp_path, "--html", "out.html"), (two[0], "--html", "out.html"), (two[0],)):
        assert verikit("report", *arguments) == 2
        assert "finished" in capsys.readouterr().err


def test_the_terminal_shows_the_score_runs_of_a_folder_and_names_the_others(two, verikit, tmp_path, capsys):
    other = tmp_path / "tasks"
    other.mkdir()
    (other / "results.json").write_text("{}")
    (other / "config.json").write_text("{}")
    capsys.readouterr()
    assert verikit("report", tmp_path) == 0
    told = capsys.readouterr()
    assert told.out.count("12 prompts, 96 candidates") == 2
    assert "tasks is a run of `verikit eval`, which is shown as a" in told.err
    assert verikit("report", other) == 2
    assert "is a run of `verikit eval`" in capsys.readouterr().err


def test_the_python_of_the_docs_runs(verikit, tmp_path):
    verikit("score", CANDIDATES, "-v", "answer", "-q")
    (code,) = re.findall(r"```python\n(.*?)```", (ROOT / "docs/report.md").read_text("utf-8"), re.DOTALL)
    exec(code, {})
    assert island((tmp_path / "report.html").read_bytes())["runs"][0]["name"] == "candidates"
