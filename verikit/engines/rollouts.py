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
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from typing import Any, Generic

from verikit.engines.types import Engine, Generation, Request, Result

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


@dataclass(slots=True)
class _Line:
    """Items that wait for a function of many."""

    function: Callable[[list[Any]], Sequence[Any]]
    waiting: deque[tuple[Together, _Slot]] = field(default_factory=deque)
    busy: bool = False


class Rollouts(Generic[Result]):
    """One run of some rollouts; all of it but the calls of `Work` and `Together` happens in the caller's thread."""

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
        self._live = 0
        self._under_way = 0
        """Answers that will come from other threads, in `_events`: what to do with each."""
        self._events: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self._wave: list[tuple[Key, Request, _Slot]] = []
        self._lines: list[_Line] = []

    def run(self, take: Take) -> dict[int, Result]:
        """Run what `take` gives, and return the results by number.

        Raises:
            Exception: what a rollout or its work raised.
        """
        while True:
            taken = take(self._live)
            for number in taken:
                self._live += 1
                self._send(_Running((number,), self._rollouts[number]), None)
            if self._under_way:
                self._events.get()()
            elif any(line.waiting for line in self._lines):
                for line in self._lines:
                    self._begin(line, all_of_it=True)
            elif self._wave:
                self._run_wave()
            elif not taken:
                break
        for rollout in self._rollouts:
            rollout.close()
        return self._done

    def _send(self, running: _Running, answer: Any, failure: BaseException | None = None) -> None:
        """Give a rollout what it waited for, and see to what it wants next."""
        while True:
            try:
                wanted = running.rollout.send(answer) if failure is None else running.rollout.throw(failure)
            except StopIteration as end:
                self._end(running, end.value)
                return
            several = isinstance(wanted, Sequence)
            items = wanted if isinstance(wanted, Sequence) else [wanted]
            if items:
                break
            answer, failure = [], None
        waiting = _Waiting(running, several, [None] * len(items), len(items))
        running.wanted += 1
        for index, item in enumerate(items):
            self._see_to(item, (*running.key, running.wanted, index), (waiting, index))

    def _end(self, running: _Running, result: Any) -> None:
        if running.slot is not None:
            self._answer(running.slot, result)
            return
        self._done[running.key[0]] = result
        self._live -= 1

    def _see_to(self, wanted: Wanted, key: Key, slot: _Slot) -> None:
        if isinstance(wanted, Request):
            request = self._prepare(key, wanted)
            if self._engine.submits:
                self._submit(self._engine, request, slot)
            else:
                self._wave.append((key, request, slot))
        elif isinstance(wanted, Work):
            self._call(lambda future: self._worked(future, slot), wanted.function, *wanted.arguments)
        elif isinstance(wanted, Together):
            self._line_up(wanted, slot)
        elif isinstance(wanted, Ask):
            if wanted.engine.submits:
                self._submit(wanted.engine, wanted.request, slot)
            else:
                self._line_up(Together(wanted.engine.generate, wanted.request), slot)
        else:
            self._send(_Running(key, wanted, slot), None)

    def _answer(self, slot: _Slot, answer: Any, failure: BaseException | None = None) -> None:
        waiting, index = slot
        waiting.answers[index] = answer
        waiting.failure = waiting.failure or failure
        waiting.left -= 1
        if not waiting.left:
            answers = waiting.answers if waiting.several else waiting.answers[0]
            self._send(waiting.running, answers, waiting.failure)

    def _submit(self, engine: Engine, request: Request, slot: _Slot) -> None:
        self._under_way += 1
        engine.submit(request, lambda found: self._events.put(lambda: self._replied(found, slot)))

    def _replied(self, found: Generation | BaseException, slot: _Slot) -> None:
        self._under_way -= 1
        if isinstance(found, BaseException):
            self._answer(slot, None, found)
        else:
            self._answer(slot, found)

    def _call(self, then: Callable[[Future[Any]], None], function: Callable[..., Any], *arguments: Any) -> None:
        """Call a function in a thread, and `then` with the future in this one."""
        self._under_way += 1
        future = self._threads.submit(function, *arguments)
        future.add_done_callback(lambda future: self._events.put(lambda: then(future)))

    def _worked(self, future: Future[Any], slot: _Slot) -> None:
        self._under_way -= 1
        failure = future.exception()
        self._answer(slot, None if failure else future.result(), failure)

    def _run_wave(self) -> None:
        """Decode all that wait together; work begins when its rollout's reply is there."""
        wave = sorted(self._wave, key=lambda row: row[0])
        self._wave = []
        for index, generation in self._engine.stream([request for _, request, _ in wave]):
            self._answer(wave[index][2], generation)
            self._settle()

    def _settle(self) -> None:
        """See to the answers that are there."""
        while True:
            try:
                event = self._events.get_nowait()
            except Empty:
                return
            event()

    def _line_up(self, wanted: Together, slot: _Slot) -> None:
        line = next((line for line in self._lines if line.function == wanted.function), None)
        if line is None:
            line = _Line(wanted.function)
            self._lines.append(line)
        line.waiting.append((wanted, slot))
        self._begin(line, all_of_it=self._engine.submits)

    def _begin(self, line: _Line, *, all_of_it: bool) -> None:
        """Start a line's next call, unless one is under way; a call that is not full yet only with `all_of_it`."""
        if line.busy or not line.waiting:
            return
        most = line.waiting[0][0].most
        if len(line.waiting) < most and not all_of_it:
            return
        called = [line.waiting.popleft() for _ in range(min(most, len(line.waiting)))]
        line.busy = True
        items = [wanted.item for wanted, _ in called]
        self._call(lambda future: self._called(line, [slot for _, slot in called], future), line.function, items)

    def _called(self, line: _Line, slots: Sequence[_Slot], future: Future[Sequence[Any]]) -> None:
        self._under_way -= 1
        failure = future.exception()
        found: Sequence[Any] = [None] * len(slots) if failure else future.result()
        for slot, answer in zip(slots, found, strict=True):
            self._answer(slot, answer, failure)
        line.busy = False
        self._begin(line, all_of_it=self._engine.submits)
