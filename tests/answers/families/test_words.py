"""Words of mathematics: a sentence that says the gold's word matches, one that denies or limits it does not."""

import pytest

from verikit.answers import verify
from verikit.answers.families import words

PREDICATES = {
    "true": "false", "even": "odd", "increasing": "decreasing", "positive": "negative", "rational": "irrational",
    "convergent": "divergent", "undefined": "defined", "concave up": "concave down", "parallel": "perpendicular",
}  # fmt: skip
VERBS = [
    ("does not exist", ["DNE", "The limit does not exist.", "doesn't exist"], ["exists", "undefined", "0", r"\infty"]),
    ("diverges", ["The series diverges", "It diverges by the ratio test.",
                  "divergent", "It does not converge."], ["converges", "does not diverge", "3"]),
    (
        r"\emptyset",
        ["no solution", "There are no real solutions.", "the solution set is empty", r"\{\}", "None", r"\varnothing",
         "The system has no solutions", "no solution exists", "There is no solution to the equation."],
        ["0", r"\{0\}", "infinitely many solutions", "one solution", "no doubt the solution is 3",
         "no integer solutions", "not the empty set", "no solution for x > 3", "There is a solution."],
    ),
    (
        r"\text{infinitely many solutions}", ["There are infinitely many solutions.", "infinitely many"],
        ["no solution", "finitely many solutions", r"\infty", "not infinitely many solutions"],
    ),
    ("converges", ["The series converges absolutely."],
     ["It diverges because the terms grow.", "Perhaps it converges"]),
    ("converges conditionally", [], ["The series converges absolutely.", "converges"]),
    ("neither", ["neither even nor odd", "The function is neither even nor odd."], ["even", "both"]),
    ("Yes", ["Yes, it is.", "Yes, the series converges.", "yes"], ["No, it is not.", "no since 3 < 2",
      "Not yes", "Yes and no", "No"]),
    ("No", ["No, it isn't.", "no", "No, because 7 is prime."], ["Yes", "no solution", "Yes, it is."]),
    (r"\text{False}", ["The statement is false.", "False", "No", "It is not true.", "False, since 2 < 3."],
     ["The statement is true.", "not false", "It is not false.", "True", "false or true", "Maybe false"]),
    ("True", ["The claim is true.", "Yes"], ["not true", "The statement is false.", "partly true", "It isn't true"]),
    ("Yes, x=5", [], ["Yes", "Yes, it is."]),
    ("The function is even for n > 2", [], ["even"]),
]  # fmt: skip


@pytest.mark.parametrize("word", PREDICATES)
def test_a_sentence_says_its_word_and_no_other(word):
    other = PREDICATES[word]
    for gold in (word, rf"\text{{{word}}}", f"The function is {word}."):
        for answer in (word.title(), f"It is {word}", f"The function f is {word}.", rf"\text{{{word}}}"):
            assert verify(answer, gold).equal, (gold, answer)
        for wrong in (
            other, f"The function is {other}.", f"never {word}", f"neither {word} nor {other}", f"almost {word}",
            f"{word} and {other}", f"It is {word} only if n > 3.", f"first {word}, then {other}", f"maybe {word}",
        ):  # fmt: skip
            assert not verify(wrong, gold).equal, (gold, wrong)


@pytest.mark.parametrize(("gold", "same", "other"), VERBS)
def test_phrases(gold, same, other):
    for form in ("{}", r"\boxed{{\text{{{}}}}}"):
        for answer in same:
            assert verify(form.format(answer), gold).equal, answer
        for answer in other:
            assert not verify(form.format(answer), gold).equal, answer


@pytest.mark.parametrize("gold", ["x^2+1", r"\frac{3}{4}", "Paris", "no more than 9", "truecolor", "evening", "-Yes"])
def test_other_golds_are_not_of_this_kind(gold):
    assert not words.meaning(gold)
