"""Engines and retrievers that do as they are told."""

from collections.abc import Sequence

from verikit.engines import Engine, Generation, Output
from verikit.errors import RetrievalError
from verikit.retrieval import Passage


def stopped(text, request):
    """What a server makes of a text: cut at the first stop."""
    at = min((found for stop in request.stop if (found := text.find(stop)) >= 0), default=len(text))
    return Output(text[:at], finish_reason="stop")


class Script(Engine):
    """Says, for each prompt, its lines one after the other; what was asked is kept in `batches`."""

    name = "script"

    def __init__(self, lines: dict[str, list[str]]):
        self.lines = {key: list(value) for key, value in lines.items()}
        self.batches = []

    def generate(self, requests):
        self.batches.append(list(requests))
        return [Generation((stopped(self.next(request.prompt), request),)) for request in requests]

    def next(self, prompt):
        text = prompt if isinstance(prompt, str) else prompt[0]["content"]
        return next(lines for key, lines in self.lines.items() if text.startswith(key)).pop(0)


class Table:
    """Answers from a table; remembers what it was asked."""

    def __init__(self, table: dict[str, Sequence[Passage]], fail: str = ""):
        self.table, self.fail, self.calls = table, fail, []

    def retrieve(self, queries, k):
        self.calls.append((list(queries), k))
        if self.fail and self.fail in queries:
            raise RetrievalError("the index is gone")
        return [list(self.table.get(query, ()))[:k] for query in queries]
