"""Real questions on a real corpus, where the data is at hand."""

import pytest

pytest.importorskip("bm25s")

from verikit.retrieval import build_index, load_index
from verikit.retrieval.metrics import report


@pytest.fixture(scope="module")
def measure(data, rows, tmp_path_factory):
    home = tmp_path_factory.mktemp("2wiki")
    assert build_index([data / "multihop" / "2wiki_corpus.jsonl"], home) == 6119
    build_index([data / "multihop" / "2wiki_corpus.jsonl"], home, graph=True)
    asked = rows("multihop/2wiki_101_gold.jsonl")

    def metrics(spec):
        found = load_index(f"{spec}:{home}").retrieve([row["question"] for row in asked], 20)
        titles = [[passage.title for passage in passages] for passages in found]
        return len(asked), report(titles, [row["gold_titles"] for row in asked], [2, 5, 8, 10, 20])

    return metrics


def test_bm25_reaches_the_stated_recall(measure):
    count, found = measure("bm25")
    stated = {101: (0.5817, 0.6708, 0.6955, 0.7104), 35: (0.6, 0.6714, 0.6857, 0.7)}[count]
    assert [found[f"recall@{k}"] for k in (2, 5, 10, 20)] == pytest.approx(stated, abs=0.005)


def test_a_second_step_finds_a_tenth_more_of_the_golds(measure):
    once, twice = measure("bm25")[1], measure("two-step:bm25")[1]
    assert twice["recall@20"] >= once["recall@20"] + 0.1
    assert twice["recall@2"] >= once["recall@2"] - 0.005


def test_the_graph_finds_all_golds_of_nearly_every_question(measure):
    once, walked = measure("bm25")[1], measure("graph:bm25")[1]
    assert walked["all-gold@8"] >= 0.93
    assert walked["all-gold@8"] >= once["all-gold@8"] + 0.5
    assert walked["all-gold@5"] >= once["all-gold@5"] + 0.5
    assert walked["recall@2"] >= once["recall@2"]
