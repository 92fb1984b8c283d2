"""What exact, f1 and cover_em share, and the three against an independent reading of R1-Searcher's metrics."""

import re
from collections import Counter

import pytest

from tests.hostile_texts import HOSTILE
from verikit import Sample
from verikit.errors import UsageError
from verikit.verifiers.overlap.cover_em import CoverEM
from verikit.verifiers.overlap.exact import Exact
from verikit.verifiers.overlap.f1 import F1

ALL = [Exact(), F1(), CoverEM()]


@pytest.mark.parametrize("v", ALL, ids=repr)
def test_no_gold_is_the_datas_fault_and_no_answer_the_candidates(v):
    assert v("text", None).status == "error"
    assert v("text", []).status == "error"
    boxed = type(v)(extract="boxed")
    assert (boxed("no box", "gold").value, boxed("no box", "gold").status) == (0.0, "ok")
    assert "no answer found" in boxed("no box", "gold").reason


@pytest.mark.parametrize("v", ALL, ids=repr)
def test_the_best_of_several_golds_counts(v):
    score = v("Paris", ["London", "Paris", "Rome"])
    assert score.value == 1.0
    assert "'Paris'" in score.reason
    assert score.answer == "Paris"


@pytest.mark.parametrize("v", ALL, ids=repr)
def test_golds_that_are_not_text_are_an_error_and_never_a_zero(v):
    for gold in ([None], [5]):
        assert v("None", gold).status == "error"


@pytest.mark.parametrize("make", [Exact, F1, CoverEM])
def test_unknown_options_are_refused(make):
    for options in ({"normalizer": "nope"}, {"extract": "nope"}):
        with pytest.raises(UsageError, match="must be one of"):
            make(**options)


@pytest.mark.parametrize("v", ALL, ids=repr)
def test_hostile_text_costs_linear_work(v, linear):
    for hostile in HOSTILE:
        linear(lambda text: v.score([Sample(completion=text, answer="the gold")]), hostile)


def words(text):
    """R1-Searcher's normaliser, written from its description with other means than the package's."""
    if text.strip() in ("True", "False"):
        text = "yes" if text.strip() == "True" else "no"
    blanked = "".join(
        " " if c in "‘’´`" or (c.isascii() and c.isprintable() and not c.isalnum()) else c for c in text.lower()
    )
    return [word for word in re.split(r"\s+", re.sub(r"(?<!\w)(a|an|the)(?!\w)", " ", blanked)) if word]


def squad_words(text):
    return [
        w
        for w in re.sub(r"[!-/:-@\[-`{-~]", "", text.lower()).replace("\t", " ").split()
        if w not in ("a", "an", "the")
    ]


def f1_of(a, b):
    if a == b:
        return 1.0
    if {"yes", "no", "noanswer"} & {" ".join(a), " ".join(b)}:
        return 0.0
    left, common = Counter(b), 0
    for word in a:
        if left[word] > 0:
            left[word] -= 1
            common += 1
    if not common:
        return 0.0
    precision, recall = common / len(a), common / len(b)
    return 2 * precision * recall / (precision + recall)


def run(gold, prediction):
    return any(prediction[i : i + len(gold)] == gold for i in range(len(prediction) + 1))


METRICS = {
    Exact("r1-searcher", extract="whole"): lambda p, g: float(words(p) == words(g)),
    Exact("hotpotqa", extract="whole"): lambda p, g: float(squad_words(p) == squad_words(g)),
    F1("r1-searcher", extract="whole"): lambda p, g: f1_of(words(p), words(g)),
    F1("hotpotqa", extract="whole"): lambda p, g: f1_of(squad_words(p), squad_words(g)),
    CoverEM(extract="whole"): lambda p, g: float(all(w in words(p) for w in words(g))),
    CoverEM(variant="contiguous", extract="whole"): lambda p, g: float(run(words(g), words(p))),
}
FILES = ["hotpotqa_llama", "hotpotqa_qwen", "2wiki_qwen", "bamboogle_llama", "bamboogle_qwen"]


@pytest.mark.parametrize("file", FILES)
@pytest.mark.parametrize("v", METRICS, ids=repr)
def test_stored_predictions_score_as_an_independent_reading_of_the_metric_says(v, file, rows):
    stored = rows(f"multihop/r1s_{file}.jsonl")
    samples = [Sample(row["question"], row["pred"], row["answer"]) for row in stored]
    scores = v.score(samples)
    assert len(stored) > 30
    for row, score in zip(stored, scores, strict=True):
        assert score.value == pytest.approx(METRICS[v](row["pred"], row["answer"]), abs=1e-12), row
    assert 0.3 < sum(map(float, scores)) / len(scores) < 0.9
