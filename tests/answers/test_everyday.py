"""Right answers in everyday wording, next to the words by which other rules refuse a value."""

import pytest

from verikit.answers import verify

_TIMED = """That works out to {}.|It looks like {}.|I would like to say {}.|Out of all options, {} is right.
We get x as {}.|La risposta è {} e basta.|Above all, it is {}.""".replace("\n", "|").split("|")
_NO = """No doubt, it is {}.|There is no doubt that it is {}.|It is {}, no question.|It is {} with no remainder.
No total, é {}.""".replace("\n", "|").split("|")
RIGHT = [
    *((gold, said.format(gold)) for gold in ("July 4, 1776", "4:30 p.m.", "September 2020") for said in _TIMED),
    *((gold, said.format(gold)) for gold in ("5°C", "$5") for said in _NO),
    # what does not hold, and in which cases
    ("No", "No, the identity does not hold."), ("No", "**Answer:** No, it does not hold."),
    ("No", r"\boxed{\text{No, it does not hold}}"), ("No", "No, only when n is odd."),
    ("No", "**No**, since it fails when n is even."), ("No", "No, it isn't when n is divisible by 2."),
    ("False", "False. The identity does not hold."), ("Yes", "Yes. Equality holds when n is even."),
    ("B", "B. The law does not hold in vacuum."), ("B", "The correct answer is B: the claim does not hold."),
    ("5", "Exactly 5 of them do not hold."), ("5", "The maximum is 5, attained when n is even."),
    ("5", "So the minimum value is 5, which occurs when x is odd."), ("5", "5 no matter if n is even"),
    ("5", "5 even if n is odd"), ("5", "5 both when n is even and when n is odd."),
    ("5", "5. Equality holds when n is even."), ("5", "There are 5 cases where n is even."),
    ("5", "The reverse: it is 5."),
    # suppositions
    ("5", "If I were to guess, I would say 5"), ("5", "Were I to choose, I would say the answer is 5"),
    # words and marks after a value
    ("5 years", "The answer is 5 y."), ("5", "It's 5! great question"), ("5", "5! that's it"),
    ("12", "There are 12 x values"), ("12 cm^2", "12 cm^2 e basta"), ("10 to 20", "10 to 20 too"),
    ("10 to 20", "10 to 20 people do"),
    ("1.5 million", "No doubt, it is 1.5 million."), ("1.5 million", "The answer is 1.5 million i think"),
    ("4:30 p.m.", "The answer is 4:30 p.m. too."),
    ("12 cm^2", "No doubt, it is 12 cm^2."), ("10-20", "No doubt, it is 10-20."), ("H2O", "With no carbon, it is H2O."),
    ("5 km", "It's 5 km, too far to walk."), ("4:30 p.m.", "The answer is 4:30 p.m. when school ends."),
    ("5", "5 apples does not include the rotten one."), ("5", "5 students doesn't matter"),
    # dashes
    ("Yes", "Yes -it is"), ("No", "No-the set is empty"), ("July 4, 1776", "It is - July 4, 1776"),
    ("none", "We get - none"), ("convergent", "It looks like convergent."),
]  # fmt: skip


@pytest.mark.parametrize(("gold", "answer"), RIGHT)
def test_a_right_answer_in_everyday_wording_is_accepted(gold, answer):
    assert verify(answer, gold).equal


@pytest.mark.parametrize("answer", [
    "If we had to ignore friction, the answer would be 5", "If I had to lie, I would say the answer is 5.",
    "If we had to use n = 2, it would be 5", "I would not hesitate to call 5 wrong",
])  # fmt: skip
def test_a_supposition_that_is_not_a_choice_claims_nothing(answer):
    assert not verify(answer, "5").equal
