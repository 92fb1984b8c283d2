"""`verikit.score`: rows of every kind in, a run out that holds what the command writes."""

import asyncio
import enum
import gc
import json
import math
import sys
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal

import pytest
from click.testing import CliRunner

import verikit
from tests.engines.server import Server, chat_reply
from tests.results.conftest import ROWS, VALUES, flat
from verikit import Group, Sample, Score, Verifier
from verikit.cli import cli
from verikit.errors import MissingExtra, UsageError
from verikit.readers.values import plain


def values(run):
    return [row["value"] for row in run.rows()]


def as_groups():
    return [Group(row["prompt"], row["completions"], row["answer"], row["id"]) for row in ROWS]


def as_samples():
    return [Sample(row["prompt"], row["completion"], row["answer"], row["id"]) for row in flat()]


def pandas_frame():
    return pytest.importorskip("pandas").DataFrame(flat())


def nested_pandas_frame():
    return pytest.importorskip("pandas").DataFrame(ROWS)


def polars_frame():
    return pytest.importorskip("polars").DataFrame(flat())


def lazy_frame():
    return pytest.importorskip("polars").LazyFrame(flat())


def arrow_table():
    return pytest.importorskip("pyarrow").Table.from_pylist(flat())


def data_set():
    return pytest.importorskip("datasets").Dataset.from_list(ROWS[1:2] + ROWS[:1] + ROWS[2:]).sort("id", reverse=True)


FORMS = [
    lambda: ROWS,
    lambda: iter(ROWS),
    flat,
    as_groups,
    as_samples,
    pandas_frame,
    nested_pandas_frame,
    polars_frame,
    lazy_frame,
    arrow_table,
]


@pytest.mark.parametrize("form", FORMS)
def test_rows_of_every_form_get_the_same_scores(form):
    run = verikit.score(form())
    assert values(run) == VALUES
    assert run.summary["prompts"] == 3
    assert run.metrics["mean"].value == pytest.approx(1 / 3)


def test_a_data_set_is_scored_and_a_set_of_splits_is_refused_by_name():
    datasets = pytest.importorskip("datasets")
    held = datasets.Dataset.from_list(flat())
    assert values(verikit.score(held)) == VALUES
    with pytest.raises(UsageError) as caught:
        verikit.score(datasets.DatasetDict({"train": held, "test": held}))
    assert "train" in caught.value.hint


def test_a_path_gives_what_the_command_writes(rows_file, tmp_path):
    run = verikit.score(rows_file, "0.9*answer + 0.1*boxed", k=[1, 2, 4], out=tmp_path / "ours")
    options = ["-v", "0.9*answer + 0.1*boxed", "--k", "1,2,4", "-o", str(tmp_path / "theirs")]
    assert CliRunner().invoke(cli, ["score", str(rows_file), *options]).exit_code == 0
    for name in ("scores.jsonl", "summary.json", "config.json"):
        assert (tmp_path / "ours" / name).read_bytes() == (tmp_path / "theirs" / name).read_bytes()
    assert run.folder == tmp_path / "ours"
    assert run.summary == json.loads((tmp_path / "theirs" / "summary.json").read_text())


def test_a_frame_has_a_row_for_each_candidate_and_each_part():
    pytest.importorskip("pandas")
    run = verikit.score(ROWS, "0.9*answer + 0.1*boxed")
    frame = run.to_pandas()
    assert len(frame) == 3 * len(VALUES)
    assert list(frame.part[:3]) == ["", "answer", "boxed"]
    assert list(frame[frame.part == "answer"].value) == VALUES
    assert frame[frame.part == ""].value.tolist() == values(run)
    first = frame[(frame.id == "half") & (frame["index"] == 1) & (frame.part == "")].iloc[0]
    assert (first.value, first.right, first.status, first.answer) == (1.0, True, "ok", "7/2")


def test_polars_and_datasets_hold_the_same_records():
    polars, _ = pytest.importorskip("polars"), pytest.importorskip("datasets")
    run = verikit.score(ROWS, "0.9*answer + 0.1*boxed")
    records = list(run.records())
    assert run.to_polars().to_dicts() == records
    assert run.to_dataset().to_list() == records
    assert run.to_polars().schema["value"] == polars.Float64


def test_texts_stand_beside_the_scores_they_got():
    pytest.importorskip("pandas")
    frame = verikit.score(ROWS).to_pandas(texts=True)
    assert list(frame.completion) == [text for row in ROWS for text in row["completions"]]
    assert list(frame.gold) == [row["answer"] for row in ROWS for _ in row["completions"]]
    assert set(frame.prompt) == {row["prompt"] for row in ROWS}


class Brief(Verifier):
    """Fails on one text, abstains on another."""

    name = "brief"

    def score_batch(self, samples):
        return [self._one(sample) for sample in samples]

    def _one(self, sample):
        if sample.completion == "seven":
            raise RuntimeError("no digits")
        return Score.abstained("odd") if sample.completion == "7" else Score(float(len(sample.completion) < 3))


def test_a_verifier_that_is_an_object_scores_and_its_errors_are_no_zeros():
    pytest.importorskip("pandas")
    run = verikit.score(ROWS, Brief())
    frame = run.to_pandas().set_index(["id", "index"])
    failed, abstained = frame.loc[("sum", 3)], frame.loc[("half", 2)]
    assert math.isnan(failed.value)
    assert failed.right is None
    assert failed.status == "error"
    assert "no digits" in failed.reason
    assert (abstained.status, math.isnan(abstained.value)) == ("abstained", True)
    assert run.summary["unscored"] == 1
    assert run.metrics["mean"].value == pytest.approx((2 / 3 + 0 + 3 / 4) / 3)
    assert "1 unscored" in repr(run)
    assert "no digits" in run._repr_html_()


def test_a_verifier_that_is_an_object_ranks_too_and_needs_this_process():
    run = verikit.score(ROWS, by=0.5 * verikit.boxed(), select="best", k=4)
    assert run.metrics["selected"].n == 3
    assert {row["by"]["value"] for row in run.rows()} == {0.0, 0.5}
    assert [row["selected"] for row in run.selected()] == [0, 1, 2]
    with pytest.raises(UsageError, match="other processes"):
        verikit.score(ROWS, Brief(), jobs=2)


def test_worker_processes_score_alike():
    assert values(verikit.score(ROWS, "answer", jobs=2)) == VALUES


def test_without_out_nothing_is_kept():
    run = verikit.score(ROWS)
    path = run.path
    assert run.folder is None
    assert path.is_dir()
    del run
    gc.collect()
    assert not path.parent.exists()


def test_a_saved_run_is_read_by_the_commands(tmp_path):
    run = verikit.score(ROWS)
    saved = run.save(tmp_path / "kept")
    assert (saved / "scores.jsonl").read_bytes() == (run.path / "scores.jsonl").read_bytes()
    shown = CliRunner().invoke(cli, ["report", str(saved)])
    assert shown.exit_code == 0
    assert "3 prompts" in shown.output
    with pytest.raises(UsageError, match="not empty"):
        run.save(tmp_path / "kept")
    assert b"seven" in run.report(tmp_path / "page.html").read_bytes()


class Interrupting(Verifier):
    """A person who presses Ctrl-C at the second prompt, once."""

    name = "interrupting"
    pressed = False

    def score_batch(self, samples):
        if any(sample.id == "half" for sample in samples) and not Interrupting.pressed:
            Interrupting.pressed = True
            raise KeyboardInterrupt
        return verikit.answer().score(samples)


def test_an_interrupt_keeps_what_was_done_and_the_same_call_goes_on(tmp_path):
    Interrupting.pressed = False
    out = tmp_path / "run"
    with pytest.raises(KeyboardInterrupt) as caught:
        verikit.score(ROWS, Interrupting(), out=out)
    assert str(out) in caught.value.__notes__[0]
    assert (out / "scores.jsonl").read_text().count("\n") == 4
    run = verikit.score(ROWS, Interrupting(), out=out)
    assert values(run) == VALUES


def test_a_folder_goes_on_with_more_rows_and_refuses_others(tmp_path):
    out = tmp_path / "run"
    verikit.score(ROWS[:2], out=out)
    assert values(verikit.score(ROWS, out=out)) == VALUES
    with pytest.raises(UsageError, match="other rows"):
        verikit.score(ROWS[1:], out=out)
    assert values(verikit.score(ROWS, out=out)) == VALUES
    assert values(verikit.score(ROWS[1:], out=out, resume=False)) == VALUES[4:]


def test_several_files_and_golds_of_another_are_read(tmp_path):
    for number, row in enumerate(ROWS):
        (tmp_path / f"part-{number}.jsonl").write_text(json.dumps({k: row[k] for k in row if k != "answer"}) + "\n")
    golds = [{"id": row["id"], "answer": row["answer"]} for row in ROWS]
    files = sorted(tmp_path.glob("part-*.jsonl"))
    for data in (files, str(tmp_path / "part-*.jsonl")):
        run = verikit.score(data, gold=golds)
        assert values(run) == VALUES
        assert [row["completion"] for row in run.records(texts=True)] == [t for row in ROWS for t in row["completions"]]


def test_what_a_frame_calls_missing_is_a_bad_row_and_no_text():
    pandas = pytest.importorskip("pandas")
    rows = flat()
    rows[2]["completion"] = math.nan
    run = verikit.score(pandas.DataFrame(rows))
    assert run.summary["bad_rows"] == 1
    assert run.summary["candidates"] == len(VALUES) - 1
    assert [row["line"] for row in run.bad_rows()] == [3]
    assert "1 bad rows" in repr(run)


@pytest.mark.parametrize(
    ("data", "told"),
    [
        ([], "no rows"),
        ([1, 2], "row 1 is a int"),
        ({"prompt": ["?"]}, "contains no rows"),
        (7, "contains no rows"),
        ([{"prompt": "?", "completion": object()}], "row 1 can't be written"),
        ("nowhere.jsonl", "nowhere.jsonl"),
    ],
)
def test_what_holds_no_rows_is_refused_by_name(data, told):
    with pytest.raises(UsageError, match=told):
        verikit.score(data)


def test_a_k_that_is_none_is_refused():
    with pytest.raises(UsageError, match="k must be a list"):
        verikit.score(ROWS, k=[0, 2])


def test_a_judge_is_asked_within_a_running_event_loop():
    server = Server(lambda body, k: chat_reply("[[9]]" if "boxed" in json.dumps(body["messages"]) else "[[2]]"))

    async def notebook():
        return verikit.score(ROWS[:1], by=f"judge('openai:{server.url}#m')", k=1)

    with server:
        run = asyncio.run(notebook())
    assert run.summary["by_status"]["ok"] == 4
    assert len(server.bodies) >= 4


@pytest.mark.parametrize("package", ["pandas", "polars", "datasets"])
def test_a_package_that_is_missing_is_named_with_its_extra(package, monkeypatch):
    monkeypatch.setitem(sys.modules, package, None)
    run = verikit.score(ROWS)
    with pytest.raises(MissingExtra, match="frames"):
        getattr(run, f"to_{package.removesuffix('s') if package == 'datasets' else package}")()


class Colour(str, enum.Enum):  # noqa: UP042 - what older code has
    RED = "red"


@dataclass
class Made:
    when: date
    score: float


def test_rows_hold_what_the_same_values_of_a_parquet_file_would_be():
    [row] = json.loads(json.dumps([plain(ROW, lambda value: pytest.fail(f"{value!r}"))]))
    assert row == {
        "colour": "red", "made": {"when": "2026-01-02", "score": None}, "raw": "text", "image": "<2 bytes>",
        "took": 1.5, "price": "1.50", "set": [1], "1": True,
    }  # fmt: skip
    assert plain([object], lambda value: "other") == ["other"]


ROW = {
    "colour": Colour.RED, "made": Made(date(2026, 1, 2), math.nan), "raw": b"text", "image": b"\xff\xfe",
    "took": timedelta(seconds=1.5), "price": Decimal("1.50"), "set": {1}, 1: True,
}  # fmt: skip


@pytest.mark.parametrize("name", ["verifier", "by"])
def test_a_bare_function_is_refused_with_the_decorator_that_it_lacks(name):
    with pytest.raises(UsageError, match=f"{name} is a function, not a verifier") as caught:
        verikit.score(ROWS, **{name: lambda sample: 1.0})
    assert "@verikit.verifier" in caught.value.hint


def test_slices_are_estimates_and_keys_are_columns():
    rows = [
        {"id": str(i), "prompt": f"{i}?", "completions": [str(i), "no"], "answer": str(i), "level": i % 2}
        for i in range(6)
    ]
    run = verikit.score(rows, "exact", by_key="level")
    assert list(run.slices["level"]) == ["0", "1"]
    estimate = run.slices["level"]["1"]["mean"]
    assert (estimate.value, estimate.n) == (0.5, 3)
    assert estimate.low < 0.5 < estimate.high
    assert {record["id"]: record["level"] for record in run.records(keys=["level"])} == {
        str(i): str(i % 2) for i in range(6)
    }
    assert verikit.score(rows, "exact").slices == {}


def test_a_key_that_is_called_like_a_column_does_not_replace_it():
    rows = [{"id": "a", "prompt": "1?", "completions": ["2"], "answer": "1", "value": 7}]
    (record,) = verikit.score(rows, "exact").records(keys=["answer", "value"])
    assert (record["answer"], record["row.answer"]) == ("2", "1")
    assert (record["value"], record["row.value"]) == (0.0, "7")
