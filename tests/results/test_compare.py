"""`verikit.compare`: runs and folders, the same differences as the command's."""

import json

import pytest
from click.testing import CliRunner

import verikit
from tests.results.test_html import assert_harmless
from verikit.cli import cli
from verikit.errors import UsageError

ROWS = [{"id": f"q{i}", "prompt": f"{i}?", "completions": ["\\boxed{1}"], "answer": "1"} for i in range(40)]
WORSE = [dict(row, completions=["\\boxed{2}" if i % 3 else "\\boxed{1}"]) for i, row in enumerate(ROWS)]


@pytest.fixture(scope="module")
def runs():
    return verikit.score(ROWS), verikit.score(WORSE)


def test_runs_and_their_folders_compare_as_the_command_does(runs, tmp_path):
    folders = [run.save(tmp_path / name) for run, name in zip(runs, ("good", "worse"), strict=True)]
    shown = CliRunner().invoke(cli, ["compare", *map(str, folders), "--json"])
    told = json.loads(shown.stdout)["differences"]
    for found in (verikit.compare(*folders), verikit.compare({"good": runs[0], "worse": runs[1]})):
        [row] = found.records()
        assert {key: row[key] for key in row if key != "p_holm"} == {k: v for k, v in told[0].items() if k != "changed"}
        assert list(found.changes()) == [
            {"first": "good", "second": "worse", "task": "mean", **change} for change in told[0]["changed"]
        ]
        assert found.verdict.startswith("significant at 5%: good beats worse by 65.00")
    assert repr(found) == CliRunner().invoke(cli, ["compare", *map(str, folders)]).stdout.rstrip("\n")


def test_three_runs_have_a_leaderboard(runs):
    found = verikit.compare(*runs, runs[1])
    assert [row.run for row in found.standings] == ["run 1", "run 2", "run 3"]
    assert [(row.first_rank, row.last_rank) for row in found.standings] == [(1, 1), (2, 3), (2, 3)]
    assert "rank" in repr(found)
    assert "Leaderboard" in found._repr_html_()


def test_a_notebook_shows_the_differences_and_a_picture(runs):
    text = verikit.compare(*runs)._repr_html_()
    assert_harmless(text)
    assert text.count("<svg") == 1
    assert "-65 [" in text


def test_a_frame_has_a_row_for_each_pair(runs):
    pytest.importorskip("pandas")
    frame = verikit.compare(*runs, runs[0]).to_pandas()
    assert list(zip(frame["first"], frame["second"], strict=True)) == [
        ("run 1", "run 2"),
        ("run 1", "run 3"),
        ("run 2", "run 3"),
    ]
    assert list(frame.value) == pytest.approx([-0.65, 0.0, 0.65])


def test_runs_of_one_name_are_told_apart(runs, tmp_path):
    folders = [run.save(tmp_path / name / "run") for run, name in zip(runs, "ab", strict=True)]
    [row] = verikit.compare(*folders).records()
    assert (row["first"], row["second"]) == ("run", "run_2")


def test_what_can_not_be_compared_is_refused(runs, tmp_path):
    with pytest.raises(UsageError, match="two runs"):
        verikit.compare(runs[0])
    with pytest.raises(UsageError, match="share no question") as caught:
        verikit.compare(runs[0], verikit.score([dict(ROWS[0], id="other")]))
    assert "'other'" in caught.value.hint
    with pytest.raises(UsageError, match="no metric"):
        verikit.compare(*runs, metric="nonsense")
    with pytest.raises(UsageError, match="is not a run"):
        verikit.compare(runs[0], tmp_path)


KEYED = [row | {"category": ("math", "json")[i % 2]} for i, row in enumerate(ROWS)]


def test_runs_are_compared_by_a_key_and_row_by_row(tmp_path):
    pandas = pytest.importorskip("pandas")
    worse = [row | {"completions": WORSE[i]["completions"]} for i, row in enumerate(KEYED)]
    found = verikit.compare({"good": verikit.score(KEYED), "value": verikit.score(worse)}, by_key="category")
    frame = found.to_pandas("slices").set_index("value")
    for category in ("math", "json"):
        wrong = [
            one["completions"] != KEYED[i]["completions"] for i, one in enumerate(worse) if one["category"] == category
        ]
        assert frame.loc[category, "difference"] == pytest.approx(-sum(wrong) / len(wrong))
        assert frame.loc[category, "low"] < frame.loc[category, "difference"] < frame.loc[category, "high"]
    rows = found.to_pandas("rows")
    assert list(rows.columns) == ["id", "question", "metric", "category", "good", "value"]
    assert len(rows) == len(ROWS)
    assert rows["value"].mean() == pytest.approx(found.differences[0].difference.after)
    assert isinstance(rows, pandas.DataFrame)
    assert "mean by category:" in repr(found)
    assert "Row by row" in found._repr_html_()
    with pytest.raises(UsageError, match="have no 'cells'"):
        found.to_pandas("cells")


def test_a_run_called_like_a_column_keeps_its_own(runs):
    found = verikit.compare({"id": runs[0], "question": runs[1]})
    first = next(found.rows())
    assert list(first) == ["id", "question", "metric", "id_2", "question_2"]
    assert (first["id"], first["id_2"], first["question_2"]) == ("q1", 1.0, 0.0)
