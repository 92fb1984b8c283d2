"""`answer` against golds that are JSON objects or lists."""

import json

import pytest

from tests.growth import check_linear
from verikit import load
from verikit.answers.gold import check_gold

OBJECT = '{"name": "Ada", "tags": ["x", "y"], "born": 1815}'
RECORDS = '[{"a": 1}, {"a": 2}]'
WORDS = '["x", "y"]'
CASES = {
    OBJECT: (
        [OBJECT, '{"born": 1815.0, "tags": ["x", "y"], "name": "Ada"}', f"```json\n{OBJECT}\n```",
         f"The answer is {OBJECT}.",
         f"So it is:\n\n```\n{OBJECT}\n```\nDone.", f"\\boxed{{{OBJECT}}}", f"<answer>{OBJECT}</answer>",
         f'{{"reasoning": "short", "answer": {OBJECT}}}', f"<think>{RECORDS}</think>{OBJECT}"],
        ['{"name": "Ada", "tags": ["y", "x"], "born": 1815}', '{"name": "x", "tags": ["Ada", "y"], "born": 1815}',
         '{"name": "Ada", "tags": ["x", "y"], "born": "1815"}', '{"name": "Ada", "tags": ["x", "y"]}', OBJECT[:-1],
         '{"name": "Ada", "tags": ["x", "y"], "born": 1815, "died": 1852}', f"{OBJECT} {OBJECT[:-2]}6}}",
         "Ada, x, y, 1815",
         f"The answer is not {OBJECT}.", f"<think>{OBJECT}</think>I give up.", f"<think>{OBJECT}", ""],
    ),
    RECORDS: (
        [RECORDS, f"```json\n{RECORDS}\n```", f"It is {RECORDS}.", f'{{"answer": {RECORDS}}}'],
        ['[{"a": 2}, {"a": 1}]', RECORDS[:-1], '[{"a": 1}]', '{"a": 1}, {"a": 2}', '[{"a": 1}, {"a": 2}, {"a": 2}]'],
    ),
    WORDS: (
        [WORDS, f"```json\n{WORDS}\n```", "x, y", "['x', 'y']", f"The answer is {WORDS}."],
        ['["y", "x"]', '["x", "y"', '["x", "y', "['x', 'y'", '["x", "z"]', '["x"]', '["x", "y"] or ["x", "z"]',
         f"The answer is not {WORDS}."],
    ),
    "[2, 4]": (
        ["[2, 4]", "[2.0, 4]", "```json\n[2, 4]\n```", "It prints [2, 4]."],
        ["[2, 4", "[4, 2]", "[2, 4, 4]", "It does not print [2, 4].", "```json\n[2, 4\n```"],
    ),
    "[[1, 2], [3, 4]]": (["[[1,2],[3,4]]", "```json\n[[1, 2], [3, 4]]\n```"], ["[[1,2],[3,4]", "[[1,2],[4,3]]"]),
    '{"answer": 5}': (['{"answer": 5}', '{"answer": 5.0}'], ['{"answer": 6}', "5", '{"answer": 5']),
}  # fmt: skip


@pytest.mark.parametrize("gold", CASES)
def test_right_json_is_right_and_near_misses_are_not(gold):
    answer = load("answer(tail_seconds=0)")
    right, wrong = CASES[gold]
    assert [(reply, answer(reply, gold).value) for reply in right] == [(reply, 1.0) for reply in right]
    assert [(reply, answer(reply, gold).value) for reply in wrong] == [(reply, 0.0) for reply in wrong]


@pytest.mark.parametrize("gold", CASES)
def test_json_that_is_cut_off_is_never_right(gold):
    answer = load("answer(tail_seconds=0)")
    for cut in range(1, len(gold)):
        for before in ("", "The answer is ", "```json\n"):
            assert answer(before + gold[:cut], gold).value == 0.0, before + gold[:cut]


def test_options_apply_to_json():
    assert load("answer(order='unordered')")('["y", "x"]', WORDS).value == 1.0
    assert load("answer(tolerance=0.01)")('{"a": 100.5}', '{"a": 100}').value == 1.0
    assert load("answer(tolerance=0.01)")('{"a": 102}', '{"a": 100}').value == 0.0


def test_json_golds_stand_among_others():
    answer = load("answer(tail_seconds=0)")
    assert answer("7", [OBJECT, "7"]).value == 1.0
    assert answer(OBJECT, ["7", OBJECT]).value == 1.0
    assert answer(OBJECT[:-1], ["7", OBJECT]).value == 0.0


def test_a_long_json_gold_is_a_gold():
    gold = json.dumps([{"name": "a long name of several words", "n": n} for n in range(40)])
    assert not check_gold(gold)
    assert load("answer")(gold, gold).value == 1.0
    assert load("math")(gold, gold).status == "abstained"


@pytest.mark.parametrize("unit", ["{", '{"a":', '{"name": "Ada"} ', "[[", "not ", '["x", ', "```json\n"])
def test_work_on_hostile_replies_is_linear(unit):
    answer = load("answer(tail_seconds=0)")
    check_linear(lambda text: answer(text, OBJECT), unit, most=64_000)
    check_linear(lambda text: answer(text, WORDS), unit, most=64_000)
