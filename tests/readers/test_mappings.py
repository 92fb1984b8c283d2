"""Several files as one, each with its own mapping and format."""

import json

import pytest

from verikit.errors import SchemaError, UsageError
from verikit.readers import HeldRows, read
from verikit.types import Group

CSV = "nr,question,reply,label\n1,Capital of France?,Paris,Paris\n2,Capital of Italy?,Milan,Rome\n"
CHATS = [
    {
        "custom_id": f"c{i}",
        "messages": [{"role": "user", "content": f"{i}+1?"}, {"role": "assistant", "content": str(i + 1)}],
        "expected": str(i + 1),
    }
    for i in range(2)
]
LISTS = [{"id": f"l{i}", "prompt": f"{i}?", "completions": [str(i), "no"], "answer": str(i)} for i in range(2)]
FOR_CSV = {"answers.csv:prompt": "question", "answers.csv:text": "reply", "answers.csv:gold": "label", "*.csv:id": "nr"}


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "answers.csv").write_text(CSV)
    for name, rows in (("chats.jsonl", CHATS), ("lists.jsonl", LISTS)):
        (tmp_path / name).write_text("".join(json.dumps(row) + "\n" for row in rows))
    return tmp_path


def groups(*paths, **options):
    found = list(read(list(paths), **options))
    assert all(isinstance(item, Group) for item in found), found
    return [(group.id, list(group.completions), group.answer) for group in found]


def test_each_file_is_read_by_its_own_mapping_and_format(files):
    mapping = FOR_CSV | {"chats*:gold": "expected", "chats.jsonl:id": "custom_id"}
    assert groups("answers.csv", "chats.jsonl", "lists.jsonl", mapping=mapping) == [
        ("1", ["Paris"], "Paris"),
        ("2", ["Milan"], "Rome"),
        ("c0", ["1"], "1"),
        ("c1", ["2"], "2"),
        ("l0", ["0", "no"], "0"),
        ("l1", ["1", "no"], "1"),
    ]


def test_what_is_mapped_for_a_file_wins_over_what_is_mapped_for_all(files):
    shared = {"prompt": "prompt", "completions": "completions"}
    found = groups("lists.jsonl", str(files / "answers.csv"), mapping=shared | FOR_CSV)
    assert [texts for _, texts, _ in found] == [["0", "no"], ["1", "no"], ["Paris"], ["Milan"]]


def test_without_a_mapping_each_file_tells_its_own_format(files):
    assert [id for id, _, _ in groups("chats.jsonl", "lists.jsonl", mapping={"chats.jsonl:id": "custom_id"})] == [
        "c0",
        "c1",
        "l0",
        "l1",
    ]


def test_candidates_that_go_on_in_the_next_file_are_one_group(files):
    for name, texts in (("part-1.jsonl", ["a", "b"]), ("part-2.jsonl", ["c"])):
        rows = [{"id": "same", "prompt": "?", "completion": text} for text in texts]
        (files / name).write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert groups("part-1.jsonl", "part-2.jsonl") == [("same", ["a", "b", "c"], None)]


def test_a_file_that_is_not_read_is_named_with_those_that_are(files):
    with pytest.raises(UsageError, match=r"other\.csv:prompt: no file of that name is read") as raised:
        list(read(["answers.csv", "lists.jsonl"], mapping={"other.csv:prompt": "question"}))
    assert raised.value.hint == "the files are answers.csv, lists.jsonl"


def test_a_field_that_one_file_has_not_hints_at_a_mapping_of_its_own(files):
    found = list(read(["answers.csv", "lists.jsonl"], mapping={"prompt": "question", "text": "reply"}))
    bad = [item for item in found if isinstance(item, SchemaError)]
    assert [(error.file, error.hint) for error in bad] == [
        ("lists.jsonl", "--map FILE:prompt=KEY maps it in one of several files")
    ] * 2


def test_rows_in_memory_have_no_file_to_map(files):
    with pytest.raises(UsageError, match="rows in memory have no file"):
        read(HeldRows(LISTS), mapping={"lists.jsonl:prompt": "prompt"})


def test_a_key_of_completions_may_have_a_colon(files):
    rows = [row | {"rm": [0.5, 0.25]} for row in LISTS]
    (files / "lists.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    first, *_ = read("lists.jsonl", mapping={"completions.rm:v2": "rm"})
    assert [own["rm:v2"] for own in first.candidate_meta] == [0.5, 0.25]
