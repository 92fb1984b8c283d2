"""The sampler a recipe is given: an engine on the live policy, its rollouts divided over the run's processes.

A rollout is one process's from its first request to its last, every process gets what all of them returned, and no
collective runs while tokens are drawn. With an engine that takes requests at any time, processes take rollouts as they
get through with them (`Claims`). With one that decodes in waves each has a fixed share, since a wave's company decides
the last bits of its log-probabilities, and a run that is resumed is to have the same ones.
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
    """The rollouts that a process takes: half of its share of what is left, and more when half of these are done."""

    def __init__(self, world: World, name: str, count: int) -> None:
        """Begin; every process does, with the same name and count.

        Args:
            world: The processes.
            name: Of these rollouts; never used before in this run.
            count: How many there are.
        """
        self._world, self._name, self._count = world, name, count
        self._known = 0
        """Rollouts known to be taken by someone."""
        self._wait_for = 0

    def __call__(self, live: int) -> Sequence[int]:
        """Return the next ones for a process with so many under way; nothing where it has enough or none is left."""
        if live > self._wait_for or self._known >= self._count:
            return ()
        size = max(1, (self._count - self._known) // (2 * self._world.size))
        self._known = self._world.add(self._name, size)
        taken = range(min(self._known - size, self._count), min(self._known, self._count))
        self._wait_for = len(taken) // 2
        return taken


class PolicySampler(Sampler):
    """Samples from the live policy; the loop tells it the step."""

    name: str
    local: Engine
    tokenizer: Any
    asked: int
    """Requests of this step that were answered or lost, of all processes."""
    lost: int
    """Those that the engine failed, a full context aside: what would have come of them is missing from the batch."""
    lost_by: str
    """What failed one of them."""

    def __init__(self, engine: Engine, tokenizer: Any, world: World, seed: int, *, allow_truncated: bool) -> None:
        self.name, self.local, self.tokenizer = engine.name, engine, tokenizer
        self._world, self._seed, self._allow_truncated = world, seed, allow_truncated
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="verikit-work")
        self._runs = 0
        self._running: Rollouts[Any] | None = None
        self._stopped = False
        self.at(0)

    def at(self, step: int, attempt: int = 0) -> None:
        """Key what is drawn from now on by a step, and by how often the step was begun."""
        self._key = (self._seed, step, attempt)
        self._calls = 0
        if attempt <= 0:
            self.asked, self.lost, self.lost_by = 0, 0, ""

    def stop(self) -> None:
        """Have rollouts of another thread fail at their next answer, and those that would follow."""
        self._stopped = True
        if self._running is not None:
            self._running.stop()

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

    def roll_out(self, rollouts: Sequence[Rollout[Result]]) -> list[Result]:
        """Run this process's share of the rollouts, and gather everybody's.

        Raises:
            RolloutsStopped: `stop` was called.
            Exception: what a rollout or its work raised.
        """
        self._calls += 1
        self._runs += 1
        run = self._running = Rollouts(self.local, rollouts, self._threads, partial(self._keyed, self._calls))
        if self._stopped:  # asked after the run can be stopped, so that no stop is missed
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
        return replace(request, seed=self.seed("unseeded", call, *key))


def hash_text(text: str) -> int:
    """Return 63 bits that a text always has, unlike `hash`."""
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big") >> 1
