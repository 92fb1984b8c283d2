import json

import pytest

from verikit.retrieval.metrics import all_gold, recall, reciprocal_rank, report


def test_closed_form_values():
    found, golds = ["a", "x", "b", "y"], ["b", "a", "c", "c"]
    assert [recall(found, golds, k) for k in (1, 2, 3, 9)] == [1 / 3, 1 / 3, 2 / 3, 2 / 3]
    assert [all_gold(found, ["a", "b"], k) for k in (2, 3)] == [0.0, 1.0]
    assert reciprocal_rank(["x", "b"], golds) == 0.5
    assert reciprocal_rank([], golds) == 0.0
    assert report([["a"], ["x"]], [["a"], ["b"]], [1]) == {"recall@1": 0.5, "all-gold@1": 0.5, "mrr": 0.5}


@pytest.mark.parametrize(("rankings", "golds"), [([], []), ([["a"]], [[]]), ([["a"]], [["a"], ["b"]])])
def test_questions_without_golds_are_refused(rankings, golds):
    with pytest.raises(ValueError):
        report(rankings, golds, [1])


def test_stored_rankings_of_four_systems_give_their_own_counts(rows):
    stored = rows("multihop/2wiki_101_gold.jsonl")
    golds = [row["gold_titles"] for row in stored]
    for system in stored[0]["retrieved"]:
        ranked = [row["retrieved"][system] for row in stored]
        metrics = report(ranked, golds, [8])
        by_hand = sum(
            all(gold in found[:8] for gold in set(wanted)) for found, wanted in zip(ranked, golds, strict=True)
        )
        assert metrics["all-gold@8"] == by_hand / len(stored), json.dumps(metrics)
