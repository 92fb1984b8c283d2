"""The page of a score run says what the run's files say, and finds the texts that belong to the scores."""

import json

import pytest

from tests.report.conftest import EXAMPLES, chart, edited, island, shown, table, texts, write
from verikit.errors import UsageError
from verikit.report import Options, report

CANDIDATES = EXAMPLES / "candidates.jsonl"


@pytest.fixture
def weighted(verikit, tmp_path):
    spec = "0.9*answer + 0.1*boxed"
    assert not verikit("score", CANDIDATES, "-v", spec, "--by", "column('rm')", "--select", "best", "-o", "run", "-q")
    return tmp_path / "run"


def rows(run, name="scores.jsonl"):
    return [json.loads(line) for line in (run / name).read_bytes().splitlines()]


def test_metrics_and_curves_are_those_of_the_summary(weighted):
    run = shown(weighted)["runs"][0]
    metrics = json.loads((weighted / "summary.json").read_bytes())["metrics"]
    headline = {entry["label"]: entry for entry in run["metrics"]}
    assert (headline["bon@8"]["value"], headline["bon@8"]["low"]) == (
        metrics["bon@8"]["value"],
        metrics["bon@8"]["low"],
    )
    assert headline["Selected by best"]["value"] == metrics["selected"]["value"]
    curves = {entry["name"]: entry["points"] for entry in chart(run, "over_k")["series"]}
    assert list(curves) == ["pass@k", "pass^k", "bon@k", "maj@k", "wmaj@k"]
    for name, points in curves.items():
        held = [metrics[f"{name[:-1]}{k}"] for k in (1, 2, 4, 8)]
        assert points == [[k, m["value"], m["low"], m["high"]] for k, m in zip((1, 2, 4, 8), held, strict=True)]


def test_every_candidate_is_a_sample_with_its_text_prompt_gold_and_scores(weighted):
    data = shown(weighted)
    groups = {row["id"]: row for row in map(json.loads, CANDIDATES.read_text().splitlines())}
    items = data["runs"][0]["items"]
    assert len(items) == len(rows(weighted)) == 96
    for item, row in zip(items, rows(weighted), strict=True):
        group = groups[row["id"]]
        assert item["id"] == row["id"]
        assert item["label"] == f"#{row['index']}"
        assert item["value"] == row["value"]
        assert texts(data, item) == {
            "Prompt": group["prompt"],
            "Candidate": group["completions"][row["index"]]["text"],
        }
        assert item["facts"] == [["gold answer", group["answer"]]]
        assert item["scores"]["score"]["parts"] == row["parts"]
        assert item["scores"]["ranked by"] == row["by"]


def test_filters_right_wrong_disagree_and_selected_hold_what_they_say(weighted):
    selected = {(row["id"], row["selected"]) for row in rows(weighted, "selected.jsonl")}
    for item, row in zip(shown(weighted)["runs"][0]["items"], rows(weighted), strict=True):
        parts = {part["value"] >= 0.5 for part in row["parts"].values()}
        assert ("right" in item["tags"]) == (row["value"] >= 0.5) != ("wrong" in item["tags"])
        assert ("disagree" in item["tags"]) == (len(parts) == 2)
        assert ("selected" in item["tags"]) == ((row["id"], row["index"]) in selected)


def test_verifiers_are_counted_two_by_two_and_wrong_parts_give_their_reasons(weighted):
    run = shown(weighted)["runs"][0]
    (pair,) = table(run, "Verifiers two by two")["rows"]
    both = [[row["parts"][name]["value"] >= 0.5 for name in ("answer", "boxed")] for row in rows(weighted)]
    counts = [
        both.count([True, True]),
        both.count([True, False]),
        both.count([False, True]),
        both.count([False, False]),
    ]
    assert pair[:2] == ["answer", "boxed"]
    assert pair[2:6] == counts
    reasons = {row[0]: row[1] for row in table(run, "Why candidates are wrong")["rows"]}
    told = [row["parts"]["answer"]["reason"] for row in rows(weighted) if row["parts"]["answer"]["value"] < 0.5]
    assert reasons[f"answer: {max(told, key=told.count)}"] == max(map(told.count, told))


def test_unscored_candidates_are_neither_right_nor_wrong_and_are_noticed(verikit, tmp_path):
    good = {"id": "a", "prompt": "1+1?", "completions": [{"text": "2", "rm": 1}, {"text": "3"}], "answer": "2"}
    write(tmp_path / "in.jsonl", [good, {"id": "b", "nothing": 1}])
    verikit("score", "in.jsonl", "-v", "column('rm')", "-o", "run", "-q", "--fail-over", "100%")
    run = shown(tmp_path / "run")["runs"][0]
    assert [item["tags"] for item in run["items"]] == [["right"], ["unscored"]]
    assert run["items"][1]["value"] is None
    assert run["items"][1]["verdict"] != "wrong"
    assert any(text.startswith("1 unscored: ") for text in run["notices"])
    assert any("1 rows of the input could not be read" in text for text in run["notices"])
    assert table(run, "Rows that could not be read")["rows"][0][0] == 2


STEPS = """
from verikit import Sample, Score, verifier

@verifier
def prm(sample: Sample):
    steps = sample.meta["steps"]
    return Score(min(steps), steps=tuple(Score(value) for value in steps))
"""


def test_step_scores_are_in_the_samples_and_their_means_in_a_chart(verikit, tmp_path):
    (tmp_path / "prm.py").write_text(STEPS)
    steps = [[0.9, 0.8], [0.9, 0.2, 0.4], [0.7, 0.6]]
    completions = [{"text": "x", "steps": some} for some in steps]
    write(tmp_path / "in.jsonl", [{"id": "a", "prompt": "?", "completions": completions}])
    verikit("score", "in.jsonl", "-v", "prm.py:prm", "-o", "run", "-q")
    run = shown(tmp_path / "run")["runs"][0]
    held = [[step["value"] for step in item["scores"]["score"]["steps"]] for item in run["items"]]
    assert held == steps
    series = {entry["name"]: entry["points"] for entry in chart(run, "steps/prm.py:prm")["series"]}
    assert [point[:2] for point in series["right"]] == [[1, pytest.approx(0.8)], [2, pytest.approx(0.7)]]
    assert [point[:2] for point in series["wrong"]] == [[1, 0.9], [2, 0.2], [3, 0.4]]


def test_texts_are_never_shown_with_scores_of_other_texts(weighted, tmp_path):
    other = tmp_path / "other.jsonl"
    other.write_text(CANDIDATES.read_text().replace("boxed{205}", "boxed{206}"))
    config = json.loads((weighted / "config.json").read_bytes())
    edited(weighted, config | {"input": str(other)})
    with pytest.raises(UsageError, match=r"changed since the last run"):
        report([weighted], Options(data=[str(other)]))
    run = shown(weighted)["runs"][0]
    assert run["items"][0]["texts"] == []
    assert any("the candidates' texts are not here" in text and "--data" in text for text in run["notices"])
    assert shown(weighted, data=[str(CANDIDATES)])["runs"][0]["items"][0]["texts"]


def test_an_input_that_is_gone_or_was_stdin_leaves_the_scores(weighted):
    config = json.loads((weighted / "config.json").read_bytes())
    for path in (None, "/nowhere/in.jsonl"):
        edited(weighted, config | {"input": path})
        run = shown(weighted)["runs"][0]
        assert len(run["items"]) == 96
        assert any("--data" in text for text in run["notices"])


def test_gathered_single_rows_find_their_texts(verikit, tmp_path):
    lines = [{"id": f"q{i // 3}", "prompt": f"{i // 3}?", "completion": f"answer {i}", "answer": "1"} for i in range(9)]
    write(tmp_path / "in.jsonl", lines)
    verikit("score", "in.jsonl", "-v", "exact", "-o", "run", "-q")
    data = shown(tmp_path / "run")
    assert [texts(data, item)["Candidate"] for item in data["runs"][0]["items"]] == [f"answer {i}" for i in range(9)]


def test_more_samples_than_wanted_are_thinned_by_prompt_and_said(weighted):
    data = shown(weighted, samples=30)
    items = data["runs"][0]["items"]
    assert len(items) <= 30
    groups = [item["id"] for item in items]
    assert all(groups.count(id) == 8 for id in groups)
    assert any("every 4th prompt" in text for text in data["runs"][0]["notices"])
    assert sum(point[2] for point in chart(data["runs"][0], "prompts")["series"][0]["points"]) == 12


def test_the_same_run_gives_the_same_bytes(weighted):
    assert report([weighted]) == report([weighted])
    assert island(report([weighted]))["title"] == "verikit report: run"


@pytest.mark.parametrize("broken", ["summary.json", "config.json"])
def test_an_unfinished_or_damaged_run_is_refused_by_name(weighted, broken):
    (weighted / broken).write_text("{")
    with pytest.raises(UsageError, match=broken):
        report([weighted])
    (weighted / broken).unlink()
    with pytest.raises(UsageError, match="run"):
        report([weighted])


@pytest.mark.parametrize(
    "row", ['{"line": 1}', '{"line": 1, "id": "x", "index": 99, "value": 1.0, "status": "ok"}', "[]"]
)
def test_a_damaged_row_is_refused_by_name(weighted, row):
    lines = (weighted / "scores.jsonl").read_text().splitlines()
    (weighted / "scores.jsonl").write_text("\n".join([*lines[:5], row]))
    with pytest.raises(UsageError, match=r"damaged|not a row"):
        report([weighted])


def test_a_folder_copied_without_its_hidden_files_is_shown_without_texts(weighted):
    (weighted / ".progress").unlink()
    run = shown(weighted)["runs"][0]
    assert any("copied without .progress" in notice for notice in run["notices"])
    assert len(run["items"]) == 96


def test_a_folder_that_is_no_run_is_refused(tmp_path):
    with pytest.raises(UsageError, match="is not the folder of a run"):
        report([tmp_path])
    with pytest.raises(UsageError, match=r"is a file|no run"):
        report([write(tmp_path / "file.jsonl", [])])
