import pytest

from tests.search.scripted import Script, Table
from verikit.retrieval import Passage
from verikit.search import EVALUATION, SearchLimits, search

PARIS = Passage("Paris", "is the capital of France.")
FRANCE = Passage("France", "borders Spain.")
ASKS = ['I need it <|begin_of_query|> capital "France" <|end_of_query|>', "And <|begin_of_query|>Spain<|end_of_query|>"]


def test_two_queries_are_two_retrievals_in_the_exact_layout():
    engine = Script({"Q": [*ASKS, "so </think> <answer>Paris</answer> more"]})
    retriever = Table({"capital France": [PARIS, FRANCE]})
    (trace,) = search(engine, retriever, ["Q"])
    assert retriever.calls == [(["capital France"], 5), (["Spain"], 5)]
    assert trace.text == (
        'I need it <|begin_of_query|> capital "France" <|end_of_query|>\n\n<|begin_of_documents|>\n'
        "(1)Paris is the capital of France.\n(2)France borders Spain.\n<|end_of_documents|>\n\n"
        "And <|begin_of_query|>Spain<|end_of_query|>\n\n<|begin_of_documents|>\nNone\n<|end_of_documents|>\n\n"
        "so </think> <answer>Paris</answer>"
    )
    assert (trace.answer, trace.finished, trace.error) == ("Paris", True, None)
    assert [trace.text[start:end][2:23] for start, end in trace.evidence_spans] == ["<|begin_of_documents|"] * 2
    assert engine.batches[1][0].prompt == "Q" + trace.text[: trace.evidence_spans[0][1]]
    assert engine.batches[0][0].stop == ("<|end_of_query|>", "</answer>")


def test_an_endless_searcher_stops_at_the_cap_and_is_unfinished():
    engine = Script({"Q": ["<|begin_of_query|>again<|end_of_query|>"] * 20})
    retriever = Table({})
    (trace,) = search(engine, retriever, ["Q"], SearchLimits(searches=8))
    assert (len(retriever.calls), len(engine.batches), trace.finished, len(trace.searches)) == (8, 9, False, 8)
    assert {request.max_tokens for batch in engine.batches for request in batch} == {512}


def test_a_failing_retriever_leaves_its_traces_unscored_and_the_others_alone(monkeypatch):
    monkeypatch.setattr("verikit.search.loop.AT_ONCE", 1)
    engine = Script({"A": [ASKS[1]], "B": ["<|begin_of_query|>x<|end_of_query|>", "<answer>b</answer>"]})
    bad, good = search(engine, Table({}, fail="Spain"), ["A", "B"])
    assert (str(bad.error), bad.searches, bad.evidence_spans) == ("the index is gone", [], [])
    assert (good.error, good.answer, len(good.searches)) == (None, "b", 1)


def test_whole_batches_advance_together_and_ask_equal_queries_once():
    lines = ["<|begin_of_query|>x<|end_of_query|>", "<answer>1</answer>"]
    engine = Script({"A": lines, "B": lines, "C": ["<answer>0</answer>"]})
    retriever = Table({"x": [PARIS]})
    traces = search(engine, retriever, ["A", "B", "C"])
    assert [len(batch) for batch in engine.batches] == [3, 2]
    assert retriever.calls == [(["x"], EVALUATION.k)]
    assert [trace.answer for trace in traces] == ["1", "1", "0"]


@pytest.mark.parametrize("wrong", [{"k": 0}, {"searches": -1}, {"leg_tokens": 0}])
def test_limits_that_allow_nothing_are_refused(wrong):
    with pytest.raises(ValueError, match="too small"):
        SearchLimits(**wrong)


def test_a_retriever_that_miscounts_is_an_error_and_surplus_passages_are_left():
    class Miscounting(Table):
        def retrieve(self, queries, k):
            return [[PARIS] * 50] * (len(queries) + self.fail)

    lines = {"Q": ["<|begin_of_query|>x<|end_of_query|>", "<answer>1</answer>"]}
    (bad,) = search(Script(lines), Miscounting({}, fail=1), ["Q"])
    assert str(bad.error) == "the retriever gave 2 results for 1 queries"
    (trace,) = search(Script(lines), Miscounting({}, fail=0), ["Q"], SearchLimits(k=2))
    assert len(trace.searches[0].passages) == 2


def test_a_conversation_goes_on_within_the_assistants_message_or_by_turns():
    question = {"role": "user", "content": "Q"}
    lines = ["<|begin_of_query|>x<|end_of_query|>", "<answer>1</answer>"]
    block = "<|begin_of_documents|>\n(1)Paris is the capital of France.\n<|end_of_documents|>"
    for turns in (False, True):
        engine = Script({"Q": lines})
        (trace,) = search(engine, Table({"x": [PARIS]}), [[question]], turns=turns)
        first, second = (batch[0].prompt for batch in engine.batches)
        assert first == (question,)
        said = [{"role": "assistant", "content": lines[0]}, {"role": "user", "content": block}]
        assert list(second[1:]) == (said if turns else [{"role": "assistant", "content": f"{lines[0]}\n\n{block}\n\n"}])
        assert trace.answer == "1"
