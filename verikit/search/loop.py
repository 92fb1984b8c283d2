"""The search loop: generate to a closed query, retrieve, append the evidence, continue.

Each trace is a rollout that continues as soon as its own passages arrive. Queries that wait together are sent to the
retriever together. If a retriever fails, the traces that called it are unscored: they contain the reason, and never an
empty result.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from verikit.engines.rollouts import Rollout, Together
from verikit.engines.types import Engine, EnginePrompt
from verikit.errors import RetrievalError
from verikit.retrieval.types import Passage, Retriever
from verikit.search.format import END_QUERY, evidence, query_of
from verikit.search.leg import EVALUATION, Legs, SearchLimits, Seeds
from verikit.search.trace import Search, SearchTrace

AT_ONCE = 64
"""Queries per call of the retriever. A failure affects only these."""
Retrieved = list[Passage] | RetrievalError
AskRetriever = Callable[[Sequence[str]], list[Retrieved]]


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
) -> list[SearchTrace]:
    """Roll out each prompt to its answer, its end or a limit. Failures are data on the traces that they concern.

    Args:
        engine: Generates.
        retriever: Answers the queries.
        prompts: Text, conversations or ids.
        limits: Bounds and sampling.
        tokenizer: The model's. By default the engine's, if it has one in this process.
        seeds: Provides the requests' seeds. By default they are unseeded.
        logprobs: Whether to record log-probabilities of the sampled tokens.
        turns: Show evidence as the user's next message, for chat servers that can't continue the assistant's.
    """
    legs = Legs(engine, limits, tokenizer=tokenizer, seeds=seeds, logprobs=logprobs, turns=turns)
    traces = legs.begin(prompts)

    def ask(queries: Sequence[str]) -> list[Retrieved]:
        found = retrieve(retriever, queries, limits.k)
        return [found[query] for query in queries]

    return engine.roll_out([_searching(legs, limits, ask, index, trace) for index, trace in enumerate(traces)])


def _searching(
    legs: Legs, limits: SearchLimits, ask: AskRetriever, index: int, trace: SearchTrace
) -> Rollout[SearchTrace]:
    """Roll one trace out."""
    for leg in range(limits.searches + 1):
        yield from legs.run(index, trace, leg)
        query = _asked(trace)
        if not query:
            break
        trace.finished = False
        if leg == limits.searches:
            break
        passages = yield Together(ask, query, AT_ONCE)
        if isinstance(passages, RetrievalError):
            trace.error = passages
            break
        legs.append(trace, evidence(passages, legs.escape))
        trace.searches.append(Search(query, tuple(passages)))
    return trace


def retrieve(retriever: Retriever, queries: Sequence[str], k: int) -> dict[str, Retrieved]:
    """Return each query's passages, or the error of the call that contained it. Equal queries are sent once."""
    unique = list(dict.fromkeys(queries))
    answers: dict[str, Retrieved] = {}
    for start in range(0, len(unique), AT_ONCE):
        batch = unique[start : start + AT_ONCE]
        try:
            found = retriever.retrieve(batch, k)
            failure = RetrievalError(f"the retriever gave {len(found)} results for {len(batch)} queries")
        except RetrievalError as error:
            found, failure = [], error.with_traceback(None)
        whole = len(found) == len(batch)
        answers |= {query: list(found[at][:k]) if whole else failure for at, query in enumerate(batch)}
    return answers


def _asked(trace: SearchTrace) -> str:
    """Return the query that the trace's last piece closed, or "" if the trace is over."""
    last = trace.pieces[-1]
    stopped = trace.error is None and trace.finished and last.author == "model"
    return query_of(last.text) if stopped and END_QUERY in last.text else ""
