"""Several files, folders, packed files and golds of another file are scored as one, resumed and reported."""

import gzip
import json
import subprocess
import sys

import pytest

from verikit.errors import UsageError
from verikit.readers import HeldRows
from verikit.scoring.plan import ScoringPlan
from verikit.scoring.run import score_file

EXACT = ScoringPlan(verifier="exact")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "shards").mkdir()
    for part in range(3):
        rows = [{"id": f"{part}-{n}", "prompt": "p", "completions": ["a", "b"], "answer": "b"} for n in range(40)]
        lines = [json.dumps(row) for row in rows]
        lines[7] = '{"id": "0-0", "prompt": "p", "completions": ["c"]}' if part else "bad"
        data = "".join(f"{line}\n" for line in lines).encode()
        path = tmp_path / f"shards/part-{part}.jsonl"
        if part == 1:
            path.with_name(f"{path.name}.gz").write_bytes(gzip.compress(data, mtime=0))
        else:
            path.write_bytes(data)
    return tmp_path


def files_of(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.name not in (".lock", "config.json")}


def test_several_files_are_one_run_that_resumes_and_does_not_depend_on_jobs(folder):
    files = [str(path) for path in sorted((folder / "shards").iterdir())]
    summary = score_file(files, EXACT, folder / "one")
    assert (summary["prompts"], summary["bad_rows"]) == (117, 3)
    errors = [json.loads(line) for line in (folder / "one/errors.jsonl").read_text().splitlines()]
    assert [row["line"] for row in errors] == [8, 48, 88]
    assert [row["at"].removeprefix(f"{folder}/shards/") for row in errors] == [
        "part-0.jsonl:8",
        "part-1.jsonl.gz:8",
        "part-2.jsonl:8",
    ]
    score_file(files, EXACT, folder / "two", limit=60)
    score_file(files, EXACT, folder / "two", jobs=2)
    assert files_of(folder / "two") == files_of(folder / "one")
    with pytest.raises(UsageError, match="changed since the last run"):
        score_file(files[::-1], EXACT, folder / "two")


def test_a_command_over_a_folder_names_file_and_line_and_its_report_finds_the_texts(folder):
    command = [sys.executable, "-m", "verikit"]
    done = subprocess.run([*command, "score", "shards", "-v", "exact"], capture_output=True, text=True)
    assert done.returncode == 3, done.stderr
    assert "shards/part-1.jsonl.gz:8: field 'id': the id '0-0' repeats line 1 of shards/part-0.jsonl" in done.stderr
    page = folder / "page.html"
    done = subprocess.run([*command, "report", "runs/shards", "--html", page], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    text = page.read_text()
    assert "part-1.jsonl.gz:8" in text
    assert "texts are not here" not in text


def test_golds_of_another_file_decide_the_run_and_where_they_lie_does_not(folder):
    rows = [{"id": n, "prompt": "p", "completion": "a"} for n in range(10)]
    (folder / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    golds = "".join(f'{{"id": {n}, "answer": "a"}}\n' for n in range(9))
    for name in ("golds.jsonl", "moved.jsonl"):
        (folder / name).write_text(golds)
    summary = score_file("in.jsonl", EXACT.model_copy(update={"gold": "golds.jsonl"}), folder / "out")
    assert (summary["metrics"]["mean"]["value"], summary["candidates"], summary["bad_rows"]) == (1.0, 9, 1)
    assert score_file("in.jsonl", EXACT.model_copy(update={"gold": "moved.jsonl"}), folder / "out", jobs=2) == summary
    (folder / "golds.jsonl").write_text(golds.replace('a"}', 'b"}'))
    with pytest.raises(UsageError, match="another gold_digest"):
        score_file("in.jsonl", EXACT.model_copy(update={"gold": "golds.jsonl"}), folder / "out")


def test_rows_in_memory_are_scored_like_those_of_a_file(folder):
    rows = [{"prompt": f"p{n}", "completions": ["a", "b"], "answer": "b"} for n in range(30)]
    summary = score_file(HeldRows(rows), EXACT, folder / "out", limit=10)
    assert summary["prompts"] == 10
    assert score_file(HeldRows(rows), EXACT, folder / "out", jobs=2, retry_errors=True)["prompts"] == 30
