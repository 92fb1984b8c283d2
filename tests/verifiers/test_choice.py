import re

import pytest

from tests.hostile_texts import HOSTILE
from verikit import Sample
from verikit.answers.choices import settled
from verikit.errors import UsageError
from verikit.verifiers.choice import Choice

LETTERS = "ABCDEFGHIJ"


@pytest.mark.parametrize(
    ("text", "letter"),
    [
        ("The answer is (C).", "C"),
        ("the Answer is **C**", "C"),
        ("Answer: C", "C"),
        ("**Answer:**\n\n(C)", "C"),
        ("The correct answer is option C.", "C"),
        ("The best choice is C", "C"),
        ("The answer is $\\text{(C)}$", "C"),
        ("the answer is [C]", "C"),
        ("The answer is (A). No, the answer is (B).", "B"),
        (r"so \boxed{C}", "C"),
        (r"\boxed{\text{C}}", "C"),
        (r"\boxed{\textbf{(C) } 5}", "C"),
        (r"\boxed{C. Paris}", "C"),
        (r"the answer is (A), that is \boxed{B}", "B"),
        ("reasoning\n\nC", "C"),
        ("reasoning\n\n**(C)**", "C"),
        ("C", "C"),
        ("C.", "C"),
        ("(C) Paris", "C"),
        ("C. Paris", "C"),
        ("", None),
        ("The answer is not (C).", None),
        ("The answer is unclear. A, B and C fit", None),
        ("Consider each choice:\n(A) is wrong", None),
        ("(A) one\n(B) two\n(C)", None),
        ("I. first\nJ.", None),
        ("we find\n$$C_s$$", None),
        ("A balanced diet", None),
        ("type A", None),
        ("answer is C2", None),
        ("The answer is C-14", None),
        ("The answer is I've no idea", None),
        ("The answer is K", None),
        ("the answer is c", "C"),
        (r"\boxed{A \text{ or } B}", None),
        (r"\boxed{P(A)}", None),
        (r"\boxed{A = 5}", None),
        (r"\boxed{A", None),
    ],
)
def test_a_letter_is_read_only_where_the_text_settles_on_it(text, letter):
    assert (settled(text, LETTERS).letter or None) == letter


def test_the_reason_tells_the_rule():
    assert Choice()("the answer is B", "B").reason == "last stated answer"
    assert Choice()("?", "B").reason == "no option letter found"


def test_the_letters_on_offer_are_those_of_the_samples_options():
    assert Choice()("answer is C", "A", options=["x", "y"]).answer is None
    assert Choice()("answer is C", "C", options=["x", "y", "z"]).value == 1.0
    assert Choice()("answer is C", "C", options={"A": 1, "B": 2, "C": 3}).value == 1.0
    assert Choice()("answer is C", "C", options="A) x B) y").value == 1.0
    assert Choice(last="B")("answer is C", "A").answer is None


@pytest.mark.parametrize("gold", [None, [], "", "Paris", "K", "AA", "3"])
def test_a_gold_that_is_no_option_letter_is_the_datas_fault(gold):
    assert Choice()("answer is A", gold).status == "error"


@pytest.mark.parametrize("gold", ["C", "c", "(C)", " C. ", ["A", "C"]])
def test_golds_may_be_dressed(gold):
    assert Choice()("answer is C", gold).value == 1.0


@pytest.mark.parametrize("last", ["", "j", "JK", "É", "1"])
def test_a_last_letter_that_is_none_is_refused(last):
    with pytest.raises(UsageError):
        Choice(last)


def test_hostile_text_costs_linear_work(linear):
    for hostile in HOSTILE:
        linear(lambda text: settled(text, LETTERS), hostile)
        linear(lambda text: settled("answer is" + text, LETTERS), hostile)


@pytest.mark.parametrize("model", ["Meta-Llama-3_1-8B-Instruct", "Phi-3-mini-4k-instruct", "Llama-2-7b-hf"])
def test_on_real_answers_it_reads_no_less_than_the_common_pattern_and_is_no_less_right(model, rows):
    answers = rows(f"mmlu_pro/{model}.jsonl")
    common = [re.search(r"answer is \(?([A-J])(?:\)|(?!\)))(?!,| and)", row["text"]) for row in answers]
    scores = Choice().score(
        [Sample(completion=r["text"], answer=r["answer"], meta={"options": r["options"]}) for r in answers]
    )
    assert all(s.status == "ok" for s in scores)
    right = sum(m is not None and m[1] == r["answer"] for m, r in zip(common, answers, strict=True))
    assert sum(map(float, scores)) >= right
    assert sum(s.answer is None for s in scores) <= common.count(None)
