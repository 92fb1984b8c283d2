"""Rollouts that don't wait for one another: each is a generator that yields what it waits for, and is sent the answer.

A rollout is the story of one prompt as straight code: `reply = yield Request(…)`, `scores = yield Work(judge, reply)`.
It goes on as soon as its own answer is there, whatever the others wait for. A list asks for several things at once. So
a game of turns, a search of legs and a question put to a second role are written alike, and one queue serves all.

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


Wanted = Request | Work | Together | Ask
Rollout = Generator[Wanted | Sequence[Wanted], Any, Result]
"""Yields what it wants; is sent a `Generation` for a request, else what the call returned, or a list of these."""
Take = Callable[[int], Sequence[int]]
"""From how many rollouts are under way to the numbers of more to begin; when none is under way and it gives none, it is
over."""
Prepare = Callable[[int, int, Request], Request]
"""(Number of the rollout, number of its request, request) -> the request that is sent."""


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


def as_asked(number: int, request_number: int, request: Request) -> Request:
    """Return a request as it is."""
    return request


@dataclass(slots=True, eq=False)
class _Waiting:
    """A rollout that waits for answers."""

    number: int
    rollout: Rollout[Any]
    left: int
    several: bool
    """Whether it asked by a list."""
    answers: list[Any]
    failure: BaseException | None = None


@dataclass(slots=True)
class _Line:
    """Items that wait for a function of many."""

    function: Callable[[list[Any]], Sequence[Any]]
    waiting: deque[tuple[Together, _Waiting, int]] = field(default_factory=deque)
    busy: bool = False


Event = Callable[[], None]
"""What the runner does with an answer that came from another thread."""


class Rollouts(Generic[Result]):
    """One run of some rollouts; all of it but the calls of `Work` and `Together` happens in the caller's thread."""

    def __init__(
        self,
        engine: Engine,
        rollouts: Sequence[Rollout[Result]],
        threads: Executor,
        prepare: Prepare = as_asked,
    ) -> None:
        """Make a run.

        Args:
            engine: Serves the requests.
            rollouts: Not begun yet; those that are never begun are closed.
            threads: For the work.
            prepare: What makes a rollout's request one of the run's.
        """
        self._engine, self._rollouts, self._prepare, self._threads = engine, rollouts, prepare, threads
        self._done: dict[int, Result] = {}
        self._asked = [0] * len(rollouts)
        """Requests of each so far."""
        self._live = 0
        self._under_way = 0
        """Answers that will come from other threads."""
        self._events: SimpleQueue[Event] = SimpleQueue()
        self._wave: list[tuple[int, int, Request, _Waiting, int]] = []
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
                self._send(number, self._rollouts[number], None)
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

    def _send(self, number: int, rollout: Rollout[Result], answer: Any, failure: BaseException | None = None) -> None:
        """Give a rollout what it waited for, and see to what it wants next."""
        while True:
            try:
                wanted = rollout.send(answer) if failure is None else rollout.throw(failure)
            except StopIteration as end:
                self._done[number] = end.value
                self._live -= 1
                return
            several = isinstance(wanted, Sequence)
            items = wanted if isinstance(wanted, Sequence) else [wanted]
            if items:
                break
            answer, failure = [], None
        waiting = _Waiting(number, rollout, len(items), several, [None] * len(items))
        for slot, item in enumerate(items):
            self._see_to(item, waiting, slot)

    def _see_to(self, wanted: Wanted, waiting: _Waiting, slot: int) -> None:
        if isinstance(wanted, Request):
            self._request(wanted, waiting, slot)
        elif isinstance(wanted, Work):
            self._under_way += 1
            future = self._threads.submit(wanted.function, *wanted.arguments)
            future.add_done_callback(lambda future: self._events.put(lambda: self._worked(future, waiting, slot)))
        elif isinstance(wanted, Together):
            self._line_up(wanted, waiting, slot)
        elif wanted.engine.submits:
            self._submit(wanted.engine, wanted.request, waiting, slot)
        else:
            self._line_up(Together(wanted.engine.generate, wanted.request), waiting, slot)

    def _request(self, wanted: Request, waiting: _Waiting, slot: int) -> None:
        number = waiting.number
        request = self._prepare(number, self._asked[number], wanted)
        if self._engine.submits:
            self._submit(self._engine, request, waiting, slot)
        else:
            self._wave.append((number, self._asked[number], request, waiting, slot))
        self._asked[number] += 1

    def _submit(self, engine: Engine, request: Request, waiting: _Waiting, slot: int) -> None:
        self._under_way += 1
        engine.submit(request, lambda found: self._events.put(lambda: self._replied(found, waiting, slot)))

    def _replied(self, found: Generation | BaseException, waiting: _Waiting, slot: int) -> None:
        self._under_way -= 1
        failed = isinstance(found, BaseException)
        self._answer(waiting, slot, None if failed else found, found if failed else None)

    def _worked(self, future: Future[Any], waiting: _Waiting, slot: int) -> None:
        self._under_way -= 1
        failure = future.exception()
        self._answer(waiting, slot, None if failure else future.result(), failure)

    def _answer(self, waiting: _Waiting, slot: int, answer: Any, failure: BaseException | None = None) -> None:
        waiting.answers[slot] = answer
        waiting.failure = waiting.failure or failure
        waiting.left -= 1
        if not waiting.left:
            answers = waiting.answers if waiting.several else waiting.answers[0]
            self._send(waiting.number, waiting.rollout, answers, waiting.failure)

    def _run_wave(self) -> None:
        """Decode all that wait together; work begins when its rollout's reply is there."""
        wave = sorted(self._wave, key=lambda row: row[:2])
        self._wave = []
        for index, generation in self._engine.stream([request for _, _, request, _, _ in wave]):
            *_, waiting, slot = wave[index]
            self._answer(waiting, slot, generation)
            self._settle()

    def _settle(self) -> None:
        """See to the answers that are there."""
        while True:
            try:
                event = self._events.get_nowait()
            except Empty:
                return
            event()

    def _line_up(self, wanted: Together, waiting: _Waiting, slot: int) -> None:
        line = next((line for line in self._lines if line.function == wanted.function), None)
        if line is None:
            line = _Line(wanted.function)
            self._lines.append(line)
        line.waiting.append((wanted, waiting, slot))
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
        self._under_way += 1
        future = self._threads.submit(line.function, [wanted.item for wanted, _, _ in called])
        future.add_done_callback(lambda future: self._events.put(lambda: self._called(line, called, future)))

    def _called(
        self, line: _Line, called: Sequence[tuple[Together, _Waiting, int]], future: Future[Sequence[Any]]
    ) -> None:
        self._under_way -= 1
        failure = future.exception()
        found: Sequence[Any] = [None] * len(called) if failure else future.result()
        for (_, waiting, slot), answer in zip(called, found, strict=True):
            self._answer(waiting, slot, answer, failure)
        line.busy = False
        self._begin(line, all_of_it=self._engine.submits)
