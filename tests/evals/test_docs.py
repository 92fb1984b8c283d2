import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conftest import examples

pytest.importorskip("lm_eval")

from tests.evals.scripted import ROWS, write
from verikit.errors import SchemaError, UsageError
from verikit.evals.data import load, of_task, read_docs
from verikit.evals.docs import KINDS, choice_doc, math_doc, process_doc, qa_doc, redux_doc

NAMES = (
    "question problem answer solution options choices target input prompt text steps label id turns output instruction "
    "test entry_point final_answer config level"
).split()
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)


@settings(max_examples=examples(400), deadline=None)
@given(st.sampled_from(sorted(KINDS)), st.dictionaries(st.sampled_from(NAMES), VALUES, max_size=7))
def test_any_row_becomes_a_document_or_a_schema_error(kind, row):
    try:
        doc = KINDS[kind](row)
    except SchemaError:
        return
    assert isinstance(doc["id"], str)
    assert isinstance(doc["question"], str)
    assert all(isinstance(gold, str) for gold in doc["answer"])
    json.dumps(doc)


@pytest.mark.parametrize(
    ("row", "answer"),
    [
        ({"question": "?", "answer": "9 * 2 = <<9*2=18>>18\n#### 18"}, ["18"]),
        ({"problem": "?", "solution": "first \\boxed{1}, so \\boxed{\\frac{1}{2}}"}, ["\\frac{1}{2}"]),
        ({"question": "?", "answer": 27.0}, ["27"]),
        ({"question": "?", "final_answer": ["3", "4"]}, ["3", "4"]),
        ({"question": "?", "solution": "no box"}, []),
    ],
)
def test_golds_of_mathematics_are_read_from_their_published_places(row, answer):
    assert math_doc(row)["answer"] == answer


@pytest.mark.parametrize("gold", ["B", "(b)", "b.", 1, "two"])
def test_a_choices_gold_is_a_letter_an_index_or_an_options_text(gold):
    assert choice_doc({"question": "?", "options": ["one", "two"], "answer": gold})["answer"] == ["B"]


@pytest.mark.parametrize("gold", ["C", 2, -1, "three", True])
def test_a_gold_that_is_none_of_the_options_is_none(gold):
    assert choice_doc({"question": "?", "options": ["one", "two"], "answer": gold})["answer"] == []


def test_gpqas_right_answer_moves_with_the_question_and_stays_with_the_row():
    letters = set()
    for n in range(20):
        row = ROWS["gpqa"][0] | {"Question": f"Which {n}?"}
        doc = choice_doc(row)
        assert doc["options"]["ABCD".index(doc["answer"][0])] == "tin"
        assert choice_doc(row) == doc
        letters |= set(doc["answer"])
    assert letters == set("ABCD")


def test_aliases_are_accepted_answers():
    assert qa_doc(ROWS["musique"][0])["answer"] == ["1993", "in 1993"]
    assert qa_doc({"question": "?", "golden_answers": ["a", "b"]})["answer"] == ["a", "b"]


def test_a_process_row_with_a_label_outside_its_steps_is_refused():
    with pytest.raises(SchemaError, match="expected an index of one of the 1 steps or -1, got 1"):
        process_doc({"problem": "?", "steps": ["a"], "label": 1})


def test_rows_without_ids_and_rows_that_share_one_are_told_apart_by_line(tmp_path):
    rows = [{"question": "a?", "answer": "1"}, {"id": "x", "question": "b?", "answer": "1"}]
    docs = read_docs(write(tmp_path / "rows.jsonl", [*rows, rows[1]]), "math")
    assert [doc["id"] for doc in docs] == ["row-1", "x", "row-3"]


def test_parquet_and_gzip_are_read_as_json_lines_are(tmp_path):
    import gzip

    import datasets

    rows = [{"problem": f"{n}?", "answer": str(n)} for n in range(3)]
    plain = read_docs(write(tmp_path / "rows.jsonl", rows), "math")
    (tmp_path / "rows.jsonl.gz").write_bytes(gzip.compress((tmp_path / "rows.jsonl").read_bytes()))
    datasets.Dataset.from_list(rows).to_parquet(str(tmp_path / "rows.parquet"))
    assert read_docs(str(tmp_path / "rows.jsonl.gz"), "math") == plain
    assert read_docs(str(tmp_path / "rows.parquet"), "math") == plain


def test_the_file_of_a_task_is_its_own_its_groups_or_the_one_for_all():
    files = {"": "all", "verikit_mmlu_pro": "group", "verikit_mmlu_pro_law": "own"}
    assert of_task(files, "verikit_mmlu_pro_law") == "own"
    assert of_task(files, "verikit_mmlu_pro_math") == "group"
    assert of_task(files, "verikit_gsm8k") == "all"
    assert of_task({"verikit_m": "x"}, "verikit_math500") is None


def test_a_hub_that_cant_be_reached_says_what_to_do(monkeypatch):
    import datasets

    def unreachable(*arguments, **options):
        raise ConnectionError("no network")

    monkeypatch.setattr(datasets, "load_dataset", unreachable)
    with pytest.raises(Exception, match="can't load the dataset nobody/nothing") as raised:
        load(kind="math", task="verikit_x", hub={"path": "nobody/nothing", "split": "test"})
    assert "--data FILE" in raised.value.hint


REDUX = ROWS["mmlu_redux"][0]


@pytest.mark.parametrize("label", ["OK", "okay", "wrong_ground_truth", "bad_question", 1])
def test_a_label_that_mmlu_redux_has_not_is_refused_rather_than_left_out(label):
    with pytest.raises(SchemaError, match="expected one of") as error:
        redux_doc({**REDUX, "error_type": label})
    assert error.value.field == "error_type"


@pytest.mark.parametrize("label", ["bad_question_clarity", "no_correct_answer", "expert"])
@pytest.mark.parametrize("answer", [None, ""])
def test_a_row_that_does_not_count_needs_no_gold(label, answer):
    assert redux_doc({**REDUX, "error_type": label, "answer": answer})["counted"] == "no"
    with pytest.raises(SchemaError):
        redux_doc({**REDUX, "answer": answer})


def test_options_in_a_table_of_text_are_the_list_that_is_written_there():
    for text in ("['4', '6', '7', '8']", '["4", "6", "7", "8"]', "[4, 6, 7, 8]"):
        doc = redux_doc({**REDUX, "choices": text, "answer": "2"})
        assert (doc["options"], doc["answer"]) == (["4", "6", "7", "8"], ["C"])
    for text in ("abcd", "['4' '6' '7' '8']", "[" * 50_000, "{'a', 'b', 'c', 'd'}", "('a', 'b', 'c', 'd')"):
        with pytest.raises(SchemaError):
            redux_doc({**REDUX, "choices": text})


def test_all_bad_rows_of_a_file_are_named_together(tmp_path):
    path = tmp_path / "rows.jsonl"
    good, unanswered = {"problem": "1 + 1", "answer": "2"}, {"problem": "2 + 2"}
    path.write_text("\n".join([json.dumps(good), json.dumps(unanswered), "{bad", json.dumps(unanswered)]) + "\n")
    with pytest.raises(UsageError) as raised:
        read_docs(str(path), "math")
    assert [f"rows.jsonl:{line}:" in str(raised.value) for line in (1, 2, 3, 4)] == [False, True, True, True]


def test_an_empty_answer_is_not_reported_as_a_missing_column(tmp_path):
    with pytest.raises(SchemaError, match="field 'answer': is empty"):
        read_docs(write(tmp_path / "rows.jsonl", [{"problem": "1 + 1", "answer": None}]), "math")
