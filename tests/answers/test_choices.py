import pytest

from verikit.answers import verify
from verikit.answers.choices import gold_letter

RIGHT = [
    ("B", "B"), ("(B)", r"\text{B}"), ("B.", "(B)"), (r"\boxed{B}", "B"), (r"\boxed{\textbf{(B)}}", "B"),
    ("#### B", "B"),
    ("The answer is (B).", "B"), ("The correct answer is B. Sex is a factor.", "B"),
    ("So our selection is option B.", "B"),
    ("Final Answer: B. Adroit diplomacy", "B"), ("B. Because A is not valid", "B"), ("I think it's B", "B"),
    ("It's not A because of that, therefore I think it's B", "B"), ("B不是 A", "B"), ("Answer: **B**", "B"),
    ("The answer is (A). Wait, no. The answer is (B).", "B"), ("B", "(B) Alina"), ("Alina", "(B) Alina"),
    ("A, C", "AC"), ("(A) and (C)", "A, C"),
]  # fmt: skip
WRONG = [
    ("A", "B"), ("The answer is (A).", "B"), ("It could be A, but B is right. The answer is (B).", "A"), ("-(A)", "A"),
    ("A+1", "A"), (r"\boxed{-(A)}", "A"), ("The answer is A. The answer is B. The answer is C.", "B"), ("", "A"),
    ("The correct answer is (A, B, C).", "B"), ("The answer is a combination of options.", "A"), ("A or B", "A"),
    ("I cannot provide an answer.", "I"), ("The answer is I think unknown.", "I"), ("none", "A"),
    ("The answer is not (A).", "A"), ("It isn't (A).", "A"), ("The answer is definitely not A.", "A"),
    (r"not \boxed{A}", "A"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "gold"), RIGHT)
def test_the_letter_a_text_settles_on_is_found(text, gold):
    assert verify(text, gold).equal


@pytest.mark.parametrize(("text", "gold"), WRONG)
def test_another_or_no_letter_does_not_score(text, gold):
    assert not verify(text, gold).equal


def test_the_option_text_stands_for_its_letter_and_the_letter_for_its_text():
    options = ["Rome", "Paris", "Oslo"]
    assert verify("The answer is Paris.", "B", options=options).equal
    assert not verify("The answer is Rome.", "B", options=options).equal
    assert verify("The answer is (B).", "Paris", options=options).equal
    assert not verify("The answer is (A).", "Paris", options=options).equal


def test_what_is_no_letter_is_no_option():
    assert gold_letter("Paris") == ("", "")
    assert gold_letter(r"\text{(C)}") == ("C", "")
    assert gold_letter("(C) Oslo") == ("C", "Oslo")


def test_a_letter_with_a_text_is_an_option_where_the_row_or_the_question_has_options():
    for question, options in (("Who? (A) Bob (B) Alina", ()), ("Who? A. Bob B. Alina", ()), ("Who?", ("Bob", "Alina"))):
        assert verify("B", "(B) Alina", question=question, options=options).equal
        assert not verify("A", "(B) Alina", question=question, options=options).equal
    assert not verify("E", "(E) trans isomer", question="Which isomer forms?").equal
    assert verify("(E) trans isomer", "(E) trans isomer", question="Which isomer forms?").equal
    assert not verify("(Z) trans isomer", "(E) trans isomer", question="Which isomer forms?").equal
