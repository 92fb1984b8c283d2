"""What searching is compared with: the same questions with one retrieval beforehand, and with none."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from verikit.engines.types import Engine, EnginePrompt
from verikit.errors import RetrievalError
from verikit.retrieval.types import Retriever
from verikit.search.format import evidence
from verikit.search.leg import EVALUATION, Legs, Limits, Seeds
from verikit.search.loop import retrieve
from verikit.search.prompts import rag_prompt
from verikit.search.rollout import Rollout, Search


def closed_book(
    engine: Engine,
    prompts: Sequence[EnginePrompt],
    limits: Limits = EVALUATION,
    *,
    tokenizer: Any = None,
    seeds: Seeds | None = None,
) -> list[Rollout]:
    """Answer each prompt in one leg, without a retriever."""
    legs = Legs(engine, limits, tokenizer=tokenizer, seeds=seeds)
    rollouts = legs.begin(prompts)
    legs.run(list(enumerate(rollouts)), 0, queries=False)
    return rollouts


def single_shot(
    engine: Engine,
    retriever: Retriever,
    questions: Sequence[str],
    ask: Callable[[str, str], EnginePrompt] = rag_prompt,
    limits: Limits = EVALUATION,
    *,
    tokenizer: Any = None,
    seeds: Seeds | None = None,
) -> list[Rollout]:
    """Retrieve once by the question, and answer in one leg.

    Args:
        engine: Generates.
        retriever: Finds passages.
        questions: Text; each is its own query.
        ask: (question, evidence) -> prompt.
        limits: Bounds and sampling.
        tokenizer: The model's; by default the engine's, where it holds one in process.
        seeds: Gives requests their seeds; by default they are unseeded.
    """
    found = retrieve(retriever, questions, limits.k)
    legs = Legs(engine, limits, tokenizer=tokenizer, seeds=seeds)
    prompts, searches = [], []
    for question in questions:
        passages = found[question]
        searches.append(passages)
        shown = [] if isinstance(passages, RetrievalError) else passages
        prompts.append(ask(question, evidence(shown, legs.escape).strip()))
    rollouts = legs.begin(prompts)
    for rollout, question, passages in zip(rollouts, questions, searches, strict=True):
        if isinstance(passages, RetrievalError):
            rollout.error = passages
        else:
            rollout.searches.append(Search(question, tuple(passages)))
    legs.run(list(enumerate(rollouts)), 0, queries=False)
    return rollouts
