"""Whatever bytes a file holds, each bad row is told by file, line and field, the others are read, nothing crashes."""

import bz2
import gzip
import io
import json
import lzma
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verikit.errors import MissingExtra, SchemaError, UsageError
from verikit.readers import array, ids, read, source
from verikit.types import Group

GOOD = b'{"prompt": "p", "completions": ["c"], "answer": "a"}'


leaves = (
    st.none() | st.booleans() | st.integers(-3, 3) | st.floats() | st.sampled_from(["", "text", "assistant", '\\"[{,'])
)
inner = st.sampled_from(["role", "content", "text", "message", "messages", "error", "body", "choices"])
json_ish = st.recursive(
    leaves, lambda values: st.lists(values, max_size=3) | st.dictionaries(inner, values, max_size=3), max_leaves=8
)


@pytest.fixture
def file(tmp_path):
    def write(data, name="rows.jsonl"):
        path = tmp_path / name
        path.write_bytes(data)
        return path

    return write


def run(code, *arguments):
    command = [sys.executable, "-c", code, *arguments]
    return subprocess.run(command, capture_output=True, text=True, cwd=Path(__file__).parents[2])


def test_an_absent_file_a_directory_and_an_impossible_name_are_usage_errors(tmp_path):
    for path, told in (
        (tmp_path / "absent", "no such file"),
        (tmp_path, "is a directory without data"),
        ("a\0b", "null"),
    ):
        with pytest.raises(UsageError, match=told):
            list(read(path))


def test_a_file_without_permission_is_a_usage_error(file):
    path = file(GOOD)
    path.chmod(0)
    if os.access(path, os.R_OK):  # root may read anything, so the reader runs as somebody else
        code = f"import os\nfrom verikit.readers import read\nos.setuid(65534)\nlist(read({str(path)!r}))"
        path.parent.parent.chmod(0o755)
        path.parent.chmod(0o755)
        done = run(code)
        assert "UsageError" in done.stderr
        assert "permission denied" in done.stderr
    else:
        with pytest.raises(UsageError, match="permission denied"):
            list(read(path))


@pytest.mark.parametrize(
    ("name", "text", "kind"),
    [
        ("rows.yaml", "- prompt: a\n  completion: b\n", "YAML"),
        ("rows.YML", "prompt: a\n", "YAML"),
        ("rows.yaml.gz", "- prompt: a\n", "YAML"),
        ("rows.toml", "prompt = 'a'\n", "TOML"),
        ("rows.xml", "<rows/>", "XML"),
    ],
)
def test_a_file_in_a_format_without_rows_is_one_error_with_the_formats_that_are_read(tmp_path, name, text, kind):
    path = tmp_path / name
    path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    with pytest.raises(UsageError, match=f"the file is {kind}, which verikit does not read") as caught:
        list(read(path))
    assert name in str(caught.value)
    assert "JSON lines" in (caught.value.hint or "")


def test_json_lines_are_read_whatever_the_file_is_called(tmp_path):
    path = tmp_path / "rows.yaml"
    path.write_text('{"prompt": "a", "completion": "b"}\n')
    assert len(list(read(path))) == 1


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (b"", "empty"),
        (gzip.compress(b"", mtime=0), "empty"),
        (b"\n \r\n\n", "no rows"),
        (b"\xff\xfe{\0}\0", "UTF-16"),
        (gzip.compress(b"\x28\xb5\x2f\xfd\x04\x00", mtime=0), "zstd within another compression"),
        (bz2.compress(lzma.compress(GOOD)), "xz within another compression"),
        (b"ARROW1 and nothing", "damaged Arrow"),
        (b"\xff\xff\xff\xff and nothing", "damaged Arrow"),
        (b"PK\x03\x04\x14\x00", "zip archive"),
        (b"\x1f\x8bnot gzip", "can't be read"),
        (b"PAR1 and nothing", "damaged parquet"),
    ],
)
def test_a_file_that_is_bad_as_a_whole_raises_and_is_named(file, data, told):
    path = file(data)
    with pytest.raises(UsageError, match=told) as caught:
        list(read(path))
    assert str(path) in str(caught.value)


def test_json_lines_under_the_name_of_a_table_are_read_as_what_they_are(file):
    assert isinstance(next(read(file(GOOD, "rows.csv"))), Group)


def test_an_array_without_items_has_no_rows(file):
    with pytest.raises(UsageError, match="no rows"):
        list(read(file(b" [ ] ", "rows.json")))


@pytest.mark.parametrize(
    ("bad", "told"),
    [
        (b"not json", "invalid JSON: Expecting value at character 1"),
        (b'{"prompt": "p"', "invalid JSON"),
        (GOOD + GOOD, "more text"),
        (b"[1, 2]", "this is a list"),
        (b"null", "this is null"),
        (b"NaN", "this is a number"),
        (b'{"prompt": "\xff"}', "invalid UTF-8: byte 0xff at byte 13"),
        (b'{"prompt": "\xed\xa0\x80"}', "invalid UTF-8"),
        (b'{"a":' * 150 + b"1" + b"}" * 150, "nested deeper than 100"),
        (b"[" * 100_000, "nested deeper than 100"),
        (b'{"a": ' + b"9" * 5000 + b"}", "too many digits"),
        (b"{}", "The row is empty"),
    ],
)
def test_a_bad_line_is_told_by_its_number_and_the_others_are_read(file, bad, told):
    path = file(GOOD + b"\n" + bad + b"\n" + GOOD + b"\n")
    first, error, last = read(path)
    assert (first.id, last.id) == ("line:1", "line:3")
    assert isinstance(error, SchemaError)
    assert str(error).startswith(f"{path}:2: ")
    assert told in str(error)
    assert error.hint


def test_a_line_over_the_limit_is_skipped_and_the_rows_around_it_are_read(file):
    fits = b'{"prompt": "p", "completions": ["%b"]}'
    fits = fits % (b"c" * (1000 - len(fits) + 2))
    data = b"\n".join([GOOD, fits, fits + b" ", b"x" * 200_000, GOOD, b"y" * 1001])
    items = list(source.cut(io.BufferedReader(io.BytesIO(data)), "rows.jsonl", cap=1000))
    assert [item if isinstance(item, bytes) else item.problem for _, item in items] == [
        GOOD,
        fits,
        "the row has 1,002 bytes, more than the limit of 1,000",
        "the row has 200,001 bytes, more than the limit of 1,000",
        GOOD,
        "the row has 1,001 bytes, more than the limit of 1,000",
    ]


def test_an_item_over_the_limit_is_skipped_and_the_items_around_it_are_read():
    big = b'{"a": "' + b'\\"[' * 100_000 + b'"}'
    data = b"[" + GOOD + b"," + big + b",\n" + GOOD + b"]"
    items = list(array.items(io.BytesIO(data).read, cap=1000))
    assert [item if isinstance(item, bytes) else item.problem for _, item in items] == [
        GOOD,
        f"the row has {len(big):,} bytes, more than the limit of 1,000",
        GOOD,
    ]


def test_a_100_mb_line_is_an_error_row_and_is_never_held_whole(file, tmp_path):
    path = tmp_path / "rows.jsonl"
    with path.open("wb") as out:
        out.write(GOOD + b'\n{"prompt": "')
        for _ in range(100):
            out.write(b"x" * 2**20)
        out.write(b'"}\n' + GOOD)
    code = (
        "import resource, sys\nfrom verikit.readers import read\n"
        "limit = 400 * 2**20\nresource.setrlimit(resource.RLIMIT_AS, (limit, limit))\n"
        "for item in read(sys.argv[1]): print(type(item).__name__, getattr(item, 'line', ''))"
    )
    done = run(code, path)
    assert done.stdout.split("\n") == ["Group ", "SchemaError 2", "Group ", ""], done.stderr


@pytest.mark.parametrize("name", ["rows.jsonl", "rows.json"])
def test_byte_order_mark_and_crlf_are_no_matter(file, name):
    data = b"\xef\xbb\xbf" + GOOD + b"\r\n\r\n" + GOOD + b"\r\n"
    assert [item.id for item in read(file(data, name))] == ["line:1", "line:3"]


def test_nan_and_infinity_are_kept_as_data(file):
    [group] = read(file(b'{"prompt": "p", "completions": [{"text": "c", "rm": NaN, "x": -Infinity}], "answer": NaN}'))
    assert group.candidate_meta[0]["rm"] != group.candidate_meta[0]["rm"]
    assert group.candidate_meta[0]["x"] == float("-inf")
    assert group.answer == "NaN"


def test_a_lone_surrogate_is_replaced_so_that_the_row_can_be_written(file):
    row = rb'{"prompt": "\ud83d\ude00 \\ud800", "completions": ["a\ud800b", "\udfff\uD83D"], "k\udc00": 1}'
    [group] = read(file(row))
    assert group.prompt == "\U0001f600 \\ud800"
    assert group.completions == ["a\ufffdb", "\ufffd\ufffd"]
    assert group.meta == {"k\ufffd": 1}
    json.dumps(group.completions, ensure_ascii=False).encode()


def test_gzip_is_told_by_its_bytes_and_may_hold_an_array(file):
    assert len(list(read(file(gzip.compress(GOOD + b"\n" + GOOD), "rows")))) == 2
    assert len(list(read(file(gzip.compress(b"[" + GOOD + b"," + GOOD + b"]"), "rows.json.gz")))) == 2


@pytest.mark.parametrize("cut", [9, 1000])
def test_a_truncated_gzip_gives_its_good_rows_then_an_error(file, cut):
    lines = [json.dumps({"prompt": os.urandom(20).hex(), "completions": ["c"]}).encode() for _ in range(5000)]
    *groups, error = read(file(gzip.compress(b"\n".join(lines) + b"\n")[:-cut]))
    assert isinstance(error, SchemaError)
    assert error.line == len(groups) + 1
    assert all(isinstance(group, Group) for group in groups)
    assert len(groups) > 4500


def test_an_array_cut_short_or_followed_by_something_ends_in_an_error(file):
    for data, told in ((b"[" + GOOD + b',{"pro', "cut short"), (b"[" + GOOD + b"] x", "follows the array")):
        group, error = read(file(data, "rows.json"))
        assert group.id == "line:1"
        assert (error.line, told in error.problem) == (2, True)


def test_a_bad_item_of_an_array_does_not_hide_the_next(file):
    first, error, last = read(file(b"[" + GOOD + b", {bad}, " + GOOD + b"]", "rows.json"))
    assert (first.id, error.line, last.id) == ("line:1", 2, "line:3")


@given(st.lists(json_ish, max_size=5), st.integers(1, 9), st.sampled_from([None, 1]))
def test_an_array_is_cut_where_its_items_end_however_the_bytes_arrive(values, size, indent):
    data = json.dumps(values, indent=indent).encode()
    stream = io.BytesIO(data)
    found = list(array.items(lambda _: stream.read(size), cap=10_000))
    assert [number for number, _ in found] == list(range(1, len(values) + 1))
    assert [repr(json.loads(item)) for _, item in found] == [repr(value) for value in values]


def test_lines_of_a_jsonl_file_are_never_taken_for_an_array(file):
    error, group = read(file(b"[1]\n" + GOOD, "rows.jsonl"))
    assert (error.line, group.id) == (1, "line:2")


def test_stdin_is_read_and_stays_open(monkeypatch):
    stdin = io.TextIOWrapper(io.BytesIO(b"[1]\n" + GOOD))
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(gzip.compress(GOOD)))))
    assert [group.id for group in read("-")] == ["line:1"]
    assert not sys.stdin.closed
    monkeypatch.setattr(sys, "stdin", stdin)
    error = next(read("-"))
    assert str(error).startswith("<stdin>:1")


def test_reading_may_stop_early_and_in_another_thread(file):
    reader = read(file((GOOD + b"\n") * 100))
    next(reader)
    thread = threading.Thread(target=lambda: (next(reader), reader.close()))
    thread.start()
    thread.join()
    assert list(reader) == []


def test_ids_beyond_the_table_are_still_found(monkeypatch):
    monkeypatch.setattr(ids, "IN_MEMORY", 10)
    index = ids.IdIndex()
    assert [index.add(f"q{n}", n) for n in range(1, 1001)] == [0] * 1000
    assert [index.add(f"q{n}", 5000) for n in range(1, 1001)] == list(range(1, 1001))
    index.close()


def test_ids_that_share_a_slot_are_told_apart(monkeypatch):
    monkeypatch.setattr(ids, "SLOTS", 16)
    index = ids.IdIndex()
    assert [index.add(f"q{n}", n) for n in range(1, 13)] == [0] * 12
    assert [index.add(f"q{n}", 99) for n in range(1, 13)] == list(range(1, 13))
    index.close()


def parquet_bytes(rows, **options):
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    out = io.BytesIO()
    parquet.write_table(pyarrow.Table.from_pylist(rows), out, **options)
    return out.getvalue()


def test_parquet_is_told_by_its_bytes_and_read_in_batches(file):
    rows = [
        {"prompt": [{"role": "user", "content": f"q{n}"}], "data_source": "d", "reward_model": {"ground_truth": str(n)}}
        | {"responses": ["a", "b"]}
        for n in range(1000)
    ]
    groups = list(read(file(parquet_bytes(rows, row_group_size=100), "rows")))
    assert [(group.id, group.answer) for group in groups[::999]] == [("line:1", "0"), ("line:1000", "999")]
    assert groups[0].prompt == [{"role": "user", "content": "q0"}]


def test_a_damaged_part_of_a_parquet_file_is_an_error_and_the_others_are_read(file):
    rows = [{"prompt": os.urandom(8).hex(), "completions": [os.urandom(50).hex()]} for _ in range(1000)]
    data = bytearray(parquet_bytes(rows, row_group_size=250, compression="gzip"))
    data[len(data) * 5 // 8 : len(data) * 5 // 8 + 2000] = os.urandom(2000)
    items = list(read(file(bytes(data))))
    [error] = [item for item in items if isinstance(item, SchemaError)]
    assert "rows 501 to 750 can't be read" in error.problem
    assert error.line == 501
    assert len(items) == 751


def test_parquet_without_pyarrow_names_the_extra(file, monkeypatch):
    path = file(parquet_bytes([{"prompt": "p", "completion": "c"}]))
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingExtra, match="parquet") as caught:
        list(read(path))
    assert "verikit[parquet]" in caught.value.hint


pieces = st.sampled_from(
    [GOOD, b"\n", b"[", b"]", b",", b"{", b"}", b'"', b"\\", b"\xef\xbb\xbf", b"\\ud800", b"1", b"PAR1"]
)


@given(
    st.binary(max_size=200) | st.lists(pieces | st.binary(max_size=3), max_size=20).map(b"".join),
    st.sampled_from(["x.jsonl", "x.json", "x"]),
    st.booleans(),
    st.sampled_from([b"", b"\x1f\x8b", b"PAR1"]),
)
def test_arbitrary_bytes_raise_nothing_but_usage_errors(tmp_path_factory, data, name, compress, magic):
    path = tmp_path_factory.mktemp("bytes") / name
    path.write_bytes(gzip.compress(data) if compress else magic + data)
    try:
        items = list(read(path))
    except UsageError:
        return
    assert items
    for item in items:
        assert isinstance(item, Group) or (item.line and item.hint)


KEYS = """
    prompt completions completion answer id meta doc resps filter target arguments choices custom_id response request
    messages error body reward_model data_source responses output input gts score instruction solution
"""
names = st.sampled_from(KEYS.split())


@given(st.lists(st.dictionaries(names, json_ish, max_size=6), min_size=1, max_size=3))
def test_rows_of_known_keys_with_values_of_any_type_become_groups_or_errors(tmp_path_factory, rows):
    path = tmp_path_factory.mktemp("rows") / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    for item in read(path):
        if isinstance(item, Group):
            assert item.completions
            assert all(isinstance(text, str) for text in item.completions)
            assert item.samples()
        else:
            assert item.line
