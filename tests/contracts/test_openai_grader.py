"""`verikit adapter write openai-grader`: what is written grades as the spec does, and nothing else is written."""

import json
import random

import pytest
from click.testing import CliRunner

from tests.judges.scripted import Scripted, asked
from verikit.adapters.openai_grader import grader_of, written
from verikit.cli import cli
from verikit.errors import UsageError
from verikit.graders.formula import FUNCTIONS
from verikit.graders.schema import read_grader
from verikit.judges import Pointwise, Reference, Rubric
from verikit.judges.graders import OpenAIGrader
from verikit.names.spec import load
from verikit.types import Sample

WORDS = ["Paris", " Paris\n", "paris", "The capital of France is Paris.", "", "a b  c\nd", "Rome"]
CHECK = (
    "openai_grader({'type': 'string_check', 'operation': 'ilike', 'input': '{{sample.output_text}}',"
    " 'reference': '{{item.answer}}'})"
)
MULTI = (
    "openai_grader({'type': 'multi', 'graders': {'a': {'type': 'string_check', 'operation': 'eq', 'input': "
    "'{{sample.output_text}}', 'reference': '{{item.answer}}'}, 'min_b': {'type': 'string_check', 'operation': 'like', "
    "'input': '{{sample.output_text}}', 'reference': 'a'}}, 'calculate_output': 'min(a, 1) - 0.5 * min_b'})"
)
SPECS = [
    "exact('none', extract='whole')",
    "length(max=9)",
    "length(min=2, max=4, unit='words')",
    "length(min=2, unit='lines')",
    "0.9*exact('none', extract='whole') + 0.1*length(max=9)",
    "-0.5*length(max=9) + 1e-7*exact('none', extract='whole')",
    "mean(exact('none', extract='whole'), length(max=9), 0.25)",
    "minimum(length(max=9), 0.5*exact('none', extract='whole') + 0.25*length(min=5))",
    "clip(maximum(length(max=9), 2*exact('none', extract='whole')), 0.1, 1.5)",
    CHECK,
    MULTI,
    f"0.5*{MULTI} + 0.5*{MULTI} + {CHECK}",
]


@pytest.mark.parametrize("spec", SPECS)
def test_a_written_grader_grades_as_the_spec_does(spec):
    verifier, read = load(spec), OpenAIGrader(json.loads(written(load(spec))))
    samples = [Sample("q", text, gold) for text in WORDS for gold in ("Paris", ("Rome", "Paris"))]
    if "openai_grader" in spec:
        samples = [sample for sample in samples if isinstance(sample.answer, str)]
    there, here = read.score(samples), verifier.score(samples)
    assert [score.value for score in there] == pytest.approx([score.value for score in here], abs=1e-12)
    assert len({score.value for score in here}) > 1


@pytest.mark.parametrize(
    "spec",
    ["answer", "exact", "f1", "all_of(length(max=9), length(min=2))", "0.5*answer + 0.5*length(max=9)",
     "gate(length, length)", "rubric('replay:/dev/null')",
     "judge('replay:/dev/null', 'rating-token')", "pairwise('replay:/dev/null')",
     "length(max=9, reads='thoughts')", "rouge(reads='all')", "judge('replay:/dev/null', reads='all')",
     "reference_judge('replay:/dev/null', reads='thoughts')", "rouge(extract='boxed')",
     "exact('none', extract='whole', reads='all')", CHECK[:-1] + ", reads='thoughts')"],
)  # fmt: skip
def test_what_no_grader_can_say_is_refused_by_name(spec):
    with pytest.raises(UsageError, match="can't be exported"):
        written(load(spec))


def part(name, operation):
    grader = {"type": "string_check", "operation": operation, "input": "{{sample.output_text}}", "reference": "Paris"}
    return grader | {"name": name}


def test_a_grader_with_a_functions_name_is_renamed_and_the_function_is_not():
    graders = {name: part(name, op) for name, op in (("max", "eq"), ("b", "like"), ("min", "ne"))}
    multi = OpenAIGrader({"type": "multi", "graders": graders, "calculate_output": "max(max, b) - 0.5 * min(min, 2)"})
    both = 0.5 * multi + 0.5 * load("length(max=9)")
    read = OpenAIGrader(json.loads(written(both)))
    assert not set(read.spec.graders) & set(FUNCTIONS)
    values = [both(text).value for text in WORDS]
    assert [read(text).value for text in WORDS] == pytest.approx(values)
    assert len(set(values)) > 2


@pytest.mark.parametrize("name", ["My grader", "2nd", "größe", "a-b", "a.b", "", "exact", "string_check_2", "_"])
def test_a_grader_of_any_name_can_stand_in_a_sum(name):
    alone = OpenAIGrader(part(name, "like"))
    both = 0.5 * alone + 0.25 * OpenAIGrader(part(name, "eq")) + 0.125 * load("exact('none', extract='whole')")
    both = both + 0.0625 * OpenAIGrader(part("a_b_2", "ne")) + 0.03125 * OpenAIGrader(part(name, "ne"))
    read = OpenAIGrader(json.loads(written(both)))
    assert len(read.spec.graders) == 5
    for text in WORDS:
        assert read(text, "Paris").value == pytest.approx(both(text, "Paris").value)


def test_a_function_of_a_verifiers_name_is_no_such_verifier():
    from verikit import verifier

    for name in ("length", "exact", "rubric", "judge", "openai_grader", "rouge", "reference_judge"):
        own = verifier(lambda sample: 1.0, name=name)
        with pytest.raises(UsageError, match=f"{name} can't be exported"):
            written(0.5 * own + 0.5 * load("length(max=9)"))


def result(request, value):
    return json.dumps({"steps": [], "result": value})


def test_a_judge_becomes_a_model_grader_of_the_same_value():
    for rating in (1, 4, 10):
        ours = Pointwise(Scripted(lambda _, rating=rating: f"[[{rating}]]"))
        theirs = OpenAIGrader(grader_of(ours), Scripted(lambda request, rating=rating: result(request, rating)))
        assert theirs("text", "gold", prompt="q").value == pytest.approx(ours("text", prompt="q").value)
    for label in ("True", "False"):
        ours = Reference(Scripted(lambda _, label=label: label))
        theirs = OpenAIGrader(grader_of(ours), Scripted(lambda request, label=label: result(request, label)))
        assert theirs("text", "gold", prompt="q").value == ours("text", "gold", prompt="q").value


RUBRIC = [
    {"criterion": "names iron", "points": 5},
    {"criterion": "names zinc", "points": 3},
    {"criterion": "names lead", "points": -4},
    {"criterion": "names gold", "points": 2, "negate": True},
]


def test_a_rubric_becomes_a_grader_for_each_criterion():
    def ours(request):
        from tests.judges.test_rubric import names

        return names(request)

    def theirs(request):
        text = asked(request)
        word = text.split("1. names ")[1].split()[0]
        answer = text.split("<output_text ")[1].split("</output_text")[0]
        return result(request, "met" if word in answer else "not met")

    rng = random.Random(0)
    for clip in (True, False):
        rubric = Rubric(Scripted(ours), rubric=RUBRIC, clip=clip)
        grader = OpenAIGrader(grader_of(rubric), Scripted(theirs))
        texts = [" ".join(w for w in ("iron", "zinc", "lead", "gold") if rng.random() < 0.5) for _ in range(12)]
        samples = [Sample("q", text, "gold") for text in texts]
        there, here = grader.score(samples), rubric.score(samples)
        assert [score.value for score in there] == pytest.approx([score.value for score in here])


@pytest.mark.parametrize("on_missing", ["low", "high"])
def test_a_rubric_that_scores_criteria_without_a_verdict_is_refused(on_missing):
    with pytest.raises(UsageError, match="on_missing"):
        grader_of(Rubric(Scripted(lambda _: ""), rubric=RUBRIC, on_missing=on_missing))


TREE = {
    "id": "root", "requirements": "The paper is reproduced", "weight": 1, "sub_tasks": [
        {"id": "a", "requirements": "The first method", "weight": 1, "sub_tasks": [
            {"id": "aa", "requirements": "It was trained for 10 epochs", "weight": 2, "sub_tasks": []},
        ]},
        {"id": "b", "requirements": "The second method", "weight": 3, "sub_tasks": [
            {"id": "ba", "requirements": "It was trained for 10 epochs", "weight": 1, "sub_tasks": []},
        ]},
    ],
}  # fmt: skip


@pytest.mark.parametrize("prompt", ["rubric", "rubric-healthbench"])
def test_a_criterion_is_shown_as_the_rubric_shows_it_with_what_it_is_a_part_of(prompt):
    ours = Scripted(lambda _: '```json\n{"criteria_met": true}\n```')
    rubric = Rubric(ours, prompt, rubric=TREE, per_call=1, probe=0)
    rubric("text", prompt="q")
    shown = [asked(request).split("<criteria ")[1].split("\n")[1] for request in ours.requests]
    graders = grader_of(rubric)["graders"].values()
    assert [grader["input"][-1]["content"].split("<criteria ")[1].split("\n")[1] for grader in graders] == shown
    assert [parent in text for parent, text in zip(("first", "second"), shown, strict=True)] == [True, True]


PYTHON = {"type": "python", "name": "p", "source": "def grade(sample, item): return 1.0", "image_tag": "2025-05-08"}
SCORE = {
    "type": "score_model",
    "name": "s",
    "model": "o4-mini",
    "input": [{"role": "developer", "content": "Grade {{sample.output_text}}"}],
    "range": [1.0, 5.0],
    "pass_threshold": 3.0,
    "sampling_params": {"reasoning_effort": "high", "max_completions_tokens": 99},
}
PLAIN = {key: value for key, value in SCORE.items() if key != "sampling_params"}


@pytest.mark.parametrize("grader", [PYTHON, SCORE, PLAIN, {**SCORE, "sampling_params": {"seed": 1, "top_p": 0.5}}])
def test_a_grader_that_is_read_and_written_again_keeps_its_name_and_its_parts(grader):
    named = {**grader, "name": "My grader"}
    multi = {"type": "multi", "name": "all of it", "graders": {"a": {**grader, "name": "a"}, "b": part("b", "eq")},
             "calculate_output": "0.5*a + b", "pass_threshold": 0.5}  # fmt: skip
    for told in (named, multi):
        assert json.loads(written(OpenAIGrader(told, Scripted(lambda _: "")))) == told


@pytest.mark.parametrize("grader", [PYTHON, SCORE, PLAIN])
def test_a_grader_that_is_read_and_written_again_keeps_what_it_says(grader):
    assert grader_of(OpenAIGrader(grader, Scripted(lambda _: ""))) == grader
    both = grader_of(0.5 * OpenAIGrader(grader, Scripted(lambda _: "")) + 0.5 * load(CHECK))
    assert grader in both["graders"].values()


def test_each_file_has_a_mark_of_its_own():
    judge = Pointwise(Scripted(lambda _: "[[5]]"))
    first, second = (grader_of(judge)["graders"]["rating"]["input"][0]["content"] for _ in range(2))
    assert first != second
    assert "{{sample.output_text}}" in first


def test_the_command_writes_json_that_is_a_spec(tmp_path):
    path = tmp_path / "grader.json"
    done = CliRunner().invoke(cli, ["adapter", "write", "openai-grader", SPECS[4], "-o", str(path)])
    assert done.exit_code == 0, done.output
    assert read_grader(json.loads(path.read_text())).type == "multi"
    assert load(str(path))("Paris", "Paris").value == 1.0
