"""The search loop: generate to a closed query, retrieve, append the evidence, go on.

All live traces of a batch move leg by leg: one call of the engine for all, and their queries go to the retriever
together. A retriever that fails leaves the traces that asked it unscored: they carry the reason, and never an empty
result.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from verikit.engines.types import Engine, EnginePrompt
from verikit.errors import RetrievalError
from verikit.retrieval.types import Passage, Retriever
from verikit.search.format import END_QUERY, evidence, query_of
from verikit.search.leg import EVALUATION, Legs, SearchLimits, Seeds
from verikit.search.trace import Search, SearchTrace

AT_ONCE = 64
"""Queries of one call of the retriever; its failure concerns these."""
Retrieved = list[list[Passage]] | RetrievalError
Spread = Callable[[Callable[[Sequence[str]], Retrieved], Sequence[Sequence[str]]], list[Retrieved]]
"""Applies a function to each of some batches of queries, in order."""


def search(
    engine: Engine,
    retriever: Retriever,
    prompts: Sequence[EnginePrompt],
    limits: SearchLimits = EVALUATION,
    *,
    tokenizer: Any = None,
    seeds: Seeds | None = None,
    logprobs: bool = False,
    turns: bool = False,
    spread: Spread | None = None,
) -> list[SearchTrace]:
    """Roll each prompt out to its answer, its end or a limit; failures are data on the traces they concern.

    Args:
        engine: Generates.
        retriever: Answers the queries.
        prompts: Text, conversations or ids.
        limits: Bounds and sampling.
        tokenizer: The model's; by default the engine's, where it holds one in process.
        seeds: Gives requests their seeds; by default they are unseeded.
        logprobs: Whether to record log-probabilities of the sampled tokens.
        turns: Show evidence as the user's next message: for chat servers that can't go on within the assistant's.
        spread: How calls of the retriever are made, such as a trainer's `Sampler.map`; by default in turn.
    """
    legs = Legs(engine, limits, tokenizer=tokenizer, seeds=seeds, logprobs=logprobs, turns=turns)
    traces = legs.begin(prompts)
    live = list(enumerate(traces))
    for leg in range(limits.searches + 1):
        legs.run(live, leg)
        asking = [(index, trace, query) for index, trace in live if (query := _asked(trace))]
        if leg < limits.searches:
            found = retrieve(retriever, [query for _, _, query in asking], limits.k, spread)
            for _, trace, query in asking:
                passages = found[query]
                if isinstance(passages, RetrievalError):
                    trace.error = passages
                else:
                    legs.append(trace, evidence(passages, legs.escape))
                    trace.searches.append(Search(query, tuple(passages)))
        for _, trace, _ in asking:
            trace.finished = False
        live = [(index, trace) for index, trace, _ in asking if trace.error is None]
    return traces


def retrieve(
    retriever: Retriever, queries: Sequence[str], k: int, spread: Spread | None = None
) -> dict[str, list[Passage] | RetrievalError]:
    """Return each query's passages, or the failure of the call it was in; equal queries are asked once."""

    def ask(batch: Sequence[str]) -> Retrieved:
        try:
            found = retriever.retrieve(batch, k)
        except RetrievalError as error:
            return error.with_traceback(None)
        if len(found) != len(batch):
            return RetrievalError(f"the retriever gave {len(found)} results for {len(batch)} queries")
        return [list(passages[:k]) for passages in found]

    unique = list(dict.fromkeys(queries))
    batches = [unique[start : start + AT_ONCE] for start in range(0, len(unique), AT_ONCE)]
    answers: dict[str, list[Passage] | RetrievalError] = {}
    for batch, found in zip(batches, (spread or _in_turn)(ask, batches), strict=True):
        each = [found] * len(batch) if isinstance(found, RetrievalError) else found
        answers |= dict(zip(batch, each, strict=True))
    return answers


def _asked(trace: SearchTrace) -> str:
    """Return the query that the trace's last piece closed; "" where it is over."""
    last = trace.pieces[-1]
    stopped = trace.error is None and trace.finished and last.author == "model"
    return query_of(last.text) if stopped and END_QUERY in last.text else ""


def _in_turn(function: Callable[[Sequence[str]], Retrieved], batches: Sequence[Sequence[str]]) -> list[Retrieved]:
    return [function(batch) for batch in batches]
