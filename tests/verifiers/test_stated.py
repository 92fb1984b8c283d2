"""What a reply states as its answer, and what takes it back."""

from __future__ import annotations

import pytest

from verikit.names.spec import load
from verikit.verifiers.reading.stated import offers_others, stands, stated

RIGHT = {
    "cover_em": [
        ("Paris", "Paris"), ("Paris, France", "Paris"), ("It is Paris, the capital of France.", "Paris"),
        ("It's not Rome but Paris.", "Paris"), ("Rome. Wait, it is Paris.", "Paris"),
        ("The film was directed by Joel Coen and stars Frances McDormand.", "Joel Coen"),
        ("The show is Tom and Jerry.", "Tom and Jerry"), ("Tom and Jerry", "Tom and Jerry"),
        ("Barack Obama was born in Honolulu, Hawaii.", "Honolulu, Hawaii"), ("No, they are not.", "no"),
        ("Without a doubt it is Paris.", "Paris"), ("Portland or Salem? The answer is Salem.", "Salem"),
    ],
    "f1": [
        ("The answer is Paris.", "Paris"), ("Final answer: Paris", "Paris"), ("**Paris**", "Paris"),
        ("The capital of France is **Paris**, on the Seine.", "Paris"), ("I looked.\n\n**Answer:** Paris", "Paris"),
        (r"\boxed{\text{Paris}}", "Paris"), ("<answer>Paris</answer>", "Paris"),
    ],
    "exact": [("Paris", "Paris"), ('Answer: "Paris"', "Paris"), ("The answer is **Paris**.", "Paris")],
    "numeric": [
        ("The answer is 42. I checked it 3 times.", "42"), ("It is not 3 but 4.", "4"),
        ("The total is **42** (6 x 7).", "42"), ("We have 3 cats and 4 dogs, so 7 animals.", "7"), ("#### 72", "72"),
        ("It costs $1,234.50.", "1234.5"), ("x=-5", "-5"), ("The answer is 3/4.", "0.75"),
    ],
}  # fmt: skip
WRONG = {
    "cover_em": [
        ("Paris, or maybe Rome", "Paris"), ("Paris or Rome", "Rome"), ("Either Paris or Rome.", "Paris"),
        ("Paris, Rome, Berlin", "Rome"), ("- Paris\n- Rome", "Rome"), ("Paris and Rome", "Paris"),
        ("Paris? Rome? Lyon", "Paris"), ("Is it Paris?", "Paris"), ("I don't think it is Paris.", "Paris"),
        ("It's not Paris but Rome.", "Paris"), ("Paris is wrong; it is Rome.", "Paris"), ("Paris. Wait, Rome", "Paris"),
        ("It is Paris, although it could also be Rome.", "Paris"), ("Somewhere between Rome and Paris.", "Paris"),
        ("Paris is in France, Rome in Italy. The answer is Rome.", "Paris"), ("The answer is not Paris.", "Paris"),
        ("The capital is **Rome**. Paris is another.", "Paris"), ("Paris / Rome", "Paris"),
    ],
    "f1": [("Paris or Rome", "Paris"), ("Paris, perhaps Rome", "Paris"), ("The answer is Rome.", "Paris")],
    "exact": [("The answer is not Paris.", "Paris"), ("The answer is Paris or Rome.", "Paris")],
    "numeric": [
        ("3, or maybe 4", "4"), ("3, or maybe 4", "3"), ("It is not 5.", "5"), ("between 3 and 4", "4"),
        ("The answer is 41. It is not 42.", "42"), ("Is it 5?", "5"), ("either 4 or 5", "5"),
    ],
}  # fmt: skip


@pytest.mark.parametrize(("name", "reply", "gold"), [(n, *row) for n, rows in RIGHT.items() for row in rows])
def test_a_stated_answer_is_right(name, reply, gold):
    assert load(name)(reply, gold).value == 1


@pytest.mark.parametrize(("name", "reply", "gold"), [(n, *row) for n, rows in WRONG.items() for row in rows])
def test_a_guess_a_denial_and_a_list_are_not(name, reply, gold):
    assert load(name)(reply, gold).value == 0


def test_the_metrics_of_the_papers_read_the_text_as_it_stands():
    assert load("cover_em(extract='whole')")("Paris, or maybe Rome", "Paris").value == 1
    assert load("f1(extract='whole')")("The answer is Paris.", "Paris").value == 0.5
    assert load("numeric(extract='whole')")("It is not 5.", "5").value == 1


def test_the_form_is_told():
    assert stated("The answer is Paris.") == ("Paris", "statement")
    assert stated("It is **Paris**.") == ("Paris", "bold")
    assert stated("**Paris** or **Rome**").form == "whole"
    assert stated("**Answer:** Paris").text == "Paris"
    assert stated("The answer is not Paris.").text is None


@pytest.mark.parametrize(
    "unit",
    ["a", " ", ", ", "or ", "**", "**a** ", "a/b ", "not ", "wait ", "\n- ", "the answer is ", "between 1 and ", "?"],
)
def test_reading_is_linear(linear, unit):
    linear(lambda text: stated(text + "!"), unit)
    linear(lambda text: offers_others(text + "!", "a"), unit)
    linear(lambda text: stands(text + "!", len(text) // 2, len(text) // 2 + 1), unit)
