"""Whatever is wrong with a file: a message that names file, line and field, the other rows scored, the exit code."""

import gzip
import json
import os
import subprocess
import sys

import pytest

from tests.scoring.conftest import lines, row, write
from verikit.readers import source

BAD = {
    "not JSON": (b'{"id": "x", ', "", "invalid JSON"),
    "a list": (b"[1, 2]", "", "a row is a JSON object"),
    "no prompt": ({"completions": ["1"]}, "prompt", "prompt not found"),
    "no completions key": ({"prompt": "?"}, "completions", "completions not found"),
    "a null reply": ({"prompt": "?", "completion": None}, "completion", "'completion' is null (give it a value"),
    "prompt of a wrong type": ({"prompt": 5, "completions": ["1"]}, "prompt", "a prompt must be a string"),
    "completion of a wrong type": (
        {"prompt": "?", "completions": ["1", 2]},
        "completions[1]",
        "a completion must be a string",
    ),
    "no completions": ({"prompt": "?", "completions": []}, "completions", "the list of completions is empty"),
    "answer of a wrong type": ({"prompt": "?", "completions": ["1"], "answer": {"a": 1}}, "answer", "is expected"),
    "meta of a wrong type": ({"prompt": "?", "completions": ["1"], "meta": 3}, "meta", "meta is an object"),
    "invalid UTF-8": (b'{"prompt": "\xff", "completions": ["1"]}', "", "invalid UTF-8"),
    "an id seen before": (row(1), "id", "the id 'r1' repeats line 1"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_line_in_the_middle_is_named_and_the_others_keep_their_scores(score, tmp_path, name):
    bad, field, message = BAD[name]
    file = write(tmp_path / "in.jsonl", [row(1), bad, row(3)])
    outcome = score(file, "-o", "out")
    assert outcome.code == 3
    assert f"{file}:2: " in outcome.err
    assert message in outcome.err
    assert not field or f"field {field!r}" in outcome.err
    assert [(r["line"], r["value"]) for r in lines(tmp_path / "out/scores.jsonl")] == [(1, 1), (1, 0), (3, 1), (3, 0)]
    [error] = lines(tmp_path / "out/errors.jsonl")
    assert (error["line"], error["field"]) == (2, field)
    assert json.loads((tmp_path / "out/summary.json").read_bytes())["bad_rows"] == 1


@pytest.mark.parametrize("bad", [b"nonsense", {"completions": ["1"]}])
def test_a_bad_last_row_is_passed_over_by_a_resumed_run(score, tmp_path, bad):
    file = write(tmp_path / "in.jsonl", [row(1), bad])
    assert score(file, "-o", "out").code == 3
    first = (tmp_path / "out/errors.jsonl").read_bytes()
    assert score(file, "-o", "out").code == 3
    assert (tmp_path / "out/errors.jsonl").read_bytes() == first
    write(file, [row(1), bad, row(3)])
    assert score(file, "-o", "out").code == 3
    assert len(lines(tmp_path / "out/scores.jsonl")) == 4


def test_a_bad_row_after_single_candidates_of_one_prompt_is_no_obstacle_to_going_on(score, tmp_path):
    single = {"id": "a", "prompt": "?", "completion": "1", "answer": "1"}
    file = write(tmp_path / "in.jsonl", [single, single, b"nonsense", single | {"id": "b"}, b"nonsense"])
    first = score(file, "-o", "out")
    again = score(file, "-o", "out")
    assert (first.code, first.out) == (again.code, again.out)
    assert [r["line"] for r in lines(tmp_path / "out/errors.jsonl")] == [3, 5]


def test_an_empty_file_is_refused_and_leaves_no_folder(score, tmp_path):
    for name, data in (("empty", b""), ("blank", b"\n \n"), ("array.json", b"[]")):
        (tmp_path / name).write_bytes(data)
        outcome = score(name)
        assert (outcome.code, name in outcome.err) == (2, True), outcome.err
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize(("path", "message"), [("gone.jsonl", "no such file"), (".", "is a directory")])
def test_what_is_no_file_is_refused_and_leaves_no_folder(score, tmp_path, path, message):
    outcome = score(path)
    assert (outcome.code, message in outcome.err.lower()) == (2, True), outcome.err
    assert not (tmp_path / "runs").exists()


def test_a_file_of_only_bad_rows_ends_in_3_and_may_then_be_mapped_without_restart(score, tmp_path):
    file = write(tmp_path / "in.jsonl", [{"problem": "?", "completions": ["1"], "answer": "1"}] * 5)
    outcome = score(file, "-o", "out")
    assert outcome.code == 3
    assert "--map prompt=problem" in outcome.err
    assert "and 2 more bad rows, in errors.jsonl" in outcome.err
    assert score(file, "-o", "out", "--map", "prompt=problem").code == 0


def test_a_long_file_that_cant_be_read_is_given_up_early_with_the_first_rows_error(score, tmp_path):
    file = write(tmp_path / "in.jsonl", [{"problem": "?", "completions": ["1"]}] * 1500)
    outcome = score(file, "-o", "out")
    assert outcome.code == 2
    assert f"the first 1000 rows can't be read. First error: {file}:1: field 'prompt'" in outcome.err
    assert "--map prompt=problem" in outcome.err


def test_a_missing_gold_is_no_zero(score, tmp_path):
    file = write(tmp_path / "in.jsonl", [row(1), row(2, answer=None)])
    outcome = score(file, "-o", "out")
    assert outcome.code == 3
    assert "2 unscored: the row has no gold answer" in outcome.out
    assert [(r["value"], r["status"]) for r in lines(tmp_path / "out/scores.jsonl")][2:] == [(None, "error")] * 2


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_repeated_id_far_from_the_first_is_an_error_without_scoring_anything_twice(score, tmp_path, jobs):
    rows = [row(i) for i in range(1, 41)] + [row(2, "again"), row(41), row(2)]
    file = write(tmp_path / "in.jsonl", rows)
    assert score(file, "-o", "out", "--jobs", jobs, "--select", "best").code == 3
    assert [r["line"] for r in lines(tmp_path / "out/errors.jsonl")] == [41, 43]
    assert [r["line"] for r in lines(tmp_path / "out/selected.jsonl")] == [*range(1, 41), 42]
    assert json.loads((tmp_path / "out/summary.json").read_bytes())["prompts"] == 41


def test_a_repeated_id_is_noticed_across_a_resume(score, tmp_path):
    file = write(tmp_path / "in.jsonl", [row(1), row(2), row(1), row(3)])
    assert score(file, "-o", "out", "--limit", 2).code == 0
    assert score(file, "-o", "out").code == 3
    assert [r["line"] for r in lines(tmp_path / "out/errors.jsonl")] == [3]
    assert [r["id"] for r in lines(tmp_path / "out/scores.jsonl")] == ["r1", "r1", "r2", "r2", "r3", "r3"]


def test_a_repeated_id_in_parquet_is_an_error_like_any_other(score, tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    parquet.write_table(pyarrow.Table.from_pylist([row(1), row(2), row(1)]), tmp_path / "in.parquet")
    assert score("in.parquet", "-o", "out").code == 3
    assert "the id 'r1' repeats line 1" in lines(tmp_path / "out/errors.jsonl")[0]["error"]
    assert len(lines(tmp_path / "out/scores.jsonl")) == 4


@pytest.mark.parametrize("cap", [10_000, pytest.param(source.MAX_ROW, marks=pytest.mark.slow)])
def test_a_line_over_the_limit_is_an_error_and_not_held(score, tmp_path, monkeypatch, cap):
    if cap != source.MAX_ROW:
        real = source._lines
        monkeypatch.setattr(source, "_lines", lambda stream, _: real(stream, cap))
    file = write(tmp_path / "in.jsonl", [row(1), row(2, "x" * int(1.6 * cap)), row(3)])
    outcome = score(file, "-o", "out")
    assert outcome.code == 3
    assert f"{file}:2: the row has" in outcome.err
    assert [r["line"] for r in lines(tmp_path / "out/scores.jsonl")] == [1, 1, 3, 3]


def test_a_byte_order_mark_and_carriage_returns_are_no_errors(score, tmp_path):
    body = b"\xef\xbb\xbf" + b"\r\n".join(json.dumps(row(i)).encode() for i in (1, 2)) + b"\r\n"
    (tmp_path / "in.jsonl").write_bytes(body)
    (tmp_path / "in2.jsonl.gz").write_bytes(gzip.compress(body))
    assert score("in.jsonl").code == score("in2.jsonl.gz").code == 0
    assert (tmp_path / "runs/in/scores.jsonl").read_bytes() == (tmp_path / "runs/in2/scores.jsonl").read_bytes()


def test_a_gzip_file_that_breaks_off_keeps_what_was_before(score, tmp_path):
    data = gzip.compress(b"".join(json.dumps(row(i, os.urandom(500).hex())).encode() + b"\n" for i in range(200)))
    (tmp_path / "in.jsonl.gz").write_bytes(data[: len(data) // 2])
    outcome = score("in.jsonl.gz", "-o", "out")
    assert outcome.code == 3
    assert "breaks off" in outcome.err
    assert len(lines(tmp_path / "out/scores.jsonl")) > 20


WITHOUT_ROOTS_RIGHTS = """
import ctypes, os, sys
PR_CAPBSET_DROP, CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH = 24, 1, 2
for right in (CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH):
    ctypes.CDLL(None).prctl(PR_CAPBSET_DROP, right)
os.execv(sys.executable, [sys.executable, "-m", "verikit", *sys.argv[1:]])
"""


@pytest.mark.parametrize("secret", ["in.jsonl", "out"])
def test_no_permission_is_a_usage_error_that_names_the_path(tmp_path, secret):
    write(tmp_path / "in.jsonl", [row(1)])
    (tmp_path / "out").mkdir()
    (tmp_path / secret).chmod(0o500 if secret == "out" else 0)
    command = [sys.executable, "-c", WITHOUT_ROOTS_RIGHTS, "score", "in.jsonl", "-v", "exact", "-o", "out"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 2, done.stderr
    assert secret in done.stderr
    assert "permission denied" in done.stderr.lower()
