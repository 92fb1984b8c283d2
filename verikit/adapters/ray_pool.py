"""A named pool of scoring actors on a Ray cluster: `to_trl(RayScorer("answer", pool="rewards"))`.

A `RayScorer` is a verifier with a spec and a pool's name. It can be pickled into any trainer, task or actor of the
cluster. The first to score starts the pool, and the others find it. Judges' engines, sandboxes and reward models run in
the pool's actors, and each actor loads each spec once.

- Samples wait in the pool's manager, `max_waiting` at most. Further callers wait (back-pressure).
- If an actor dies, with or without its node, its chunk is halved and retried on other actors. A single row that loses
  three actors is an error. So the loss of a node costs no row, and a row that kills its actors is stopped.
- If the manager's node is lost, the manager restarts on another node, and Ray resends its open calls.
- Scores are in the order of the samples and equal those of a single process, regardless of retries.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Coroutine, Hashable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from typing import Any

from verikit.base import Verifier
from verikit.errors import EngineError, HelperError, UsageError, VerikitError
from verikit.names.spec import load
from verikit.platform import tracing
from verikit.platform.raised import describe
from verikit.scoring.on_ray import connect, share
from verikit.scoring.pool import told_again
from verikit.types import Sample, Score

NAMESPACE = "verikit"
"""Ray namespace of the pools' names in a cluster."""
DEATHS = 3
"""Number of actors that a single row may lose before it is an error."""
START_S = 120.0
"""How long callers wait for a pool without a single actor."""
LOOK_S = 5.0
"""Seconds between a waiting caller's checks for actors."""
CHUNK = 64
"""Samples per call of an actor, unless the verifier sets a larger batch."""
CALLS = 1000
"""Maximum number of concurrent calls of the manager. Ray queues the rest."""


@dataclass(frozen=True)
class PoolOptions:
    """Options for starting a pool. They have no effect on a pool that already exists."""

    actors: int | None = None
    """Number of actors. None uses one per CPU of the cluster, except for one CPU."""
    num_cpus: float | None = None
    """CPUs that each actor requests. None splits all but one evenly."""
    resources: Mapping[str, float] = field(default_factory=dict)
    """Custom Ray resources that each actor requests: `{"sandbox": 1}` restricts actors to nodes that have it."""
    num_gpus: float = 0.0
    max_waiting: int = 8192
    """Maximum number of samples in the pool."""
    deadline_s: float | None = 600.0
    """Seconds per chunk. After that the actor is replaced and the chunk is halved; a single row is unscored."""
    detached: bool = False
    """Whether the pool outlives the job that started it, until `stop_pool`."""


class RayScorer(Verifier):
    """A verifier that scores in a pool of actors.

    Args:
        spec: The verifier's spec as a string, which the actors load.
        pool: The pool's name.
        options: `PoolOptions` fields, used if the pool does not exist yet.

    Raises:
        SpecError: The spec can't be parsed.
        UsageError: An option does not exist.
    """

    reads = None  # the actors' verifier reads

    def __init__(self, spec: str, *, pool: str = "scoring", **options: Any) -> None:
        if not isinstance(spec, str):
            raise UsageError("a pool's verifier is a spec: its actors load it", hint="'my.py:name' names your own")
        try:
            self._options = PoolOptions(**options)
        except TypeError as error:
            raise UsageError(f"RayScorer: {error}", hint=", ".join(PoolOptions.__dataclass_fields__)) from None
        self._local = load(spec)
        self._spec, self._pool = spec, pool
        self._manager: Any = None
        self.name: str = self._local.name
        self.batch: int = max(CHUNK, self._local.batch)
        self.tallied, self.rates = self._local.tallied, self._local.rates  # type: ignore[misc]
        self.spenders: tuple[str, ...] = getattr(self._local, "spenders", ())

    @property
    def parts(self) -> Any:
        """The verifier's own, for their names."""
        return getattr(self._local, "parts", ())

    def score_batch(self, samples: Sequence[Sample]) -> list[Score]:
        """Score in the pool. If the pool fails, every sample's score is an error.

        Raises:
            MissingExtra: ray is not installed.
            UsageError: The verifier is misconfigured.
            EngineError: The verifier's engine is unreachable.
        """
        if not samples:
            return []
        ray = connect("ray")[0]
        problem = ""
        for _ in range(DEATHS):
            try:
                self._manager = self._manager or start_pool(self._pool, self._options)
                heard = ray.get(self._manager.score.remote(self._spec, list(samples), self.batch))
            except (ray.exceptions.RayActorError, ray.exceptions.OwnerDiedError) as error:
                self._manager, problem = None, describe(error)  # its starter has ended: start another one
                continue
            if isinstance(heard, VerikitError):
                raise heard
            found: list[Score] = heard
            return found
        return [Score.error(f"the pool {self._pool!r} is lost: {problem}") for _ in samples]

    def equal(self, a: str, b: str) -> bool | None:
        """The verifier's own."""
        return self._local.equal(a, b)

    def keys(self, answer: str) -> tuple[Hashable, ...] | None:
        """The verifier's own."""
        return self._local.keys(answer)

    def doubts(self, score: Score) -> bool:
        """The verifier's own."""
        return self._local.doubts(score)

    def __repr__(self) -> str:
        """Return the verifier's repr, since where it is scored has no effect."""
        return repr(self._local)

    def __reduce__(self) -> tuple[Any, ...]:
        return (_remake, (self._spec, self._pool, asdict(self._options)))


def _remake(spec: str, pool: str, options: dict[str, Any]) -> RayScorer:
    return RayScorer(spec, pool=pool, **options)


def start_pool(name: str, options: PoolOptions | None = None) -> Any:
    """Find a pool by its name, or start it; returns Ray's handle of its manager.

    Raises:
        MissingExtra: ray is not installed.
        UsageError: There is no cluster.
    """
    options = options or PoolOptions()
    ray, count = connect("ray" if options.actors is None else f"ray:{options.actors}")
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    here = ray.get_runtime_context().get_node_id()
    manager = ray.remote(PoolManager).options(
        name=name,
        namespace=NAMESPACE,
        get_if_exists=True,
        lifetime="detached" if options.detached else None,
        num_cpus=0,
        scheduling_strategy=NodeAffinitySchedulingStrategy(here, soft=True),  # on another node if this one is lost
        max_concurrency=CALLS,
        max_restarts=-1,
        max_task_retries=-1,
    )
    return manager.remote(options, count)


def stop_pool(name: str) -> bool:
    """End a pool and its actors; returns whether there was one.

    Raises:
        MissingExtra: ray is not installed.
        UsageError: There is no cluster.
    """
    ray, _ = connect("ray")
    try:
        ray.kill(ray.get_actor(name, namespace=NAMESPACE))
    except ValueError:
        return False
    return True


class ScoringActor:
    """Scores chunks with the verifier that each call names. Each verifier is loaded once."""

    def __init__(self) -> None:
        os.dup2(2, 1)
        tracing.configure()
        self._verifiers: dict[str, Verifier] = {}

    def ready(self) -> bool:
        """Return True once the actor has started."""
        return True

    def score(self, spec: str, samples: Sequence[Sample]) -> list[Score] | VerikitError:
        """Score a chunk. An error of the whole call is returned, since Ray would wrap an exception."""
        try:
            if spec not in self._verifiers:
                self._verifiers[spec] = load(spec)
            return self._verifiers[spec].score(samples)
        except (UsageError, EngineError) as error:
            return told_again(error)
        except VerikitError as error:
            return UsageError(str(error), hint=error.hint)


class PoolManager:
    """The pool's manager: sends chunks to actors, replaces actors that die, and limits the samples that wait."""

    def __init__(self, options: PoolOptions, count: int) -> None:
        import ray

        self._ray: Any = ray
        self._options = options
        self._count = count
        self._cpus = share(ray, count) if options.num_cpus is None else options.num_cpus
        self._free: asyncio.Queue[Any] = asyncio.Queue()
        self._room, self._turn = asyncio.Condition(), asyncio.Lock()
        self._tasks: set[asyncio.Task[None]] = set()
        self._waiting = self._live = self._failed_starts = 0
        self._alone_since = time.monotonic()
        self._problem = "none became ready. `ray status` shows whether the cluster's CPUs are in use"
        self._counts = {"scored": 0, "deaths": 0, "overruns": 0, "most_waiting": 0}
        self._begun = False

    async def counts(self) -> dict[str, int]:
        """Samples scored, actors that died, chunks that took too long, the most that waited; and the live actors."""
        return {**self._counts, "live": self._live}

    async def score(self, spec: str, samples: Sequence[Sample], most: int) -> list[Score] | VerikitError:
        """Score samples in chunks of up to `most` over all actors, once there is room for them."""
        if not self._begun:
            self._begun, self._alone_since = True, time.monotonic()  # actors start now, however old the pool is
            for _ in range(self._count):
                self._add()
        await self._enter(len(samples))
        try:
            size = max(1, min(most, -(-len(samples) // self._count)))
            chunks = [samples[start : start + size] for start in range(0, len(samples), size)]
            found = await asyncio.gather(*(self._chunk(spec, chunk) for chunk in chunks))
        except (UsageError, EngineError) as error:
            return told_again(error)
        except HelperError as error:
            return [Score.error(describe(error)) for _ in samples]
        finally:
            async with self._room:
                self._waiting -= len(samples)
                self._room.notify_all()
        self._counts["scored"] += len(samples)
        return [score for chunk in found for score in chunk]

    async def _enter(self, count: int) -> None:
        """Wait until `count` samples fit in. A call larger than `max_waiting` runs when no other sample waits."""
        async with self._turn, self._room:  # first come, first served: a large call must not starve
            await self._room.wait_for(lambda: not self._waiting or self._waiting + count <= self._options.max_waiting)
            self._waiting += count
            self._counts["most_waiting"] = max(self._counts["most_waiting"], self._waiting)

    async def _chunk(self, spec: str, samples: Sequence[Sample], lost: int = 0) -> list[Score]:
        """Score one chunk. `lost` is the number of actors that already died with it as a single row.

        Raises:
            UsageError: The verifier is misconfigured.
            EngineError: Its engine is unreachable.
            HelperError: There are no actors.
        """
        actor = await (self._take_live() if len(samples) == 1 else self._take())
        heard: Any
        try:
            heard = await asyncio.wait_for(_result(actor.score.remote(spec, list(samples))), self._options.deadline_s)
        except TimeoutError:
            self._counts["overruns"] += 1
            self._replace(actor)
            late = Score.timeout(f"scoring took longer than {self._options.deadline_s:g} s in the pool")
            return await self._again(spec, samples, late, DEATHS)
        except (self._ray.exceptions.RayActorError, self._ray.exceptions.ObjectLostError):
            self._counts["deaths"] += 1
            self._replace(actor)
            killed = Score.error(f"{lost + 1} Ray actors died while they scored this row")
            return await self._again(spec, samples, killed, lost + 1)
        except self._ray.exceptions.RayError as error:  # for example, the result can't be sent
            heard = [Score.error(describe(error)) for _ in samples]
        self._free.put_nowait(actor)
        if isinstance(heard, VerikitError):
            raise heard
        scores: list[Score] = heard
        return scores

    async def _again(self, spec: str, samples: Sequence[Sample], failed: Score, lost: int) -> list[Score]:
        """Retry the halves of a lost chunk, or a single row unless it has lost too many actors."""
        if len(samples) == 1:
            return [failed] if lost >= DEATHS else await self._chunk(spec, samples, lost)
        half = len(samples) // 2
        halves = (self._chunk(spec, samples[:half]), self._chunk(spec, samples[half:]))
        return [score for scores in await asyncio.gather(*halves) for score in scores]

    async def _take(self) -> Any:
        """Wait for a free actor.

        Raises:
            HelperError: There has been none, free or not, for `START_S`.
        """
        while True:
            with suppress(TimeoutError):
                return await asyncio.wait_for(self._free.get(), LOOK_S)
            if not self._live and time.monotonic() - self._alone_since > START_S:
                raise HelperError(f"the pool has no actor: {self._problem}")

    async def _take_live(self) -> Any:
        """Wait for a free actor that responds, so that an actor that died while idle does not count against a row.

        Raises:
            HelperError: No actor is left.
        """
        while True:
            actor = await self._take()
            try:
                await asyncio.wait_for(_result(actor.ready.remote()), START_S)
            except (TimeoutError, self._ray.exceptions.RayError):
                self._counts["deaths"] += 1
                self._replace(actor)
            else:
                return actor

    def _add(self) -> None:
        options: dict[str, Any] = {"num_cpus": self._cpus, "scheduling_strategy": "SPREAD"}
        if self._options.num_gpus:
            options["num_gpus"] = self._options.num_gpus
        if self._options.resources:
            options["resources"] = dict(self._options.resources)
        self._spawn(self._greet(self._ray.remote(ScoringActor).options(**options).remote()))

    async def _greet(self, actor: Any) -> None:
        """Wait until an actor is there; replace one that can't start, a few times."""
        try:
            await _result(actor.ready.remote())
        except self._ray.exceptions.RayError as error:
            self._failed_starts += 1
            self._problem = str(error).strip().splitlines()[-1][:300]
            if self._failed_starts <= 2 * self._count:
                await asyncio.sleep(1.0)
                self._add()
            return
        self._failed_starts = 0
        self._live += 1
        self._free.put_nowait(actor)

    def _replace(self, actor: Any) -> None:
        self._ray.kill(actor)  # of one that is dead already this does nothing
        self._live -= 1
        if not self._live:
            self._alone_since = time.monotonic()
        self._add()

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)  # the loop itself only has weak references to tasks
        task.add_done_callback(self._tasks.discard)


async def _result(reference: Any) -> Any:
    return await reference
