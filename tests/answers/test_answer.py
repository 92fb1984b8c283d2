import pickle

import pytest

from verikit import Sample
from verikit.answers import check_gold
from verikit.errors import UsageError
from verikit.verifiers.answer import Answer, Math


def test_right_answers_score_1_and_wrong_answers_0_with_the_reason():
    right, wrong = Answer()(r"\boxed{\frac{2}{4}}", "0.5"), Answer()("7", "0.5")
    assert (right.value, right.answer, right.status) == (1.0, r"\frac{2}{4}", "ok")
    assert right.reason.startswith("equal: ")
    assert wrong.value == 0.0
    assert wrong.reason.startswith("different: ")


def test_the_data_is_to_blame_for_a_missing_or_unreadable_gold():
    assert Answer()("5", None).status == "error"
    assert Answer()("5", []).status == "error"
    assert Answer()("5", "").status == "error"
    assert Answer()("5", r"\frac{1}{0}").status == "error"


def test_the_candidate_is_to_blame_for_an_oversized_answer():
    score = Answer()("(" * 5_000 + "5" + ")" * 5_000, "5")
    assert (score.value, score.status) == (0.0, "ok")
    assert score.reason.startswith("limit: ")


def test_several_golds_messages_and_options_are_read_from_the_sample():
    assert Answer()("7", ["5", "7"]).value == 1.0
    chat = [{"role": "user", "content": "Which? (A) Rome (B) Paris"}]
    assert (
        Answer().score([Sample(chat, "The answer is Paris.", "B", meta={"options": ["Rome", "Paris"]})])[0].value == 1.0
    )


def test_math_reads_letters_as_symbols_and_leaves_prose_alone():
    assert Math()("The answer is Paris.", "Paris").status == "abstained"
    assert Math()("The answer is Paris.", ["Paris", "7"]).value == 0.0
    assert Math()("B", "B").value == 1.0
    assert Math()("(B)", "-B").value == 0.0
    assert Math()("5", "").status == "error"


def test_equal_clusters_votes():
    answer = Answer()
    assert answer.equal(r"\frac12", "0.5") is True
    assert answer.equal("0.5", r"\frac12") is True
    assert answer.equal("0.5", "0.6") is False
    assert answer.equal("", "") is True
    assert answer.equal("", "5") is False


def test_the_fingerprint_knows_every_option():
    seen = {Answer().fingerprint, Math().fingerprint, Answer(policy="lenient").fingerprint,
    Answer(units="required").fingerprint,
            Answer(several="reject").fingerprint, Answer(tolerance=0.1).fingerprint,
            Answer(undecided="abstain").fingerprint}  # fmt: skip
    assert len(seen) == 7


@pytest.mark.parametrize(
    "options",
    [{"policy": "mild"}, {"several": "first"}, {"units": "all"}, {"order": "any"}, {"undecided": "one"},
    {"tolerance": -1},
     {"tail_seconds": -1}, {"rounding": "always"}],
)  # fmt: skip
def test_an_unknown_option_is_refused_by_its_name(options):
    with pytest.raises(UsageError, match=rf"^{next(iter(options))} must"):
        Answer(**options)


def test_a_verifier_can_be_pickled_and_hashed():
    assert pickle.loads(pickle.dumps(Answer(policy="lenient"))) == Answer(policy="lenient")
    assert hash(Answer()) == hash(Answer())


def test_explain_tells_the_whole_story():
    text = Answer().explain(Sample(completion=r"\boxed{x+x}", answer="2x"))
    assert "answer tree: add(x, x)" in text
    assert "gold tree: mul(2, x)" in text
    assert Answer().explain(Sample(completion="5")) == ""


@pytest.mark.parametrize("gold", ["NaN", "N/A", "?", "??", "[invalid]", "null", "First we add both sides. " * 15])
def test_a_gold_that_is_none_is_unscored_and_never_a_zero(gold):
    assert Answer()("7", gold).status == "error"
    assert check_gold(gold)


def test_a_word_that_may_be_an_answer_stays_a_gold():
    assert Answer()("none", "None").value == 1.0
    assert check_gold("undefined") is None
