"""The corpora beside the repository, against the floors the project holds itself to; skipped where they are absent."""

import re
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.growth import count_calls
from verikit import Sample
from verikit.answers import check_gold
from verikit.answers.gold import read_gold
from verikit.verifiers.answer import Answer

ANSWER = Answer()
FLOORS = {  # slice: accuracy at least, false positives at most, in percent
    "gold_self": (99.3, 0.1), "equiv_peer": (92, 2), "HardVerify": (88, 1), "MATH outputs": (99.7, 0),
    "GSM8K outputs": (100, 0), "option letters": (99.5, 0.2), "QA text": (88, 0.5), "hostile": (98, 2),
}  # fmt: skip


@pytest.fixture(scope="module")
def corpora(data, root):
    sys.path.insert(0, str(root / "benchmarks"))
    try:
        import answers
    finally:
        sys.path.pop(0)
    if not (data / "answers").is_dir():
        pytest.skip("no answer corpora")
    return answers.load(data / "answers")


def graded(verifier, rows):
    samples = [Sample(row.get("question") or "", row["prediction"], row["gold"]) for row in rows]
    return verifier.score(samples)


@pytest.mark.parametrize("name", FLOORS)
def test_each_slice_stays_above_its_floor(corpora, name):
    rows = [row for row in corpora[name] if row["label"] is not None]
    passed = [score.value == 1.0 for score in graded(ANSWER, rows)]
    right = sum(p == row["label"] for p, row in zip(passed, rows, strict=True))
    wrong = [row["id"] for p, row in zip(passed, rows, strict=True) if p and not row["label"]]
    accuracy, false_positives = FLOORS[name]
    assert 100 * right / len(rows) >= accuracy
    assert 100 * len(wrong) / sum(not row["label"] for row in rows) <= false_positives, wrong


def test_lenient_text_trades_few_false_positives(corpora):
    rows = corpora["QA text"]
    passed = [score.value == 1.0 for score in graded(Answer(policy="lenient"), rows)]
    right = sum(p == row["label"] for p, row in zip(passed, rows, strict=True))
    wrong = sum(p and not row["label"] for p, row in zip(passed, rows, strict=True))
    assert 100 * right / len(rows) >= 94.5
    assert 100 * wrong / sum(not row["label"] for row in rows) <= 5


def test_every_gold_matches_itself(corpora):
    golds = {row["gold"] for name, rows in corpora.items() if name != "hostile" for row in rows}
    misses = [gold for gold in golds if not check_gold(gold) and ANSWER(gold, gold).value != 1.0]
    assert len(misses) <= len(golds) / 1000, misses


RANGE = re.compile(r"\d+-\d+")


def test_exchanging_answer_and_gold_changes_nothing_for_numbers_and_formulas(corpora):
    rows = [r for name in ("gold_self", "equiv_peer") for r in corpora[name] if r["kind"] in ("numeric", "expr")]
    for row, score in zip(rows, graded(ANSWER, rows), strict=True):
        answer = score.answer or row["prediction"]
        if read_gold(answer).tree is None or RANGE.fullmatch(answer):
            continue  # a sentence around a number is an answer, but no gold that the number matches; nor is 5-3 two
        assert ANSWER.equal(answer, row["gold"]) == ANSWER.equal(row["gold"], answer)
        assert ANSWER(answer, row["gold"]).value == ANSWER(row["gold"], answer).value


def test_eight_threads_agree_with_a_single_thread(corpora):
    rows = [row for name in FLOORS for row in corpora[name][:150]]
    serial = [score.value for score in graded(ANSWER, rows)]
    with ThreadPoolExecutor(8) as pool:
        threaded = [scores[0].value for scores in pool.map(lambda row: graded(ANSWER, [row]), rows)]
    assert threaded == serial


def test_hostile_rows_cost_little_harm_nothing_and_never_raise(corpora):
    import answers

    ANSWER(r"\int_0^1 x dx", "1/3")  # The helper process starts here, not in a measured row.
    scores = []
    for row in corpora["hostile"]:
        count_calls(lambda row=row: scores.extend(graded(ANSWER, [row])), most=1_000_000)
    assert not Path(answers.MARK).exists()
    assert Counter(score.status for score in scores)["timeout"] == 0
