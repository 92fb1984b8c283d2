"""`verikit compare` on runs of score: pairs, leaderboards, gates."""

import json
import random

import pytest
from click.testing import CliRunner

from verikit.cli import cli
from verikit.errors import UsageError
from verikit.report.comparison import compare_folders
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
    assert "detect a difference of" in told.output


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


RATES = (("base", 0.3), ("better", 0.6))
CATEGORIES = ("math", "json", "free text")


def keyed(folder, name, rate, seed=0, prompts=60, **changes):
    """A score run whose rows have a category; `changes` replace keys of the row, by its number."""
    rng = random.Random(f"{name}{seed}")
    rows = [
        {
            "id": f"p{i}",
            "prompt": f"What is {i} + 1?",
            "answer": str(i + 1),
            "category": CATEGORIES[i % 3],
            "completions": [str(i + 1) if rng.random() < rate else "-1" for _ in range(2)],
        }
        | {key: make(i) for key, make in changes.items()}
        for i in range(prompts)
    ]
    file = folder / f"{name}.jsonl"
    file.write_text("".join(json.dumps({k: v for k, v in row.items() if v is not None}) + "\n" for row in rows))
    score_file(str(file), ScoringPlan(verifier="exact"), folder / name)
    return folder / name


def test_a_value_of_a_key_has_the_difference_of_its_questions_alone(tmp_path):
    runs = keyed(tmp_path, "base", 0.3), keyed(tmp_path, "better", 0.6)
    told = invoke("compare", *runs, "--by-key", "category", "--json")
    slices = {row["value"]: row for row in json.loads(told.output)["slices"]}
    assert sorted(slices) == sorted(CATEGORIES)
    for category, found in slices.items():
        alone = []
        for run in runs:
            rows = [json.loads(line) for line in (tmp_path / f"{run.name}.jsonl").read_text().splitlines()]
            file = tmp_path / f"{run.name} {category}.jsonl"
            file.write_text("".join(json.dumps(row) + "\n" for row in rows if row["category"] == category))
            score_file(str(file), ScoringPlan(verifier="exact"), tmp_path / file.stem)
            alone.append(tmp_path / file.stem)
        (expected,) = compare_runs(*alone)
        assert found["difference"] == pytest.approx(expected.value)
        names = ("before", "after", "low", "high", "p", "docs", "gained", "lost")
        assert {name: found[name] for name in names} == {name: pytest.approx(getattr(expected, name)) for name in names}
        assert found["p_holm"] >= found["p"]


def test_slices_are_printed_under_the_differences_and_in_markdown(tmp_path):
    runs = [keyed(tmp_path, name, rate) for name, rate in (("base", 0.3), ("better", 0.6), ("best", 0.9))]
    two = invoke("compare", *runs[:2], "--by-key", "category", "--examples", 0).stdout
    assert [line.split()[0] for line in two.partition("mean by category:")[2].splitlines()[2:]] == [
        "free",
        "json",
        "math",
    ]
    three = invoke("compare", *runs, "--by-key", "category").stdout.partition("mean by category:")[2].splitlines()
    assert three[1].split() == ["category", "base", "better", "best", "n"]
    assert three[2].endswith("  20")
    assert "| free text |" in invoke("compare", *runs[:2], "--by-key", "category", "--markdown").stdout


def test_a_changed_row_shows_its_question_and_where_the_rows_are_gone_its_id_once(tmp_path):
    runs = keyed(tmp_path, "base", 0.3, prompts=4), keyed(tmp_path, "better", 0.9, prompts=4)
    (pair,) = compare_runs(*runs)
    shown = invoke("compare", *runs).stdout
    assert all(f"  {change.id}: What is {change.id[1:]} + 1?" in shown for change in pair.changed)
    for name in ("base", "better"):
        (tmp_path / f"{name}.jsonl").rename(tmp_path / f"moved-{name}.jsonl")
    gone = invoke("compare", *runs).stdout
    assert all(gone.count(change.id) == 1 for change in pair.changed)
    moved = invoke("compare", *runs, "--data", tmp_path / "moved-base.jsonl", "--by-key", "category")
    assert isinstance(moved.exception, UsageError), "the rows of the other run have no keys that can be read"
    both = [word for name in ("base", "better") for word in ("--data", tmp_path / f"moved-{name}.jsonl")]
    assert invoke("compare", *runs, *both, "--by-key", "category").stdout.startswith(shown)


def test_a_conversation_shows_what_was_asked_last(tmp_path):
    chat = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "How\nmany?"}]
    runs = [keyed(tmp_path, name, rate, prompts=3, prompt=lambda i: chat) for name, rate in (("no", 0), ("yes", 1))]
    assert "p0: How many?" in invoke("compare", *runs).output


def test_a_change_too_small_for_two_places_is_still_one(tmp_path):
    runs = [
        keyed(tmp_path, name, 1, prompts=2, rm=lambda i, rm=rm: rm) for name, rm in (("low", 0.501), ("high", 0.502))
    ]
    for run in runs:
        score_file(str(tmp_path / f"{run.name}.jsonl"), ScoringPlan(verifier="column('rm')"), run, restart=True)
    told = invoke("compare", *runs).output
    assert "0.501 -> 0.502  p0" in told


def test_a_run_whose_rows_have_no_key_takes_it_from_the_other_run(tmp_path):
    runs = keyed(tmp_path, "base", 0.3), keyed(tmp_path, "better", 0.6, category=lambda i: None)
    told = json.loads(invoke("compare", *runs, "--by-key", "category", "--json").output)
    assert sorted(row["value"] for row in told["slices"]) == sorted(CATEGORIES)


@pytest.mark.parametrize(
    ("changes", "key", "problem"),
    [
        ({}, "kategory", "key 'kategory' not found in any row"),
        ({"category": lambda i: "other"}, "category", "the rows of 'p0' differ: 'category' is other in better"),
    ],
)
def test_keys_that_cant_pair_runs_are_refused(tmp_path, changes, key, problem):
    runs = keyed(tmp_path, "base", 0.3, prompts=3), keyed(tmp_path, "better", 0.6, prompts=3, **changes)
    with pytest.raises(UsageError, match=problem):
        raise invoke("compare", *runs, "--by-key", key).exception


def test_a_key_in_which_candidates_differ_is_refused(tmp_path):
    texts = [{"text": "1", "model": "a"}, {"text": "2", "model": "b"}]
    runs = [keyed(tmp_path, name, 1, prompts=2, completions=lambda i: texts) for name in ("one", "other")]
    with pytest.raises(UsageError, match="candidates of 'p0' differ in 'model'"):
        raise invoke("compare", *runs, "--by-key", "model").exception


def test_a_key_that_is_called_like_a_column_of_rows_does_not_replace_it(tmp_path):
    runs = [keyed(tmp_path, name, rate, prompts=3, metric=lambda i: "x", values=lambda i: "y") for name, rate in RATES]
    records = list(compare_folders({run.name: run for run in runs}, keys=["metric", "values"]).row_records())
    assert {(row["metric"], *row["values"]) for row in records} == {("mean", "base", "better")}


def test_many_values_of_a_key_are_cut_in_the_terminal_and_whole_in_json(tmp_path):
    runs = [keyed(tmp_path, name, rate, category=lambda i: f"c{i % 40}") for name, rate in RATES]
    assert "and 10 more, with --json" in invoke("compare", *runs, "--by-key", "category").output
    assert len(json.loads(invoke("compare", *runs, "--by-key", "category", "--json").output)["slices"]) == 40
