"""Rollouts at their own pace: what each waits for, what serves it, and that the order of answers changes nothing."""

import random
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from verikit.engines import Engine, Generation, Output, Request
from verikit.engines.rollouts import Ask, Rollouts, RolloutsStopped, Together, Work, all_at_once, run_rollouts
from verikit.errors import ContextOverflow, EngineError

LETTERS = "abcdefgh"


class Echo(Engine):
    """Replies with the prompt and the seed; `waves` are the batches it was given."""

    name = "echo"

    def __init__(self):
        self.waves = []

    def generate(self, requests):
        self.waves.append([request.prompt for request in requests])
        return [said(request) for request in requests]


class Served(Echo):
    """The same, one request at a time, after a while that the request decides; some later than others."""

    submits = True

    def __init__(self, seconds=lambda request: 0.0, width=64):
        super().__init__()
        self.threads = ThreadPoolExecutor(width)
        self.seconds = seconds

    def submit(self, request, done):
        def serve():
            time.sleep(self.seconds(request))
            done(said(request))

        self.waves.append([request.prompt])
        return self.threads.submit(serve).cancel

    def close(self):
        self.threads.shutdown()


def said(request):
    return Generation((Output(f"{request.prompt}:{request.seed}"),))


def story(name, turns):
    """Asks, has the reply judged, and asks again by what came."""
    text = name
    for turn in range(turns):
        reply = yield Request(text, seed=turn)
        text = yield Work(str.upper, (reply.text,))
    return text


def stories():
    return [story(letter, 1 + number % 4) for number, letter in enumerate(LETTERS)]


def test_a_rollout_goes_on_with_what_it_was_sent_and_results_are_in_order():
    assert run_rollouts(Echo(), stories())[:3] == ["A:0", "B:0:1", "C:0:1:2"]
    assert run_rollouts(Echo(), []) == []


@pytest.mark.parametrize("seed", range(5))
def test_whatever_order_answers_come_in_the_results_are_the_same(seed):
    expected = run_rollouts(Echo(), stories())
    draw = random.Random(seed)
    waits = {}
    with Served(lambda request: waits.setdefault(request.prompt, draw.random() / 50)) as engine:
        assert run_rollouts(engine, stories()) == expected


def test_an_engine_that_decodes_together_gets_all_that_wait_and_the_waves_repeat():
    runs = []
    for _ in range(3):
        engine = Echo()
        run_rollouts(engine, stories())
        runs.append(engine.waves)
    assert [len(wave) for wave in runs[0]] == [8, 6, 4, 2]
    assert runs[0] == runs[1] == runs[2]
    assert runs[0][0] == list(LETTERS)


def test_a_rollout_does_not_wait_for_a_slower_one():
    over = threading.Event()

    def seconds(request):
        assert request.prompt != "slow" or over.wait(30), "the quick one waited for the slow one"
        return 0.0

    ended = []

    def turns(name, count):
        for _ in range(count):
            yield Request(name)
        ended.append(name)
        over.set()

    with Served(seconds) as engine:
        run_rollouts(engine, [turns("slow", 1), turns("quick", 8)])
    assert ended == ["quick", "slow"]


def test_work_runs_beside_generation_and_beside_other_work():
    together = threading.Barrier(4, timeout=30)

    def judged(name):
        yield Request(name)
        yield Work(together.wait)  # passes only if four are under way at once
        return name

    assert run_rollouts(Echo(), [judged(name) for name in "abcd"]) == list("abcd")
    generating = threading.Event()

    class Waiting(Echo):
        def stream(self, requests):
            yield 0, said(requests[0])
            assert generating.wait(30), "the first reply's work began only after the batch"
            yield 1, said(requests[1])

    def first():
        yield Request("first")
        yield Work(generating.set)

    def second():
        yield Request("second")

    run_rollouts(Waiting(), [first(), second()])


def test_lists_and_rollouts_within_them_are_asked_for_at_once():
    def child(name):
        reply = yield Request(name)
        return reply.text

    def parent():
        nothing = yield []
        found = yield [child("a"), Request("b", seed=2), Work(len, ("abc",)), child("c")]
        alone = yield child("d")
        return nothing, [found[0], found[1].text, *found[2:]], alone

    engine = Echo()
    assert run_rollouts(engine, [parent()]) == [([], ["a:None", "b:2", 3, "c:None"], "d:None")]
    assert engine.waves == [["a", "b", "c"], ["d"]]


def test_items_that_wait_together_are_called_together_and_never_two_calls_at_once():
    calls, busy = [], threading.Lock()

    def find(queries):
        assert busy.acquire(blocking=False)
        calls.append(list(queries))
        time.sleep(0.02)
        busy.release()
        return [query.upper() for query in queries]

    def searching(name, most):
        yield Request(name)
        return (yield Together(find, name, most))

    for engine in (Echo(), Served()):
        calls.clear()
        assert run_rollouts(engine, [searching(name, 3) for name in LETTERS]) == list(LETTERS.upper())
        assert sorted(query for call in calls for query in call) == list(LETTERS)
        assert max(map(len, calls)) <= 3
    calls.clear()
    run_rollouts(Echo(), [searching(name, 3) for name in LETTERS])
    assert calls == [["a", "b", "c"], ["d", "e", "f"], ["g", "h"]]


@pytest.mark.parametrize("other", [Echo, Served])
def test_another_engine_may_be_asked(other):
    opponent = other()

    def game(name):
        own = yield Request(name)
        met = yield Ask(opponent, Request(f"{name}!", seed=7))
        return own.text, met.text

    engine = Echo()
    assert run_rollouts(engine, [game(name) for name in "ab"]) == [("a:None", "a!:7"), ("b:None", "b!:7")]
    assert engine.waves == [["a", "b"]]
    assert sorted(prompt for wave in opponent.waves for prompt in wave) == ["a!", "b!"]
    opponent.close()


def test_what_work_raises_is_raised_in_the_rollout_which_may_go_on():
    def fail(*items):
        raise ValueError("no judge")

    def careful(wanted):
        try:
            yield wanted
        except ValueError as error:
            return str(error)

    def careless():
        yield Work(fail)

    for engine in (Echo(), Served()):
        assert run_rollouts(engine, [careful(Work(fail)), careful(Together(fail, 1))]) == ["no judge"] * 2
        with pytest.raises(ValueError, match="no judge"):
            run_rollouts(engine, [careless()])


def test_a_request_is_named_by_its_rollout_alone():
    named = {}

    def note(key, request):
        assert named.setdefault(request.prompt, key) == key
        return request

    def child(name):
        yield Request(f"{name} 1")
        yield Request(f"{name} 2")

    def parent(name):
        yield [child(f"{name}a"), child(f"{name}b")]

    for wait in (lambda request: 0.0, lambda request: 0.02 * ("a" in request.prompt), None):
        engine = Echo() if wait is None else Served(wait)
        with ThreadPoolExecutor(4) as threads:
            Rollouts(engine, [parent("x"), parent("y")], threads, note).run(all_at_once(range(2)))
        engine.close()
    assert len(set(named.values())) == len(named) == 8


def test_rollouts_are_begun_as_they_are_taken():
    begun, given = [], iter([[0, 2], [3]])

    def noted(number):
        begun.append(number)
        yield Request(str(number))
        return number

    with ThreadPoolExecutor(1) as threads:
        done = Rollouts(Echo(), [noted(number) for number in range(4)], threads).run(lambda live: next(given, ()))
    assert done == {0: 0, 2: 2, 3: 3}
    assert begun == [0, 2, 3]


class Slow(Echo):
    """Never answers by itself; notes what is taken back."""

    submits = True

    def __init__(self):
        super().__init__()
        self.taken_back, self.answers = [], {}

    def submit(self, request, done):
        self.answers[request.prompt] = lambda: done(said(request))
        return lambda: self.taken_back.append(request.prompt)


def test_a_run_that_ends_early_takes_back_its_requests_drops_work_and_closes_all_generators():
    engine, closed, begun, hold = Slow(), [], [], threading.Event()

    def waits(name, *wanted):
        try:
            yield [Request(name), *wanted]
        finally:
            closed.append(name)

    def works(number):
        begun.append(number)
        hold.wait(30)

    def fails():
        yield [Work(works, (number,)) for number in range(2)]

    def breaks():
        yield Work(len, ("",))
        raise ValueError("no story")

    def never():
        closed.append("begun")
        yield Request("never")

    with ThreadPoolExecutor(2) as threads:
        rollouts = [waits("parent", waits("child")), breaks(), fails(), fails(), never()]
        left = iter([[0, 1, 2, 3]])
        try:
            with pytest.raises(ValueError, match="no story"):
                Rollouts(engine, rollouts, threads).run(lambda live: next(left, ()))
        finally:
            hold.set()
    assert sorted(engine.taken_back) == ["child", "parent"]
    assert closed == ["child", "parent"]
    assert len(begun) <= 2  # two at a time, and those were held
    with pytest.raises(StopIteration):
        next(rollouts[-1])  # closed without having begun


def test_a_run_can_be_stopped_from_another_thread():
    engine, threads = Slow(), ThreadPoolExecutor(1)

    def asks():
        yield Request("for ever")

    run = Rollouts(engine, [asks()], threads)
    threading.Timer(0.05, run.stop).start()
    with pytest.raises(RolloutsStopped):
        run.run(all_at_once(range(1)))
    assert engine.taken_back == ["for ever"]
    engine.answers["for ever"]()  # comes too late for anyone
    threads.shutdown()


def test_a_wave_that_is_left_early_is_closed():
    class Decoding(Echo):
        closed = False

        def stream(self, requests):
            try:
                yield from super().stream(requests)
            finally:
                self.closed = True

    def breaks():
        yield Request("a")
        raise ValueError("no story")

    engine = Decoding()
    with pytest.raises(ValueError, match="no story") as caught:
        run_rollouts(engine, [breaks(), breaks()])
    assert caught.value.__traceback__
    assert engine.closed  # though the traceback still holds the frames


def test_rollouts_that_end_at_once_are_not_nested():
    def child(number):
        return number
        yield

    def parent():
        total = 0
        for number in range(3000):
            total += yield child(number)
        return total

    assert run_rollouts(Echo(), [parent()]) == [sum(range(3000))]


def test_another_engine_that_decodes_together_gets_the_same_batches_in_every_run():
    runs = []
    for seed in range(3):
        draw, opponent = random.Random(seed), Echo()
        waits = {number: draw.random() / 50 for number in range(80)}

        def game(number, opponent=opponent, waits=waits):
            text = f"{number:02}"
            for _ in range(2):
                met = yield Ask(opponent, Request(text))
                text = yield Work(lambda text: time.sleep(waits[number]) or text, (met.text,))
            yield Request(text)
            return (yield Ask(opponent, Request("again"))).text

        run_rollouts(Echo(), [game(number) for number in range(80)])
        runs.append(opponent.waves)
    assert [len(wave) for wave in runs[0]] == [80, 80, 80]
    assert runs[0] == runs[1] == runs[2]


@pytest.mark.parametrize("engine", [Echo, Served])
def test_what_is_no_request_and_a_call_of_too_few_results_are_raised_in_the_rollout(engine):
    def careful(wanted):
        try:
            yield wanted
        except (TypeError, ValueError) as error:
            return str(error)

    with engine() as made:
        found = run_rollouts(made, [careful(None), careful(Together(lambda items: [], 1))])
    assert found == [
        "a rollout must yield requests, work or rollouts, got NoneType",
        "a call for 1 rollouts gave 0 results",
    ]


@pytest.mark.parametrize("engine", [Echo, Served])
def test_requests_that_the_engine_lost_are_counted(engine, monkeypatch):
    errors = {"down": EngineError("down"), "long": ContextOverflow("too long")}
    monkeypatch.setitem(globals(), "said", lambda request: Generation((Output("x"),), error=errors.get(request.prompt)))
    other = Echo()

    def asks(prompt):
        yield [Request(prompt), Ask(other, Request("down"))]

    with engine() as made, ThreadPoolExecutor(2) as threads:
        run = Rollouts(made, [asks(prompt) for prompt in ("down", "long", "fine")], threads)
        run.run(all_at_once(range(3)))
    assert (run.asked, run.lost) == (3, [errors["down"]])
