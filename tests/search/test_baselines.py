from tests.search.scripted import Script, Table
from verikit.engines import Engine, Generation
from verikit.errors import ContextOverflow, EngineTimeout, RetrievalError
from verikit.retrieval import Passage
from verikit.search import closed_book, closed_prompt, rag_prompt, search_messages, search_prompt, single_shot

PARIS = Passage("Paris", "is the capital of France.")


class Failing(Engine):
    name = "failing"

    def __init__(self, error):
        self.error = error

    def generate(self, requests):
        return [Generation(error=self.error) for _ in requests]


def test_single_shot_asks_once_by_the_question_and_shows_the_block():
    engine = Script({"Answer the question": ["<answer>Paris</answer>", "<answer>none</answer>"]})
    retriever = Table({"capital?": [PARIS]})
    found, nothing = single_shot(engine, retriever, ["capital?", "river?"])
    assert retriever.calls == [(["capital?", "river?"], 5)]
    first, second = (request.prompt for request in engine.batches[0])
    assert "<|begin_of_documents|>\n(1)Paris is the capital of France.\n<|end_of_documents|>" in first
    assert "<|begin_of_documents|>\nNone\n<|end_of_documents|>" in second
    assert (found.answer, found.searches[0].passages, nothing.searches[0].passages) == ("Paris", (PARIS,), ())
    assert engine.batches[0][0].stop == ("</answer>",)


def test_a_retriever_that_fails_leaves_the_question_unscored_and_unasked():
    engine = Script({"Answer": []})
    (trace,) = single_shot(engine, Table({}, fail="q"), ["q"])
    assert isinstance(trace.error, RetrievalError)
    assert engine.batches == []


def test_closed_book_reads_queries_as_text():
    engine = Script({"Answer": ["<|begin_of_query|>x<|end_of_query|> <answer>b</answer>"]})
    (trace,) = closed_book(engine, [closed_prompt("q")])
    assert (trace.answer, trace.searches, trace.evidence_spans) == ("b", [], [])


def test_an_engines_failure_is_the_traces_error():
    for error in (EngineTimeout("late"), ContextOverflow("long")):
        (trace,) = closed_book(Failing(error), ["q"])
        assert (trace.error, trace.finished, trace.text) == (error, False, "")
        (trace,) = single_shot(Failing(error), Table({"q": [PARIS]}), ["q"])
        assert (trace.error, trace.finished) == (error, False)


def test_the_prompts_hold_the_question_and_the_tags():
    assert search_prompt("Who?").endswith("\nUser: Who?\nAssistant: <think>")
    assert [message["role"] for message in search_messages("Who?")] == ["system", "user"]
    for text in (search_prompt("Who?"), search_messages("Who?")[0]["content"]):
        assert "<|begin_of_query|> search query (only keywords) here <|end_of_query|>" in text
        assert "{" not in text
    assert "Who?" in rag_prompt("Who?", "E")
    assert "E\n" in rag_prompt("Who?", "E")
