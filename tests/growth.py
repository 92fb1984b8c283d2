"""How much work a function does on a hostile text: judged by growth or by a count of calls, not by a limit of time."""

import gc
import sys
import time

MOST = 256_000
STEPS = 2  # each size is four times the one before; every second is compared, so texts differ sixteenfold
GROWTH = 80  # sixteenfold text costs linear work 16 times as much, quadratic work 256 times
NOISE_S = 0.03
TRIES = 5


def sizes(most):
    """From about a hundred to `most`, each four times the one before."""
    return [most // 4**n for n in reversed(range(20)) if most // 4**n >= 100]


def check_linear(work, unit, most=MOST, clock=time.thread_time):
    """Fail if the cost of `work` on `unit`, repeated up to `most` characters, grows with the square of the length.

    `most` is the cap of the work, if it refuses longer texts.

    A cost is time of this thread alone, and costs below `NOISE_S` are not judged. A neighbour on the same processor can
    only add to a cost. So the work that seems to grow too fast is tried again beside the shorter text, and one good try
    is enough. The first size that fails ends the check, so that quadratic work does not hang.
    """

    def cost(size):
        text = (unit * (size // len(unit) + 1))[:size]
        start = clock()
        work(text)
        return clock() - start

    def too_much(now, before):
        return now > max(NOISE_S, GROWTH * before)

    lengths, costs = sizes(most), []
    collects = gc.isenabled()
    gc.disable()  # a collection looks at every object of the test run
    try:
        for step, size in enumerate(lengths):
            costs.append(cost(size))
            if step < STEPS:
                continue
            shorter, before, now = lengths[step - STEPS], costs[step - STEPS], costs[step]
            for number in range(1, TRIES):
                if not too_much(now, before):
                    break
                # Other lengths: what a cache has seen costs nothing.
                before, now = max(before, cost(shorter - number)), cost(size - number)
            assert not too_much(now, before), f"{size} characters of {unit[:20]!r}: {now:.3f} s, {before:.4f} s before"
    finally:
        if collects:
            gc.enable()


class TooManyCalls(BaseException):
    """A function has made more calls than it may; no boundary that turns an exception into a score catches it."""


def count_calls(work, most):
    """How many calls of functions, C's as well, `work()` makes in this thread. `TooManyCalls` ends it after `most`."""
    count = 0

    def counted(frame, event, argument):
        nonlocal count
        count += event in ("call", "c_call")
        if count > most:
            sys.setprofile(before)
            raise TooManyCalls(f"more than {most} calls")

    before = sys.getprofile()
    sys.setprofile(counted)
    try:
        work()
    finally:
        sys.setprofile(before)
    return count
