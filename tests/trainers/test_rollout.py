"""The sampler over several processes, played by threads: who takes which rollouts, and that it changes no result."""

import threading

import pytest

pytest.importorskip("torch")

from tests.engines.test_rollouts import Echo, Served
from verikit.engines.rollouts import Request, Work
from verikit.trainers.distributed import World
from verikit.trainers.rollout import Claims, PolicySampler


class Shared:
    """What processes of a run share: a counter, and a place to meet."""

    def __init__(self, size):
        self.size, self.counters, self.lock = size, {}, threading.Lock()
        self.barrier, self.values = threading.Barrier(size, timeout=30), [None] * size


class Process(World):
    """One process, in a thread."""

    def __init__(self, shared, rank):
        self.shared, self.rank, self.size = shared, rank, shared.size

    def add(self, name, amount):
        with self.shared.lock:
            self.shared.counters[name] = self.shared.counters.get(name, 0) + amount
            return self.shared.counters[name]

    def gather_rollouts(self, value):
        self.shared.values[self.rank] = value
        self.shared.barrier.wait()
        found = list(self.shared.values)
        self.shared.barrier.wait()
        return found


def run(engines, rollouts, calls=1):
    """Run `rollouts(sampler, note)` on a process an engine; what each got, and the numbers that each began."""
    shared, results, begun = Shared(len(engines)), [None] * len(engines), [[] for _ in engines]

    def process(rank):
        sampler = PolicySampler(engines[rank], None, Process(shared, rank), 0, allow_truncated=False)
        results[rank] = [sampler.roll_out(rollouts(sampler, begun[rank].append)) for _ in range(calls)]
        sampler.close()

    threads = [threading.Thread(target=process, args=(rank,)) for rank in range(len(engines))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results, begun


def stories(sampler, note):
    def story(number):
        note(number)
        seeded = yield Request(f"s{number}", seed=sampler.seed(number), temperature=1.0)
        drawn = yield Request("the same for all", temperature=1.0)
        length = yield Work(len, (seeded.text,))
        return seeded.text, drawn.text, length

    return [story(number) for number in range(40)]


def test_any_number_of_processes_gets_the_same_results_at_any_speed():
    [alone], _ = run([Echo()], stories, calls=2)
    assert len({drawn for call in alone for _, drawn, _ in call}) == 80  # unseeded requests are drawn each by itself
    for engines in ([Echo(), Echo()], [Served(), Served(lambda request: 0.002), Served(lambda request: 0.02)]):
        results, begun = run(engines, stories, calls=2)
        assert all(found == alone for found in results)
        assert sorted(number for numbers in begun for number in numbers) == sorted([*range(40)] * 2)
        for engine in engines:
            engine.close()


def test_a_process_that_is_held_up_leaves_the_others_more():
    enough = threading.Event()

    def held_up(request):
        assert enough.wait(30), "the quick process was left with a fixed share"
        return 0.0

    def noted(sampler, note):
        def story(number):
            note(number)
            yield Request(f"s{number}")
            begun.append(number)
            if len(begun) == 25:
                enough.set()

        return [story(number) for number in range(40)]

    begun = []
    quick, slow = Served(), Served(held_up)
    _, taken = run([quick, slow], noted)
    assert sorted(taken[0] + taken[1]) == list(range(40))
    assert len(taken[0]) >= 25
    quick.close()
    slow.close()


def test_an_engine_that_decodes_in_waves_always_has_the_same_share():
    engines = [Echo(), Echo()]
    _, begun = run(engines, stories)
    assert begun == [list(range(0, 40, 2)), list(range(1, 40, 2))]


def test_claims_are_whole_and_get_smaller():
    shared = Shared(4)
    first, second = (Claims(Process(shared, rank), "x", 100) for rank in range(2))
    taken = [first(0)]
    assert list(first(12)) == []  # it still has enough to do
    while True:
        new = [second(0), first(0)]
        taken += new
        if not any(new):
            break
    assert sorted(number for part in taken for number in part) == list(range(100))
    sizes = [len(part) for part in taken if part]
    assert sizes[0] == 12
    assert sizes[-1] == 1
