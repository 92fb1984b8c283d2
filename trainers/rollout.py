"""The sampler of a recipe: an engine on the live policy, with rollouts divided among the run's processes.

One process runs a rollout from its first request to its last. Every process receives all results, and sampling needs no
collective. With an engine that accepts requests at any time, processes take rollouts as they finish others (`Claims`).
An engine that decodes in waves uses fixed divisions. The other rows of a wave affect the last bits of
log-probabilities, and a resumed run must reproduce them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from typing import Any

from verikit.engines.prompts import prompt_ids
from verikit.engines.rollouts import THREADS, Key, Rollout, Rollouts, RolloutsStopped, all_at_once
from verikit.engines.types import Engine, EnginePrompt, Request
from verikit.errors import ConfigError
from verikit.trainers.distributed import World
from verikit.trainers.recipe import Result, Sampler


class Claims:
    """Assigns rollouts: half of a process's part of the remaining ones, then more after half of these are done."""

    def __init__(self, world: World, name: str, count: int) -> None:
        """Start claiming. Every process does so with the same name and count.

        Args:
            world: The processes.
            name: Name of these rollouts, never used before in this run.
            count: Number of rollouts.
        """
        self._world, self._name, self._count = world, name, count
        self._known = 0
        """Number of rollouts that are known to be taken."""
        self._wait_for = 0

    def __call__(self, live: int) -> Sequence[int]:
        """Return the next rollouts for a process with `live` running ones; empty if it has enough or all are taken."""
        if live > self._wait_for or self._known >= self._count:
            return ()
        size = max(1, (self._count - self._known) // (2 * self._world.size))
        self._known = self._world.add(self._name, size)
        taken = range(min(self._known - size, self._count), min(self._known, self._count))
        self._wait_for = len(taken) // 2
        return taken


class PolicySampler(Sampler):
    """Samples from the live policy. The training loop sets the step."""

    name: str
    local: Engine
    tokenizer: Any
    asked: int
    """Answered or lost requests of this step, of all processes."""
    lost: int
    """Requests that the engine failed, except for full contexts. Their results are missing from the batch."""
    lost_by: str
    """The error of one of them."""

    def __init__(self, engine: Engine, tokenizer: Any, world: World, seed: int, *, allow_truncated: bool) -> None:
        self.name, self.local, self.tokenizer = engine.name, engine, tokenizer
        self._world, self._seed, self._allow_truncated = world, seed, allow_truncated
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="verikit-work")
        self._runs = 0
        self._running: Rollouts[Any] | None = None
        self._stopped = False
        self.at(0)

    def at(self, step: int, attempt: int = 0) -> None:
        """Key all further random numbers by a step and its attempt number."""
        self._key = (self._seed, step, attempt)
        self._calls = 0
        if attempt <= 0:
            self.asked, self.lost, self.lost_by = 0, 0, ""

    def stop(self) -> None:
        """Make rollouts of another thread fail at their next answer, and all later rollouts too."""
        self._stopped = True
        if self._running is not None:
            self._running.stop()

    def close(self) -> None:
        """Stop the threads."""
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

    def roll_out(self, rollouts: Sequence[Rollout[Result]]) -> list[Result]:
        """Run this process's part of the rollouts, and gather the results of all processes.

        Raises:
            RolloutsStopped: `stop` was called.
            Exception: A rollout or its work failed.
        """
        self._calls += 1
        self._runs += 1
        run = self._running = Rollouts(self.local, rollouts, self._threads, partial(self._keyed, self._calls))
        if self._stopped:  # checked after the run can be stopped, so no stop is missed
            raise RolloutsStopped
        count, world = len(rollouts), self._world
        if world.size == 1:
            take = all_at_once(range(count))
        elif self.local.submits:
            take = Claims(world, f"rollouts {self._runs}", count)
        else:
            take = all_at_once(range(world.rank, count, world.size))
        gathered: dict[int, Result] = {}
        done = run.run(take)
        self._running = None
        lost_by = str(run.lost[0]) if run.lost else ""
        for part, asked, lost, reason in world.gather_rollouts((done, run.asked, len(run.lost), lost_by)):
            gathered |= part
            self.asked += asked
            self.lost += lost
            self.lost_by = self.lost_by or reason
        return [gathered[number] for number in range(count)]

    def _keyed(self, call: int, key: Key, request: Request) -> Request:
        """Add the seed to an unseeded request. Reject training on samples with unknown probabilities.

        Raises:
            ConfigError: Log-probabilities are requested with top-p below 1 or top-k, and that is not allowed.
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
        return replace(request, seed=self.seed("unseeded", call, *key))


def hash_text(text: str) -> int:
    """Return a stable 63-bit hash of a string, unlike `hash`."""
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big") >> 1
