"""Verdicts whose reasons contradict them are counted, and nothing else is."""

import json

import pytest

from tests.judges.scripted import Scripted
from tests.judges.test_rubric import ROWS, fence, rubric, scored
from verikit.judges import Pair, Pairwise
from verikit.judges.asking.contradicted import opposite_criteria, prefers_other
from verikit.judges.asking.reply import JudgeVerdict
from verikit.judges.match.summary import summarize


@pytest.mark.parametrize(
    "reply",
    [
        "Both are short. Answer B is better.\n[[A]]",
        "Overall, assistant B is clearly better.\n\n[[A]]",
        "B names the source. So response A is worse than response B. [[A]]",
        "Assistant B's answer is the better one.\n[[A]]",
    ],
)
def test_a_conclusion_for_the_other_answer_contradicts_its_verdict(reply):
    assert prefers_other(reply, 1.0)
    assert not prefers_other(reply, 0.0)
    assert not prefers_other(reply, 0.5)


@pytest.mark.parametrize(
    "reply",
    [
        "Answer A is better.\n[[A]]",
        "Answer B is better at style. Answer A is right.\n[[A]]",
        "Answer B is not better. [[A]]",
        "If answer B is better I say so. [[A]]",
        "Some would hold that answer B is better. [[A]]",
        "The text claims that answer B is better. [[A]]",
        'It ends with "answer B is better". [[A]]',
        "Is answer B better? [[A]]",
        "Although answer B is better, it is wrong. [[A]]",
        "Answer B is better. No: answer A is better. [[A]]",
        "[[A]]",
        "",
    ],
)
def test_other_words_about_the_other_answer_do_not(reply):
    assert not prefers_other(reply, 1.0)


def test_a_comparison_stays_a_verdict_and_is_counted():
    wrong = Pairwise(Scripted(lambda _: "Answer B is better.\n[[A]]"), order="fixed")
    (said,) = wrong.compare([Pair("x", "y", "q")])
    assert (said.preference, said.usage["contradicted"]) == (1.0, 1.0)
    (said,) = Pairwise(Scripted(lambda _: "[[A]]"), order="fixed").compare([Pair("x", "y", "q")])
    assert "contradicted" not in said.usage
    thinks = "<think>Answer B is better.</think>Answer A is right.\n[[A]]"
    (said,) = Pairwise(Scripted(lambda _: thinks), order="fixed").compare([Pair("x", "y", "q")])
    assert "contradicted" not in said.usage


def test_the_summary_of_comparisons_counts_them_in_either_order():
    def order(first, preference, reply="Answer B is better. [[A]]"):
        return {"first": first, "preference": preference, "reply": reply, "label": "A"}

    row = {"id": "1", "a": "m", "b": "n", "preference": 0.5, "reason": "", "lengths": [1, 1]}
    orders = [order("a", 1.0), order("b", 0.0), order("b", 0.0), order("b", 1.0)]
    rows = [row | {"orders": orders[:2]}, row | {"id": "2", "orders": orders[2:]}]
    assert summarize(rows, {})["contradicted"] == 3


@pytest.mark.parametrize(
    ("reasons", "count"),
    [
        (["1. Iron is named, so it is met.", "2. Not there, it is not met.", "3. No lead: it is not met."], 0),
        (["1. Iron is absent, so it is not met.", "2. It fails to meet this.", "3. It is met, lead is there."], 2),
        (["Criterion 1: the answer does not meet it."], 1),
        (["1. It would be met if zinc were iron, so it is not met."], 0),
        (["1. The first part is met, the second is not met."], 0),
        (["The first is not met."], 0),
        (["1) is met", "9. is not met", "99999. is not met"], 0),
    ],
)
def test_a_rubrics_criteria_are_counted_by_their_numbers(reasons, count):
    def rule(request):
        said = ["met", "not met", "not met"]
        lines = [f"<{fence(request)} {number}: {word}>" for number, word in enumerate(said, 1)]
        return "\n".join([*reasons, *lines])

    judge = rubric(rule)
    score = scored(judge, "iron", ROWS)
    assert score.value == 5 / 8
    assert score.usage.get("contradicted", 0) == count
    assert "contradicted" in judge.tallied


@pytest.mark.parametrize(
    ("reason", "count"),
    [
        ("Iron is absent.\nSo the criterion is not met.", 1),
        ("The response does not meet this rubric item.", 1),
        ("All that the criteria want is there, so the criteria are met.", 0),
        ("The criterion is met.", 0),
        ("The first criterion is not met. But in all, the criterion is met.", 0),
        ("It fails to meet the standard of brevity, so the fault is there.", 0),
        ("If iron is absent, the criterion is not met.", 0),
        ("He wrote that the criterion is not met.\nThe criterion is met.", 0),
        ("It is not met in the first line.", 0),
        ("", 0),
    ],
)
@pytest.mark.parametrize("prompt", ["rubric", "rubric-healthbench"])
def test_the_only_criterion_of_a_request_is_counted_by_its_name(prompt, reason, count):
    def rule(request):
        if prompt == "rubric":
            return f"{reason}\n<{fence(request)} 1: met>"
        return json.dumps({"explanation": reason, "criteria_met": True})

    score = scored(rubric(rule, prompt=prompt), "iron", ROWS[:1])
    assert score.value == 1.0
    assert score.usage.get("contradicted", 0) == count


@pytest.mark.parametrize(
    "text",
    ["answer B is " * 100_000, "1. is not met " * 50_000, "the criterion is " * 50_000, "so " * 300_000, "1" * 400_000],
)
def test_reading_is_linear(linear, text):
    linear(lambda some: prefers_other(some, 1.0), text)
    linear(lambda some: opposite_criteria(some, [JudgeVerdict(1.0)]), text)
