"""Runs by the keys of their rows, and row by row, on the page and in its exports."""

import json
import shutil
import subprocess

import pytest

from tests.conftest import ROOT
from tests.report.conftest import shown, table, write
from tests.report.test_eval import run as eval_run  # noqa: F401 - a fixture
from verikit.errors import UsageError
from verikit.platform.terminal import in_percent
from verikit.report import Options
from verikit.report.compare import collect_all
from verikit.report.difference_text import show_comparison
from verikit.report.differences import RunDifference
from verikit.report.export import shown as cell
from verikit.report.export import text
from verikit.report.model import Metric
from verikit.report.slices import sliced
from verikit.results.html import interval
from verikit.scoring.slices import PromptRow
from verikit.stats.paired import Difference, Outcomes

ROWS = [
    {"id": f"q{i}", "prompt": f"What is {i} + 1?", "answer": str(i + 1), "category": ("math", "json")[i % 2]}
    for i in range(12)
]


@pytest.fixture
def two(verikit, tmp_path):
    """The first run is right on all rows, the second on those of one category."""
    for name, right in (("all", ("math", "json")), ("half", ("math",))):
        rows = [row | {"completions": [row["answer"] if row["category"] in right else "no"]} for row in ROWS]
        write(tmp_path / f"{name}.jsonl", rows)
        verikit("score", f"{name}.jsonl", "-v", "exact", "-q")
    return tmp_path / "runs/all", tmp_path / "runs/half"


def test_models_are_beside_each_other_by_category(two):
    (together,) = shown(*two, keys=["category"])["together"]
    found = table(together, "mean by category")
    assert found["columns"] == ["category", "questions", "all", "half", "half less all", "p (Holm)"]
    values = {row[0]: (row[1], row[2]["value"], row[3]["value"], row[4]["value"]) for row in found["rows"]}
    assert values == {"math": (6, 1.0, 1.0, 0.0), "json": (6, 1.0, 0.0, -1.0)}
    assert all(row[2]["low"] < row[2]["value"] for row in found["rows"])


def test_every_row_is_beside_its_value_in_each_run_the_differing_ones_first(two):
    (together,) = shown(*two, keys=["category"])["together"]
    found = table(together, "Row by row: mean")
    assert found["columns"] == ["row", "question", "category", "all", "half"]
    assert found["rows"][0] == ["q1", "What is 1 + 1?", "json", 1.0, 0.0]
    assert [row[3] - row[4] for row in found["rows"]] == [1.0] * 6 + [0.0] * 6
    assert not found["more"]


def test_a_row_that_one_run_could_not_score_is_no_zero(two, verikit, tmp_path):
    rows = [dict(row, completions=[row["answer"]]) for row in ROWS]
    rows[3]["answer"] = None
    verikit("score", write(tmp_path / "third.jsonl", rows), "-v", "exact", "-q")
    (together,) = shown(two[0], tmp_path / "runs/third")["together"]
    (found,) = [row for row in table(together, "Row by row: mean")["rows"] if row[0] == "q3"]
    assert found[2:] == [1.0, "unscored"]


def test_a_single_run_has_its_slices_on_its_page(two):
    (run,) = shown(two[1], keys=["category"])["runs"]
    rows = {row[0]: row[4]["value"] for row in table(run, "By category")["rows"]}
    assert rows == {"json": 0.0, "math": 1.0}


def test_slices_that_a_run_was_scored_with_are_on_its_page_unasked(two, verikit):
    verikit("score", "half.jsonl", "-v", "exact", "-q", "--by-key", "category")
    (run,) = shown(two[1])["runs"]
    assert [row[0] for row in table(run, "By category")["rows"]] == ["json", "math"]


def test_runs_of_a_benchmark_are_sliced_by_keys_of_their_documents(eval_run, tmp_path):  # noqa: F811
    samples = eval_run / "samples_a_math.jsonl"
    graded = [
        json.loads(line) | {"acc": value}
        for line, value in zip(samples.read_text().splitlines(), (0.5, 0.0), strict=False)
    ]
    graded[1]["doc"]["category"] = "geometry"
    write(samples, graded)
    (run,) = shown(eval_run, keys=["category"])["runs"]
    rows = {row[0]: (row[1], row[2]["value"]) for row in table(run, "a/math by category")["rows"]}
    assert rows == {"algebra": (1, 0.5), "geometry": (1, 0.0)}
    other = shutil.copytree(eval_run, tmp_path / "other")
    (together,) = shown(eval_run, other, keys=["category"])["together"]
    assert [row[0] for row in table(together, "a/math by category")["rows"]] == ["algebra", "geometry"]
    assert [row[:3] for row in table(together, "Row by row: a/math")["rows"]] == [
        ["q0", "?", "algebra"],
        ["q1", "?", "geometry"],
    ]
    with pytest.raises(UsageError, match="key 'level' not found in any row") as raised:
        shown(eval_run, keys=["level"])
    assert "such as category" in raised.value.hint


def test_a_task_whose_rows_lack_the_key_has_no_slice():
    """Its only slice would repeat the task, with a p-value that is corrected for other differences."""
    told = {name: Outcomes(name, "acc", {"q": value}, {"q": "?"}) for name, value in (("with", 1.0), ("without", 0.0))}
    rows = {"with": {"q": PromptRow("?", {"k": ("a",)})}, "without": {"q": PromptRow("?", {"k": ()})}}
    found = sliced({"first": list(told.values()), "second": list(told.values())}, rows, ["k"])
    assert [(slice.task, slice.value) for slice in found] == [("with", "a")]


def test_several_differences_say_that_only_p_is_corrected():
    one = Difference("t", "acc", 0.5, 0.9, 0.04, 0.7, 0.04, 20, 20, 9, 1, 0, 0.4)
    pairs = [RunDifference("a", "b", one), RunDifference("a", "b", one)]
    told = list(show_comparison(pairs, 0))
    assert "p (Holm)" in told[0]
    assert any("intervals not corrected" in line for line in told)
    alone = "\n".join(show_comparison(pairs[:1], 0))
    assert "Holm" not in alone


def test_the_terminal_and_its_json_show_slices_by_further_keys(two, verikit, capsys):
    capsys.readouterr()
    assert verikit("report", two[1], "--by-key", "category") == 0
    assert "category  prompts  candidates" in capsys.readouterr().out
    verikit("report", two[1], "--by-key", "category", "--json")
    (summary,) = json.loads(capsys.readouterr().out).values()
    assert list(summary["slices"]["category"]) == ["json", "math"]


def test_many_rows_are_folded_on_the_page_and_left_out_of_a_jobs_summary(two, verikit, tmp_path):
    rows = [{"id": str(i), "prompt": f"{i}?", "answer": "1", "completions": ["1"]} for i in range(300)]
    for name in ("long", "longer"):
        verikit("score", write(tmp_path / f"{name}.jsonl", rows), "-v", "exact", "-q")
    paths = [tmp_path / "runs/long", tmp_path / "runs/longer"]
    (together,) = shown(*paths, samples=250)["together"]
    found = table(together, "Row by row: mean")
    assert (found["more"], len(found["rows"])) == (True, 250)
    assert found["note"].endswith("the first 250 of 300")
    assert "Row by row" not in text(*collect_all(paths, Options()), "markdown")
    assert "Row by row" in text(*collect_all(two, Options()), "markdown")


SMALL = [(0.0032, "0.3"), (0.0004, "0.04"), (-0.00002, "-0.002"), (0.0, "0.0"), (1e-17, "0.0"), (0.125, "12.5")]


@pytest.mark.parametrize(("share", "expected"), SMALL)
def test_a_small_number_is_not_rounded_to_0(share, expected):
    assert in_percent(share) == expected
    metric = Metric("", share, share, 0.5)
    assert cell(metric) == f"{expected} % [{expected}, 50.0]" == interval(metric)


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
def test_the_page_does_not_round_the_deciding_end_of_an_interval_to_0():
    script = (ROOT / "verikit/report/dom.js").read_text()
    ends = [(0.0032, 0.162), (-0.00004, 0.2), (0.0, 0.2), (1e-17, 0.2)]
    calls = ", ".join(f"interval({low}, {high}, true)" for low, high in ends)
    told = subprocess.run(
        ["node", "-e", f"{script}\nconsole.log(JSON.stringify([{calls}, number(0.0004, true)]))"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(told.stdout) == ["0.3 to 16", "-0.004 to 20", "0 to 20", "0 to 20", "0.04 %"]


def test_the_terminal_does_not_round_a_difference_to_0():
    found = Difference("mean", "score", 0.5, 0.50004, 0.00001, 0.1, 0.04, 90000, 90000, 9, 1, 0, 0.01)
    told = "\n".join(show_comparison([RunDifference("a", "b", found)], 0))
    assert "+0.004" in told
    assert "+0.001 to +10.00" in told
