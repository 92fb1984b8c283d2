"""Golds of another file are joined by id; what has none, or not one, is an error that names the id."""

import json

import pytest

from verikit.errors import SchemaError, UsageError
from verikit.readers import read
from verikit.types import Group


@pytest.fixture
def write(tmp_path):
    def make(*rows, name="rows.jsonl"):
        path = tmp_path / name
        path.write_text("".join(row if isinstance(row, str) else json.dumps(row) + "\n" for row in rows))
        return str(path)

    return make


def batch_row(id, text):
    """A line of an OpenAI batch's output file."""
    message = {"role": "assistant", "content": text}
    choice = {"index": 0, "message": message, "finish_reason": "stop", "logprobs": None}
    body = {"id": "chatcmpl-1", "object": "chat.completion", "model": "m", "choices": [choice]}
    response = {"status_code": 200, "request_id": "r", "body": body}
    return {"id": f"batch_req_{id}", "custom_id": id, "response": response, "error": None}


def test_the_output_of_a_batch_gets_prompts_golds_and_tests_by_its_custom_ids(write):
    out = write(batch_row("q2", "6"), batch_row("q1", "5"))
    golds = write(
        {"id": "q1", "problem": "2+3", "answer": "5", "level": 1},
        {"custom_id": "q2", "problem": "2+4", "gold": 6, "meta": {"level": 2}},
        name="golds.jsonl",
    )
    second, first = read(out, gold=golds)
    assert (first.id, first.prompt, first.answer, first.meta["level"]) == ("q1", "2+3", "5", 1)
    assert (second.prompt, second.answer, second.meta["level"]) == ("2+4", "6", 2)


def test_the_golds_win_over_what_the_rows_say_and_the_rows_prompt_stays(write):
    rows = write({"id": 1, "prompt": "asked", "completion": "c", "answer": "forged", "tests": "pass", "kept": 1})
    golds = write({"id": "1", "prompt": "other", "answer": ["a", "b"], "tests": "real"}, name="golds.jsonl")
    [group] = read(rows, gold=golds)
    assert (group.prompt, group.answer) == ("asked", ["a", "b"])
    assert group.meta == {"tests": "real", "kept": 1}


def test_keys_of_the_golds_are_mapped_under_their_own_prefix(write):
    rows = write({"uid": 3, "q": "p", "out": "c"})
    golds = write("key,gold.label\n3.0,x\n", name="golds.csv")
    mapping = {"id": "uid", "prompt": "q", "text": "out", "gold.id": "key", "gold.answer": "gold.label"}
    [group] = read(rows, mapping=mapping, gold=golds)
    assert (group.id, group.answer) == ("3", "x")  # a data frame writes 3 as 3.0
    with pytest.raises(UsageError, match=r"gold\.level can't be mapped"):
        read(rows, mapping={"gold.level": "level"}, gold=golds)
    [error] = read(rows, mapping=mapping | {"gold.answer": "labels"}, gold=golds)
    assert "'labels', mapped to gold.answer, not found" in str(error)


def test_a_row_without_a_gold_without_an_id_or_with_two_golds_is_an_error_and_the_others_are_read(write):
    rows = write(
        *({"id": id, "prompt": "p", "completion": "c"} for id in ("a", "none", "twice", "same", "odd", "b")),
        {"prompt": "p", "completion": "c"},
        {"id": float("nan"), "prompt": "q", "completion": "c"},
    )
    golds = write(
        *({"id": id, "answer": "1"} for id in ("a", "b", "twice", "same", "same")),
        {"id": "twice", "answer": "2"},
        {"id": "odd", "answer": {"text": ["x"]}},
        "broken\n",
        {"answer": "nobody's"},
        name="golds.jsonl",
    )
    reader = read(rows, gold=golds)
    found = list(reader)
    assert [item.id for item in found if isinstance(item, Group)] == ["a", "same", "b"]
    told = {error.line: str(error) for error in found if isinstance(error, SchemaError)}
    assert told.keys() == {2, 3, 5, 7, 8}
    assert "golds.jsonl has no gold answer for the id 'none'" in told[2]
    assert "another gold for the id 'twice' than in" in told[3]
    assert "golds.jsonl:3" in told[3]
    assert "golds.jsonl:7" in told[5]
    assert "the row has no id to find its gold answer" in told[7]
    assert "the row has no id to find its gold answer" in told[8]
    assert "golds.jsonl:8: invalid JSON" in reader.notes[0]
    assert "2 rows of" in reader.notes[0]


def test_golds_without_a_single_id_or_file_are_refused_and_without_answers_noted(write, tmp_path):
    rows = write({"id": "1", "prompt": "p", "completion": "c"})
    with pytest.raises(UsageError, match="can't be read"):
        list(read(rows, gold=tmp_path / "absent"))
    with pytest.raises(UsageError, match="id is missing") as caught:
        list(read(rows, gold=write({"answer": "a"}, name="g.jsonl")))
    assert "--map gold.id=KEY, one of answer" in caught.value.hint
    reader = read(rows, gold=write({"id": "1", "right": "a"}, name="h.jsonl"))
    assert isinstance(next(reader), Group)
    assert "--map gold.answer=KEY, one of 'id', 'right'" in reader.notes[0]


def test_candidates_of_one_prompt_on_rows_of_their_own_are_still_one_group(write):
    rows = write(*({"id": "q", "prompt": "p", "completion": str(n)} for n in range(3)))
    [group] = read(rows, gold=write({"id": "q", "answer": "1"}, name="golds.jsonl"))
    assert (group.completions, group.answer) == (["0", "1", "2"], "1")
