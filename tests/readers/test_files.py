"""Files however they lie: several, patterns, folders, packed, in memory; each row is told by its own file and line."""

import bz2
import gzip
import io
import json
import lzma
import random
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verikit.errors import MissingExtra, SchemaError, UsageError
from verikit.readers import HeldRows, compressed, expand, read, rows
from verikit.types import Group


def lines(*ids):
    return b"".join(json.dumps({"id": id, "prompt": "p", "completion": "c"}).encode() + b"\n" for id in ids)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def write(**files):
        for name, data in files.items():
            path = tmp_path / name.replace("__", "/")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        return tmp_path

    return write


def ids(source):
    return [item.id for item in read(source) if isinstance(item, Group)]


def test_several_files_are_read_as_one_and_each_bad_row_names_its_own_file_and_line(folder):
    folder(**{"a.jsonl": lines("1", "2") + b"bad\n", "b.jsonl": lines("3") + b"worse\n" + lines("1")})
    found = list(read(["a.jsonl", "b.jsonl"]))
    assert [item.id for item in found if isinstance(item, Group)] == ["1", "2", "3"]
    told = [(error.file, error.line) for error in found if isinstance(error, SchemaError)]
    assert told == [("a.jsonl", 3), ("b.jsonl", 2), ("b.jsonl", 3)]
    assert "the id '1' repeats line 1 of a.jsonl" in str(found[-1])


def test_one_file_of_several_that_can_not_be_read_loses_no_row_of_the_others(folder):
    damaged = gzip.compress(lines("x"))[:8]
    folder(**{"a.jsonl": lines("1"), "b.jsonl": b"", "c.jsonl.gz": damaged, "d.jsonl": lines("2")})
    found = list(read(["a.jsonl", "b.jsonl", "c.jsonl.gz", "d.jsonl"]))
    assert [getattr(item, "id", "") or item.file for item in found] == ["1", "b.jsonl", "c.jsonl.gz", "2"]
    with pytest.raises(UsageError, match="empty"):
        list(read("b.jsonl"))


def test_of_several_files_an_absent_one_is_told_before_anything_is_read(folder):
    folder(**{"a.jsonl": lines("1")})
    reader = read(["a.jsonl", "absent.jsonl"])
    with pytest.raises(UsageError, match=r"absent\.jsonl: can't be read"):
        next(reader)


def test_a_pattern_is_its_files_in_natural_order_and_one_that_matches_nothing_is_refused(folder):
    folder(**{f"part-{n}.jsonl": lines(str(n)) for n in (1, 2, 10)}, **{"deep__x__part-3.jsonl": lines("3")})
    assert ids("part-*.jsonl") == ["1", "2", "10"]
    assert ids("**/part-*.jsonl") == ["3", "1", "2", "10"]
    assert ids(["part-2.jsonl", "part-*.jsonl"]) == ["2", "1", "10"]  # a file is read once
    with pytest.raises(UsageError, match=r"'parts\*' matches no file"):
        ids("parts*")


def test_a_file_whose_name_looks_like_a_pattern_is_that_file(folder):
    folder(**{"a[1].jsonl": lines("literal"), "a1.jsonl": lines("other")})
    assert ids("a[1].jsonl") == ["literal"]
    assert expand("-") == ["-"]


def test_a_folder_of_one_kind_is_read_and_one_of_several_kinds_or_splits_is_refused_by_name(folder):
    at = folder(**{"one__b.jsonl": lines("2"), "one__a.jsonl": lines("1"), "one__README.md": b"x", "one__.x.csv": b"x"})
    assert ids("one") == ["1", "2"]
    folder(**{"kinds__a.jsonl": lines("1"), "kinds__b.csv": b"prompt,completion\na,b\n"})
    with pytest.raises(UsageError, match="1 JSON lines, 1 CSV"):
        ids("kinds")
    folder(**{"splits__train.jsonl": lines("1"), "splits__test.jsonl": lines("1")})
    with pytest.raises(UsageError, match="several splits") as caught:
        ids("splits")
    assert "splits/test.jsonl" in caught.value.hint
    folder(**{f"hub__data__{name}-0000{n}-of-00002.jsonl": b"" for name in ("train", "test") for n in (0, 1)})
    with pytest.raises(UsageError, match="several splits") as caught:
        ids("hub")
    assert "hub/data/test*" in caught.value.hint
    (at / "empty").mkdir()
    with pytest.raises(UsageError, match="without data files"):
        ids("empty")


def test_the_folder_of_a_run_is_no_data(folder):
    folder(**{"run__scores.jsonl": lines("1"), "run__.progress": b""})
    with pytest.raises(UsageError, match="folder of a run"):
        ids("run")


def test_what_datasets_saved_is_read_and_a_dict_of_splits_is_refused_by_name(folder):
    datasets = pytest.importorskip("datasets")
    at = folder()
    table = datasets.Dataset.from_list(
        [
            {"id": n, "prompt": f"p{n}", "completions": ["a", "b"], "answer": str(n), "rewards": [0.5, 1.0]}
            for n in range(5)
        ]
    )
    table.save_to_disk(at / "saved", num_shards=2)
    groups = list(read("saved"))
    assert [(group.id, group.answer) for group in groups] == [(str(n), str(n)) for n in range(5)]
    assert [keys["rewards"] for keys in groups[0].candidate_meta] == [0.5, 1.0]
    datasets.DatasetDict(train=table, test=table).save_to_disk(at / "dict")
    with pytest.raises(UsageError, match="several splits") as caught:
        ids("dict")
    assert "dict/train, dict/test" in caught.value.hint
    assert len(ids("dict/test")) == 5
    datasets.DatasetDict(test=table).save_to_disk(at / "single")
    assert len(ids("single")) == 5


def test_a_saved_folder_can_not_name_files_elsewhere(folder):
    folder(**{"saved__state.json": b'{"_data_files": [{"filename": "../secret.jsonl"}]}', "secret.jsonl": lines("1")})
    with pytest.raises(UsageError, match="names no files of the folder"):
        ids("saved")


PACKED = {"gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress}


@pytest.mark.parametrize("kind", PACKED)
def test_packed_lines_arrays_and_tables_are_read_and_several_frames_after_each_other(folder, kind):
    pack = PACKED[kind]
    folder(
        **{f"a.jsonl.{kind}": pack(lines("1")) + pack(lines("2")), f"b.csv.{kind}": pack(b"id,prompt,text\n3,p,c\n")}
    )
    assert ids(f"a.jsonl.{kind}") == ["1", "2"]
    assert next(rows(f"b.csv.{kind}"))[2] == {"id": "3", "prompt": "p", "text": "c"}
    folder(**{"any-name": pack(b"[" + lines("1").strip() + b"]")})
    assert ids("any-name") == ["1"]


def zstd(data, **options):
    zstandard = pytest.importorskip("zstandard")
    return zstandard.ZstdCompressor(**options).compress(data)


def test_zstd_is_read_with_several_frames_and_cut_short_it_ends_in_an_error(folder):
    many = lines(*map(str, range(3000)))
    folder(**{"a.jsonl.zst": zstd(lines("x")) + zstd(many), "cut.zst": zstd(many)[:-10], "rubbish": zstd(many) + b"x"})
    assert len(ids("a.jsonl.zst")) == 3001
    *groups, error = read("cut.zst")
    assert isinstance(error, SchemaError)
    assert "breaks off" in error.problem
    assert len(groups) > 100
    *groups, error = read("rubbish")
    assert (len(groups), error.line) == (3000, 3001)


def test_zstd_without_its_package_names_the_extra(folder, monkeypatch):
    if sys.version_info >= (3, 14):
        pytest.skip("the standard library reads zstd")
    folder(**{"a.zst": zstd(lines("1"))})
    monkeypatch.setitem(sys.modules, "zstandard", None)
    with pytest.raises(MissingExtra, match="zstd") as caught:
        ids("a.zst")
    assert "verikit[zstd]" in caught.value.hint


@given(
    st.binary(max_size=3000), st.lists(st.integers(1, 700), min_size=1, max_size=8), st.sampled_from([*PACKED, "zst"])
)
def test_unpacking_gives_what_was_packed_however_it_is_read(data, sizes, kind):
    pack = zstd if kind == "zst" else PACKED[kind]
    stream = compressed.decompressed(io.BufferedReader(io.BytesIO(pack(data) + pack(data[::-1]))))
    found = bytearray()
    while piece := stream.read(sizes[len(found) % len(sizes)]):
        found += piece
    assert bytes(found) == data + data[::-1]


BOMBS = {
    "zst": "import zstandard; data = zstandard.ZstdCompressor(level=19).compress(bytes(2**30))",
    "xz": "import lzma; data = lzma.compress(bytes(2**28), preset=6)",
    "bz2": "import bz2; data = bz2.compress(bytes(2**28))",
    "gz": "import gzip; data = gzip.compress(bytes(2**28))",
}


@pytest.mark.parametrize("kind", BOMBS)
def test_a_small_file_that_unpacks_to_very_much_is_one_bad_row_in_bounded_memory(tmp_path, kind):
    if kind == "zst":
        pytest.importorskip("zstandard")
    path = tmp_path / f"bomb.jsonl.{kind}"
    code = (
        f"import resource, sys\n{BOMBS[kind]}\nopen(sys.argv[1], 'wb').write(data)\ndel data\n"
        "from verikit.readers import read\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "limit = 700 * 2**20\nresource.setrlimit(resource.RLIMIT_AS, (limit, limit))\n"
        "print([str(item)[-60:] for item in read(sys.argv[1])])"
    )
    make = subprocess.run([sys.executable, "-c", code.split("from verikit")[0], path], capture_output=True, text=True)
    assert make.returncode == 0, make.stderr
    read_it = "import resource, sys\n" + code[code.index("from verikit") :]
    done = subprocess.run(
        [sys.executable, "-c", read_it, path], capture_output=True, text=True, cwd=Path(__file__).parents[2]
    )
    assert "bytes, more than the limit of 67,108,864" in done.stdout, done.stderr


def test_a_frame_that_asks_for_more_memory_than_any_ordinary_one_is_refused(folder):
    zstandard = pytest.importorskip("zstandard")
    options = zstandard.ZstdCompressionParameters.from_level(1, window_log=29, enable_ldm=True)
    packer = zstandard.ZstdCompressor(compression_params=options).compressobj()
    noise = random.Random(0).randbytes(2**16) * 8
    folder(**{"wide.zst": packer.compress(noise) + packer.flush()})
    with pytest.raises(UsageError, match="can't be read"):
        ids("wide.zst")
    big = lzma.compress(lines("1"), filters=[{"id": lzma.FILTER_LZMA2, "dict_size": 2**29}])
    folder(**{"wide.xz": big})
    with pytest.raises(UsageError, match=r"can't be read: Memory usage limit"):
        ids("wide.xz")


def test_rows_in_memory_are_read_with_values_of_numpy_and_pandas():
    numpy, pandas = pytest.importorskip("numpy"), pytest.importorskip("pandas")
    frame = pandas.DataFrame(
        {"id": [1.0, float("nan")], "prompt": ["p", "q"], "completions": [numpy.array(["a", "b"]), ["c", "d"]]}
        | {
            "rewards": [numpy.array([0.5, 1.0], dtype="float32"), [1, 2]],
            "at": pandas.Timestamp("2026-01-02"),
            "none": pandas.NA,
        }
    )
    source = HeldRows(frame.to_dict("records"))
    first, second = read(source)
    assert (first.id, second.id) == ("1.0", "line:2")  # a data frame's null is no id
    assert first.completions == ["a", "b"]
    assert [keys["rewards"] for keys in first.candidate_meta] == [0.5, 1.0]
    assert first.meta == {"at": "2026-01-02T00:00:00", "none": None}
    json.dumps([first.meta, *first.candidate_meta])
    assert len(list(read(source))) == 2
    with pytest.raises(UsageError, match="no rows"):
        list(read(HeldRows([])))
    [error, group] = read(HeldRows([3, {"prompt": "p", "text": "t", "completion": "c"}]))
    assert "a row is a mapping, this is a int" in str(error)
    assert group.completions == ["c"]


def test_parquet_with_nested_and_odd_values_is_read_as_json_would_have_it(folder):
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    from datetime import UTC, datetime
    from decimal import Decimal

    row = {
        "id": "1",
        "prompt": [{"role": "user", "content": "p"}],
        "completions": [{"text": "c", "info": {"rm": 0.5, "tags": ["x", None]}}],
        "answer": "a",
        "when": datetime(2026, 1, 2, tzinfo=UTC),
        "price": Decimal("1.50"),
        "raw": b"text",
        "image": b"\xff\xfe\x00",
        "nan": float("nan"),
    }
    out = folder()
    parquet.write_table(pyarrow.Table.from_pylist([row]), out / "rows.parquet")
    [group] = read("rows.parquet")
    assert group.candidate_meta[0]["info"] == {"rm": 0.5, "tags": ["x", None]}
    assert group.meta["when"].startswith("2026-01-02T")
    assert (group.meta["price"], group.meta["raw"], group.meta["image"]) == ("1.50", "text", "<3 bytes>")
    json.dumps(group.meta)


@pytest.mark.parametrize("kind", ["parquet", "arrow"])
def test_a_date_that_python_has_not_is_a_bad_row(folder, kind):
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    days = pyarrow.array([2**31 - 1], pyarrow.date32())
    far = pyarrow.table({"prompt": ["p"], "completion": ["c"], "when": days})
    near = pyarrow.table({"prompt": ["p"], "completion": ["c"], "when": pyarrow.array([0], pyarrow.date32())})
    path = folder() / f"rows.{kind}"
    if kind == "parquet":
        with parquet.ParquetWriter(path, near.schema) as writer:
            writer.write_table(near)
            writer.write_table(far)
    else:
        with pyarrow.ipc.new_stream(path, near.schema) as writer:
            writer.write_table(near)
            writer.write_table(far)
    group, error = read(str(path))
    assert isinstance(group, Group)
    assert isinstance(error, SchemaError)
    assert error.line == 2


def test_rows_gives_dictionaries_with_file_and_line_whatever_the_file(folder):
    folder(**{"a.jsonl": b'{"x": 1}\nbad\n', "b.csv": b"x\n2\n"})
    found = [(name, line, getattr(row, "problem", row)) for name, line, row in rows(["a.jsonl", "b.csv"])]
    assert [found[0], found[2]] == [("a.jsonl", 1, {"x": 1}), ("b.csv", 2, {"x": "2"})]
    assert found[1][:2] == ("a.jsonl", 2)
    assert "invalid JSON" in found[1][2]
