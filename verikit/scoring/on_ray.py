"""Chunks on a Ray cluster: `verikit score --jobs ray`, `ray:8` (number of actors), `ray://head:10001` or `head:6379`.

Rows are read, and the folder is written, on the machine that runs the command. The output is byte-identical to that of
local processes. Each actor loads the plan's verifiers separately, including sandbox and engines. It requests less than
one CPU if a full one would leave no free CPU in the cluster, because other work there would wait forever.
"""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Iterator
from importlib import import_module
from typing import Any

from verikit.errors import EngineError, HelperError, MissingExtra, UsageError, VerikitError
from verikit.scoring.chunk import Chunk, ChunkResult, Scorer
from verikit.scoring.order import ChunkOrder, Task
from verikit.scoring.plan import ScoringPlan
from verikit.scoring.pool import InFlight, timed, told_again

START_S = 120.0
"""Seconds to wait for the first actor. A busy cluster is then reported as the reason, instead of waiting forever."""
STORE_BYTES = 200 * 2**20
"""Size of the object store of a Ray instance started here. Chunks are small."""
_NAMED = re.compile(r"ray(?::([1-9]\d*))?")
_ADDRESS = re.compile(r"ray://.+|(?!ray:).+:.+")


class Scoring:
    """The actor that scores chunks."""

    def __init__(self, plan: ScoringPlan) -> None:
        os.dup2(2, 1)
        self._scorer = Scorer(plan)

    def ready(self) -> bool:
        """Return True once the plan is loaded."""
        return True

    def score(self, chunk: Chunk) -> ChunkResult | VerikitError:
        """Score a chunk. An error that affects the whole run is returned, because Ray would wrap a raised one."""
        try:
            return timed(self._scorer, chunk)
        except (UsageError, EngineError) as error:
            return told_again(error)


def _initialise(ray: Any, address: str | None) -> None:
    """Connect to the cluster at an address, or start a cluster here without one."""
    options: dict[str, Any] = {"address": address, "log_to_driver": False, "configure_logging": False}
    if address is None:
        found = {"PYTHONPATH": os.pathsep.join(path or os.getcwd() for path in sys.path)}
        options |= {"include_dashboard": False, "object_store_memory": STORE_BYTES}
        options |= {"runtime_env": {"env_vars": found}}
    try:
        ray.init(**options)
    except (ConnectionError, ValueError, RuntimeError) as error:
        raise UsageError(f"Ray cluster not found at {address or 'this machine'}: {error}") from None


def connect(jobs: str) -> tuple[Any, int]:
    """Connect to the cluster that `jobs` names, or start one here. Return the module ray and the number of actors.

    Raises:
        MissingExtra: ray is not installed.
        UsageError: The string names no cluster, or the cluster can't be reached.
    """
    named = _NAMED.fullmatch(jobs)
    if not named and not _ADDRESS.fullmatch(jobs):
        raise UsageError(
            f"jobs must be a number, ray, ray:N or an address, got {jobs!r}",
            hint="--jobs 4, or --jobs ray://head:10001",
        )
    try:
        ray = import_module("ray")
    except ImportError:
        raise MissingExtra("--jobs ray", "ray") from None
    if not ray.is_initialized():
        _initialise(ray, os.environ.get("RAY_ADDRESS") if named else jobs)
    if named and named[1]:
        return ray, int(named[1])
    return ray, max(1, int(ray.cluster_resources().get("CPU", 1)) - 1)


def share(ray: Any, actors: int) -> float:
    """Return the CPUs per actor that keep one CPU of the cluster free. 0 if there is only one."""
    slots = float(ray.cluster_resources().get("CPU", 1.0))
    return min(1.0, int((slots - 1) / actors * 100) / 100) if slots > 1 else 0.0


def score_on_ray(
    chunks: Iterator[Chunk], scorer: Scorer, jobs: str, in_flight: InFlight
) -> Iterator[tuple[Chunk, ChunkResult]]:
    """Score chunks in actors and yield them in order.

    Raises:
        MissingExtra: ray is not installed.
        UsageError: There is no such cluster, or a verifier was set up incorrectly.
        EngineError: A verifier's engine is unreachable.
        HelperError: No actor could be started.
    """
    ray, count = connect(jobs)
    actors = _Actors(ray, scorer.plan, count)
    order = ChunkOrder(chunks, scorer, count)
    try:
        actors.start()
        while True:
            order.cut()
            yield from order.done()  # makes room for more: hand it out before waiting
            actors.hand_out(order, in_flight)
            if order.empty:
                break
            for task, cause in actors.hear(in_flight):
                order.lost(task, cause)
            actors.hand_out(order, in_flight)
    finally:
        actors.stop()


class _Actors:
    """The actors of one run, and the task of each."""

    def __init__(self, ray: Any, plan: ScoringPlan, count: int) -> None:
        self.ray, self.plan, self.count = ray, plan, count
        self.free: list[Any] = []
        self._busy: dict[Any, tuple[Any, Task]] = {}
        self._coming: dict[Any, Any] = {}

    def start(self) -> None:
        """Start all actors, and wait for the first.

        Raises:
            HelperError: None started in time.
        """
        for _ in range(self.count):
            self._add()
        if not self.ray.wait(list(self._coming), timeout=START_S)[0]:
            raise HelperError(
                f"Ray started no actor within {START_S:.0f} s",
                hint="check with `ray status` whether the cluster's CPUs are in use. Use ray:N to request N actors",
            )

    def _add(self) -> None:
        cpus = share(self.ray, self.count)
        actor = self.ray.remote(Scoring).options(num_cpus=cpus).remote(self.plan)
        self._coming[actor.ready.remote()] = actor

    def hand_out(self, order: ChunkOrder, in_flight: InFlight) -> None:
        """Give each free actor a task, as long as there are any."""
        while self.free and (task := order.take()):
            actor = self.free.pop()
            in_flight[actor] = task.chunk, time.monotonic()
            self._busy[actor.score.remote(task.chunk)] = actor, task

    def hear(self, in_flight: InFlight) -> Iterator[tuple[Task, str]]:
        """Wait for a result or a new actor. Yield the tasks whose actor died, with the cause.

        Raises:
            UsageError: A verifier was set up incorrectly.
            EngineError: A verifier's engine is unreachable.
            HelperError: A new actor can't be started.
        """
        for reference in self.ray.wait([*self._busy, *self._coming])[0]:
            actor, task = self._busy.pop(reference, (None, None))
            if task is None:
                self._greet(reference)
                continue
            del in_flight[actor]
            try:
                heard = self.ray.get(reference)
            except self.ray.exceptions.RayActorError:
                self._add()
                yield task, "its Ray actor died"
                continue
            if isinstance(heard, VerikitError):
                raise heard
            task.result = heard
            self.free.append(actor)

    def _greet(self, reference: Any) -> None:
        actor = self._coming.pop(reference)
        try:
            self.ray.get(reference)
        except self.ray.exceptions.RayError as error:
            raise HelperError(f"a Ray actor can't load the plan: {str(error).strip().splitlines()[-1]}") from None
        self.free.append(actor)

    def stop(self) -> None:
        """Stop the actors. The cluster keeps running."""
        for actor in (*self.free, *(actor for actor, _ in self._busy.values()), *self._coming.values()):
            self.ray.kill(actor)
