"""Rollouts that don't wait for one another: each is a generator that yields what it waits for, and is sent the answer.

A rollout is the story of one prompt as straight code: `reply = yield Request(…)`, `scores = yield Work(judge, reply)`.
It goes on as soon as its own answer is there, whatever the others wait for. A list asks for several things at once, and
a rollout may be asked for too, which goes on beside the others of the list. So a game of turns, a search of legs and a
question put to a second role are written alike, and one queue serves all.

Engines that take requests at any time (`Engine.submits`: servers, vLLM) get each at once. One that decodes together
what it is given together (hf) gets them in waves: all that wait for it, in the rollouts' order, once no other work is
under way. A wave is then the same in every run, and with it the last bits of the log-probabilities. Work runs in
threads beside either. An answer depends on its request alone, by the request's own seed, so the order in which answers
come changes no result; a rollout must not read what another one writes.

A run that ends early (by what a rollout raises, an interrupt, `Rollouts.stop`) leaves nothing behind: requests are
taken back, work that has not begun is dropped, and every generator is closed.
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
"""Threads for work beside generation: as many rollouts wait for a judge at once."""
TOGETHER = 64
"""Most items of one call for several rollouts."""


@dataclass(frozen=True, slots=True)
class Work:
    """A call that is made in a thread; what it raises is raised in the rollout."""

    function: Callable[..., Any]
    arguments: tuple[Any, ...] = ()


@dataclass(frozen=True, slots=True)
class Together:
    """An item for a function of many, called in a thread with those of several rollouts; one such call at a time."""

    function: Callable[[list[Any]], Sequence[Any]]
    """From items to results, parallel; equal functions (`==`) are called together."""
    item: Any
    most: int = TOGETHER


@dataclass(frozen=True, slots=True)
class Ask:
    """A request for another engine than the rollouts' own."""

    engine: Engine
    request: Request


Wanted = Request | Work | Together | Ask | Generator[Any, Any, Any]
"""A rollout among them is run, and its answer is what it returns; what it raises ends the run."""
Rollout = Generator[Wanted | Sequence[Wanted], Any, Result]
"""Yields what it wants; is sent a `Generation` for a request, else what the call returned, or a list of these."""
Take = Callable[[int], Sequence[int]]
"""From how many rollouts are under way to the numbers of more to begin; when none is under way and it gives none, it is
over."""
Key = tuple[int, ...]
"""Names a request in a run, alike whatever came first: the rollout's number, the number of what it wanted and the index
in the list for each rollout that was asked for, and the number of what was wanted last."""
Prepare = Callable[[Key, Request], Request]
"""From a rollout's request to the one that is sent."""


def run_rollouts(engine: Engine, rollouts: Sequence[Rollout[Result]]) -> list[Result]:
    """Run rollouts to their ends and return what they returned, in order.

    Raises:
        Exception: what a rollout or its work raised.
    """
    with ThreadPoolExecutor(THREADS, thread_name_prefix="verikit-work") as threads:
        done = Rollouts(engine, rollouts, threads).run(all_at_once(range(len(rollouts))))
    return [done[number] for number in range(len(rollouts))]


class RolloutsStopped(Exception):
    """Another thread stopped the run."""


def all_at_once(numbers: range) -> Take:
    """Return what begins these rollouts at the start."""
    left = [numbers]
    return lambda live: left.pop() if left else ()


def as_asked(key: Key, request: Request) -> Request:
    """Return a request as it is."""
    return request


@dataclass(slots=True, eq=False)
class _Running:
    """A rollout under way."""

    key: Key
    rollout: Rollout[Any]
    slot: _Slot | None = None
    """Where what it returns is waited for."""
    wanted: int = 0
    """How often it wanted something."""


@dataclass(slots=True, eq=False)
class _Waiting:
    """What a rollout waits for."""

    running: _Running
    several: bool
    """Whether it asked by a list."""
    answers: list[Any]
    left: int
    failure: BaseException | None = None


_Slot = tuple[_Waiting, int]


class _Step(NamedTuple):
    """What a rollout is to be given next."""

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
    """Items that wait for a function of many."""

    function: Callable[[list[Any]], Sequence[Any]]
    waiting: deque[tuple[Together, _Slot]] = field(default_factory=deque)
    busy: bool = False


class Rollouts(Generic[Result]):
    """One run of some rollouts; all of it but the calls of `Work` and `Together` happens in the caller's thread."""

    asked: int
    """Requests that the rollouts' own engine answered or failed."""
    lost: list[EngineError]
    """What it failed them by, a full context aside, which the rollout's own length brings about."""

    def __init__(
        self, engine: Engine, rollouts: Sequence[Rollout[Result]], threads: Executor, prepare: Prepare = as_asked
    ) -> None:
        """Make a run.

        Args:
            engine: Serves the requests.
            rollouts: Not begun yet; those that are never begun are closed.
            threads: For the work.
            prepare: What makes a rollout's request one of the run's.
        """
        self._engine, self._rollouts, self._threads, self._prepare = engine, rollouts, threads, prepare
        self._done: dict[int, Result] = {}
        self.asked, self.lost = 0, []
        self._live = 0
        self._running: dict[_Running, None] = {}
        """Rollouts that have begun and not ended, those asked for by others after them."""
        self._next: deque[_Step] = deque()
        self._under_way: dict[_Slot | Future[Any], Callable[[], object]] = {}
        """What will be answered from other threads, in `_events`, and what takes each back."""
        self._events: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self._waves: dict[Engine, list[_Asked]] = {}
        self._lines: list[_Line] = []

    def run(self, take: Take) -> dict[int, Result]:
        """Run what `take` gives, and return the results by number.

        Raises:
            RolloutsStopped: `stop` was called.
            Exception: what a rollout or its work raised.
        """
        try:
            self._run(take)
        finally:
            with ExitStack() as ending:  # backwards: first what others wait for
                for rollout in (*self._rollouts, *(running.rollout for running in self._running)):
                    ending.callback(rollout.close)
                for take_back in self._under_way.values():
                    ending.callback(take_back)
        return self._done

    def stop(self) -> None:
        """End the run, from another thread: at the next answer, of whichever rollout."""
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
        """Give rollouts what they waited for, and see to what they want next; one after another, not nested."""
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
        elif self._engine.submits:  # nothing is ever idle then: whoever asks gets the next call
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
        """Have engines decode all that waits for them; work begins when its rollout's reply is there."""
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
        """See to the answers that are there."""
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
        """Start a line's next call, unless one is under way; a call that is not full yet only with `all_of_it`."""
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
        self._advance()  # what they ask next may fill the line
        self._call_line(line, all_of_it=self._engine.submits)


def _raise_stopped() -> None:
    raise RolloutsStopped
