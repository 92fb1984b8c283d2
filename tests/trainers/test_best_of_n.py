"""The table of `benchmarks.best_of_n`: selection, blocks, intervals, and samples that are not complete."""

import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("bm25s")
pytest.importorskip("torch")

from tests.trainers.test_proofs import imported


@pytest.fixture(scope="module")
def best_of_n() -> Any:
    return imported("best_of_n", Path(__file__).parents[2] / "benchmarks")


def test_each_selector_chooses_by_its_own_score_and_only_the_oracle_by_the_gold_answer(best_of_n: Any) -> None:
    made = best_of_n.Reply
    wrong = [made("7", False, 9, -3.0, 1.0)] * 3
    replies = [*wrong, made("4", True, 5, -0.1, 2.0), made(None, False, 3, -0.5, 9.0)]
    found = {name for name, way in best_of_n.WAYS.items() if best_of_n.chosen(way, replies)}
    assert found == {"vote by log-probability", "log-probability", "oracle"}
    blind = [made(each.answer, not each.right, each.tokens, each.logprob, each.confidence) for each in replies]
    moved = {name for name, way in best_of_n.WAYS.items() if best_of_n.chosen(way, blind)}
    assert moved == set(best_of_n.WAYS) - {"vote by log-probability", "log-probability"}


def test_a_smaller_n_uses_every_reply_in_one_block(best_of_n: Any) -> None:
    replies = [best_of_n.Reply(str(n), n == 5, 1, -1.0, 1.0) for n in range(8)]
    oracle, first = best_of_n.WAYS["oracle"], best_of_n.WAYS["first"]
    assert [best_of_n.rates(oracle, [replies], n) for n in (1, 2, 4, 8)] == [[1 / 8], [1 / 4], [1 / 2], [1.0]]
    assert [best_of_n.rates(first, [replies], n) for n in (1, 2, 4, 8)] == [[1 / 8], [0.0], [0.0], [0.0]]


def test_the_interval_is_of_paired_differences_and_decides_the_verdict(best_of_n: Any) -> None:
    first, second = [1.0] * 60 + [0.0] * 40, [1.0] * 50 + [0.0] * 50
    value, low, high = best_of_n.difference(first, second)
    assert value == pytest.approx(0.1)
    assert 0.03 < low < 0.06  # unpaired, the interval would contain zero
    assert 0.14 < high < 0.17
    assert [best_of_n.verdict(*bounds) for bounds in ((0.01, 0.2), (-0.2, -0.01), (0.0, 0.1), (-0.1, 0.1))] == [
        "shown",
        "the other way round",
        "not shown",
        "not shown",
    ]


def test_replies_without_log_probabilities_or_unfinished_samples_make_no_table(
    best_of_n: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    full = {"text": "3 + 4 = 7", "logprobs": [-1.0, -3.0], "top_logprobs": [[["3", -1.0], ["4", -2.0]]] * 2}
    row = {"id": "a", "answer": "7"}
    read = best_of_n.reply(row, full)
    assert (read.answer, read.right, read.tokens, read.logprob, read.confidence) == ("7", True, 2, -2.0, 1.5)
    with pytest.raises(ValueError, match="no log-probabilities"):
        best_of_n.reply(row, {"text": "7"})
    file = tmp_path / "samples.jsonl"
    file.write_text("".join(json.dumps(row | {"completions": [full] * n}) + "\n" for n in (2, 1)), "utf-8")
    with pytest.raises(ValueError, match="2 of 300 questions"):
        best_of_n.questions(file)
    monkeypatch.setattr(best_of_n, "QUESTIONS", 2)
    with pytest.raises(ValueError, match="unequal numbers of replies"):
        best_of_n.questions(file)
