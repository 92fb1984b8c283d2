import gzip
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

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
        ('{"text": 3}', "text", "is a number"),
        ('{"text": "  "}', "text", "is empty"),
        ('{"text": "x", "title": []}', "title", "is a list"),
        ('{"contents": null}', "contents", "is null"),
        ("{", "", "not JSON"),
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
    with pytest.raises(SchemaError, match=r"bad.txt:2: not UTF-8: byte 0xff"):
        list(read_corpus(tmp_path / "bad.txt"))
    (tmp_path / "empty.txt").write_text(" \n")
    with pytest.raises(SchemaError, match="is empty"):
        list(read_corpus(tmp_path / "empty.txt"))
    with pytest.raises(UsageError, match="can't be read"):
        list(read_corpus(tmp_path / "none.txt"))
