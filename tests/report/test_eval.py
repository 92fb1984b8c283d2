"""The page of an eval run: metrics of each task, estimates over k, categories, every reply."""

import json

import pytest
from click.testing import CliRunner

from tests.conftest import ROOT
from tests.report.conftest import chart, shown, table, texts, write
from verikit.cli import cli


def estimate(value):
    return {"value": value, "low": value / 2, "high": (1 + value) / 2, "stderr": 0.1, "n": 4, "method": "wilson"}


def grade(value, reason="", **more):
    status = "ok" if value is not None else "error"
    return {"acc": {"value": value, "status": status, "reason": reason}, "cluster": 0, "chars": 7} | more


def question(number, grades, replies, **more):
    return {
        "doc_id": number,
        "doc": {"id": f"q{number}", "question": "?", "category": "algebra"},
        "target": "4",
        "arguments": {"gen_args_0": {"arg_0": f"What is {number}?"}},
        "resps": [replies],
        "filtered_resps": [grades],
        "filter": "verikit",
        "metrics": ["acc"],
    } | more


@pytest.fixture
def run(tmp_path):
    folder = tmp_path / "run"
    folder.mkdir()
    metrics = {"acc": estimate(0.5), "pass@2": estimate(0.75), "maj@2": estimate(0.5)}
    task = {"docs": 2, "fewshot": 5, "own": "acc", "repeats": 2, "replies": 4, "metrics": metrics}
    task |= {"unscored": {"acc": 1}, "unparsed": 1, "reasons": {"gone": 1}}
    task |= {"categories": {"algebra": estimate(0.4), "geometry": estimate(0.6)}}
    groups = {"a": {"members": ["a/math"], "whole": False, "own": "acc", "metrics": {"acc": estimate(0.5)}}}
    results = {"model": "replay:x", "tasks": {"a/math": task}, "groups": groups}
    (folder / "results.json").write_text(json.dumps(results))
    (folder / "config.json").write_text(json.dumps({"model": "replay:x", "tasks": ["a/math"], "settings": {}}))
    f1 = {"f1": {"value": 0.9, "status": "ok"}}
    rows = [
        question(0, [grade(1.0), grade(0.0, **f1)], ["four", "five"]),
        question(1, [grade(None, "gone"), grade(0.0)], ["six"], failed=["gone"]),
        question(0, [grade(1.0)], ["four"], filter="another"),
    ]
    write(folder / "samples_a_math.jsonl", rows)
    return folder


def test_metrics_curves_and_categories_are_those_of_the_results(run):
    page = shown(run)["runs"][0]
    assert page["kind"] == "eval"
    assert {entry["label"]: entry["value"] for entry in page["metrics"]} == {
        "a/math: acc": 0.5,
        "a/math: pass@2": 0.75,
        "a/math: maj@2": 0.5,
    }
    curve = chart(page, "a/math/over_k")["series"]
    assert [(entry["name"], [point[:2] for point in entry["points"]]) for entry in curve] == [
        ("pass@k", [[1, 0.5], [2, 0.75]]),
        ("maj@k", [[1, 0.5], [2, 0.5]]),
    ]
    assert [entry["name"] for entry in chart(page, "a/math/categories")["series"]] == ["algebra", "geometry"]
    assert [row[2] for row in table(page, "Metrics")["rows"]] == ["acc", "pass@2", "maj@2", "acc"]
    assert "a/math: 1 of 4 replies have no acc" in page["notices"]


def test_each_reply_stands_with_its_own_grade_also_where_one_failed(run):
    data = shown(run)
    items = data["runs"][0]["items"]
    assert [(texts(data, item)["Reply"], item["tags"]) for item in items] == [
        ("four", ["right"]),
        ("five", ["wrong", "disagree"]),
        ("", ["unscored"]),
        ("six", ["wrong"]),
    ]
    assert items[2]["value"] is None
    assert set(items[1]["scores"]) == {"acc", "f1"}


def test_a_task_that_verikit_did_not_grade_shows_its_own_metric(run):
    rows = [question(0, ["four"], ["four"], acc=1.0), question(1, ["six"], ["six"], acc=0.0)]
    write(run / "samples_a_math.jsonl", rows)
    assert [item["tags"] for item in shown(run)["runs"][0]["items"]] == [["right"], ["wrong"]]


def test_a_real_suite_is_one_page_with_its_groups_and_what_its_models_differ_in(tmp_path, monkeypatch):
    pytest.importorskip("lm_eval")
    monkeypatch.chdir(ROOT)
    assert CliRunner().invoke(cli, ["eval", "examples/eval/suite.toml", "-q", "-o", str(tmp_path)]).exit_code == 0
    data = shown(tmp_path)
    large, small = data["runs"]
    results = json.loads((tmp_path / "large/results.json").read_bytes())
    group = results["groups"]["verikit_mmlu_pro"]["metrics"]["acc"]
    assert {entry["label"]: entry["value"] for entry in large["metrics"]}["verikit_mmlu_pro: acc"] == group["value"]
    assert [entry["name"] for entry in chart(large, "verikit_mmlu_pro/members")["series"]] == [
        f"verikit_mmlu_pro_{name}" for name in ("biology", "law", "physics")
    ]
    assert len(large["items"]) == sum(task["replies"] for task in results["tasks"].values())
    assert all(texts(data, item)["Reply"] for item in large["items"])
    (row,) = [row for row in table(data["together"][0], "Metrics")["rows"] if row[0] == "verikit_math500: acc"]
    assert [entry["value"] for entry in row[1:]] == [0.95, 0.5]
    assert any("differs" in item["tags"] for item in small["items"])


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("What is 1?", "What is 1?"),
        ([json.dumps([{"role": "user", "content": "What is 1?"}])], "What is 1?"),
        (
            [json.dumps([{"role": "system", "content": "Be short."}, {"role": "user", "content": "What is 1?"}])],
            "system: Be short.\n\nuser: What is 1?",
        ),
        (["[1, 2]"], "['[1, 2]']"),
        (['[{"role": "user"}]'], '[\'[{"role": "user"}]\']'),
        (['[{"role": "user", "content": {"a": 1}}]'], '[\'[{"role": "user", "content": {"a": 1}}]\']'),
        (["["], "['[']"),
        (["[" * 100_000], None),
        (["[]"], "['[]']"),
        ([], "[]"),
        (7, "7"),
    ],
)
def test_a_conversation_is_shown_by_its_text_instead_of_as_json(run, given, told):
    row = question(0, [grade(1.0)], ["four"], arguments={"gen_args_0": {"arg_0": given}})
    write(run / "samples_a_math.jsonl", [row])
    data = shown(run)
    (item,) = data["runs"][0]["items"]
    found = texts(data, item)["Prompt"]
    assert told is None or found == told
