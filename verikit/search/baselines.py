"""Baselines for search: the same questions with one retrieval in advance, and with none."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from verikit.engines.types import Engine, EnginePrompt
from verikit.errors import RetrievalError
from verikit.retrieval.types import Retriever
from verikit.search.format import evidence
from verikit.search.leg import EVALUATION, Legs, SearchLimits, Seeds
from verikit.search.loop import retrieve
from verikit.search.prompts import rag_prompt
from verikit.search.trace import Search, SearchTrace


def closed_book(
    engine: Engine,
    prompts: Sequence[EnginePrompt],
    limits: SearchLimits = EVALUATION,
    *,
    tokenizer: Any = None,
    seeds: Seeds | None = None,
) -> list[SearchTrace]:
    """Answer each prompt in one leg, without a retriever."""
    legs = Legs(engine, limits, tokenizer=tokenizer, seeds=seeds)
    traces = legs.begin(prompts)
    return engine.roll_out([legs.answered(index, trace) for index, trace in enumerate(traces)])


def single_shot(
    engine: Engine,
    retriever: Retriever,
    questions: Sequence[str],
    ask: Callable[[str, str], EnginePrompt] = rag_prompt,
    limits: SearchLimits = EVALUATION,
    *,
    tokenizer: Any = None,
    seeds: Seeds | None = None,
) -> list[SearchTrace]:
    """Retrieve once by the question, and answer in one leg.

    Args:
        engine: Generates.
        retriever: Finds passages.
        questions: Text. Each is its own query.
        ask: (question, evidence) -> prompt.
        limits: Bounds and sampling.
        tokenizer: The model's. By default the engine's, if it has one in this process.
        seeds: Provides the requests' seeds. By default they are unseeded.
    """
    found = retrieve(retriever, questions, limits.k)
    legs = Legs(engine, limits, tokenizer=tokenizer, seeds=seeds)
    prompts, searches = [], []
    for question in questions:
        passages = found[question]
        searches.append(passages)
        shown = [] if isinstance(passages, RetrievalError) else passages
        prompts.append(ask(question, evidence(shown, legs.escape).strip()))
    traces = legs.begin(prompts)
    for trace, question, passages in zip(traces, questions, searches, strict=True):
        if isinstance(passages, RetrievalError):
            trace.error = passages
        else:
            trace.searches.append(Search(question, tuple(passages)))
    return engine.roll_out([legs.answered(index, trace) for index, trace in enumerate(traces)])
