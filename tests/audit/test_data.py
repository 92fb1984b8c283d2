"""What an audit finds in data alone: golds and twins; the sound rows beside them are left alone."""

import pytest

from verikit.audit import audit
from verikit.errors import UsageError

SOUND = [
    {"problem": "What is 2 + 3 times 7?", "answer": "23", "solution": r"It is $2+21=\boxed{23}$."},
    {"problem": "Solve $x^2=4$ for all real $x$.", "answer": "-2, 2", "solution": r"So $x=\boxed{-2, 2}$."},
    {"problem": "Half of a half?", "answer": r"\frac{1}{4}", "solution": r"$\boxed{0.25}$"},
    {"problem": "Is the sum of two odd numbers even or odd?", "answer": "even", "solution": "The answer is even."},
    {"problem": "Where does $f$ grow? Give an interval.", "answer": r"(2,\infty)", "solution": ""},
    {"problem": "Who wrote Faust?", "answer": ["Goethe", "Johann Wolfgang von Goethe"]},
    {"problem": "How many eggs?", "answer": "He has 3 boxes of 6. 3 * 6 = <<3*6=18>>18 eggs.\n#### 18"},
    {"problem": "Which one?", "answer": "B", "options": ["red", "green", "blue"]},
    {"problem": "Which one is it?", "answer": "ash", "options": ["oak", "ash", "elm"]},
    {"problem": "How much is it?", "answer": "$12.50"},
]
FAULTS = {
    "empty": [
        {"answer": ""},
        {"answer": None},
        {"answer": "N/A"},
        {"answer": "[deleted]"},
        {"answer": []},
        {"answer": None, "solution": r"\boxed{5}"},
        {"answer": "TBD"},
        {"answer": "t.b.a."},
        {"answer": "to be announced"},
        {"answer": "none given"},
        {"answer": "Not yet available."},
        {"answer": "(no answer provided)"},
        {"answer": "He has to count them first.\n#### TBD"},
    ],
    "unreadable": [
        {"answer": r"\frac{3}{"},
        {"answer": "Stra\ufffde"},
        {"answer": "12 +"},
        {"answer": r"\boxed{5"},
        {"answer": "???!"},
        {"answer": "$x+1"},
        {"answer": "(3, "},
        {"answer": "He has 3 and 4.\n#### (3, "},
        {"answer": "[1, 2"},
        {"answer": " ".join(["the long story of an answer"] * 20)},
    ],
    "several": [
        {"answer": ["3", "5"]},
        {"answer": "3 or 5"},
        {"answer": r"$3$ or $5$"},
        {"answer": r"First \boxed{3}. No, it is more than that, since we forgot two: \boxed{5}."},
        {"answer": "A, C", "options": ["w", "x", "y", "z"]},
    ],
    "contradiction": [
        {"answer": "24", "solution": r"It is $\boxed{23}$."},
        {"answer": "3 boxes: <<3*6=18>>18\n#### 19"},
        {"answer": "A", "options": ["red", "green"], "solution": "The answer is (B)."},
    ],
    "option": [{"answer": "D", "options": ["red", "green"]}, {"answer": "blue", "options": ["red", "green"]}],
}


@pytest.mark.parametrize(("check", "fault"), [(check, fault) for check, faults in FAULTS.items() for fault in faults])
def test_each_fault_of_a_gold_is_found_alone_and_under_its_name(check, fault, write):
    found = audit(write([*SOUND, {"problem": "What comes out in the end?", **fault}]))
    assert [(finding.check, finding.line) for finding in found.findings] == [(check, len(SOUND) + 1)]


@pytest.mark.parametrize(
    "gold", ["What comes out in the end?", "what comes out in the end", "**What comes out in the end?**"]
)
def test_a_gold_that_is_the_prompt_is_found(gold, write):
    found = audit(write([*SOUND, {"problem": "What comes out in the end?", "answer": gold}]))
    assert [(finding.check, finding.line) for finding in found.findings] == [("prompt", len(SOUND) + 1)]


@pytest.mark.parametrize(
    "row",
    [
        {"problem": "Is it true, false or not given?", "answer": "Not given"},
        {"problem": "Is f differentiable at 0?", "answer": "not differentiable"},
        {"problem": "What does he say?", "answer": "not stated", "options": ["stated", "not stated"]},
        {"problem": "Which half-open interval?", "answer": "[0, 1)"},
        {"problem": "Which set?", "answer": r"\{1, 2\}"},
        {"problem": "Which solutions?", "answer": "no solution"},
        {"problem": "How many are left?", "answer": "none"},
        {"problem": "Which product?", "answer": "TBD", "solution": "T times B times D is TBD."},
    ],
)
def test_answers_that_look_like_missing_ones_are_left_alone(row, write):
    assert audit(write([*SOUND, row])).findings == []


def test_sound_rows_have_no_findings(write):
    found = audit(write(SOUND))
    assert found.findings == []
    assert found.rows == len(SOUND)
    assert found.count("contradiction").rows == 5  # those with a solution
    assert found.count("option").rows == 2


LONG = (
    "A train leaves Ulm at 7 and goes 80 km an hour; another leaves Bonn at 9 and goes 120 km an hour. The towns lie "
    "400 km apart. When do the trains meet?"
)


@pytest.mark.parametrize(
    ("again", "check"),
    [
        (LONG, "duplicate"),
        (LONG.upper().replace(".", " . "), "duplicate"),
        ("Please solve this problem. " + LONG, "near_duplicate"),
        ("Q: " + LONG + " Explain your answer.", "near_duplicate"),
        ("Question 13. " + LONG, "duplicate"),
        (LONG.replace("another leaves", "a second train leaves"), "near_duplicate"),
    ],
)
def test_a_question_that_comes_again_is_found(again, check, write):
    rows = [*SOUND, {"problem": LONG, "answer": "11"}, {"problem": again, "answer": "11"}]
    assert [(found.check, found.line) for found in audit(write(rows)).findings] == [(check, len(rows))]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (LONG, LONG.replace("80", "90")),
        ("Which of these is true?", "Which of these is false?"),
        ("Arrange the letters of the word NINE in all ways.", "Arrange the letters of the word THAT in all ways."),
        ("Find $a-b$ for the $a$ and $b$ above.", "Find $b-a$ for the $a$ and $b$ above."),
        ("Compute $7-3$.", "Compute $3-7$."),
        ("Who was the first president of Peru?", "Who was the first president of Chile?"),
    ],
)
def test_questions_of_one_template_are_two_questions(first, second, write):
    rows = [{"problem": first, "answer": "1"}, {"problem": second, "answer": "2"}]
    assert audit(write(rows)).findings == []


def test_options_belong_to_the_question(write):
    rows = [{"problem": "Which is true?", "answer": "A", "options": [f"it is {word}", "it is not"]} for word in "xyz"]
    assert audit(write(rows)).findings == []


def test_questions_of_another_file_are_leaks_and_the_line_is_told(write):
    rows = [*SOUND, {"problem": LONG, "answer": "11"}]
    train = write([{"problem": "Something else?", "answer": "1"}, {"problem": LONG.lower(), "answer": "11"}], "t.jsonl")
    found = audit(write(rows), against=train)
    assert [(finding.check, finding.line) for finding in found.findings] == [("leak", len(rows))]
    assert "line 2" in found.findings[0].what


def test_bad_rows_are_counted_and_a_file_without_any_row_is_refused(write, tmp_path):
    path = tmp_path / "bad.jsonl"
    path.write_text('{"problem": "a?", "answer": "1"}\nnonsense\n[1]\n{"answer": "2"}\n')
    found = audit(str(path))
    assert (found.rows, found.bad_rows) == (1, 3)
    path.write_text("nonsense\n")
    with pytest.raises(UsageError, match="bad"):
        audit(str(path))
    with pytest.raises(UsageError, match="field 'golds' of --map not found"):
        audit(write(SOUND), mapping={"golds": "answer"})


def test_every_format_that_is_scored_can_be_audited_with_or_without_candidates(write):
    verl = {"data_source": "x", "prompt": [{"role": "user", "content": "2+2?"}], "reward_model": {"ground_truth": "4"}}
    trl = {"prompt": "2+2?", "completion": "4", "solution": "5"}
    openai = {"messages": [{"role": "user", "content": "2+2?"}, {"role": "assistant", "content": "4"}], "answer": ""}
    for row, golds in ((verl, ["4"]), (trl, ["5"]), (openai, [""])):
        found = audit(write([row]))
        assert found.rows == 1
        assert bool(found.of("empty")) == (golds == [""])
