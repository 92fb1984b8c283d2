"""Small files that unpack to much: what is held is bounded in bytes, and the other rows are read."""

import gzip
import json
import random

import pytest

from verikit.errors import SchemaError, UsageError
from verikit.readers import read, row_groups
from verikit.readers.row_groups import MAX_BATCH
from verikit.types import Group


def packed(path, groups, rows, size):
    """So many groups of rows of one completion each."""
    with gzip.open(path, "wb") as stream:
        for group in range(groups):
            for number in range(rows):
                row = {"id": f"g{group}", "prompt": "p", "completion": f"{number}" + "x" * size, "answer": "2"}
                stream.write(json.dumps(row).encode() + b"\n")
    return str(path)


def test_a_group_beyond_its_cap_is_one_error_at_its_first_row_and_the_others_are_read(tmp_path, monkeypatch):
    path = tmp_path / "rows.jsonl"
    small, large = ({"id": id, "prompt": "p", "completion": "x" * n} for id, n in (("s", 10), ("l", 40_000)))
    path.write_text("".join(json.dumps(row) + "\n" for row in [small] * 3 + [large] * 60 + [small | {"id": "t"}] * 2))
    monkeypatch.setenv("VERIKIT_GROUP_MB", "2")
    first, error, last = read(str(path))
    assert (first.id, len(first.completions), last.id, len(last.completions)) == ("s", 3, "t", 2)
    assert isinstance(error, SchemaError)
    assert (error.file, error.line) == (str(path), 4)
    assert "a group of 60 rows, which take over 2 MiB" in str(error)
    assert "VERIKIT_GROUP_MB" in error.hint
    monkeypatch.setenv("VERIKIT_GROUP_MB", "4")
    assert [len(group.completions) for group in read(str(path))] == [3, 60, 2]


def test_what_is_held_of_a_group_is_counted_as_it_lies_in_memory(tmp_path, monkeypatch):
    wide = tmp_path / "wide.jsonl"
    wide.write_text((json.dumps({"prompt": "p", "completion": "x" * 40_000 + "\U0001f600"}) + "\n") * 20)
    deep = tmp_path / "deep.jsonl"
    deep.write_text((json.dumps({"prompt": "p", "completion": "x", "notes": [{"a": ["y" * 150_000]}]}) + "\n") * 20)
    monkeypatch.setenv("VERIKIT_GROUP_MB", "2")
    for path in (wide, deep):
        assert [type(item) for item in read(str(path))] == [SchemaError]


def test_a_cap_that_is_no_number_is_refused_by_name(tmp_path, monkeypatch):
    monkeypatch.setenv("VERIKIT_GROUP_MB", "much")
    with pytest.raises(UsageError, match="VERIKIT_GROUP_MB must be a positive number of MiB, got 'much'"):
        list(read(packed(tmp_path / "a.jsonl.gz", 1, 2, 5)))


def test_a_row_that_holds_its_completions_itself_is_no_gathered_group(tmp_path, monkeypatch):
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps({"prompt": "p", "completions": ["x" * 2_000_000, "y"]}) + "\n")
    monkeypatch.setenv("VERIKIT_GROUP_MB", "1")
    assert [len(group.completions) for group in read(str(path))] == [2]


def test_a_scored_file_with_a_group_beyond_its_cap_keeps_its_other_rows_and_can_be_resumed(tmp_path, monkeypatch):
    import verikit

    monkeypatch.setenv("VERIKIT_GROUP_MB", "1")
    path = tmp_path / "rows.jsonl"
    rows = [{"id": f"g{n // 40}", "prompt": "p", "completion": "2" + " " * (n // 40 % 2 * 40_000), "answer": "2"}
            for n in range(160)]  # fmt: skip
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    run = verikit.score(str(path), "answer", out=str(tmp_path / "run"))
    written = (tmp_path / "run" / "scores.jsonl").read_bytes()
    assert written.count(b"\n") == 80
    assert (tmp_path / "run" / "errors.jsonl").read_text().count("a group of 40 rows") == 2
    assert run is not None


# ---- parquet ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def arrow():
    pyarrow = pytest.importorskip("pyarrow")
    pytest.importorskip("pyarrow.parquet")
    return pyarrow


def repeated(arrow, value, n):
    return arrow.DictionaryArray.from_arrays(arrow.array([0] * n, arrow.int32()), arrow.array([value]))


def test_no_batch_of_a_small_parquet_file_is_large_in_memory(arrow, tmp_path, monkeypatch):
    import pyarrow.parquet as parquet

    cap, draw, path = 4 << 20, random.Random(5), str(tmp_path / "rows.parquet")
    monkeypatch.setattr(row_groups, "MAX_BATCH", cap)
    for _ in range(4):
        size, n = draw.randint(100_000, 400_000), draw.randint(300, 600)
        columns = {"prompt": [f"p{i}" for i in range(n)], "completion": repeated(arrow, "y" * size, n)}
        parquet.write_table(arrow.table(columns), path, compression="zstd")
        before, seen = arrow.total_allocated_bytes(), 0
        for item in read(path):
            assert isinstance(item, Group), item
            seen += 1
            assert arrow.total_allocated_bytes() - before < 3 * cap
        assert seen == n


def test_the_rows_of_a_batch_are_fewer_where_dictionaries_hold_long_values(arrow, tmp_path):
    import pyarrow.parquet as parquet

    def rows(table):
        parquet.write_table(table, str(tmp_path / "a.parquet"))
        file = parquet.ParquetFile(str(tmp_path / "a.parquet"))
        names = row_groups.dictionary_columns(file)
        return row_groups.batch_rows(file, parquet.ParquetFile(str(tmp_path / "a.parquet"), read_dictionary=names), 0)

    assert rows(arrow.table({"a": ["x" * 100] * 1000, "b": [1] * 1000})) == row_groups.BATCH
    batch = arrow.record_batch({"a": repeated(arrow, "x" * 1_000_000, 40), "b": [1] * 40})
    assert row_groups.record_batch_rows(batch) == MAX_BATCH // 1_000_128
    assert rows(arrow.table({"a": [["x" * 20_000] * 50] * 40})) == MAX_BATCH // (50 * 20_064)
    assert rows(arrow.table({"a": [{"b": "x" * 1_000_000}] * 40})) == MAX_BATCH // 1_000_064


def test_a_value_beyond_the_cap_is_told_by_its_row_group_and_the_others_are_read(arrow, tmp_path, monkeypatch):
    import pyarrow.parquet as parquet

    monkeypatch.setattr(row_groups, "MAX_BATCH", 1 << 20)
    path = str(tmp_path / "rows.parquet")
    with parquet.ParquetWriter(path, arrow.schema({"prompt": arrow.string(), "completion": arrow.string()})) as writer:
        for name, size in (("a", 10), ("b", 2 << 20), ("c", 10)):
            writer.write_table(arrow.table({"prompt": [name], "completion": ["x" * size]}))
    first, error, last = read(path)
    assert (first.prompt, last.prompt) == ("a", "c")
    assert (error.file, error.line, error.field) == (path, 2, "completion")
    assert "row group 2: a value of 2,097,152 bytes" in str(error)
    assert "remove the row" in error.hint


def test_many_rows_of_one_prompt_are_one_error(arrow, tmp_path, monkeypatch):
    import pyarrow.parquet as parquet

    path, n = str(tmp_path / "rows.parquet"), 20_000
    columns = {"prompt": "What?" * 20, "completion": "It is 2." * 20, "answer": "2"}
    parquet.write_table(arrow.table({name: repeated(arrow, text, n) for name, text in columns.items()}), path)
    monkeypatch.setenv("VERIKIT_GROUP_MB", "4")
    [error] = read(path)
    assert "a group of 20000 rows" in str(error)
    monkeypatch.setenv("VERIKIT_GROUP_MB", "100")
    [group] = read(path)
    assert len(group.completions) == n
