"""Short sentences that state a value ("It's 5."), and remarks that describe an answer ("The final answer is odd.")."""

import pytest

from verikit.answers import verify
from verikit.verifiers.answer import Answer

BARE = """It's {}.|It’s {}|That's {}.|So it's {}!|They're {}.|It'd be {}.|It'll be {}.|C'est {}.|C’est exactement {}.
Ce sont {}.|Son {}.|Es {}.|Serían {}.|È {}.|Sono {}.|É {}.|São {}.|Das sind {}.|Het is {}.|Это {}.|是{}。|它是{}
这是{}。|Answer: it's {}.|Is it 9? No, it's {}.|It isn't 9. It's {}.|It's {}, not 9.""".replace("\n", "|").split("|")
UNANIMOUS = Answer(several="unanimous")
VALUES = ("5", "-3", "3/4", "[2, 4]", "(3, 4)", "5 km", "$x^2$")


@pytest.mark.parametrize("said", BARE)
@pytest.mark.parametrize("value", VALUES)
def test_a_value_after_a_pronoun_and_a_verb_is_the_answer(value, said):
    assert verify(said.format(value), value.strip("$")).equal
    assert not verify(said.format(value), "8").equal


@pytest.mark.parametrize("reply", [
    "It's 5?", "Is it 5?", "It's not 5.", "It isn't 5.", "It's 5x.", "It's 5th.", "It's 5ish.", "It's 5!",
    "It's 5 or 7.", "It's 5, or 7.", "It's 5, maybe.", "It's 5, no, 6.", "It's 5, wait, 6.", "It's 5... no, 6.",
    "It's 5. No, 6.",
    "It's 5/7.", "It's 5:7.", "It's 5^2.", "It's 5 + 2.", "It's -5.", "It's - 5.", "It's 5 to 7.", "It's 5-7.",
    "It's 5, 7.",
    "It's 5, not 5.", "C'est 5, pas vrai.", "Soit 5.", "Sea 5.", "Be 5.", "It's 5… no, 6.",
    "It's 5 = 7.", "It's > 5.", "It's 5 (wrong).", "It's 5 not.", "It's 5... not.", "> It's 5.", "If it's 5.",
    "It's not that it's 5.", "It's between 5 and 7.", "It's 5 mod 7.", "It's 5 more than that.", "It's 5 million.",
    "C'est 5 ?", "Ce n'est pas 5.", "Si c'est 5.", "C'est 5 de plus.", "C'est 5 fois plus.", "C'est 5, non, 6.",
    "No son 5.", "¿Son 5?", "Son 5 o 7.", "Non è 5.", "È 5?", "Não é 5.", "Es 5-mal mehr.",
    "不是5。", "是5吗？", "是5多。", "是5万。", "是5或7。", "它是5的一半", "Das 5.", "Answer: it's 5... no, 6.",
])  # fmt: skip
def test_a_sentence_that_says_more_than_the_value_is_not_the_value(reply):
    assert not verify(reply, "5").equal


DESCRIBED = r"""\boxed{{6}}. The final answer is {}.|\boxed{{6}}
The final answer is indeed {}.""".split("|")


@pytest.mark.parametrize("reply", DESCRIBED)
@pytest.mark.parametrize("word", ["positive", "even", "an even integer", "positive and even", "a large number"])
def test_a_description_of_a_box_does_not_replace_it(word, reply):
    assert verify(reply.format(word), "6").equal
    assert not verify(reply.format(word), "7").equal
    assert UNANIMOUS(reply.format(word), "6").value == 1.0


@pytest.mark.parametrize("reply", DESCRIBED)
@pytest.mark.parametrize("said", [
    "7", "seven", "zero", "odd", "negative", "wrong", "undefined", "infinite", "unknown", "x", "positive 7", "prime",
    "irrational",
])  # fmt: skip
def test_another_value_or_a_wrong_description_replaces_a_box(said, reply):
    assert not verify(reply.format(said), "6").equal


@pytest.mark.parametrize("reply", [
    r"\boxed{6} is wrong. The final answer is even.", r"\boxed{6}. It's 8. The final answer is even.",
    r"\boxed{6}. The final answer is even. Wait, that is wrong. It is 7.",
    r"\boxed{6}. The final answer is even. Wait, that is wrong.",
    r"\boxed{6}." + " We check again." * 30 + " The final answer is even.",
])  # fmt: skip
def test_a_description_beside_a_doubt_or_another_number_leaves_a_box_replaced(reply):
    assert not verify(reply, "6").equal


@pytest.mark.parametrize(("reply", "right", "wrong"), [
    (r"\boxed{even}. The final answer is odd.", "odd", "even"),
    (r"\boxed{neutral}. The final answer is positive.", "positive", "neutral"),
    ("The answer is odd. We check that again. The answer is even.", "even", "odd"),
    ("The answer is odd. The answer is not even.", "odd", "even"),
    ("6", "The answer is 6. The answer is even.", "The answer is 7. The answer is odd."),
])  # fmt: skip
def test_words_that_could_describe_a_number_are_answers_where_the_gold_answer_is_none(reply, right, wrong):
    assert verify(reply, right).equal
    assert not verify(reply, wrong).equal


def test_a_denied_box_is_not_the_answer():
    assert not verify(r"\boxed{12}. The final answer is not 12.", "12").equal
    assert verify(r"\boxed{12}. The final answer is not 13.", "12").equal


@pytest.mark.parametrize("reply", ["The answer is Ottawa, not, as many think, Toronto.", "It is Ottawa, not Toronto."])
def test_an_aside_on_another_value_does_not_withdraw_a_name(reply):
    assert verify(reply, "Ottawa").equal


@pytest.mark.parametrize("said", [
    "Mon ami dit que c'est {}.", "Mi amigo dice que es {}.", "Il mio amico dice che è {}.", "Meu amigo diz que é {}.",
    "我的朋友说是{}。",
])  # fmt: skip
def test_a_value_that_a_friend_names_is_not_claimed(said):
    assert not verify(said.format(5), "5").equal
    assert not verify(said.format("Oslo"), "Oslo").equal
