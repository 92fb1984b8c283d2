import pytest

from tests.hostile_texts import HOSTILE
from tests.search.scripted import Script, Table
from verikit import load
from verikit.errors import UsageError
from verikit.retrieval import Passage
from verikit.search import search
from verikit.types import Sample

BLOCK = "\n\n<|begin_of_documents|>\n(1)A b\n<|end_of_documents|>\n\n"
SEARCHED = f"<|begin_of_query|>a<|end_of_query|>{BLOCK}so </think><answer>b</answer>"
START = len("<|begin_of_query|>a<|end_of_query|>")
SPANS = [[START, START + len(BLOCK)]]


def score(spec, completion, **meta):
    return load(spec).score([Sample("q", completion, meta=meta)])[0]


@pytest.mark.parametrize("meta", [{}, {"evidence": SPANS}])
def test_a_right_text_passes(meta):
    assert score("search_format", SEARCHED, **meta).value == 1.0
    assert score("search_format(must_search=True)", SEARCHED, **meta).answer == "b"
    assert score("searched", SEARCHED, **meta).value == 1.0
    assert score("searched(least=2)", SEARCHED, **meta).value == 0.0


@pytest.mark.parametrize(
    ("completion", "reason"),
    [
        ("<|begin_of_query|>a<|end_of_query|>so </think><answer>b</answer>", "query and documents tags don't match"),
        ("so <answer>b</answer>", "thinking is not closed once"),
        ("</think>b", "not one answer"),
        ("</think><answer>b</answer><answer>c</answer>", "not one answer"),
        ("是</think><answer>b</answer>", "garbled text"),
        ("</think><answer>1 2 3 4 5 6 7 8 9 10 11</answer>", "long answer"),
        ("<answer>b</answer></think>", "the answer does not follow the thinking and end the text"),
        ("</think><answer>b</answer> and more", "the answer does not follow the thinking and end the text"),
        (f"so{BLOCK}</think><answer>b</answer>", "invented documents"),
    ],
)
def test_each_rule_by_a_failing_text(completion, reason):
    found = score("search_format", completion)
    assert found.value == 0.0
    assert reason in found.reason.split("; ")


def test_evidence_that_was_not_recorded_is_invented():
    assert "invented documents" in score("search_format", SEARCHED, evidence=[]).reason
    assert score("searched", SEARCHED, evidence=[]).value == 0.0
    assert score("search_format('repo-llama')", SEARCHED, evidence=[]).value == 1.0


def test_a_text_that_was_cut_off_or_lacks_a_search_it_must_make():
    assert score("search_format", SEARCHED, finished=False).reason == "cut off"
    plain = "so </think><answer>b</answer>"
    assert score("search_format", plain).value == 1.0
    assert score("search_format(must_search=True)", plain).value == 0.0


def test_the_qwen_rules_punish_the_word_assistant_even_in_evidence():
    text = SEARCHED.replace("A b", "Assistant b")
    assert score("search_format('repo-qwen')", text).reason == "another turn"
    assert score("search_format", text).value == 1.0


@pytest.mark.parametrize("spans", [3, [[0]], [[5, 2]], [[0, 5], [3, 7]], [[0, 10**9]], [["0", "1"]], [[-1, 2]]])
def test_wrong_spans_are_the_datas_fault_and_no_zero(spans):
    found = score("search_format", SEARCHED, evidence=spans)
    assert (found.value, found.status) == (None, "error")


def test_the_first_stage_of_the_paper_is_an_expression():
    stage = load("0.5*searched + 0.5*search_format")
    bad = "<|begin_of_query|>a<|end_of_query|>" + BLOCK
    texts = [SEARCHED, bad, "so </think><answer>b</answer>", "nothing"]
    assert [float(value) for value in stage.score([Sample("q", text) for text in texts])] == [1.0, 0.5, 0.5, 0.0]


def test_a_rollout_of_the_loop_scores_by_its_recorded_spans():
    engine = Script({"Q": ["<|begin_of_query|>a<|end_of_query|>", "so </think><answer>b</answer>"]})
    (trace,) = search(engine, Table({"a": [Passage("A", "b")]}), ["Q"])
    assert trace.text == SEARCHED
    assert score("search_format", trace.text, evidence=trace.evidence_spans).value == 1.0


def test_an_unknown_preset_is_refused():
    with pytest.raises(UsageError, match="preset must be one of"):
        load("search_format('mine')")


@pytest.mark.parametrize(
    "tag", ["<|begin_of_documents|>\n", "<|end_of_query|>\n\n<|begin_of_documents|>\n", BLOCK, "<answer>"]
)
def test_scoring_is_linear_in_hostile_texts(linear, tag):
    linear(lambda text: score("search_format", text), tag)


def test_hostile_texts_score_zero():
    for text in HOSTILE:
        assert score("search_format", text).value == 0.0
