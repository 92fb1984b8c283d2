"""The sampler a recipe is given: an engine on the live policy, its requests divided over the run's processes.

Whole requests go to one process each, every process gets all results, and no collective runs while tokens are drawn.
Functions given along run in threads beside the decoding, on the process that sampled.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

from verikit.engines.prompts import prompt_ids
from verikit.engines.types import Engine, EnginePrompt, Generation, Request
from verikit.errors import ConfigError
from verikit.trainers.distributed import World
from verikit.trainers.recipe import Item, Result, Sampler

WORKERS = 16
"""Threads for what is done with results while others are sampled: as many groups wait for a judge at once."""


class PolicySampler(Sampler):
    """Samples from the live policy; the loop tells it the step."""

    name: str
    local: Engine
    tokenizer: Any

    def __init__(self, engine: Engine, tokenizer: Any, world: World, seed: int, *, allow_truncated: bool) -> None:
        self.name, self.local, self.tokenizer = engine.name, engine, tokenizer
        self._world, self._seed, self._allow_truncated = world, seed, allow_truncated
        self._threads = ThreadPoolExecutor(WORKERS, thread_name_prefix="verikit-then")
        self.at(0)

    def at(self, step: int, attempt: int = 0) -> None:
        """Key what is drawn from now on by a step, and by how often the step was begun."""
        self._key = (self._seed, step, attempt)
        self._asked: Counter[int] = Counter()

    def close(self) -> None:
        """End the threads."""
        self._threads.shutdown(cancel_futures=True)

    def encode(self, prompt: EnginePrompt) -> list[int]:
        """Return a prompt's ids."""
        return prompt_ids(self.tokenizer, Request(prompt))

    def decode(self, ids: Sequence[int]) -> str:
        """Return ids as text."""
        text: str = self.tokenizer.decode(list(ids), skip_special_tokens=True)
        return text

    def seed(self, *key: int | str) -> int:
        """Hash (run's seed, step, attempt, key) to 63 bits."""
        digest = hashlib.blake2b(repr((*self._key, *key)).encode(), digest_size=8).digest()
        return int.from_bytes(digest, "big") >> 1

    def generate_then(
        self, requests: Sequence[Request], then: Callable[[int, Generation], Result]
    ) -> list[tuple[Generation, Result]]:
        """Sample this process's share, handing each result to `then` in a thread, and gather everybody's."""
        keyed = [self._keyed(request) for request in requests]
        mine = range(self._world.rank, len(keyed), self._world.size)
        waiting = []
        for number, generation in self.local.stream([keyed[index] for index in mine]):
            waiting.append((mine[number], generation, self._threads.submit(then, mine[number], generation)))
        done = [(index, (generation, future.result())) for index, generation, future in waiting]
        gathered = dict(pair for part in self._world.gather(done) for pair in part)
        return [gathered[index] for index in range(len(keyed))]

    def map(self, function: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
        """Apply the function to this process's share of the items and gather everybody's results."""
        share = range(self._world.rank, len(items), self._world.size)
        parts = self._world.gather([(index, function(items[index])) for index in share])
        gathered = dict(pair for part in parts for pair in part)
        return [gathered[index] for index in range(len(items))]

    def _keyed(self, request: Request) -> Request:
        """Give an unseeded request its key; refuse to learn from draws whose probabilities aren't known.

        Raises:
            ConfigError: log-probabilities are asked for with top-p below 1 or top-k, and that is not allowed.
        """
        if request.temperature == 0:
            return request
        if (request.top_p < 1 or request.top_k) and request.logprobs is not None and not self._allow_truncated:
            raise ConfigError(
                "samples drawn with top-p below 1 or top-k don't have the log-probabilities that are reported for them",
                hint="train with top_p = 1 and top_k = 0, or set batch.allow_truncated = true",
            )
        if request.seed is not None:
            return request
        prompt = hash_text(repr(request.prompt))
        self._asked[prompt] += 1
        return replace(request, seed=self.seed("unseeded", prompt, self._asked[prompt]))


def hash_text(text: str) -> int:
    """Return 63 bits that a text always has, unlike `hash`."""
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big") >> 1
