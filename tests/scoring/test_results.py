"""What a run prints and leaves, and what verifiers that go wrong do to it: their rows only."""

import json
from types import SimpleNamespace

import pytest

from tests.scoring.conftest import HOSTILE, content, lines, row, write
from verikit.report.differences import compare_runs
from verikit.scoring.plan import ScoringPlan
from verikit.scoring.run import score_file
from verikit.scoring.size import InputSize
from verikit.scoring.watch import describe


def rows(n=20, bad=(7,)):
    return [row(i, str(i), "bad" if i in bad else "no") for i in range(1, n + 1)]


@pytest.mark.parametrize("by", [None, "length(max=5)"])
def test_jobs_do_not_change_a_byte(score, tmp_path, by):
    file = write(tmp_path / "in.jsonl", [*rows(150), b"nonsense", row(3), *(row(i) for i in range(200, 260))])
    options = ("--select", "best", "--k", "1,2,3") + (() if by is None else ("--by", by))
    for jobs in (1, 2):
        assert score(file, "-o", f"out{jobs}", "--jobs", jobs, *options).code == 3
    assert content(tmp_path / "out1") == content(tmp_path / "out2")


@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize(
    ("name", "reason"),
    [("raises", "ValueError: no such thing"), ("nan", "a score's value must be finite"), ("huge", "can't be averaged")],
)
def test_a_verifier_that_fails_on_one_candidate_leaves_only_that_one_unscored(score, tmp_path, name, reason, jobs):
    outcome = score(write(tmp_path / "in.jsonl", rows()), "-v", f"{HOSTILE}:{name}", "-o", "out", "--jobs", jobs)
    assert outcome.code == 3
    assert "1 of 40 have no score" in outcome.err
    [lost] = [r for r in lines(tmp_path / "out/scores.jsonl") if r["status"] != "ok"]
    assert (lost["line"], lost["index"], lost["status"]) == (7, 1, "error")
    assert reason in lost["reason"]


@pytest.mark.parametrize(("name", "cause"), [("segfault", "signal SIGSEGV"), ("leave", "exit code 0")])
def test_a_row_that_kills_its_worker_is_the_only_one_without_scores(score, tmp_path, name, cause):
    file = write(tmp_path / "in.jsonl", rows(12, bad=(3, 7)))
    assert score(file, "-v", f"{HOSTILE}:{name}", "-o", "out", "--jobs", 2).code == 3
    found = lines(tmp_path / "out/scores.jsonl")
    assert [r["line"] for r in found] == [i for i in range(1, 13) for _ in range(2)]
    assert {r["line"] for r in found if r["status"] != "ok"} == {3, 7}
    assert found[4]["reason"] == f"scoring this row killed its worker process ({cause})"


def test_a_worker_that_cant_start_is_an_error_of_ours_not_of_the_rows(score, tmp_path):
    outcome = score(write(tmp_path / "in.jsonl", rows()), "-v", f"{HOSTILE}:OnlyHere", "-o", "out", "--jobs", 2)
    assert outcome.code == 1
    assert "died while starting (exit code 3)" in outcome.err
    assert lines(tmp_path / "out/scores.jsonl") == []


def test_a_judge_that_fails_as_by_counts_as_unscored_and_selects_nothing(score, tmp_path):
    file = write(tmp_path / "in.jsonl", [row(1, rm=1.0), row(2)])
    outcome = score(file, "--by", "column('rm')", "--select", "best", "-o", "out")
    assert outcome.code == 3
    summary = json.loads((tmp_path / "out/summary.json").read_bytes())
    assert (summary["unscored"], summary["status"]["ok"], summary["by_status"]["error"]) == (2, 4, 2)
    assert summary["metrics"]["selected"]["n"] == 1
    assert "1 prompt without a scored selection" in outcome.out
    assert lines(tmp_path / "out/selected.jsonl")[1] == {
        "id": "r2",
        "line": 2,
        "selected": None,
        "reason": "no candidate could be scored",
    }


def test_the_selected_file_ranks_every_group(score, tmp_path):
    group = row(1, {"text": "no", "rm": 0.1}, {"text": "1", "rm": 0.9}, {"text": "2", "rm": 0.5})
    score(write(tmp_path / "in.jsonl", [group]), "--by", "column('rm')", "--select", "best", "-o", "out")
    [chosen] = lines(tmp_path / "out/selected.jsonl")
    assert chosen == {"id": "r1", "line": 1, "selected": 1, "ranking": [1, 2, 0], "value": 1.0, "completion": "1"}


def test_random_selection_follows_the_seed(score, tmp_path):
    file = write(tmp_path / "in.jsonl", [row(i, *"abcdefgh") for i in range(20)])
    for seed in (1, 2):
        score(file, "--select", "random", "--seed", seed, "-o", f"out{seed}")
    once, again = ([r["selected"] for r in lines(tmp_path / f"out{seed}/selected.jsonl")] for seed in (1, 2))
    assert once != again


@pytest.mark.parametrize("jobs", [1, 2])
def test_stdout_holds_nothing_but_json_whatever_a_verifier_prints(score, tmp_path, jobs):
    file = write(tmp_path / "in.jsonl", rows())
    outcome = score(file, "-v", f"{HOSTILE}:noisy", "--json", "--jobs", jobs)
    assert json.loads(outcome.out)["candidates"] == 40
    assert jobs > 1 or "I print" in outcome.err


def test_scores_go_to_stdout_and_the_summary_to_stderr(score, tmp_path):
    data = b"".join(json.dumps(r).encode() + b"\n" for r in rows())
    outcome = score("-", "-o", "-", stdin=data)
    assert outcome.code == 0
    assert [json.loads(line)["index"] for line in outcome.out.splitlines()] == [0, 1] * 20
    assert "20 prompts, 40 candidates" in outcome.err
    assert score("-", stdin=data).code == 0
    assert (tmp_path / "runs/stdin/scores.jsonl").read_text() == outcome.out


@pytest.mark.parametrize(("share", "code"), [("5%", 3), ("7.5%", 3), ("8%", 0), ("0.08", 0), ("100%", 0)])
def test_fail_over_is_a_share_of_the_candidates(score, tmp_path, share, code):
    file = write(tmp_path / "in.jsonl", rows(50, bad=range(1, 9)))
    assert score(file, "-v", f"{HOSTILE}:raises", "--fail-over", share).code == code


def test_a_share_that_is_met_exactly_is_not_exceeded(score, tmp_path):
    file = write(tmp_path / "in.jsonl", [row(i, "bad" if i < 29 else "no") for i in range(100)])
    assert score(file, "-v", f"{HOSTILE}:raises", "--fail-over", "29%").code == 0


@pytest.mark.parametrize(
    "options", [("--k", "0"), ("--k", "a"), ("--fail-over", "200%"), ("--map", "x"), ("--jobs", 0)]
)
def test_options_out_of_range_are_usage_errors(score, tmp_path, options):
    assert score(write(tmp_path / "in.jsonl", rows()), *options).code == 2


@pytest.mark.parametrize("spec", ["nothing", "exact(", "gone.py:x", "exact(nosuch=1)"])
def test_a_spec_that_cant_be_read_is_a_usage_error_and_leaves_no_folder(score, tmp_path, spec):
    assert score(write(tmp_path / "in.jsonl", rows()), "-v", spec).code == 2
    assert not (tmp_path / "runs").exists()


def test_long_reasons_and_what_is_no_text_are_kept_within_bounds(score, tmp_path):
    file = write(tmp_path / "in.jsonl", rows(3))
    score(file, "-v", f"{HOSTILE}:long_reason", "-o", "long")
    assert (tmp_path / "long/scores.jsonl").stat().st_size < 20_000
    assert (tmp_path / "long/summary.json").stat().st_size < 5_000
    first = score(file, "-v", f"{HOSTILE}:surrogate", "-o", "half", "--fail-over", "100%")
    assert first.code == 0
    before = content(tmp_path / "half")
    assert score(file, "-v", f"{HOSTILE}:surrogate", "-o", "half", "--fail-over", "100%").out == first.out
    assert content(tmp_path / "half") == before


def test_numbers_of_other_libraries_and_answers_that_are_no_text_are_written_all_the_same(score, tmp_path):
    assert score(write(tmp_path / "in.jsonl", rows(2)), "-v", f"{HOSTILE}:Foreign", "-o", "out").code == 0
    assert lines(tmp_path / "out/scores.jsonl")[0]["answer"] == "7"
    assert lines(tmp_path / "out/scores.jsonl")[0]["usage"] == {"cost": 0.25}


def test_what_a_model_wrote_does_not_move_the_cursor(score, tmp_path):
    outcome = score(write(tmp_path / "in.jsonl", rows(2)), "-v", f"{HOSTILE}:terminal")
    assert "cleared" in outcome.out
    assert "\x1b[2J" not in outcome.out
    assert "\r" not in outcome.out


def test_a_mean_outside_0_to_1_is_no_percentage(score, tmp_path):
    outcome = score(write(tmp_path / "in.jsonl", [row(i, rm=3.5 + i) for i in range(3)]), "-v", "column('rm')")
    assert "mean of one candidate: 4.5 [" in outcome.out


def test_a_constant_mean_outside_0_to_1_is_not_called_certain(score, tmp_path):
    file = write(tmp_path / "in.jsonl", [row(i, rm=3.0) for i in range(12)])
    outcome = score(file, "-v", "column('rm')", "-o", tmp_path / "run")
    assert "mean of one candidate: 3 [no interval]" in outcome.out
    assert "nothing bounds those not seen" in outcome.out
    summary = json.loads((tmp_path / "run/summary.json").read_text(), parse_constant=pytest.fail)
    assert summary["metrics"]["mean"]["low"] is None


def test_what_is_averaged_over_a_weighted_sum_is_named(score, tmp_path):
    said = [r"\boxed{5}", r"\boxed{5}", r"\boxed{5}", r"\boxed{4}"]
    rows = [{"prompt": "2+2?", "completions": said, "answer": "4"}] * 2
    outcome = score(write(tmp_path / "in.jsonl", rows), "-v", "0.9*answer + 0.1*boxed", "-o", tmp_path / "run")
    assert "maj@k: mean score of the majority answer of k" in outcome.out
    assert "is right" not in outcome.out
    plain = score(write(tmp_path / "in.jsonl", rows), "-v", "answer", "-o", tmp_path / "plain")
    assert "maj@k: the majority answer of k is right" in plain.out


def test_echoes_are_counted_where_they_are_guarded(score, tmp_path):
    rows = [{"prompt": "Compute $2+2$.", "completions": [r"\boxed{2+2}", r"\boxed{4}"], "answer": "4"}] * 3
    path = write(tmp_path / "in.jsonl", rows)
    outcome = score(path, "-v", "echo_guard(answer)", "-o", tmp_path / "run")
    assert "echoes: 3 of 6 candidates (50.0%)" in outcome.out
    again = score(path, "-v", "echo_guard(answer)", "-o", tmp_path / "run")
    assert "echoes: 3 of 6 candidates (50.0%)" in again.out
    assert "echoes" not in score(path, "-v", "answer", "-o", tmp_path / "plain").out


def test_notes_about_the_file_are_told(score, tmp_path):
    file = write(tmp_path / "in.jsonl", [{"prompt": "?", "completions": ["1"], "target": "1"}])
    assert "--map answer=target" in score(file).err


def test_progress_names_rate_failures_and_the_slowest_row_in_flight():
    chunk = SimpleNamespace(rows=[(17, b""), (18, b"")], last_line=18)
    tally = SimpleNamespace(counts={"prompts": 1234, "bad_rows": 1, "candidates": 5678}, unscored=3)
    held = {"tally": tally, "rows": 820, "line": 1235, "in_flight": {0: (chunk, -1e9), 1: (chunk, 1e12)}}
    told = describe(SimpleNamespace(**held, size=InputSize("-")), 2.0)
    assert told.startswith("1,235 rows, 410/s, 5,678 candidates, 3 unscored; slowest: line 17-18 for ")
    told = describe(SimpleNamespace(**held, size=InputSize("-", 2055)), 2.0)
    assert told.startswith("1,235 of 2,055 rows (60%), 410/s, 0:02 left, 5,678 candidates, 3 unscored; slowest")


def test_choosing_by_the_truth_itself_is_called_an_upper_bound(score, tmp_path):
    file = write(tmp_path / "in.jsonl", [row(1), row(2)])
    assert "upper bound" in score(file, "--select", "best").err
    for fair in (("--select", "majority"), ("--select", "best", "--by", "length(max=2)")):
        assert "upper bound" not in score(file, *fair, "--restart").err


def test_a_k_that_no_prompt_has_candidates_for_is_said_to_have_no_metrics(score, tmp_path):
    file = write(tmp_path / "in.jsonl", [row(1)])
    assert "no metrics for k=16" in score(file, "--k", "2,16").out
    assert "no figures" not in score(file, "--restart").out


def test_a_reason_of_the_ranking_verifier_is_told_apart_from_one_of_the_verifier(score, tmp_path):
    file = write(tmp_path / "in.jsonl", [row(1)])
    reasons = json.loads(score(file, "--by", "column('nowhere')", "--json").out)["unscored_reasons"]
    assert reasons
    assert all(reason.startswith("--by: ") for reason in reasons)


def test_rates_say_what_share_of_all_counted_things_came_out(score, tmp_path):
    given = {"instruction_id_list": ["punctuation:no_comma", "count:numbers"], "kwargs": [{}, {"N": 2}]}
    rows = [{"prompt": str(i), "completions": ["1 and 2", "Sure:\n1, 2, 3"], **given} for i in range(30)]
    rows += [{"prompt": "?", "completions": ["1 and 2"], "instruction_id_list": ["no:such"], "kwargs": [{}]}]
    path = write(tmp_path / "in.jsonl", rows)
    for _ in range(2):  # counted while they are scored, and read back
        outcome = score(path, "-v", "instructions", "-o", tmp_path / "run", "--fail-over", "0.5")
        assert "prompt strict accuracy: 50.0% (30 of 60)" in outcome.out
        assert "instruction strict accuracy: 50.0% (60 of 120)" in outcome.out
        assert "prompts judged" not in outcome.out
        rates = json.loads((tmp_path / "run/summary.json").read_text())["rates"]
        assert rates["instruction_strict_accuracy"]["value"] == 0.5
    silent = write(tmp_path / "silent.jsonl", [{"prompt": "?", "completions": ["1 and 2", "<think>1", ""], **given}])
    rates = json.loads(score(silent, "-v", "instructions", "--json").out)["rates"]
    assert (rates["prompt_strict_accuracy"]["count"], rates["prompt_strict_accuracy"]["of"]) == (1, 3)
    assert (rates["instruction_loose_accuracy"]["count"], rates["instruction_loose_accuracy"]["of"]) == (2, 6)
    plain = write(tmp_path / "plain.jsonl", [{"prompt": "?", "completions": ["4"], "answer": "4"}])
    score(plain, "-v", "exact", "-o", tmp_path / "plain")
    assert "rates" not in json.loads((tmp_path / "plain/summary.json").read_text())


@pytest.mark.parametrize("verifier", ["answer", "0.9*answer + 0.1*boxed"])
def test_right_answers_that_differ_vote_together_now_and_when_read_back(tmp_path, verifier):
    said = ["\\boxed{" + text + "}" for text in ("7", "18-13", "14-9", "7", "5")]
    file = write(tmp_path / "in.jsonl", [{"id": "a", "prompt": "How many?", "answer": "5", "completions": said}])
    plan, out = ScoringPlan(verifier=verifier, by="length(max=20)", select="majority", ks=(5,)), tmp_path / "out"
    score_file(str(file), plan, out)
    summary = json.loads((out / "summary.json").read_bytes())
    assert summary["metrics"]["maj@5"]["value"] == 1.0
    assert lines(out / "selected.jsonl")[0]["selected"] == 1
    (out / "summary.json").unlink()
    score_file(str(file), plan, out)
    assert json.loads((out / "summary.json").read_bytes()) == summary


def test_a_sum_that_can_go_negative_has_an_interval_below_0_before_a_negative_is_seen(score, tmp_path):
    spec = "answer + soft_overlong(24, 8, unit='words')"
    wrong = [row(i, "no") for i in range(1, 21)]
    outcome = score(write(tmp_path / "in.jsonl", wrong), "-v", spec, "-o", "out")
    assert outcome.code == 0, outcome.err
    summary = json.loads((tmp_path / "out/summary.json").read_bytes())
    assert summary["bounds"] == [-1, 1]
    mean = summary["metrics"]["mean"]
    assert (mean["value"], mean["method"]) == (0, "beta")
    assert mean["low"] == pytest.approx(-mean["high"])
    assert summary["metrics"]["pass@1"]["low"] == 0
    score(write(tmp_path / "more.jsonl", [*wrong, row(21, "word " * 40)]), "-v", spec, "-o", "more")
    mean = json.loads((tmp_path / "more/summary.json").read_bytes())["metrics"]["mean"]
    assert mean["method"] == "beta"
    assert mean["low"] < mean["value"] < 0 < mean["high"]


def test_two_runs_of_a_sum_are_compared_by_its_bounds(score, tmp_path):
    file = write(tmp_path / "in.jsonl", [row(i, "no") for i in range(1, 21)])
    for out in ("a", "b"):
        score(file, "-v", "answer + 3*soft_overlong(24, 8, unit='words')", "-o", out)
    (found,) = compare_runs(tmp_path / "a", tmp_path / "b")
    assert -found.low == pytest.approx(found.high)
    assert 0.3 < found.high < 4
