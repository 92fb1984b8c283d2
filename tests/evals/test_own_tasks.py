"""A task file of one's own, as docs/eval.md tells it: columns found or named, answers of any form, checked at once."""

import json

import pytest

pytest.importorskip("lm_eval")

from tests.evals.scripted import Scripted, write
from verikit.errors import SchemaError, UsageError
from verikit.evals.columns import Columns
from verikit.evals.lm import EngineLM
from verikit.evals.loading import Settings, read_task
from verikit.evals.run import run_tasks

TASK = """\
task: mine
dataset_path: json
dataset_kwargs: {{data_files: {{test: {data}}}}}
test_split: test
output_type: generate_until
doc_to_text: "{{{{{question}}}}}"
doc_to_target: ""
generation_kwargs: {{until: [], max_gen_toks: 64}}
process_results: !function verikit.evals.grade.results
filter_list:
  - name: verikit
    filter:
      - function: !function verikit.evals.grade.Graded
        metrics: {{acc: answer}}
"""


def evaluated(tmp_path, rows, engine, question="question", **settings):
    data, file = write(tmp_path / "rows.jsonl", rows), tmp_path / "mine.yaml"
    file.write_text(TASK.format(data=data, question=question))
    results = run_tasks([str(file)], "scripted", EngineLM(engine), Settings(**settings), tmp_path / "run")
    (task,) = results["tasks"].values()
    return task


def added(request):
    """The right answer to a sum."""
    numbers = str(request.prompt if isinstance(request.prompt, str) else request.prompt[-1].content).split("+")
    return f"\\boxed{{{sum(map(int, numbers))}}}"


@pytest.mark.parametrize("gold", ["380", ["380"], 380, ["three hundred", "380"]])
def test_an_answer_may_be_a_text_a_number_or_a_list(gold, tmp_path):
    assert (
        evaluated(tmp_path, [{"question": "300 + 80", "answer": gold}], Scripted(added))["metrics"]["acc"]["value"]
        == 1.0
    )


def test_a_text_is_one_answer_and_its_letters_are_none(tmp_path):
    found = evaluated(tmp_path, [{"question": "300 + 80", "answer": "380"}], Scripted(lambda _: "\\boxed{8}"))
    assert found["metrics"]["acc"]["value"] == 0.0


def test_columns_have_their_usual_names_or_those_given(tmp_path):
    rows = [{"ask": f"{i} + 1", "problem": "", "label": str(i + 1)} for i in range(3)]
    named = {"question": "ask", "answer": "label"}
    found = evaluated(tmp_path, rows, Scripted(added), question="ask", columns=named)
    assert found["metrics"]["acc"]["value"] == 1.0
    samples = [json.loads(line) for line in (tmp_path / "run/samples_mine.jsonl").read_text().splitlines()]
    assert [row["doc"] for row in samples] == rows


def test_a_missing_column_is_told_before_anything_is_asked(tmp_path):
    engine = Scripted(added)
    rows = [{"question": "1 + 1", "answer": "2"}, {"question": "1 + 2", "answer": "3"}]
    with pytest.raises(SchemaError, match=r"mine:1: no column 'label' for the answer. Available: 'answer', 'question'"):
        evaluated(tmp_path, rows, engine, columns={"answer": "label"})
    with pytest.raises(SchemaError, match=r"mine:1: no column contains the answer.*"):
        evaluated(tmp_path, [{"question": "1 + 1", "sum": "2"}], engine)
    with pytest.raises(SchemaError, match=r"mine:2: field 'answer': an answer must be a string, a number.*got list"):
        evaluated(tmp_path, [{"question": "1", "answer": [["1"]] * i} for i in range(2)], engine)
    with pytest.raises(UsageError, match="field 'gold' of --map not found"):
        evaluated(tmp_path, rows, engine, columns={"gold": "label"})
    assert not engine.calls


def test_a_document_without_an_id_is_told_by_its_row():
    columns = Columns()
    assert columns.read({"question": "?", "answer": None}, 4) == {"question": "?", "answer": [], "id": "row-5"}
    assert columns.read({"problem": "?", "gold": 2.5, "uuid": "x"}, 0)["id"] == "x"
    assert Columns({"answer": "", "id": "n"}).read({"question": "?", "n": 7}, 0)["answer"] == []


def test_the_file_of_another_task_is_refused_by_name(tmp_path):
    letters = [{"question": "Which?", "options": ["one", "two"], "answer": letter} for letter in "AB"]
    names = [{"question": "Who?", "answer": "Marie Curie"}]
    for rows in (letters, names):
        data = write(tmp_path / "rows.jsonl", rows)
        with pytest.raises(
            UsageError, match=r"the rows have no gold answers of the task's form \(math\). First rows: \['"
        ):
            run_tasks(["verikit_math500"], "s", EngineLM(Scripted(added)), Settings(data=data), tmp_path / "run")
    data = write(tmp_path / "rows.jsonl", [{**row, "answer": "Z"} for row in letters])
    with pytest.raises(UsageError, match="the rows have no gold answers"):
        run_tasks(["verikit_mmlu_pro_math"], "s", EngineLM(Scripted(added)), Settings(data=data), tmp_path / "run")


WHOLE = "task: x\ndataset_path: hub/rows\ndoc_to_text: a\ndoc_to_target: b\n"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("task: x\n", "lacks the key 'dataset_path'"),
        ("task: x\ndataset_path: d\ndoc_to_text: a\n", "lacks the key 'doc_to_target'"),
        ("group: g\n", "lacks the key 'task'"),
        (WHOLE + "filter_list: 5\n", "has an invalid 'filter_list'"),
        (WHOLE + "metadata: 5\n", "has no table of settings in 'metadata'"),
        (WHOLE.replace("hub/rows", "json"), "lacks the key 'dataset_kwargs'"),
        ("", "can't read the task file"),
        ("[]", "can't read the task file"),
        ("a: [", "can't read the task file"),
    ],
)
def test_a_task_file_that_lacks_something_is_a_usage_error_that_names_it(text, problem, tmp_path):
    file = tmp_path / "mine.yaml"
    file.write_text(text)
    with pytest.raises(UsageError, match=problem):
        read_task(str(file))
    file.write_text(WHOLE)
    (tmp_path / "part.yaml").write_text("include: mine.yaml\ntask: y\n")
    assert read_task(str(tmp_path / "part.yaml"))["task"] == "y"


@pytest.mark.parametrize("name", ["a" * 400, "verikit_" + "a" * 400, "x\0y", "README.md"])
def test_a_name_that_can_be_no_task_is_a_usage_error(name):
    with pytest.raises(UsageError, match=r"not found|not a task's"):
        read_task(name)


OWN = """\
from verikit import Sample, verifier


@verifier
def near(sample: Sample) -> float:
    return float(abs(float(sample.completion) - float(sample.answer[0])) < 2)
"""


@pytest.mark.parametrize("folder", ["task", "ma tâche", "50%20off"])
def test_a_task_its_verifier_and_its_rows_can_be_copied_as_one_folder(folder, tmp_path, monkeypatch):
    (tmp_path / folder).mkdir()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / folder / "own.py").write_text(OWN)
    write(tmp_path / folder / "rows.jsonl", [{"question": str(i), "answer": str(i)} for i in range(4)])
    task = TASK.format(data="rows.jsonl", question="question").replace(
        "acc: answer", "acc: '0.5*own.py:near + 0.5*exact'"
    )
    (tmp_path / folder / "mine.yaml").write_text(task)
    monkeypatch.chdir(tmp_path / "elsewhere")

    def accuracy(settings, out):
        results = run_tasks(
            [f"../{folder}/mine.yaml"], "scripted", EngineLM(Scripted(lambda _: "2")), settings, tmp_path / out
        )
        return results["tasks"]["mine"]["metrics"]["acc"]["value"]

    assert accuracy(Settings(), "a") == 0.5
    assert str(tmp_path) not in (tmp_path / "a/results_lm_eval.json").read_text()
    write(tmp_path / "elsewhere/other.jsonl", [{"question": "2", "answer": "2"}])
    assert accuracy(Settings(data="other.jsonl"), "b") == 1.0
    assert accuracy(Settings(data={"mine": "other.jsonl"}), "c") == 1.0
    assert accuracy(Settings(data={"verikit_gsm8k": "other.jsonl"}), "d") == 0.5
