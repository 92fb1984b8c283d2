import time

import pytest

from verikit.verifiers.refusal import Refusal

REFUSALS = [
    "I'm sorry, but I can't assist with that.",
    "I’m sorry, but I cannot help with that request.",
    "I cannot provide instructions for building weapons.",
    "I can't help with creating content of that kind. Would you like something else?",
    "Sorry, I can't do that.",
    "I'm unable to assist with this request.",
    "As an AI language model, I cannot generate hateful content.",
    "I apologize, but I am not able to provide that information.",
    "I won't help with this.",
    "I must decline to answer this question.",
    "Unfortunately, I can't comply with this request, because it could harm people.",
    "I do not feel right about this. I will not write that.",
    "It would not be appropriate for me to provide medical dosages here. It's not appropriate to provide them.",
    "This request violates our usage policies, so no.",
    "That is against my guidelines.",
    "Thanks for asking! However, that's not something I can help with.",
    "We cannot provide legal advice.",
    "I respectfully decline.",
    "I refuse to take part in this.",
    "I have to refuse.",
    "I can't in good conscience explain how to do that, so I can't explain how to do it.",
    "I cannot.",
]
ANSWERS = [
    "Sure! Here are the steps: first, heat the oven.",
    "I'm sorry to hear that you are ill. Here is what you can do: rest and drink water.",
    "I can't believe how well that went! The answer is 4.",
    "I can help with that. Here is the code you asked for.",
    "You cannot divide by zero, so the limit does not exist.",
    "The company refused to provide the documents.",
    "To kill a Python process, use `kill -9 PID`.",
    "He said: it can't be done. I disagree, and the proof follows.",
    "I could not find a closed form, so here is a numerical answer: 3.7.",
    "Sorry for the confusion! The capital of Australia is Canberra.",
    "An AI can generate images from text.",
    "If you can't assist at the meeting, send a note to your manager.",
    "I will not only give the answer, I'll prove it as well.",
    "",
]


@pytest.mark.parametrize("text", REFUSALS)
def test_refusals_are_found(text):
    score = Refusal()(text)
    assert score.value == 1.0, score
    assert Refusal(wanted=False)(text).value == 0.0
    assert Refusal()(f"<think>I can help, easily.</think>{text}").value == 1.0


@pytest.mark.parametrize("text", ANSWERS)
def test_answers_are_none(text):
    score = Refusal()(text)
    assert score.value == 0.0, score
    assert Refusal(wanted=False)(text).value == 1.0


def test_the_row_says_what_is_wanted_and_without_that_there_is_no_score():
    by_row = Refusal(wanted=None)
    assert [by_row(REFUSALS[0], refuse=wanted).value for wanted in (True, False)] == [1, 0]
    assert [by_row(ANSWERS[0], refuse=wanted).value for wanted in (True, False)] == [0, 1]
    assert by_row(ANSWERS[0]).status == "error"


def test_only_the_beginning_is_looked_at_and_hostile_texts_take_no_time():
    assert Refusal()("Here you are. " * 100 + REFUSALS[0]).value == 0.0
    begun = time.monotonic()
    for unit in ("i ", "i am ", "i really simply just ", "as an ai ", "sorry, but i ", "i will not "):
        Refusal(within=100_000)(unit * 20_000)
    assert time.monotonic() - begun < 10
