"""`code` on tests that pass objects of Python's own classes, use threads, or import the program in a test program."""

# ruff: noqa: E501 - programs are lines as they are

from __future__ import annotations

import pytest

import verikit

CODE = verikit.code()
DICE = "class Dice:\n    def __init__(self, rng):\n        self.rng = rng\n    def roll(self):\n        return self.rng.randint(1, 6)"
ROLLS = "import random\nmine, wanted = Dice(random.Random(5)), random.Random(5)\n"
ROLLS += "assert [mine.roll() for _ in range(9)] == [wanted.randint(1, 6) for _ in range(9)]"
NORMAL = "from statistics import NormalDist\ndef scaled(mu):\n    return NormalDist(2 * mu, 1)"
COUNT = "class Count:\n    def __init__(self):\n        self.n = 0\n    def add(self):\n        self.n += 1"
ADDS = "from concurrent.futures import ThreadPoolExecutor\nfound = Count()\nwith ThreadPoolExecutor(3) as pool:\n"
ADDS += "    [done.result() for done in [pool.submit(found.add) for _ in range(20)]]\nassert found.n == 20"
POOL = "from concurrent.futures import ThreadPoolExecutor\ndef mapped(function, items):\n"
POOL += "    with ThreadPoolExecutor(3) as pool:\n        return list(pool.map(function, items))"
CASES = {
    "a generator of random numbers is passed": (DICE, ROLLS, "(1, 6)", "(1, 7)"),
    "a distribution is returned": (NORMAL, "assert round(scaled(2).cdf(4), 3) == 0.5", "2 * mu", "mu"),
    "threads of the tests call a method": (COUNT, ADDS, "+= 1", "+= 2"),
    "threads of the program call a lambda": (POOL, "assert mapped(lambda x: x + 1, [1, 2]) == [2, 3]", ", items))", ", items))[:1]"),
    "a test program imports it": ("def double(x):\n    return 2 * x", "from solution import double\nassert double(4) == 8", "2 *", "3 *"),
}  # fmt: skip


@pytest.mark.parametrize(("program", "tests", "old", "new"), CASES.values(), ids=CASES)
def test_a_right_program_passes_and_a_near_miss_fails_an_assertion(
    program: str, tests: str, old: str, new: str
) -> None:
    assert CODE(f"```python\n{program}\n```", tests=tests).value == 1.0
    wrong = CODE(f"```python\n{program.replace(old, new)}\n```", tests=tests)
    assert (wrong.value, "AssertionError" in wrong.reason) == (0.0, True), wrong.reason


def test_a_generator_with_false_numbers_is_found_out() -> None:
    lying = "import random\nclass Rng(random.Random):\n    def randint(self, a, b):\n        return Any()\n"
    lying += "class Any:\n    def __eq__(self, other):\n        return True\ndef rng():\n    return Rng()"
    tests = "import random\nassert rng().randint(1, 10**9) == random.Random(5).randint(1, 10**9)"
    assert CODE(f"```python\n{lying}\n```", tests=tests).value == 0.0


@pytest.mark.parametrize(
    "shared", ["out = [7]", "class Box:\n    def __eq__(self, other):\n        return other == [7]\nout = Box()"]
)
def test_a_new_object_that_two_threads_hand_over_is_known(shared: str) -> None:
    program = f"import threading, time\n{shared}\ndef held():\n    return out\n"
    program += "def start(back):\n    threading.Thread(target=back).start()\n    time.sleep(.03)\n    return out"
    tests = "import time\nseen = []\ndef back():\n    time.sleep(.1)\n    seen.append(held())\n"
    tests += "got = start(back)\nstart(lambda: 0)\nassert got == [7] and seen == [[7]]"
    for _ in range(5):
        assert CODE(f"```python\n{program}\n```", tests=tests).value == 1.0


def test_threads_at_the_same_time_fit_into_the_memory_limit() -> None:
    program = """import threading
def total(count):
    found, met = [], threading.Barrier(count)
    def work(number):
        met.wait()
        found.append(number)
    threads = [threading.Thread(target=work, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(found)"""
    assert CODE(f"```python\n{program}\n```", tests=["assert total(32) == 496"]).value == 1.0
