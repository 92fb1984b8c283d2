"""Replies that end by calling their answer wrong, and statements right after a sentence about something else."""

import pytest

from verikit.answers import verify

ANSWERS = ["It's {}. ", "{}. ", "The answer is {}. ", "Answer: {}\n", r"\boxed{{{}}}. ", "#### {}\n", "答案是{}。"]
REFUSALS = [
    "No, that's wrong.", "Wait, that's not right.", "Sorry, that is wrong.", "Hmm, no, that isn't correct.",
    "No, it's wrong!", "Nein, das ist falsch.", "Nein, das stimmt nicht.", "Non, c'est faux.",
    "Non, ce n'est pas correct.", "No, eso es falso.", "No, está mal.", "No, è sbagliato.", "Não, isso está errado.",
    "Nee, dat is fout.", "Nee, dat klopt niet.", "Нет, это неверно.", "不，这是错的。", "不对，这不对。",
    "いいえ、それは間違いです。", "いや、違います。", "No, that's wrong. Wait, that's not right.",
]  # fmt: skip


@pytest.mark.parametrize("refusal", REFUSALS)
def test_an_answer_that_the_next_sentence_calls_wrong_is_not_accepted(refusal):
    for answer in ANSWERS:
        for gold in ("5", "Oslo"):
            assert not verify(answer.format(gold) + refusal, gold).equal, answer
    assert not verify(f"Two and three are added.\nIt's 5. {refusal}", "5").equal


def test_a_bold_name_that_is_called_wrong_is_not_accepted():
    assert not verify("**Oslo**. No, that's wrong.", "Oslo").equal


@pytest.mark.parametrize("reply", [
    "The answer is 5. Can it be more? No, that's wrong.", "The answer is 5. Some say it is even. No, that's wrong.",
    "The answer is 5, although many say 6. No, that's wrong.", "Is it 6? No, that's wrong. It's 5.",
    "Es 5. No está mal.", "Es 5. No es falso.", "The answer is 5. No, that's not wrong.", "It's 5. Sorry for the wait.",
    "It's 5. No, that's right.", "It's 5. No errors.", "It's 5. No, 6 is wrong.", "It's 5. No, that's wrong?",
    "Das Ergebnis ist 5. Nein, das ist nicht falsch.", "答案是5。不客气。", "5です。いいえ、間違いではありません。",
    "It's 5 (6 is tempting). No, that's wrong.", "x = 5. 6 also works? No, that's wrong.",
])  # fmt: skip
def test_a_refusal_of_something_else_does_not_refuse_the_answer(reply):
    accepted = verify(reply, "5")
    assert accepted.rule != "the reply calls its answer wrong"


def test_an_answer_after_a_refusal_replaces_the_refused_one():
    for reply in ("It's 5. No, that's wrong. It's 6.", "Es ist 5. Nein, das ist falsch. Es ist 6.", "是5。不对，是6。"):
        assert verify(reply, "6").equal
        assert not verify(reply, "5").equal


@pytest.mark.parametrize(("reply", "gold", "question"), [
    ("\\boxed{no}. No, that's wrong.", "no", ""), ("Antwort: Nein. Nein, das stimmt nicht.", "Nein", ""),
    ("\\boxed{impossible}. No, that's wrong.", "impossible", ""),
    ("It's 5. No, that's wrong.", "5", "Tom says 6. What is wrong with that? What is 2 + 3?"),
    ("It's 5. No, that's wrong.", "5", "Tom says 2 + 3 is 6. Is that right? What is it?"),
    ("Es ist 5. Nein, das ist falsch.", "5", "Hat Tom einen Fehler gemacht, und wie viel ist 2 + 3?"),
    ("\\boxed{B}. No, that's wrong.", "B", ""),
])  # fmt: skip
def test_a_refusal_that_may_belong_to_the_answer_does_not_refuse_it(reply, gold, question):
    assert verify(reply, gold, question=question).equal


def test_the_text_of_an_option_does_not_refuse_its_answer():
    options = ["Yes.", "5. No, that's wrong."]
    assert verify("It's 5. No, that's wrong.", "5", options=options).rule != "the reply calls its answer wrong"


def test_a_bad_gold_answer_stays_one_if_the_reply_refuses_its_answer():
    assert verify("It's 5. No, that's wrong.", "").outcome == "bad gold"


def test_endless_refusals_are_read_only_at_the_end():
    for reply in (
        "It's 5. " + "No, that's wrong. " * 50_000,
        "\n" * 100_000 + "No, that's wrong",
        "No, " * 50_000 + "wrong",
    ):
        assert verify(reply, "7").outcome in ("different", "limit", "undecided")


@pytest.mark.parametrize("reply", [
    "Suppose x = 2. Answer: 5.", "If x = 2. **Answer:** 5", "Assume n is even! Answer: 5", "Is it so? Maybe. Answer: 5",
    "Perhaps there is another way. Antwort: 5", "Wenn n = x. Antwort: 5", "Si n est pair. Réponse : 5",
    "Si n es par. Respuesta: 5", "Si potrebbe fare altrimenti. Risposta: 5", "Si n é par. Resposta: 5",
    "Если n чётно. Ответ: 5.", "Так не может быть. Ответ: 5.", "如果n是偶数。答案是5。", "可能有其他方法。答案：5",
    "यदि n सम है। उत्तर: 5",
])  # fmt: skip
def test_a_sentence_that_ends_before_the_answers_noun_does_not_reach_it(reply):
    assert verify(reply, "5").equal


@pytest.mark.parametrize("reply", [
    "Suppose x = 2. Then suppose the answer: 5.",  "It is false that\nAnswer: 5", "Suppose. Suppose the answer is 5.",
])  # fmt: skip
def test_a_supposition_in_the_sentence_of_the_noun_still_reaches_it(reply):
    assert not verify(reply, "5").equal
