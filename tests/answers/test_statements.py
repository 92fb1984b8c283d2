"""Stated answers: languages, forms and values combined, and for each the denials and doubts that look like them."""

import itertools

import pytest

from tests.hostile_texts import HOSTILE
from verikit.answers import verify
from verikit.answers.claims.statements import statements

STATED = [
    "The answer is {}.", "Answer: {}", "**Answer:** {}", "The final answer is {}.", "The answer is therefore {}.",
    "So the answer must be {}.", "Thus the answer is {}. I hope it is correct.", "The answer **{}**",
    "La réponse est {}.", "La réponse est donc {}.", "Réponse : {}", "La respuesta es {}.",
    "La respuesta es, por tanto, {}.",
    "Respuesta: {}", "Die Antwort ist {}.", "Die Antwort lautet also {}.", "Antwort: {}", "La risposta è {}.",
    "La risposta è quindi {}.", "A resposta é {}.", "A resposta é, portanto, {}.",
    "答案是 {}。", "答案为{}。", "答案：{}",
    "因此，最终答案是{}。", "答えは{}です。", "Ответ: {}", "उत्तर {} है।", "उत्तर: {}", "정답은 {}입니다.",
    "There is no doubt that the answer is {}.", "It is not 5, so the answer is {}.",
    "If x = 2, then the answer is {}.",
    "I was not sure, but the answer is {}.", "Not easy, but here it is. The answer is {}.",
    "The answer is not 99 but {}.",
    "La réponse n'est pas 99 mais {}.", "Die Antwort ist nicht 99, sondern {}.", "答案不是99而是{}。",
    "#### {}", "The final answer is {}. The answer is correct.", "The answer is {}. I do not think the answer is 99.",
]  # fmt: skip
SPELLED = ["12", "$12$", "**12**", r"\(12\)", "**$12$**"]


@pytest.mark.parametrize("form", STATED)
def test_a_stated_answer_is_read_in_every_spelling(form):
    for spelled in SPELLED:
        text = form.format(spelled)
        assert verify(text, "12").equal, text
        assert verify("We add 3 and 9.\n\n" + text, "12").equal, text
        assert not verify(text, "13").equal, text
        assert not verify(text, "99").equal, text


DENIED = [
    "I do not think the answer is {}.", "I don't think that the answer is {}.",
    "It's false that the final answer is {}.",
    "It is not true that the answer is {}.", "I doubt that the answer is {}.", "No way the answer is {}.",
    "It is wrong to say that the answer is {}.", "I cannot say the answer is {}.", "Nobody claims the answer is {}.",
    "I wonder whether the answer is {}.", "If the answer is {} we are done.", "Suppose the answer is {}.",
    "I do not believe, however, that the answer is {}.", "It's false, as shown above, that the final answer is {}.",
    "The answer is not {}.", "The answer isn't {}.", "The answer can't be {}.", "The answer cannot be {}.",
    "The answer is never {}.", "The answer is anything but {}.", "The answer is definitely not {}.",
    "The answer {} is wrong.", "The answer is {} is false.", "The answer is {}, which is incorrect.",
    "The answer is {}. But I do not think the answer is {}.", "The answer is not 99 or {}.",
    "La réponse n'est pas {}.", "Die Antwort ist nicht {}.", "La respuesta no es {}.", "A resposta não é {}.",
    "答案不是{}。", "उत्तर {} नहीं है।", "Ответ не {}", "Is the answer {}?", "Could the answer be {}?",
]  # fmt: skip


@pytest.mark.parametrize("form", DENIED)
def test_a_denied_or_doubted_statement_is_no_answer(form):
    for spelled in SPELLED:
        text = form.format(spelled, spelled)
        assert not verify(text, "12").equal, text
        assert not verify("We add 3 and 9.\n" + text, "12").equal, text


def test_neighbours_are_a_list_and_later_statements_replace_earlier_ones():
    for first, second in itertools.permutations(("3", "12"), 2):
        assert not verify(f"The answer is {first}. The answer is {second}.", second).equal
        assert verify(f"The answer is {first}. I added wrongly above. So the answer is {second}.", second).equal


def test_a_remark_about_the_answer_does_not_outrank_it():
    for remark in (
        "The final answer is reasonable.",
        "The final answer is correct.",
        "The final answer is as expected.",
    ):
        assert verify(rf"\boxed{{5}}. {remark}", "5").equal
        assert verify(f"The answer is 5. {remark}", "5").equal
    assert verify(r"\boxed{5}. The final answer is 6.", "6").equal
    assert not verify(r"\boxed{5}. The final answer is 6.", "5").equal


def test_hostile_texts_cost_linear_work(linear):
    for hostile in [
        *HOSTILE[::3],
        "answer ",
        "if ",
        "not ",
        ",",
        "the answer is not ",
        "答案",
        "####",
        "**",
        "é réponse ",
    ]:
        linear(lambda text: statements("the answer is " + text), hostile)
