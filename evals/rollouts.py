"""Replies that take several steps. A task names its rollout in the generation settings.

`turns` sends the document's turns one after the other. `conversation` continues its messages. `single_shot` retrieves
once with the question, and `search` lets the model search as it writes (`verikit.search`). All documents and repeats
advance together, and each step is one batch.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from verikit.engines import Engine, Request
from verikit.engines.types import EnginePrompt
from verikit.evals.docs import Doc
from verikit.evals.replies import Failed, Noted, TurnReplies, texts
from verikit.platform.raised import describe
from verikit.replies.split import split
from verikit.retrieval import Retriever
from verikit.search import EVALUATION, SearchLimits, SearchTrace, search, search_messages, search_prompt, single_shot
from verikit.search.prompts import rag_prompt
from verikit.types import Message

USER, ASSISTANT = "User: ", "\nAssistant:"


@dataclass(frozen=True)
class ReplyRequest:
    """One requested reply."""

    doc: Doc
    request: Request
    """The sampling request, which is a conversation if the run uses conversations."""
    settings: Mapping[str, Any]
    """The task's other generation settings.

    `k` and `searches` bound a search. `by_turns` shows evidence as the user's next message, for chat servers that can't
    continue an assistant's message.
    """


def turns(engine: Engine, asks: Sequence[ReplyRequest], retriever: Retriever | None) -> list[str]:
    """Send each document's turns one by one, each with the preceding turns."""
    said: list[list[str]] = [[] for _ in asks]
    failed: dict[int, Failed] = {}
    for _ in range(max(len(ask.doc["turns"]) for ask in asks)):
        live = [i for i, ask in enumerate(asks) if i not in failed and len(said[i]) < len(ask.doc["turns"])]
        generations = engine.generate([_next_turn(asks[i], said[i]) for i in live])
        for i, generation in zip(live, generations, strict=True):
            (text,) = texts(generation, 1)
            if isinstance(text, Failed):
                failed[i] = text
            else:
                said[i].append(text)
    return [failed[i] if i in failed else TurnReplies(replies) for i, replies in enumerate(said)]


def _next_turn(ask: ReplyRequest, said: Sequence[str]) -> Request:
    asked: list[str] = ask.doc["turns"][: len(said) + 1]
    said = [split(text).reply for text in said]
    if ask.request.kind == "chat":
        turns: list[Message] = [turn for turn in ask.request.prompt if isinstance(turn, dict)][:-1]
        for question, answer in zip(asked, said, strict=False):
            turns += [Message(role="user", content=question), Message(role="assistant", content=answer)]
        return replace(ask.request, prompt=[*turns, Message(role="user", content=asked[-1])])
    before = "".join(f"{USER}{q}{ASSISTANT} {a}\n" for q, a in zip(asked, said, strict=False))
    return replace(
        ask.request, prompt=f"{before}{USER}{asked[-1]}{ASSISTANT}", stop=(*ask.request.stop, f"\n{USER.strip()}")
    )


def conversation(engine: Engine, asks: Sequence[ReplyRequest], retriever: Retriever | None) -> list[str]:
    """Request the reply to each document's messages, as a conversation if the run uses conversations."""
    generations = engine.generate([_with_messages(ask) for ask in asks])
    return [text for generation in generations for text in texts(generation, 1)]


def _with_messages(ask: ReplyRequest) -> Request:
    if ask.request.kind != "chat":
        return ask.request
    system = [turn for turn in ask.request.prompt if isinstance(turn, dict) and turn.get("role") == "system"]
    turns: list[Message] = [*system, *json.loads(ask.doc["conversation"])]
    return replace(ask.request, prompt=turns)


def retrieved(engine: Engine, asks: Sequence[ReplyRequest], retriever: Retriever) -> list[str]:
    """Retrieve once with the question, then answer."""
    chat = asks[0].request.kind == "chat"
    rollouts = single_shot(
        engine,
        retriever,
        [ask.doc["question"] for ask in asks],
        ask=_rag_messages if chat else rag_prompt,
        limits=_limits(asks[0]),
        seeds=_seeds(asks),
    )
    return list(map(_reply, rollouts))


def searched(engine: Engine, asks: Sequence[ReplyRequest], retriever: Retriever) -> list[str]:
    """Let the model search until it answers."""
    prompts: list[EnginePrompt] = [
        search_messages(ask.doc["question"]) if ask.request.kind == "chat" else search_prompt(ask.doc["question"])
        for ask in asks
    ]
    by_turns = asks[0].request.kind == "chat" and bool(asks[0].settings.get("by_turns"))
    rollouts = search(engine, retriever, prompts, limits=_limits(asks[0]), seeds=_seeds(asks), turns=by_turns)
    return list(map(_reply, rollouts))


ROLLOUTS: dict[str, Callable[[Engine, Sequence[ReplyRequest], Any], list[str]]] = {
    "turns": turns,
    "conversation": conversation,
    "single_shot": retrieved,
    "search": searched,
}
RETRIEVING = ("single_shot", "search")


def _rag_messages(question: str, evidence: str) -> list[Message]:
    return [Message(role="user", content=rag_prompt(question, evidence))]


def _limits(ask: ReplyRequest) -> SearchLimits:
    return replace(
        EVALUATION,
        leg_tokens=ask.request.max_tokens,
        temperature=ask.request.temperature,
        top_p=ask.request.top_p,
        top_k=ask.request.top_k,
        k=int(ask.settings.get("k", EVALUATION.k)),
        searches=int(ask.settings.get("searches", EVALUATION.searches)),
    )


def _seeds(asks: Sequence[ReplyRequest]) -> Callable[[int, int], int]:
    """Return a seed for each position and leg, derived from the request's own."""
    return lambda index, leg: (asks[index].request.seed or 0) * 1000 + leg


def _reply(rollout: SearchTrace) -> str:
    """Return the model's own text with its searches, without the evidence."""
    if rollout.error is not None:
        return Failed(describe(rollout.error))
    notes = {"searches": [search.query for search in rollout.searches], "finished": rollout.finished}
    return Noted(rollout.own, notes | {"transcript": rollout.text, "evidence_spans": rollout.evidence_spans})
