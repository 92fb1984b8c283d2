"""Conversions as runs: where rows come from, where they go, and what becomes of bad ones."""

import gzip
import json
import os
import subprocess
import sys

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import ROOT
from verikit.cli import cli
from verikit.convert import FORMS, convert
from verikit.convert.run import prompt_key
from verikit.errors import UsageError


def run(*args, **options):
    return CliRunner().invoke(cli, ["data", *map(str, args)], standalone_mode=False, **options)


def source(number, question=None):
    return {"question": question or f"Question {number}?", "answer": f"So.\n#### {number}"}


def lines(rows):
    return "".join(json.dumps(row) + "\n" for row in rows)


def prompts(path):
    return [json.loads(line)["prompt"] for line in path.read_text("utf-8").splitlines()]


ASKED = [source(number) for number in range(5)]


def write_parquet(path, rows=ASKED):
    arrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    path.parent.mkdir(parents=True, exist_ok=True)
    parquet.write_table(arrow.Table.from_pylist(rows), path, row_group_size=2)


def zstd(data):
    if sys.version_info >= (3, 14):
        from compression import zstd

        return zstd.compress(data)
    return pytest.importorskip("zstandard").compress(data)


@pytest.mark.parametrize("kind", ["jsonl", "json", "gz", "zst", "parquet", "folder", "pattern", "stdin"])
def test_rows_are_read_from_whatever_they_lie_in(kind, tmp_path):
    path, given = tmp_path / f"rows.{kind}", {}
    if kind == "json":
        path.write_text(json.dumps(ASKED))
    elif kind == "gz":
        path = tmp_path / "rows.jsonl.gz"
        path.write_bytes(gzip.compress(lines(ASKED).encode()))
    elif kind == "zst":
        path = tmp_path / "rows.jsonl.zst"
        path.write_bytes(zstd(lines(ASKED).encode()))
    elif kind == "parquet":
        write_parquet(path)
    elif kind in ("folder", "pattern"):
        folder = tmp_path / "parts"
        folder.mkdir()
        (folder / "part-1.jsonl").write_text(lines(ASKED[:2]))
        (folder / "part-2.jsonl").write_text(lines(ASKED[2:]))
        path = folder if kind == "folder" else folder / "*.jsonl"
    elif kind == "stdin":
        path, given = "-", {"input": lines(ASKED)}
    else:
        path.write_text(lines(ASKED))
    done = run("gsm8k", path, "-o", tmp_path / "out.jsonl", **given)
    assert done.exception is None, done.exception
    rows = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert [(row["id"], row["prompt"], row["answer"]) for row in rows] == [
        (f"gsm8k-{n + 1}", f"Question {n}?", str(n)) for n in range(5)
    ]


def hub_folder(folder):
    """A data set as a snapshot of the hub has it: a card that names configurations and splits, parquet files."""
    write_parquet(folder / "main" / "train-00000-of-00001.parquet")
    write_parquet(folder / "main" / "test-00000-of-00001.parquet", [source(77)])
    (folder / "README.md").write_text(
        "---\nconfigs:\n- config_name: main\n  data_files:\n  - split: train\n    path: main/train-*\n"
        "  - split: test\n    path: main/test-*\n---\n"
    )
    return folder


def test_a_data_set_of_the_hub_is_streamed_from_a_local_copy(tmp_path):
    pytest.importorskip("datasets")
    copy, out = hub_folder(tmp_path / "gsm8k"), tmp_path / "out.jsonl"
    done = run("gsm8k", f"hf:{copy}", "--config", "main", "--split", "test", "-o", out)
    assert done.exception is None, done.exception
    assert prompts(out) == ["Question 77?"]
    assert run("gsm8k", f"hf:{copy}", "--split", "train", "-o", out, "--limit", 3).exception is None
    assert len(prompts(out)) == 3
    with pytest.raises(UsageError, match="splits train, test"):
        raise run("gsm8k", f"hf:{copy}", "-o", out).exception
    with pytest.raises(UsageError, match="is not available"):
        raise run("gsm8k", f"hf:{copy}", "--split", "dev", "-o", out).exception


def test_a_split_of_a_folder_is_named(tmp_path):
    copy, out = hub_folder(tmp_path / "gsm8k"), tmp_path / "out.jsonl"
    with pytest.raises(UsageError, match="several splits"):
        raise run("gsm8k", copy, "-o", out).exception
    assert run("gsm8k", copy, "--split", "test", "-o", out).exception is None
    assert prompts(out) == ["Question 77?"]
    with pytest.raises(UsageError, match="no split 'dev'"):
        raise run("gsm8k", copy, "--split", "dev", "-o", out).exception


def test_a_bad_row_is_told_by_file_row_and_field_and_loses_no_other(tmp_path):
    path, out, errors = tmp_path / "in.jsonl", tmp_path / "out.jsonl", tmp_path / "errors.jsonl"
    path.write_text(lines(ASKED[:1]) + "{broken\n" + lines([{"question": "q", "answer": "no mark"}, ASKED[4]]))
    done = run("gsm8k", path, "-o", out, "--errors", errors)
    assert done.return_value == 3
    assert prompts(out) == ["Question 0?", "Question 4?"]
    assert f"{path}:3: field 'answer': no ####" in done.stderr
    assert "2 rows in" in done.stderr
    assert "2 of 4 bad" in done.stderr
    told = [json.loads(line) for line in errors.read_text().splitlines()]
    assert [(row["file"], row["line"], row["field"]) for row in told] == [(str(path), 2, ""), (str(path), 3, "answer")]
    assert run("gsm8k", path, "-o", out, "--fail-over", "50%").return_value == 0


def test_a_file_of_another_form_is_refused_and_leaves_nothing(tmp_path):
    path, out = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    path.write_text(lines(ASKED))
    with pytest.raises(UsageError, match="conversion as kilt produced zero rows"):
        raise run("kilt", path, "-o", out).exception
    assert [file.name for file in tmp_path.iterdir()] == ["in.jsonl"]


def test_what_is_left_out_is_counted_by_reason(tmp_path):
    rows = [{"problem": "p", "answer": answer, "solution": "s"} for answer in ("1", "proof", "proof")]
    (tmp_path / "in.jsonl").write_text(lines(rows))
    done = run("numinamath", tmp_path / "in.jsonl", "-o", tmp_path / "out.jsonl", "--json", "-q")
    assert done.return_value == 0
    assert json.loads(done.stdout)["left_out"] == {"no answer to check (proof)": 2}


def test_rows_go_to_stdout(tmp_path):
    (tmp_path / "in.jsonl").write_text(lines(ASKED))
    done = run("gsm8k", tmp_path / "in.jsonl", "-o", "-", "-q")
    assert [json.loads(line)["answer"] for line in done.stdout.splitlines()] == list("01234")


def made(rows, tmp_path, **options):
    named = (("made", number, row) for number, row in enumerate(rows, 1))
    paths = (tmp_path / "kept.jsonl", tmp_path / "apart.jsonl")
    state = convert(FORMS["gsm8k"], named, paths[0], held_out_path=paths[1], **options)
    return state, *([json.loads(line) for line in path.read_text().splitlines()] for path in paths)


@given(
    numbers=st.lists(st.integers(0, 12), min_size=1, max_size=40), held_out=st.integers(1, 6), seed=st.integers(0, 3)
)
def test_held_out_prompts_are_so_many_and_in_no_other_file(numbers, held_out, seed, tmp_path_factory):
    rows = [
        source(n, f"Question{' ' * (1 + i % 2)}{'AB'[i % 2].lower() if n % 2 else 'A'} {n}")
        for i, n in enumerate(numbers)
    ]
    keys = [prompt_key({"prompt": row["question"]}) for row in rows]
    folder = tmp_path_factory.mktemp("divided")
    if len(set(keys)) <= held_out:
        with pytest.raises(UsageError, match="--held-out is"):
            made(rows, folder, held_out=held_out, seed=seed)
        assert list(folder.iterdir()) == []
        return
    state, kept, apart = made(rows, folder, held_out=held_out, seed=seed)
    held = {prompt_key(row) for row in apart}
    assert len(held) == held_out
    assert not held & {prompt_key(row) for row in kept}
    assert (state.written, state.held_out) == (len(kept), len(apart))
    assert [row["id"] for row in kept] == [f"gsm8k-{i}" for i, key in enumerate(keys, 1) if key not in held]
    assert [row["id"] for row in apart] == [f"gsm8k-{i}" for i, key in enumerate(keys, 1) if key in held]
    *_, reversed_apart = made(rows[::-1], folder, held_out=held_out, seed=seed)
    assert {prompt_key(row) for row in reversed_apart} == held


def test_another_seed_holds_others_out(tmp_path):
    rows = [source(number) for number in range(60)]
    drawn = [{row["prompt"] for row in made(rows, tmp_path, held_out=10, seed=seed)[2]} for seed in (0, 0, 1)]
    assert drawn[0] == drawn[1] != drawn[2]


def test_a_held_out_file_has_its_name_from_the_first(tmp_path):
    (tmp_path / "in.jsonl").write_text(lines(ASKED))
    assert run("gsm8k", tmp_path / "in.jsonl", "-o", tmp_path / "x.jsonl", "--held-out", 2).exception is None
    assert len(prompts(tmp_path / "x.jsonl")) == 3
    assert len(prompts(tmp_path / "x-held-out.jsonl")) == 2


def test_ids_are_the_sources_own_and_never_twice(tmp_path):
    rows = [{"problem": f"p{n}", "answer": "1", "unique_id": id} for n, id in enumerate(["a", "a", "b"])]
    (tmp_path / "in.jsonl").write_text(lines(rows))
    assert run("math", tmp_path / "in.jsonl", "-o", tmp_path / "out.jsonl").exception is None
    ids = [json.loads(line)["id"] for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert ids == ["a", "a-2", "b"]


@pytest.mark.skipif(sys.platform != "linux", reason="reads its peak memory from /proc")
def test_memory_does_not_grow_with_the_file(tmp_path):
    code = """
import sys
from pathlib import Path
from verikit.convert import FORMS, convert
count = int(sys.argv[1])
row = {"question": "q" * 5000, "answer": "a" * 5000 + "#### 1"}
rows = (("made", n, row | {"question": f"{n}" + row["question"]}) for n in range(count))
convert(FORMS["gsm8k"], rows, Path(sys.argv[2]), held_out=10, held_out_path=Path(sys.argv[2] + "-apart"))
print(next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")))
"""
    peaks = []
    for count in (100, 6000):
        command = [sys.executable, "-c", code, str(count), str(tmp_path / "out.jsonl")]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        peaks.append(int(done.stdout))
    # Rows of 60 MB; the index of ids touches a page of 4 KiB for each of the first ids, 24 MB.
    assert peaks[1] - peaks[0] < 36_000, peaks


@pytest.mark.parametrize("option", ["-o", "--held-out-file", "--errors"])
@pytest.mark.parametrize("given", ["rows.jsonl", "rows*.jsonl", "."])
def test_what_is_read_is_never_written_over(option, given, tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_text(lines(ASKED))
    more = ["--held-out", "2"] if option == "--held-out-file" else []
    target = tmp_path / ".." / tmp_path.name / "rows.jsonl"
    out = [] if option == "-o" else ["-o", tmp_path / "out" / "out.jsonl"]
    done = run("gsm8k", tmp_path / given, *out, *more, option, target)
    assert isinstance(done.exception, UsageError)
    assert "would be overwritten" in str(done.exception)
    assert path.read_text() == lines(ASKED)


def test_a_folder_is_no_file_to_write(tmp_path):
    (tmp_path / "rows.jsonl").write_text(lines(ASKED))
    (tmp_path / "out").mkdir()
    done = run("gsm8k", tmp_path / "rows.jsonl", "-o", tmp_path / "out")
    assert isinstance(done.exception, UsageError)
    assert not (tmp_path / "out.part").exists()


def test_files_to_write_have_names_of_their_own(tmp_path):
    (tmp_path / "rows.jsonl").write_text(lines(ASKED))
    out = tmp_path / "out.jsonl"
    for more in (["--errors", out], ["--held-out", 1, "--held-out-file", out]):
        assert "same name" in str(run("gsm8k", tmp_path / "rows.jsonl", "-o", out, *more).exception)


@given(st.lists(st.sampled_from(["a", "a-2", "a-3", "a-2-3", "gsm8k-1", ""]), max_size=12))
def test_no_id_comes_twice_whatever_the_rows_own_ids(ids):
    found = []
    rows = [("f", n, source(n) | {"id": id}) for n, id in enumerate(ids or [""], 1)]
    convert(FORMS["gsm8k"], iter(rows), None, lambda line: found.append(json.loads(line)["id"]))
    assert len(set(found)) == len(found) == len(rows)


@pytest.mark.parametrize("form", ["math", "hotpotqa", "2wiki", "musique"])
def test_rows_of_gsm8k_are_no_other_forms_rows(form, tmp_path):
    (tmp_path / "rows.jsonl").write_text(lines(ASKED))
    done = run(form, tmp_path / "rows.jsonl", "-o", tmp_path / "out.jsonl")
    assert isinstance(done.exception, UsageError)
    assert "form gsm8k" in done.stderr


def test_a_pipe_is_written_as_it_is(tmp_path):
    (tmp_path / "rows.jsonl").write_text(lines(ASKED))
    os.mkfifo(tmp_path / "pipe")
    with subprocess.Popen(["cat", tmp_path / "pipe"], stdout=subprocess.PIPE) as reader:
        done = run("gsm8k", tmp_path / "rows.jsonl", "-o", tmp_path / "pipe")
        assert reader.stdout.read().count(b"\n") == 5
    assert done.exception is None
    assert (tmp_path / "pipe").is_fifo()
