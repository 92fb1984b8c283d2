"""Single calls become batches: whatever waits when a thread is free, with a bound, through forks and to the end."""

import asyncio
import os
import pickle
import threading
import time
from contextlib import suppress

import pytest

from verikit import Sample, Score, load
from verikit.adapters import Gather, to_verl
from verikit.adapters.gather import gathered
from verikit.base import Verifier
from verikit.errors import UsageError, VerikitError


class Slow(Verifier):
    """Takes as long for a batch as for a sample, and remembers the sizes."""

    name = "slow"

    def __init__(self, gate=None):
        self._sizes, self._gate = [], gate

    def score_batch(self, samples):
        self._sizes.append(len(samples))
        if self._gate is not None:
            self._gate.wait(60)
        return [Score(float(sample.completion)) for sample in samples]


class Wrong(Verifier):
    name = "wrong"

    def score_batch(self, samples):
        raise UsageError("set up wrongly")


def sample(i):
    return Sample(completion=str(i))


def test_what_waits_while_a_batch_is_scored_is_the_next_batch():
    gate = threading.Event()
    slow = Slow(gate)
    gather = Gather(slow, threads=1, max_batch=64)
    futures = [gather.submit(sample(0))]
    while not slow._sizes:
        time.sleep(0.01)
    futures += [gather.submit(sample(i)) for i in range(1, 100)]
    assert gather.waiting == 99
    gate.set()
    assert [future.result(60).value for future in futures] == [float(i) for i in range(100)]
    assert slow._sizes == [1, 64, 35]
    gather.close()


def test_a_closed_gatherer_finishes_what_it_has_and_takes_no_more():
    gate = threading.Event()
    gather = Gather(Slow(gate), threads=1)
    futures = [gather.submit(sample(i)) for i in range(3)]
    gate.set()
    gather.close()
    assert [future.result(0).value for future in futures] == [0.0, 1.0, 2.0]
    with pytest.raises(VerikitError, match="closed"):
        gather.submit(sample(4))


def test_no_sample_waits_for_ever_where_one_thread_closes_and_others_submit():
    for _ in range(50):
        gather = Gather(Slow(), threads=1)
        taken = [gather.submit(sample(0))]

        def submit(gather=gather, taken=taken):
            with suppress(VerikitError):
                while True:
                    taken.append(gather.submit(sample(1)))

        thread = threading.Thread(target=submit)
        thread.start()
        gather.close()
        thread.join()
        assert all(future.done() for future in taken)


def test_a_caller_that_gave_up_is_not_scored_and_the_others_are():
    gate = threading.Event()
    slow = Slow(gate)
    gather = Gather(slow, threads=1)
    first = gather.submit(sample(0))
    while gather.waiting:
        time.sleep(0.01)
    given_up, kept = gather.submit(sample(1)), gather.submit(sample(2))
    assert given_up.cancel()
    gate.set()
    assert (first.result(60).value, kept.result(60).value) == (0.0, 2.0)
    gather.close()
    assert slow._sizes == [1, 1]


def test_a_verifier_that_is_set_up_wrongly_is_heard_by_every_caller():
    gather = Gather(Wrong())
    for future in [gather.submit(sample(i)) for i in range(3)]:
        with pytest.raises(UsageError, match="set up wrongly"):
            future.result(60)
    gather.close()


def test_copies_of_a_reward_share_one_gatherer_and_its_threads():
    before = threading.active_count()
    copies = [pickle.loads(pickle.dumps(to_verl("exact", asynchronous=True))) for _ in range(20)]

    async def ask():
        return [(await copy(None, "a", "a"))["score"] for copy in copies]

    assert asyncio.run(ask()) == [1.0] * 20
    assert len({id(copy.gather) for copy in copies}) == 1
    assert threading.active_count() <= before + 2


def test_a_forked_child_gets_threads_of_its_own():
    verifier = load("exact")
    gather = gathered(verifier, verifier.fingerprint)
    assert gather.submit(Sample(completion="a", answer="a")).result(60).value == 1.0
    pid = os.fork()
    if not pid:
        made = gathered(verifier, verifier.fingerprint)
        right = made is not gather and made.submit(Sample(completion="a", answer="a")).result(60).value == 1.0
        os._exit(0 if right else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
