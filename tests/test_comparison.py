"""`verikit compare` on runs of score: pairs, leaderboards, gates."""

import json
import random

import pytest
from click.testing import CliRunner

from verikit.cli import cli
from verikit.errors import UsageError
from verikit.report.differences import compare_runs
from verikit.scoring.plan import ScoringPlan
from verikit.scoring.run import score_file

PROMPTS = 60


def made(folder, name, rate, prompts=PROMPTS, select=None, candidates=4):
    """A score run in which a candidate is right with this chance."""
    rng = random.Random(name)
    rows = [
        {
            "id": f"p{i}",
            "prompt": f"{i} + 1?",
            "answer": str(i + 1),
            "completions": [str(i + 1) if rng.random() < rate else "-1" for _ in range(candidates)],
        }
        for i in range(prompts)
    ]
    file = folder / f"{name}.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    score_file(str(file), ScoringPlan(verifier="exact", select=select), folder / name)
    return folder / name


def invoke(*words):
    return CliRunner().invoke(cli, [str(word) for word in words], standalone_mode=False)


def test_two_score_runs_are_paired_by_prompt(tmp_path):
    runs = made(tmp_path, "base", 0.3), made(tmp_path, "better", 0.6)
    (found,) = compare_runs(*runs)
    means = [json.loads((run / "summary.json").read_bytes())["metrics"]["mean"]["value"] for run in runs]
    assert (found.task, found.docs) == ("mean", PROMPTS)
    assert (found.before, found.after) == (pytest.approx(means[0]), pytest.approx(means[1]))
    told = invoke("compare", *runs)
    assert told.return_value == 0
    assert "better beats base by" in told.output
    assert "show a difference of" in told.output


@pytest.mark.parametrize("metric", ["pass@4", "pass^4", "pass@2"])
def test_metrics_over_k_are_those_of_the_summary(tmp_path, metric):
    runs = made(tmp_path, "base", 0.5), made(tmp_path, "other", 0.5)
    (found,) = compare_runs(*runs, metric)
    means = [json.loads((run / "summary.json").read_bytes())["metrics"][metric]["value"] for run in runs]
    assert [found.before, found.after] == [pytest.approx(mean) for mean in means]


def test_selected_candidates_are_compared_where_both_selected(tmp_path):
    runs = [made(tmp_path, name, 0.5, select="first") for name in ("base", "other")]
    assert [found.task for found in compare_runs(*runs)] == ["mean", "selected"]


def test_an_unknown_metric_and_a_single_run_are_refused(tmp_path):
    run = made(tmp_path, "base", 0.5, prompts=3)
    with pytest.raises(UsageError, match="no metric 'maj@4'"):
        compare_runs(run, run, "maj@4")
    assert isinstance(invoke("compare", run).exception, UsageError)


def test_runs_without_a_shared_prompt_are_refused(tmp_path):
    base = made(tmp_path, "base", 0.5, prompts=2)
    text = (tmp_path / "base.jsonl").read_text().replace('"p', '"other')
    (tmp_path / "renamed.jsonl").write_text(text.replace("other" + "rompt", "prompt"))
    score_file(str(tmp_path / "renamed.jsonl"), ScoringPlan(verifier="exact"), tmp_path / "renamed")
    with pytest.raises(UsageError, match="share no question"):
        compare_runs(base, tmp_path / "renamed")


def test_a_leaderboard_orders_runs_and_shares_ranks_that_chance_leaves_open(tmp_path):
    runs = [made(tmp_path, name, rate) for name, rate in (("weak", 0.2), ("strong", 0.8), ("strong-too", 0.8))]
    found = json.loads(invoke("compare", *runs, "--json").output)
    board = found["leaderboard"]
    assert board[-1]["run"] == "weak"
    assert [(row["first_rank"], row["last_rank"]) for row in board] == [(1, 2), (1, 2), (3, 3)]
    assert len(found["differences"]) == 3
    values = [row["estimate"]["value"] for row in board]
    assert values == sorted(values, reverse=True)
    markdown = invoke("compare", *runs, "--markdown").output
    assert markdown.startswith("| rank | run |")
    assert "| 1-2 | strong" in markdown


def test_a_folder_of_runs_stands_for_all_of_them(tmp_path):
    for name in ("some", "others"):
        made(tmp_path, name, 0.5)
    assert invoke("compare", tmp_path).return_value == 0


def test_the_gate_fails_on_a_real_loss_and_not_on_one_that_may_be_chance(tmp_path):
    strong, weak = made(tmp_path, "strong", 0.9), made(tmp_path, "weak", 0.4)
    assert invoke("compare", strong, weak, "--fail-if-worse", "1pt").return_value == 4
    assert invoke("compare", strong, weak, "--fail-if-worse", "99pt").return_value == 0
    assert invoke("compare", weak, strong, "--fail-if-worse", "1pt").return_value == 0
    few = [made(tmp_path, name, rate, prompts=3, candidates=1) for name, rate in (("all", 1.0), ("none", 0.0))]
    told = invoke("compare", *few, "--fail-if-worse", "0pt")
    assert told.return_value == 0
    assert "may be chance" in told.output


def test_the_gate_tests_the_loss_against_the_margin_and_not_against_none(tmp_path):
    before, after = made(tmp_path, "before", 0.9, candidates=16), made(tmp_path, "after", 0.83, candidates=16)
    (found,) = compare_runs(before, after)
    assert found.p < 0.05
    assert -found.value > 0.05 > -found.high
    told = invoke("compare", before, after, "--fail-if-worse", "5pt")
    assert told.return_value == 0
    assert "the true loss may be 5 or less" in told.output
    assert invoke("compare", before, after, "--fail-if-worse", f"{-found.high - 0.001:.6f}").return_value == 4
    assert invoke("compare", before, after, "--fail-if-worse", "0pt").return_value == 4
