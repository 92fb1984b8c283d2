"""Rollouts that run independently: each is a generator that yields its requests and is sent the results.

A rollout is the course of one prompt, written as sequential code: `reply = yield Request(…)`, then
`scores = yield Work(judge, reply)`. It resumes as soon as its own result arrives, regardless of the other rollouts. A
list requests several things in parallel. A rollout can also yield another rollout, which runs in parallel with the
other items of the list. So multi-turn games, multi-leg searches and questions to a second role all have the same form
and share one queue.

Engines that accept requests at any time (`Engine.submits`: servers, vLLM) receive each one immediately. An engine that
decodes requests in batches (hf) receives them in waves. A wave is all waiting requests, in the order of the rollouts,
sent once no other work is in progress. A wave is therefore the same in every run, down to the last bits of the
log-probabilities. Work runs in threads in parallel. A result depends only on its request, through the request's own
seed, so the order of arrival doesn't change results. A rollout must not read data that another rollout writes.

If a run ends early (a rollout raises, an interrupt, `Rollouts.stop`), it cleans up. Requests are cancelled, work that
hasn't started is dropped, and every generator is closed.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from functools import partial
from queue import Empty, SimpleQueue
from typing import Any, Generic, NamedTuple

from verikit.engines.types import Engine, Generation, Request, Result
from verikit.errors import ContextOverflow, EngineError

THREADS = 16
"""Threads for work in parallel with generation. This many rollouts can wait for a judge at the same time."""
TOGETHER = 64
"""Maximum number of items in one call for several rollouts."""


@dataclass(frozen=True, slots=True)
class Work:
    """A call to make in a thread. Its exceptions are raised in the rollout."""

    function: Callable[..., Any]
    arguments: tuple[Any, ...] = ()


@dataclass(frozen=True, slots=True)
class Together:
    """An item for a batch function, called in a thread with the items of several rollouts.

    One such call runs at a time.
    """

    function: Callable[[list[Any]], Sequence[Any]]
    """Maps items to results, parallel. Equal functions (`==`) are called together."""
    item: Any
    most: int = TOGETHER


@dataclass(frozen=True, slots=True)
class Ask:
    """A request to an engine other than the rollouts' own."""

    engine: Engine
    request: Request


Wanted = Request | Work | Together | Ask | Generator[Any, Any, Any]
"""A rollout among these is run, and its result is its return value. An exception in it ends the run."""
Rollout = Generator[Wanted | Sequence[Wanted], Any, Result]
"""Yields requests. Is sent a `Generation` for a request, the return value for a call, or a list of these."""
Take = Callable[[int], Sequence[int]]
"""Maps the number of rollouts in progress to the indices of rollouts to start next.

The run is over if none is in progress and it returns no more.
"""
Key = tuple[int, ...]
"""Identifies a request in a run, independently of timing.

It starts with the rollout's number. Each nested rollout adds the number of the yield and the index in its list. The
number of the last yield comes last.
"""
Prepare = Callable[[Key, Request], Request]
"""Maps a rollout's request to the one that is sent."""


def run_rollouts(engine: Engine, rollouts: Sequence[Rollout[Result]]) -> list[Result]:
    """Run rollouts to the end and return their return values, in order.

    Raises:
        Exception: A rollout or its work raised it.
    """
    with ThreadPoolExecutor(THREADS, thread_name_prefix="verikit-work") as threads:
        done = Rollouts(engine, rollouts, threads).run(all_at_once(range(len(rollouts))))
    return [done[number] for number in range(len(rollouts))]


class RolloutsStopped(Exception):
    """Another thread stopped the run."""


def all_at_once(numbers: range) -> Take:
    """Return a function that starts all these rollouts immediately."""
    left = [numbers]
    return lambda live: left.pop() if left else ()


def as_asked(key: Key, request: Request) -> Request:
    """Return a request unchanged."""
    return request


@dataclass(slots=True, eq=False)
class _Running:
    """A rollout in progress."""

    key: Key
    rollout: Rollout[Any]
    slot: _Slot | None = None
    """Slot that waits for its return value."""
    wanted: int = 0
    """Number of times it has yielded."""


@dataclass(slots=True, eq=False)
class _Waiting:
    """The results that a rollout waits for."""

    running: _Running
    several: bool
    """Whether it yielded a list."""
    answers: list[Any]
    left: int
    failure: BaseException | None = None


_Slot = tuple[_Waiting, int]


class _Step(NamedTuple):
    """The next value or exception to send to a rollout."""

    running: _Running
    answer: Any = None
    failure: BaseException | None = None


class _Asked(NamedTuple):
    """A request that waits for a wave."""

    key: Key
    request: Request
    slot: _Slot


@dataclass(slots=True)
class _Line:
    """Items that wait for a batch function."""

    function: Callable[[list[Any]], Sequence[Any]]
    waiting: deque[tuple[Together, _Slot]] = field(default_factory=deque)
    busy: bool = False


class Rollouts(Generic[Result]):
    """One run of some rollouts. Everything except the calls of `Work` and `Together` runs in the caller's thread."""

    asked: int
    """Number of requests that the rollouts' own engine answered or failed."""
    lost: list[EngineError]
    """Engine errors of failed requests, except for full contexts, which a rollout's own length causes."""

    def __init__(
        self, engine: Engine, rollouts: Sequence[Rollout[Result]], threads: Executor, prepare: Prepare = as_asked
    ) -> None:
        """Create a run.

        Args:
            engine: Serves the requests.
            rollouts: Not started yet. Those that never start are closed.
            threads: Executor for the work.
            prepare: Turns a rollout's request into one of the run's.
        """
        self._engine, self._rollouts, self._threads, self._prepare = engine, rollouts, threads, prepare
        self._done: dict[int, Result] = {}
        self.asked, self.lost = 0, []
        self._live = 0
        self._running: dict[_Running, None] = {}
        """Rollouts that have started and not ended. Nested rollouts come after those that yielded them."""
        self._next: deque[_Step] = deque()
        self._under_way: dict[_Slot | Future[Any], Callable[[], object]] = {}
        """Results expected from other threads, through `_events`, and functions that cancel them."""
        self._events: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self._waves: dict[Engine, list[_Asked]] = {}
        self._lines: list[_Line] = []

    def run(self, take: Take) -> dict[int, Result]:
        """Run the rollouts that `take` returns, and return the results by number.

        Raises:
            RolloutsStopped: `stop` was called.
            Exception: A rollout or its work raised it.
        """
        try:
            self._run(take)
        finally:
            with ExitStack() as ending:  # in reverse order: first the rollouts that others wait for
                for rollout in (*self._rollouts, *(running.rollout for running in self._running)):
                    ending.callback(rollout.close)
                for take_back in self._under_way.values():
                    ending.callback(take_back)
        return self._done

    def stop(self) -> None:
        """Stop the run from another thread. It stops at the next result of any rollout."""
        self._events.put(_raise_stopped)

    def _run(self, take: Take) -> None:
        while True:
            taken = take(self._live)
            for number in taken:
                self._live += 1
                self._begin(_Running((number,), self._rollouts[number]))
            self._advance()
            if self._under_way:
                self._events.get()()
                self._advance()
            elif any(line.waiting for line in self._lines):
                for line in self._lines:
                    self._call_line(line, all_of_it=True)
            elif self._waves:
                self._run_waves()
            elif not taken:
                return

    def _begin(self, running: _Running) -> None:
        self._running[running] = None
        self._next.append(_Step(running))

    def _advance(self) -> None:
        """Send rollouts their results and handle their next requests, one after another rather than nested."""
        while self._next:
            running, answer, failure = self._next.popleft()
            try:
                wanted = running.rollout.send(answer) if failure is None else running.rollout.throw(failure)
            except StopIteration as end:
                self._end(running, end.value)
                continue
            several = isinstance(wanted, Sequence)
            items = wanted if isinstance(wanted, Sequence) else [wanted]
            if not items:
                self._next.append(_Step(running, []))
                continue
            waiting = _Waiting(running, several, [None] * len(items), len(items))
            running.wanted += 1
            for index, item in enumerate(items):
                self._see_to(item, (*running.key, running.wanted, index), (waiting, index))

    def _end(self, running: _Running, result: Any) -> None:
        del self._running[running]
        if running.slot is not None:
            self._answer(running.slot, result)
            return
        self._done[running.key[0]] = result
        self._live -= 1

    def _see_to(self, wanted: Wanted, key: Key, slot: _Slot) -> None:
        if isinstance(wanted, Request):
            self._ask(self._engine, self._prepare(key, wanted), key, slot)
        elif isinstance(wanted, Ask):
            self._ask(wanted.engine, wanted.request, key, slot)
        elif isinstance(wanted, Work):
            self._call(partial(self._worked, slot), wanted.function, *wanted.arguments)
        elif isinstance(wanted, Together):
            self._line_up(wanted, slot)
        elif isinstance(wanted, Generator):
            self._begin(_Running(key, wanted, slot))
        else:
            name = type(wanted).__name__
            self._answer(slot, None, TypeError(f"a rollout must yield requests, work or rollouts, got {name}"))

    def _ask(self, engine: Engine, request: Request, key: Key, slot: _Slot) -> None:
        if engine.submits:
            self._under_way[slot] = engine.submit(
                request, lambda found: self._events.put(lambda: self._replied(engine, found, slot))
            )
        elif self._engine.submits:  # there is no idle moment for a wave then: it joins the next call
            self._line_up(Together(engine.generate, request), slot)
        else:
            self._waves.setdefault(engine, []).append(_Asked(key, request, slot))

    def _answer(self, slot: _Slot, answer: Any, failure: BaseException | None = None) -> None:
        waiting, index = slot
        waiting.answers[index] = answer
        waiting.failure = waiting.failure or failure
        waiting.left -= 1
        if not waiting.left:
            answers = waiting.answers if waiting.several else waiting.answers[0]
            self._next.append(_Step(waiting.running, answers, waiting.failure))

    def _replied(self, engine: Engine, found: Generation | BaseException, slot: _Slot) -> None:
        del self._under_way[slot]
        if isinstance(found, BaseException):
            self._answer(slot, None, found)
        else:
            self._hear(engine, found, slot)

    def _hear(self, engine: Engine, generation: Generation, slot: _Slot) -> None:
        if engine is self._engine:
            self.asked += 1
            if generation.error is not None and not isinstance(generation.error, ContextOverflow):
                self.lost.append(generation.error)
        self._answer(slot, generation)

    def _call(self, then: Callable[[Future[Any]], None], function: Callable[..., Any], *arguments: Any) -> None:
        """Call a function in a thread, and `then` with the future in this one."""
        future = self._threads.submit(function, *arguments)
        self._under_way[future] = future.cancel
        future.add_done_callback(lambda future: self._events.put(lambda: self._called(future, then)))

    def _called(self, future: Future[Any], then: Callable[[Future[Any]], None]) -> None:
        del self._under_way[future]
        then(future)

    def _worked(self, slot: _Slot, future: Future[Any]) -> None:
        failure = future.exception()
        self._answer(slot, None if failure else future.result(), failure)

    def _worked_together(self, slots: Sequence[_Slot], future: Future[Sequence[Any]]) -> None:
        failure = future.exception()
        found: Sequence[Any] = () if failure else future.result()
        if failure is None and len(found) != len(slots):
            failure = ValueError(f"a call for {len(slots)} rollouts gave {len(found)} results")
        for index, slot in enumerate(slots):
            self._answer(slot, None if failure else found[index], failure)

    def _run_waves(self) -> None:
        """Have engines decode all requests that wait for them. Work starts when its rollout's reply arrives."""
        waves, self._waves = self._waves, {}
        for wave in waves.values():
            wave.sort(key=lambda asked: asked.key)
        own = waves.pop(self._engine, [])
        for engine, wave in waves.items():
            then = partial(self._worked_together, [asked.slot for asked in wave])
            self._call(then, engine.generate, [asked.request for asked in wave])
        if not own:
            return
        with closing(self._stream([asked.request for asked in own])) as results:
            for index, generation in results:
                self._hear(self._engine, generation, own[index].slot)
                self._advance()
                self._settle()

    def _stream(self, requests: Sequence[Request]) -> Generator[tuple[int, Generation], None, None]:
        yield from self._engine.stream(requests)

    def _settle(self) -> None:
        """Handle the results that have arrived."""
        while True:
            try:
                event = self._events.get_nowait()
            except Empty:
                return
            event()
            self._advance()

    def _line_up(self, wanted: Together, slot: _Slot) -> None:
        line = next((line for line in self._lines if line.function == wanted.function), None)
        if line is None:
            line = _Line(wanted.function)
            self._lines.append(line)
        line.waiting.append((wanted, slot))
        self._call_line(line, all_of_it=self._engine.submits)

    def _call_line(self, line: _Line, *, all_of_it: bool) -> None:
        """Start a line's next call, unless one is in progress. Calls that are not full start only with `all_of_it`."""
        if line.busy or not line.waiting:
            return
        most = line.waiting[0][0].most
        if len(line.waiting) < most and not all_of_it:
            return
        called = [line.waiting.popleft() for _ in range(min(most, len(line.waiting)))]
        line.busy = True
        slots = [slot for _, slot in called]
        self._call(partial(self._line_called, line, slots), line.function, [wanted.item for wanted, _ in called])

    def _line_called(self, line: _Line, slots: Sequence[_Slot], future: Future[Sequence[Any]]) -> None:
        line.busy = False
        self._worked_together(slots, future)
        self._advance()  # their next items may fill the line
        self._call_line(line, all_of_it=self._engine.submits)


def _raise_stopped() -> None:
    raise RolloutsStopped
