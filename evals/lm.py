"""Any verikit engine as an lm-eval model.

lm-eval passes all requests of all tasks together, so an engine receives one batch. The repeats of a request become one
request of n outputs. A request that fails gives a `Failed` reply, never an empty string.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from lm_eval.api.instance import Instance

from verikit.engines import Engine, Generation, Request
from verikit.errors import UsageError
from verikit.evals.bfcl_multi_turn import services
from verikit.evals.replies import texts
from verikit.evals.rollouts import ROLLOUTS as OTHERS
from verikit.evals.rollouts import ReplyRequest
from verikit.evals.typed import LM
from verikit.retrieval import Retriever
from verikit.types import Message

MAX_TOKENS = 2048
"""Maximum tokens of a reply if the task sets no limit."""
LENGTHS = ("max_gen_toks", "max_tokens", "max_new_tokens")
KNOWN = {
    "until",
    *LENGTHS,
    "temperature",
    "top_p",
    "top_k",
    "do_sample",
    "seed",
    "rollout",
    "k",
    "searches",
    "by_turns",
}
ROLLOUTS = OTHERS | {"services": services}
Told = Callable[[int, int], None]
"""Receives the number of finished requests and the total."""


class Chat(NamedTuple):
    """A conversation as lm-eval carries it and writes it down: JSON text."""

    prompt: str

    def encode(self, encoding: str) -> bytes:
        """For lm-eval's hash of the prompt."""
        return self.prompt.encode(encoding)


class EngineLM(LM):
    """An lm-eval model that generates with an engine."""

    tokenizer_name = "verikit"
    """lm-eval keys its cache of built prompts by it; conversations go to the engine, whose own template is applied."""

    def __init__(
        self,
        engine: Engine,
        *,
        seed: int = 0,
        retriever: Retriever | None = None,
        told: Told = lambda done, of: None,
    ) -> None:
        """Wrap an engine.

        Args:
            engine: Generates.
            seed: Seed for sampled requests that set none.
            retriever: Retriever for tasks that search.
            told: Receives the number of finished requests and the total.
        """
        super().__init__()
        self.engine: Engine = engine
        self.seed: int = seed
        self.retriever: Retriever | None = retriever
        self.told: Told = told
        self.usage: dict[str, float] = {}
        """Usage of all requests so far."""

    def apply_chat_template(self, chat_history: list[dict[str, str]], add_generation_prompt: bool = True) -> Chat:
        """Return the conversation. The engine applies its model's template, and continues an assistant's last turn."""
        return Chat(json.dumps([{"role": message["role"], "content": message["content"]} for message in chat_history]))

    def generate_until(self, requests: Sequence[Instance], disable_tqdm: bool = False) -> list[str]:
        """Generate for all requests: in one batch, and one for each kind of rollout.

        Raises:
            UsageError: There is no such rollout or setting, or no retriever.
        """
        replies: list[str] = [""] * len(requests)
        groups = repeats(requests)
        kinds = [str(instance.args[1].get("rollout", "")) for instance, _ in groups]
        if unknown := set(kinds) - {"", *ROLLOUTS}:
            raise UsageError(f"there is no rollout {unknown.pop()!r}", hint=f"one of {', '.join(ROLLOUTS)}")
        if plain := [group for group, kind in zip(groups, kinds, strict=True) if not kind]:
            self._sample(plain, replies)
        for name in ROLLOUTS:
            self._roll_out(name, [group for group, kind in zip(groups, kinds, strict=True) if kind == name], replies)
        return replies

    def _roll_out(self, name: str, groups: Sequence[tuple[Instance, Sequence[int]]], replies: list[str]) -> None:
        """Store the replies of one kind of rollout at their positions."""
        indices = [
            (instance, number, index) for instance, all_indices in groups for number, index in enumerate(all_indices)
        ]
        asks = [self._ask(instance, number) for instance, number, _ in indices]
        found = ROLLOUTS[name](self.engine, asks, self.retriever) if asks else []
        for (_, _, index), text in zip(indices, found, strict=True):
            replies[index] = text
        self.told(len(asks), len(asks))

    def _sample(self, groups: Sequence[tuple[Instance, list[int]]], replies: list[str]) -> None:
        done, total = 0, sum(len(indices) for _, indices in groups)
        asked = [self.request(instance, len(indices)) for instance, indices in groups]
        for number, generation in self.engine.stream(asked):
            indices = groups[number][1]
            for index, text in zip(indices, texts(generation, len(indices)), strict=True):
                replies[index] = text
            for name, amount in generation.usage.items():
                self.usage[name] = self.usage.get(name, 0) + amount
            done += len(indices)
            self.told(done, total)

    def _ask(self, instance: Instance, number: int) -> ReplyRequest:
        """Build the request for a reply by rollout. Each repeat has its own seed."""
        request = self.request(instance, 1)
        if request.seed is not None:
            request = replace(request, seed=request.seed + number)
        return ReplyRequest(instance.doc, request, instance.args[1])

    def request(self, instance: Instance, n: int) -> Request:
        """Convert an lm-eval instance to a request of n outputs.

        Raises:
            UsageError: No engine supports a generation setting, or a value is invalid.
        """
        context, settings = instance.args[0], dict(instance.args[1])
        if unknown := set(settings) - KNOWN:
            raise UsageError(f"engines have no generation setting {', '.join(sorted(unknown))}")
        try:
            temperature = float(settings.get("temperature", 0.0)) if settings.get("do_sample", True) else 0.0
            most = next((settings[key] for key in LENGTHS if key in settings), None)
            until = settings.get("until") or ()
            return Request(
                prompt(context),
                n=n,
                max_tokens=int(most or MAX_TOKENS),
                temperature=temperature,
                top_p=float(settings.get("top_p", 1.0)),
                top_k=max(0, int(settings.get("top_k", 0))),
                stop=(until,) if isinstance(until, str) else tuple(filter(None, until)),
                seed=_seed(int(settings.get("seed", self.seed)), context) if temperature else None,
            )
        except (ValueError, TypeError) as error:
            raise UsageError(
                f"generation settings: {error}", hint="--gen temperature=0.6, or the task's YAML"
            ) from None

    def loglikelihood(self, requests: Sequence[Instance], disable_tqdm: bool = False) -> list[tuple[float, bool]]:
        """Return the log-probability of each continuation, and whether greedy decoding would produce it.

        Raises:
            UsageError: The engine does not return log-probabilities of prompts.
            EngineError: A request failed. No number can replace its result.
        """
        contexts = [str(instance.args[0]) for instance in requests]
        whole = [context + str(instance.args[1]) for context, instance in zip(contexts, requests, strict=True)]
        lengths = dict(zip(dict.fromkeys(contexts), self._scored(list(dict.fromkeys(contexts))), strict=True))
        return [
            continuation(generation, len(lengths[context].prompt_ids))
            for context, generation in zip(contexts, self._scored(whole), strict=True)
        ]

    def loglikelihood_rolling(self, requests: Sequence[Instance], disable_tqdm: bool = False) -> list[float]:
        """Return the log-probability of each whole text, cut to the model's context length."""
        scored = self._scored([str(instance.args[0]) for instance in requests])
        return [sum(value for value in generation.prompt_logprobs if value is not None) for generation in scored]

    def _scored(self, prompts: Sequence[str]) -> list[Generation]:
        asked = [Request(text, max_tokens=0, prompt_logprobs=1) for text in prompts]
        generations = self.engine.generate(asked)
        for generation in generations:
            if generation.error is not None:
                raise generation.error
            if not generation.prompt_ids or not generation.prompt_logprobs:
                raise UsageError(f"{self.engine.name} gives no log-probabilities of prompts", hint="use hf: or vllm:")
        return generations


def repeats(requests: Sequence[Instance]) -> list[tuple[Instance, list[int]]]:
    """Return each instance with its positions. lm-eval adds an instance to the list once per repeat."""
    indices: dict[int, tuple[Instance, list[int]]] = {}
    for index, instance in enumerate(requests):
        indices.setdefault(id(instance), (instance, []))[1].append(index)
    return list(indices.values())


def prompt(context: Any) -> str | list[Message]:
    """Convert lm-eval's context to an engine's prompt."""
    if isinstance(context, Chat):
        turns: list[Message] = json.loads(context.prompt)
        return turns
    return str(context)


def continuation(generation: Generation, start: int) -> tuple[float, bool]:
    """Return the log-probability of a prompt's tokens from index `start`, and whether each is the most likely one."""
    total, greedy = 0.0, True
    start = max(1, min(start, len(generation.prompt_ids) - 1))
    for index in range(start, len(generation.prompt_ids)):
        value = generation.prompt_logprobs[index]
        total += value or 0.0
        top = generation.prompt_top_logprobs[index]
        greedy = greedy and bool(top) and value is not None and value >= top[0].logprob
    return total, greedy


def _seed(seed: int, context: str) -> int:
    """Return a seed per question: with a shared one, engines would use the same random numbers for all."""
    return (
        int.from_bytes(hashlib.blake2b(f"{seed}\0{context}".encode(errors="replace"), digest_size=8).digest(), "big")
        >> 33
    )
