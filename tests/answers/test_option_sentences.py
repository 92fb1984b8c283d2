"""Sentences that choose an option: languages, forms and letters combined, and denials that look alike."""

import pytest

from tests.hostile_texts import HOSTILE
from verikit.answers import verify
from verikit.answers.choices import settled

OFFERED = "ABCDEFGHIJ"
CHOSEN = [
    "Hence {}.", "Therefore, {}.", "∴ {}", "Ans: {}", "I'm going with {}.", "Hence option {} is the correct answer.",
    "Richtig ist Antwort {}.", "Also ist {} die richtige Antwort.", "C'est la réponse {}.", "L'option {} est la bonne.",
    "La réponse correcte est l'option {}.", "La alternativa correcta es la letra {}.", "La risposta giusta è la {}.",
    "A resposta certa é a letra {}.", "Правильным ответом является {}.", "Doğru cevap {}.", "Đáp án đúng là {}.",
    "本题选{}", "本题应选 {}。", "综上所述，{}选项正确。", "正解は{}である。",
    "よって、{}が正しい。", "सही विकल्प {} है।", "The answer is <b>{}</b>.", "Both are close, but {} is the best answer.",
    "If A were right, so would be G. Looking again, the answer is {}.", "### Final Answer\n\n{}",
    "The answer is {}.", "The correct answer is {}.", "Answer: {}", "So the answer must be {}.",
    "Option {} is correct.",
    "Choice {} is the right answer.", "I choose {}.", "I would go with {}.", "The best choice is {}.",
    "My choice is {}.",
    "{} is correct.", "{} is the best answer.", "The correct option is therefore {}.",
    "Therefore, I select option {}.",
    "The answer is {} because the others fail.", "It is {}.", "Not easy, but the answer is {}.",
    "Die richtige Antwort ist {}.", "Antwort: {}", "Option {} ist richtig.", "Die Antwort lautet {}.",
    "Ich wähle {}.",
    "La bonne réponse est {}.", "La réponse est donc {}.", "Réponse : {}", "L'option {} est correcte.",
    "Je choisis {}.",
    "La respuesta correcta es {}.", "Respuesta: {}", "La opción {} es correcta.", "La opción correcta es {}.",
    "Elijo {}.", "La risposta corretta è {}.", "A resposta correta é {}.",
    "A alternativa correta é {}.",
    "Правильный ответ: {}", "Правильный ответ — {}.", "答案：{}",
    "答案是{}。", "正确答案为{}。", "故选{}。", "因此选择{}。",
    "选项{}正确。", "所以正确的是{}。", "答えは{}です。", "正解は{}です。", "정답은 {}입니다.", "सही उत्तर {} है।",
    "उत्तर: {}", "विकल्प {} सही है।", "الإجابة الصحيحة هي {}.",
]  # fmt: skip
DENIED = [
    "The answer is not {}.", "The answer isn't {}.", "The answer can't be {}.", "{} is not correct.",
    "{}) is not correct.",
    "{} is incorrect.", "{} is wrong.", "Option {} is not the answer.", "I do not think the answer is {}.",
    "I don't choose {}.", "I refuse to choose {}.", "I never pick {}.", "{}, I think, is wrong.",
    "I can't choose {}.", "Do not choose {}.", "I would never pick {}.",
    "I doubt the answer is {}.",
    "All but {} are correct.", "Everything except {} is correct.", "Anything but {} is right.", "Rule out {}.",
    "It's false that the answer is {}.", "It is wrong to say that {} is correct.",
    "Neither {} nor another is correct.",
    "If the answer is {}, we are done.", "Is the answer {}?", "Is {} correct?", "Maybe the answer is {}.",
    "The answer might be {}.", "I do not believe, however, that the answer is {}.", "Suppose {} is correct.",
    "The answer is {}. No, {} is wrong.", "Option {} says so.", "See {} above.", "{} fails.",
    "Vitamin {} is the answer.",
    "The answer is vitamin {}.", "The answer is {}-14.", "The answer is {} + 1.", "The answer is P({}).",
    "Die Antwort ist nicht {}.", "{} ist falsch.", "{} ist nicht richtig.",
    "La réponse n'est pas {}.",
    "{} n'est pas correct.", "La respuesta no es {}.", "{} no es correcta.", "La risposta non è {}.",
    "A resposta não é {}.", "Ответ не {}.",
    "答案不是{}。", "{}不正确。", "{}错误。", "如果答案是{}，", "सही उत्तर {} नहीं है।",
]  # fmt: skip
TWO = [
    "The answer is not {other} but {}.", "Not {other} but {}.", "{other} is wrong, so the answer is {}.",
    "It isn't {other}; it is {}.", "Choice {} is right; {other} fails.", "{other} is not correct. {} is correct.",
    "The answer is {}, not {other}.", "The answer is {} rather than {other}.",
    "{other} is tempting. The answer is {}.",
    "The answer is {other}. Wait, no. The answer is {}.", "Die Antwort ist nicht {other}, sondern {}.",
    "La réponse n'est pas {other} mais {}.", "La respuesta no es {other} sino {}.", "答案不是{other}而是{}。",
    "I first thought of {other}, but the answer is {}.",
]  # fmt: skip
SEVERAL = ["The answer is {} and {other}.", "The answers are {} and {other}.", "{} and {other} are correct.",
           "Answer: {}, {other}", "I choose {} and {other}.", "Les réponses sont {} et {other}.",
           "Die Antworten sind {} und {other}.", "答案是{}和{other}。", r"\boxed{{{}, {other}}}",
           "{}, {other}"]  # fmt: skip
UNSETTLED = ["A. Paris\nB. Rome\nC. Oslo", "Let me think about A. Then B. Then C.", "We need C = 5", "It could be B.",
             "Both A and B are correct.", "None of A, B or C is correct.", "The answer is neither B nor C.", "Not B.",
             "If A were correct, then B would be correct too.", r"\boxed{B \text{ or } C}", r"\boxed{B, C}",
             r"The answer is B. \boxed{C", "The function f(B) is B", "Is B right? Is C?"]  # fmt: skip
EITHER = ["{} or {other}", "The answer is {} or {other}.", "Either {} or {other} is correct.", "It is {} or {other}.",
          "The answer is {}. The answer is {other}.", "答案是{}或{other}。"]  # fmt: skip
DRESSES = ("{}", "({})", "**{}**", r"$\text{{{}}}$", "**({})**")


@pytest.mark.parametrize("form", CHOSEN)
@pytest.mark.parametrize("letter", "BCDH")
def test_a_sentence_that_chooses_is_read_in_every_language_and_dress(form, letter):
    for dress in DRESSES:
        text = form.format(dress.format(letter))
        assert settled(text, OFFERED).letter == letter, text
        assert verify(f"We compare them.\n{text}", letter).equal, text


@pytest.mark.parametrize("form", DENIED)
@pytest.mark.parametrize("letter", "BD")
def test_a_denied_doubted_or_merely_named_letter_is_not_chosen(form, letter):
    for dress in DRESSES[:1] if "{}-" in form or "itamin {}" in form or "({})" in form else DRESSES:
        dressed = dress.format(letter)
        text = form.format(dressed, dressed)
        assert settled(text, OFFERED).letter != letter, text
        assert not verify(text, letter).equal, text


@pytest.mark.parametrize("form", TWO)
def test_of_two_letters_the_asserted_letter_counts(form):
    for letter, other in ("BC", "CB", "AD", "DA"):
        for dress in DRESSES:
            text = form.format(dress.format(letter), other=dress.format(other))
            assert settled(text, OFFERED).letter == letter, text
            assert not verify(text, other).equal, text


@pytest.mark.parametrize("form", SEVERAL)
def test_several_letters_are_a_choice_of_several(form):
    for letter, other in ("AC", "CA", "BD"):
        text = form.format(letter, other=other)
        assert settled(text, OFFERED).letters == {letter, other}, text
        for gold in (f"{letter} and {other}", f"{other},{letter}", "".join(sorted((letter, other)))):
            assert verify(text, gold).equal, (text, gold)
        assert not verify(text, letter).equal
        assert not verify(text, f"{letter}, {other}, E").equal


@pytest.mark.parametrize("text", UNSETTLED)
def test_a_text_that_settles_on_no_single_letter_scores_for_none(text):
    assert settled(text, OFFERED).letter == ""
    assert not any(verify(text, gold).equal for gold in "ABC")


@pytest.mark.parametrize("form", EITHER)
def test_alternatives_are_no_choice(form):
    for letter, other in ("AC", "DB"):
        for dress in DRESSES[:3]:
            text = form.format(dress.format(letter), other=dress.format(other))
            for gold in (letter, other, f"{letter}, {other}"):
                assert not verify(text, gold).equal, (text, gold)


@pytest.mark.parametrize("text", ["c)", "(c)", "c", "**C**. 45", "C) 45", "c) 45", "the answer is c.",
"Option c is correct.",
                                  "Answer: (c)", "C. Because A is not valid", r"\boxed{\text{(C) } 45}"])  # fmt: skip
def test_a_letter_may_be_small_or_stand_before_its_option(text):
    assert settled(text, OFFERED).letter == "C"
    assert verify(text, "C").equal


@pytest.mark.parametrize("text", ["A resposta é clara.", "I think a balanced diet is the answer.",
"The answer is a number.",
                                  "A correct answer is hard to find.", "I am sure.", "The answer is A combination.",
                                  "A or B? Who knows.", "Let A be the answer set.",
                                  "The answer is A = 5."])  # fmt: skip
def test_words_and_symbols_are_no_letters(text):
    assert not settled(text).letters


def test_hostile_texts_cost_linear_work(linear):
    for hostile in [
        *HOSTILE[::4],
        "A, ",
        "A and ",
        "answer is A. ",
        "not ",
        "A is not ",
        "答案是A",
        "(A)",
        "A\n",
        "if B ",
    ]:
        linear(settled, hostile)
