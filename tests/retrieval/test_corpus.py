import gzip
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.convert.test_run import write_parquet, zstd
from verikit.errors import SchemaError, UsageError
from verikit.retrieval import Passage, read_corpus, split


@given(st.text() | st.lists(st.sampled_from(["word ", "two\n", "\t", " ", "x"])).map("".join), st.integers(1, 12))
def test_splitting_loses_nothing_and_counts_words(text, words):
    pieces = split(text, words)
    assert "".join(pieces) == text
    counts = [len(piece.split()) for piece in pieces]
    assert sum(counts) == len(text.split())
    assert all(count == words for count in counts[:-1])
    assert all(count <= words for count in counts)


def test_an_article_becomes_passages_of_a_hundred_words_under_its_title(tmp_path):
    path = tmp_path / "Long Article.txt"
    path.write_text(" ".join(map(str, range(250))) + "\n")
    passages = list(read_corpus(path))
    assert [passage.title for passage in passages] == ["Long Article"] * 3
    assert [len(passage.text.split()) for passage in passages] == [100, 100, 50]
    assert [passage.id for passage in passages] == ["Long Article#0", "Long Article#1", "Long Article#2"]
    assert "".join(passage.text for passage in passages) == path.read_text()


def test_rows_are_left_whole_unless_asked(tmp_path):
    path = tmp_path / "corpus.jsonl"
    rows = [{"id": 7, "title": "T", "text": "a b c"}, {"contents": '"Title"\nbody text'}, {"text": "no title"}]
    path.write_text("\n".join(map(json.dumps, rows)))
    assert list(read_corpus(path)) == [
        Passage("T", "a b c", "7"),
        Passage("Title", "body text", "2"),
        Passage("", "no title", "3"),
    ]
    assert [passage.text for passage in read_corpus(path, words=2)] == ["a b ", "c", "body text", "no title"]


def test_gzip_and_arrays_are_read(tmp_path):
    rows = [{"text": "one"}, {"text": "two"}]
    (tmp_path / "corpus.jsonl.gz").write_bytes(gzip.compress("\n".join(map(json.dumps, rows)).encode()))
    (tmp_path / "corpus.json").write_text(json.dumps(rows))
    for name in ("corpus.jsonl.gz", "corpus.json"):
        assert [passage.text for passage in read_corpus(tmp_path / name)] == ["one", "two"]


@pytest.mark.parametrize(
    ("row", "field", "problem"),
    [
        ('{"title": "x"}', "text", "is missing"),
        ('{"text": 3}', "text", "got a number"),
        ('{"text": "  "}', "text", "is empty"),
        ('{"text": "x", "title": []}', "title", "got a list"),
        ('{"contents": null}', "contents", "got null"),
        ("{", "", "invalid JSON"),
        ("[1]", "", "a row is a JSON object"),
    ],
)
def test_a_bad_row_is_named_by_file_line_and_field(tmp_path, row, field, problem):
    path = tmp_path / "corpus.jsonl"
    path.write_text('{"text": "good"}\n\n' + row + "\n")
    with pytest.raises(SchemaError, match=problem) as caught:
        list(read_corpus(path))
    assert (caught.value.file, caught.value.line, caught.value.field) == (str(path), 3, field)


def test_bad_text_files_are_named(tmp_path):
    (tmp_path / "bad.txt").write_bytes(b"good\nx\xff")
    with pytest.raises(SchemaError, match=r"bad.txt:2: invalid UTF-8: byte 0xff"):
        list(read_corpus(tmp_path / "bad.txt"))
    (tmp_path / "empty.txt").write_text(" \n")
    with pytest.raises(SchemaError, match="is empty"):
        list(read_corpus(tmp_path / "empty.txt"))
    with pytest.raises(UsageError, match="can't be read"):
        list(read_corpus(tmp_path / "none.txt"))


PASSAGES = [Passage("T, one", 'a "b" c', "1"), Passage("", "d\te", "2")]


@pytest.mark.parametrize("kind", ["jsonl.zst", "parquet", "tsv.gz", "folder", "pattern"])
def test_a_corpus_is_read_in_any_form(kind, tmp_path):
    rows = [{"id": passage.id, "text": passage.text, "title": passage.title} for passage in PASSAGES]
    path = tmp_path / f"corpus.{kind}"
    if kind == "jsonl.zst":
        path.write_bytes(zstd("\n".join(map(json.dumps, rows)).encode()))
    elif kind == "parquet":
        write_parquet(path, rows)
    elif kind == "tsv.gz":
        path.write_bytes(gzip.compress(b'id\ttext\ttitle\n1\t"a ""b"" c"\tT, one\n2\t"d\te"\t\n'))
    else:
        for number, row in enumerate(rows):
            (tmp_path / f"part-{number}.jsonl").write_text(json.dumps(row))
        path = tmp_path if kind == "folder" else tmp_path / "part-*.jsonl"
    assert list(read_corpus(path)) == PASSAGES


def test_a_folder_of_texts_is_an_article_a_file(tmp_path):
    (tmp_path / "B.txt.gz").write_bytes(gzip.compress(b"beta"))
    (tmp_path / "A.md").write_text("alpha")
    (tmp_path / "picture.png").write_bytes(b"\x89PNG")
    assert list(read_corpus(tmp_path)) == [Passage("A", "alpha", "A"), Passage("B", "beta", "B")]


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("bad.jsonl.gz", b"\x1f\x8bno"),
        ("bad.parquet", b"PAR1 no"),
        ("bad.pdf", b"%PDF-1.4\n\xe2\xe3"),
        ("bad.json", b'{"body": 1}'),
        ("bad.txt", b""),
    ],
)
def test_a_corpus_that_can_not_be_read_is_named_before_anything_is_built(name, data, tmp_path):
    pytest.importorskip("bm25s")
    from verikit.retrieval.build import build_index

    good = tmp_path / "good.jsonl"
    good.write_text('{"text": "x"}\n')
    (tmp_path / name).write_bytes(data)
    with pytest.raises(UsageError, match=name):
        build_index([good, tmp_path / name], tmp_path / "index")
    assert not (tmp_path / "index").exists()
