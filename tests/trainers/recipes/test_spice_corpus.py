"""A corpus in any form is the same documents in the same order, and one that can't be read is named at the start."""

import gzip
import json
import random

import pytest

pytest.importorskip("torch")

from tests.convert.test_run import zstd
from verikit.errors import ConfigError, SchemaError, UsageError
from verikit.trainers.recipes.spice.corpus import Corpus, open_corpus

TEXTS = [f"Document {number} with $\\frac{{1}}{{{number}}}$ and ünïcode." for number in range(30)]
ROWS = [{"id": number, "text": text} for number, text in enumerate(TEXTS)]
LINES = "".join(json.dumps(row) + "\n" for row in ROWS)


def write(folder, kind):
    """The documents as a file or folder of this kind; its name."""
    if kind == "folder":
        (folder / "parts").mkdir()
        for number in range(3):
            part = "".join(json.dumps(row) + "\n" for row in ROWS[number * 10 : number * 10 + 10])
            (folder / "parts" / f"part-{number}.jsonl").write_text(part, "utf-8")
        return "parts"
    if kind == "deep pattern":
        write(folder, "folder")
        return "**/part-*.jsonl"
    if kind == "parquet":
        arrow = pytest.importorskip("pyarrow")
        from pyarrow import parquet

        parquet.write_table(arrow.Table.from_pylist(ROWS), folder / "corpus.parquet", row_group_size=7)
        return "corpus.parquet"
    if kind == "csv":
        quoted = [text.replace('"', '""') for text in TEXTS]
        (folder / "corpus.csv").write_text("id,text\n" + "".join(f'{n},"{t}"\n' for n, t in enumerate(quoted)), "utf-8")
        return "corpus.csv"
    data = json.dumps(ROWS).encode() if kind.startswith("json.") or kind == "json" else LINES.encode()
    if kind == "json of lines":
        kind = "json"
    packed = gzip.compress(data) if kind.endswith(".gz") else zstd(data) if kind.endswith(".zst") else data
    (folder / f"corpus.{kind}").write_bytes(packed)
    return f"corpus.{kind}"


KINDS = [
    *("jsonl", "json", "json of lines", "jsonl.gz", "jsonl.zst", "json.gz"),
    *("parquet", "csv", "folder", "deep pattern"),
]


@pytest.mark.parametrize("kind", KINDS)
def test_every_form_holds_the_same_documents_and_gives_the_same_draws(kind, tmp_path):
    corpus = open_corpus([write(tmp_path, kind)], "text", tmp_path)
    assert [corpus[index] for index in range(len(corpus))] == TEXTS
    draw = random.Random(3)
    drawn = [corpus[draw.randrange(len(corpus))] for _ in range(8)]
    draw = random.Random(3)
    assert drawn == [TEXTS[draw.randrange(30)] for _ in range(8)]


def test_a_pattern_counts_its_files_as_they_sort_so_that_runs_go_on(tmp_path):
    for number in (10, 2, 1):
        (tmp_path / f"part-{number}.jsonl").write_text(json.dumps({"text": f"t{number}"}) + "\n")
    corpus = open_corpus(["part-*.jsonl", "part-2.jsonl"], "text", tmp_path)
    assert [corpus[index] for index in range(len(corpus))] == ["t1", "t10", "t2", "t2"]


def test_a_folder_of_texts_is_a_document_a_file_also_compressed(tmp_path):
    (tmp_path / "texts").mkdir()
    (tmp_path / "texts" / "b-2.txt").write_text("two", "utf-8")
    (tmp_path / "texts" / "b-10.md.gz").write_bytes(gzip.compress(b"ten"))
    corpus = open_corpus(["texts"], "text", tmp_path)
    assert [corpus[index] for index in range(len(corpus))] == ["two", "ten"]


@pytest.mark.parametrize(
    ("name", "data", "problem"),
    [
        ("broken.jsonl.gz", gzip.compress(LINES.encode())[:-30], "breaks off"),
        ("broken.jsonl.gz", b"\x1f\x8bnothing", "can't be read"),
        ("broken.json", b'[{"text": "x"}, {"text"', "cut short"),
        ("broken.jsonl", b'{"body": "x"}\n', "text"),
        ("broken.jsonl", b"[1, 2]\n", "a row is a JSON object"),
        ("broken.parquet", b"PAR1 and no more", "parquet"),
        ("broken.pdf", b"%PDF-1.4\n\xe2\xe3\xcf\xd3\n", "invalid UTF-8"),
        ("broken.bin", b"text\0with NUL", "NUL"),
        ("broken.txt", b"  \n", "empty"),
        ("broken.zip", b"PK\x03\x04\xff\xff\xff", "invalid UTF-8"),
        ("broken.csv", b"a,b\n1,2\n", "text"),
    ],
)
def test_what_can_not_be_read_is_named_at_the_start(name, data, problem, tmp_path):
    write(tmp_path, "jsonl")
    (tmp_path / name).write_bytes(data)
    with pytest.raises(UsageError, match=problem) as told:
        open_corpus(["corpus.jsonl", name], "text", tmp_path)
    assert name in str(told.value)


def test_a_folder_without_documents_and_a_missing_file_are_named(tmp_path):
    (tmp_path / "empty").mkdir()
    for name in ("empty", "missing.txt", "missing.jsonl.gz", "none-*.jsonl", "deep/**/none.jsonl"):
        with pytest.raises(ConfigError) as told:
            open_corpus([name], "text", tmp_path)
        assert name.partition("*")[0].partition(".")[0].partition("/")[0] in str(told.value)


def test_no_row_group_stays_in_memory(tmp_path):
    arrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    table = arrow.table({"text": [f"{n}" + "x" * 2000 for n in range(4000)], "other": ["y" * 2000] * 4000})
    names = []
    for number in range(4):
        names.append(f"{number}.parquet")
        parquet.write_table(table, tmp_path / names[-1], row_group_size=2000, compression="none")
    before = arrow.total_allocated_bytes()
    corpus = open_corpus(names, "text", tmp_path)
    draw = random.Random(0)
    for _ in range(8):
        index = draw.randrange(len(corpus))
        assert corpus[index].startswith(f"{index % 4000}x")
    assert arrow.total_allocated_bytes() - before < 100_000


def test_a_text_in_the_middle_that_can_not_be_read_is_named_with_its_line(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"text": "x"}\n{"text": "y"}\nnot json\n')
    corpus = open_corpus(["a.jsonl"], "text", tmp_path)
    assert isinstance(corpus, Corpus)
    with pytest.raises(SchemaError, match=r"a\.jsonl:3: invalid JSON"):
        corpus[2]
