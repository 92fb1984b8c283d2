"""Rollouts that search: generate to a closed query, retrieve, append the evidence, go on.

All live rollouts of a batch move leg by leg, and a leg's queries go to the retriever together. What the policy sampled
and what was appended is recorded as it happens (`Transcript`). A retriever that fails leaves the rollouts that asked it
unscored: they carry the reason, and never a reward.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Protocol, cast

from verikit.engines.types import Output, Request
from verikit.errors import ConfigError, VerikitError
from verikit.trainers.recipe import Sampler, Transcript
from verikit.trainers.recipes.r1_searcher.transcript import (
    END_ANSWER,
    END_QUERY,
    Passage,
    Piece,
    Said,
    evidence,
    open_query,
)

AT_ONCE = 64
"""Queries of one call of the retriever."""
TRIES = 3


class RetrievalError(VerikitError):
    """The retriever failed."""


class Retriever(Protocol):
    """Finds passages."""

    def retrieve(self, queries: Sequence[str], k: int) -> list[list[Passage]]:
        """Return at most k passages for each query, best first.

        Raises:
            RetrievalError: it failed.
        """
        ...


@dataclass(frozen=True)
class Server:
    """A retrieval server by the repository's protocol: POST {queries, k} -> {answers: texts for each query}."""

    url: str
    timeout: float = 30.0
    pause: float = 0.5
    """Seconds before the first new try; doubled each time."""

    def retrieve(self, queries: Sequence[str], k: int) -> list[list[Passage]]:
        """Ask the server, again after failures.

        Raises:
            RetrievalError: no try gave a list of texts for each query.
        """
        import httpx

        problem = ""
        for attempt in range(TRIES):
            if attempt:
                time.sleep(self.pause * 2 ** (attempt - 1))
            try:
                reply = httpx.post(self.url, json={"queries": list(queries), "k": k}, timeout=self.timeout)
                reply.raise_for_status()
                answers = reply.json()["answers"]
                if len(answers) == len(queries) and all(isinstance(text, str) for one in answers for text in one):
                    return [[Passage("", text) for text in one[:k]] for one in answers]
                problem = "the reply is not a list of texts for each query"
            except (httpx.HTTPError, ValueError, KeyError, TypeError) as error:
                problem = f"{type(error).__name__}: {error}"
        raise RetrievalError(f"{self.url} failed {TRIES} times: {problem}")


class Titles:
    """Passages by title: those whose title's words are all in the query. Enough for a generated world."""

    def __init__(self, passages: Sequence[Passage]) -> None:
        self._by_title: dict[frozenset[str], list[Passage]] = {}
        for one in passages:
            self._by_title.setdefault(frozenset(one.title.split()), []).append(one)

    def retrieve(self, queries: Sequence[str], k: int) -> list[list[Passage]]:
        """Look each query up."""
        return [self._by_title.get(frozenset(query.split()), [])[:k] for query in queries]


def load_retriever(spec: str) -> Retriever:
    """Return a server by its URL, or what `package.module:name` makes.

    Raises:
        ConfigError: it is neither.
    """
    if spec.startswith(("http://", "https://")):
        return Server(spec)
    module, colon, name = spec.partition(":")
    try:
        if colon:
            return cast(Retriever, getattr(import_module(module), name)())
    except (ImportError, AttributeError) as error:
        raise ConfigError(f"options.retriever {spec!r}: {error}") from None
    raise ConfigError(f"options.retriever {spec!r} is no URL and no package.module:name")


@dataclass(frozen=True, slots=True)
class Limits:
    """How a rollout is bounded."""

    k: int = 3
    retrievals: int = 8
    """The leg after the last one cuts off whatever remains."""
    leg_tokens: int = 512
    temperature: float = 1.0
    top_p: float = 1.0
    stop_at_answer: bool = False
    """Evaluation stops there; training goes on to the end token."""


@dataclass(slots=True)
class Rollout:
    """One rollout while it grows."""

    transcript: Transcript
    key: tuple[int | str, ...]
    said: Said = field(default_factory=Said)


def search(
    sampler: Sampler,
    retriever: Retriever,
    prompts: Sequence[tuple[Sequence[int], tuple[int | str, ...]]],
    limits: Limits,
) -> list[Rollout]:
    """Roll out each (prompt's ids, key of its random numbers) to its answer, its end or a limit."""
    rollouts = [Rollout(Transcript(ids), key) for ids, key in prompts]
    live = rollouts
    stop = (END_QUERY, END_ANSWER) if limits.stop_at_answer else (END_QUERY,)
    for leg in range(limits.retrievals + 1):
        requests = [
            Request(
                tuple(one.transcript.ids),
                max_tokens=limits.leg_tokens,
                temperature=limits.temperature,
                top_p=limits.top_p,
                stop=stop,
                seed=sampler.seed(*one.key, leg),
                logprobs=0,
            )
            for one in live
        ]
        asking = []
        for one, generation in zip(live, sampler.generate(requests) if requests else [], strict=True):
            if generation.error is not None:
                one.said.error = str(generation.error)
            elif query := _heard(sampler, one, generation.outputs[0]):
                asking.append((one, query))
        if leg < limits.retrievals:
            _answer(sampler, retriever, asking, limits.k)
        live = [one for one, _ in asking if not one.said.error]
    return rollouts


def figures(rollouts: Sequence[Rollout]) -> dict[str, float]:
    """Return searches a rollout, and the shares of evidence among tokens, of the finished and of failed retrievals."""
    tokens = sum(len(one.transcript.ids) for one in rollouts) or 1
    own = sum(sum(one.transcript.mask) for one in rollouts)
    prompts = sum(one.transcript.mask.index(True) for one in rollouts if any(one.transcript.mask))
    count = len(rollouts) or 1
    return {
        "searches": sum(one.said.retrievals for one in rollouts) / count,
        "searched": sum(one.said.retrievals > 0 for one in rollouts) / count,
        "evidence_share": (tokens - own - prompts) / tokens,
        "finished": sum(one.said.finished for one in rollouts) / count,
        "retrieval_failed": sum(bool(one.said.error) for one in rollouts) / count,
    }


def _heard(sampler: Sampler, one: Rollout, output: Output) -> str:
    """Add what was sampled; return the query if it ends in one, else the rollout is over."""
    one.transcript.sampled(output)
    text = sampler.decode(output.ids)
    one.said.pieces.append(Piece(text, own=True))
    query = open_query(text) if output.finish_reason == "stop" and END_QUERY in text else ""
    one.said.finished = not query and output.finish_reason == "stop"
    return query


def _answer(sampler: Sampler, retriever: Retriever, asking: Sequence[tuple[Rollout, str]], k: int) -> None:
    """Append the evidence to each rollout that asked, or the failure."""

    def ask(queries: Sequence[str]) -> list[list[Passage]] | str:
        try:
            return retriever.retrieve(queries, k)
        except RetrievalError as error:
            return str(error)

    chunks = [asking[start : start + AT_ONCE] for start in range(0, len(asking), AT_ONCE)]
    for chunk, found in zip(chunks, sampler.map(ask, [[query for _, query in chunk] for chunk in chunks]), strict=True):
        for place, (one, _) in enumerate(chunk):
            if isinstance(found, str):
                one.said.error = found
                continue
            text = evidence(found[place])
            one.transcript.foreign(_encode(sampler, text))
            one.said.pieces.append(Piece(text, own=False))
            one.said.retrievals += 1
            one.said.evidence_found += len(found[place])


def _encode(sampler: Sampler, text: str) -> list[int]:
    ids: list[int] = sampler.tokenizer(text, add_special_tokens=False).input_ids
    return ids
