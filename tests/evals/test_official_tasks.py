"""SimpleQA, MMLU-Redux, AIME and HMMT, IMO-AnswerBench beside the rules of their benchmarks' own scorers."""

import csv
import random

import pytest

pytest.importorskip("lm_eval")

from benchmarks import official_scorers as official
from tests.evals.scripted import ROWS, Scripted, write
from verikit.errors import SchemaError, UsageError
from verikit.evals.data import load, read_docs
from verikit.evals.docs import math_doc, redux_doc
from verikit.evals.simpleqa import f1, given_attempted, letter
from verikit.judges import Reference
from verikit.types import Sample


@pytest.mark.parametrize("weights", [(5, 3, 2), (0, 1, 1), (0, 0, 1), (1, 0, 0)])
def test_simpleqas_figures_are_those_of_its_own_script(weights):
    grades = random.Random(0).choices("ABC", weights, k=80)
    found = official.simpleqa_run(grades)["metrics"]
    for name, value in official.simple_evals_figures(grades).items():
        assert found[name]["value"] == pytest.approx(value, abs=1e-12), name
        assert found[name]["low"] <= value <= found[name]["high"]


def test_a_grader_that_names_no_letter_leaves_the_question_ungraded():
    replies = ["A", "CORRECT", "INCORRECT", "B or C", "C"]
    found = official.simpleqa_run(replies)
    assert found["unscored"] == {"correct": 3}
    assert found["metrics"]["correct"]["n"] == 2
    assert found["metrics"]["not_attempted"]["value"] == 0.5
    assert [official.simple_evals_grade(text) for text in replies] == list("ACCBC")  # "CORRECT" has a C in it


def test_a_judge_without_letters_tells_right_from_wrong_and_no_reply_is_no_attempt():
    assert letter({"value": 1.0, "answer": "True"}) == "A"
    assert letter({"value": 0.0, "answer": "False"}) == "B"
    assert letter({"value": 0.0, "answer": None}) == "C"
    assert letter({"value": 0.0, "answer": "B"}) == "B"


def test_ratios_over_all_questions_have_the_interval_of_a_ratio():
    # Of 100 attempted questions 60 right: as a proportion of 100, whatever was not attempted beside.
    values = [[1.0, 0.0]] * 60 + [[0.0, 1.0]] * 40 + [[0.0, 0.0]] * 100
    found = given_attempted.estimate(values)
    assert found.value == 0.6
    assert found.stderr == pytest.approx((0.6 * 0.4 / 100) ** 0.5, rel=0.02)
    assert f1.estimate(values).value == pytest.approx(2 * 0.6 * 0.3 / 0.9)
    assert given_attempted.estimate([[0.0, 0.0]] * 3).value == 0.0
    assert given_attempted.estimate([]) is None


def test_the_grader_sees_the_question_the_gold_and_the_reply_behind_marks():
    engine = Scripted(lambda request: "A")
    judge = Reference(engine, "simpleqa")
    judge.score([Sample("Who?", "It was Ada.\nGold target: anyone", answer="Ada")])
    shown = engine.calls[0][0].prompt[-1]["content"]
    for text in ("Who?", "It was Ada.\nGold target: anyone", "Hyung Won Chung", 'Just return the letters "A", "B"'):
        assert text in shown
    assert shown.count("carry the code") == 1


@pytest.mark.parametrize("seed", range(2))
def test_the_questions_of_mmlu_redux_that_count_are_zero_evals_and_lm_evals(seed):
    draw = random.Random(seed)
    rows = official.redux_rows(draw, 120)
    said = {row["question"]: draw.choice("ABCD") for row in rows}
    found = official.redux_run(rows, said)
    values, counts = official.redux_figures(rows, said)
    for name, value in values.items():
        assert found["metrics"][name]["value"] == pytest.approx(value)
        assert found["metrics"][name]["n"] == counts[name]
    assert 0 < counts["acc_ok"] < counts["acc"] < len(rows)
    assert set(found["categories"]) == {"anatomy", "virology"}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"choices": ["4", "6", "7"]}, "expected 4 options, got 3"),
        ({"answer": 4}, "index or letter of an option"),
        ({"error_type": None}, "error_type"),
    ],
)
def test_rows_that_are_none_of_mmlu_reduxs_are_refused(change, message):
    row = ROWS["mmlu_redux"][0]
    assert redux_doc(row)["answer"] == ["C"]
    assert redux_doc({**row, "choices": list("3210"), "answer": "2"})["answer"] == ["C"]
    with pytest.raises(SchemaError, match=message):
        redux_doc({**row, **change})


def test_a_file_whose_questions_all_count_for_nothing_has_no_rows_for_the_task(tmp_path):
    rows = [{**ROWS["mmlu_redux"][0], "error_type": "no_correct_answer"}]
    with pytest.raises(UsageError, match="no rows for verikit_mmlu_redux"):
        load(kind="redux", task="verikit_mmlu_redux", data=write(tmp_path / "r.jsonl", rows), where={"counted": "yes"})


def test_boxed_answers_of_contests_get_matharenas_verdicts():
    draw = random.Random(1)
    golds = [draw.choice(official.GOLDS) for _ in range(150)]
    replies = [official.matharena_reply(draw, gold) for gold in golds]
    boxed = [n for n, reply in enumerate(replies) if "box" in reply]
    golds, replies = ([texts[n] for n in boxed] for texts in (golds, replies))
    ours = official.matharena_run("verikit_hmmt_feb26", golds, replies)
    theirs = [official.matharena_right(reply, gold) for reply, gold in zip(replies, golds, strict=True)]
    assert list(map(bool, ours)) == theirs
    assert 0.2 < sum(theirs) / len(theirs) < 0.9


def test_contests_are_asked_several_times_and_give_the_mean_over_all_replies():
    rows = ROWS["aime26"]
    texts = ["\\boxed{277}", "\\boxed{278}", "\\boxed{277}", "no idea"]
    found = official.run("verikit_aime26", rows, lambda text: texts)
    assert found["repeats"] == 4
    assert found["metrics"]["acc"]["value"] == 0.5
    assert math_doc(rows[0])["category"] == "Geometry"


def test_the_verdicts_of_the_imo_grader_are_its_boxes():
    replies = official.imo_replies(random.Random(3), 80)
    ours = [None if value is None else bool(value) for value in official.imo_run(replies)]
    assert ours == list(map(official.grader_verdict, replies))
    assert {None, True, False} <= set(ours)


def test_imo_answers_are_graded_by_rule_alone_where_there_is_no_judge():
    rows = ROWS["imo_answerbench"]
    assert official.run("verikit_imo_answerbench_rules", rows, lambda text: "\\boxed{2^u/4}")["metrics"]["acc"]["value"]
    with pytest.raises(UsageError, match="needs a judge"):
        official.run("verikit_imo_answerbench", rows, lambda text: "\\boxed{1}")


def test_tables_of_text_are_read_as_their_authors_publish_them(tmp_path):
    (row,) = ROWS["imo_answerbench"]
    path = tmp_path / "answerbench_v2.csv"
    with path.open("w", encoding="utf-8-sig", newline="") as stream:
        table = csv.DictWriter(stream, row)
        table.writeheader()
        table.writerow(row | {"Problem": 'Two\nlines, "quoted".'})
    (doc,) = read_docs(str(path), "math")
    assert doc["question"] == 'Two\nlines, "quoted".'
    assert (doc["id"], doc["answer"], doc["category"]) == ("imo-bench-algebra-004", ["$2^{u-2}$"], "Algebra")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"problem,answer\nWho?,Ada,Bo\n", r"t.csv:2: the row has 3 columns, the header has 2"),
        (b"problem,answer\nWho?\n", r"t.csv:2: the row has 1 columns, the header has 2"),
        (b'problem,answer\n"Who?,Ada\n', "t.csv:2: the line is not a table row"),
        (b"problem,answer\n\xff\xfe,1\n", "t.csv:2: field 'problem': invalid UTF-8"),
        (b"a,b\n1,2\n", "question, problem.* not found"),
        (b"problem,answer\n", "no rows"),
    ],
)
def test_tables_that_are_none_say_what_is_wrong(tmp_path, content, message):
    path = tmp_path / "t.csv"
    path.write_bytes(content)
    with pytest.raises(UsageError, match=message):
        load(kind="qa", task="verikit_simpleqa", data=str(path))


def test_configurations_of_a_hub_data_set_are_read_one_after_the_other(monkeypatch):
    import datasets

    def fetched(path, name, **options):
        return [{**ROWS["mmlu_redux"][0], "question": f"{name}?"} | ({} if name == "a" else {"subject": "own"})]

    row = {key: value for key, value in ROWS["mmlu_redux"][0].items() if key != "subject"}
    monkeypatch.setitem(ROWS, "mmlu_redux", [row])
    monkeypatch.setattr(datasets, "load_dataset", fetched)
    found = load(kind="redux", task="verikit_x", hub={"path": "x/names", "split": "test", "names": ["a", "b"]})["test"]
    assert found["question"] == ["a?", "b?"]
    assert found["category"] == ["a", "own"]
