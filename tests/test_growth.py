"""The check of linear work: it sees growth, and a busy machine does not make it fail."""

import functools

import pytest

from tests.growth import TooManyCalls, check_linear, count_calls


class Machine:
    """A clock that work moves on, by so many seconds for so many characters."""

    def __init__(self, seconds):
        self.now, self.seconds, self.lengths = 0.0, seconds, []

    def work(self, text):
        self.lengths.append(len(text))
        self.now += self.seconds(len(text))

    def check(self, **options):
        check_linear(self.work, "ab", clock=lambda: self.now, **options)


@pytest.mark.parametrize("exponent", [0, 0.5, 1, 1.2])
@pytest.mark.parametrize("factor", [1e-9, 1e-6, 1e-3])
def test_what_grows_with_the_length_passes(exponent, factor):
    Machine(lambda size: factor * size**exponent).check()


@pytest.mark.parametrize("factor", [1e-11, 1e-9, 1e-6])
def test_what_grows_with_the_square_fails_at_the_first_length_that_shows_it(factor):
    machine = Machine(lambda size: factor * size**2)
    with pytest.raises(AssertionError, match="characters of 'ab'"):
        machine.check()
    assert max(machine.lengths) == next(n for n in (4_000, 16_000, 64_000, 256_000) if factor * n**2 > 0.03)


def test_a_machine_that_is_busy_for_a_while_fails_nothing():
    """Whichever three runs in a row a neighbour makes a hundred times as slow."""
    for first in range(6):
        runs = iter(range(100))
        Machine(
            lambda size, runs=runs, first=first: size * 1e-6 * (100 if first <= next(runs) < first + 3 else 1)
        ).check()


def test_a_cache_does_not_hide_the_square():
    spent = []

    @functools.cache
    def work(text):
        spent.append(len(text) ** 2 * 1e-9)

    with pytest.raises(AssertionError):
        check_linear(work, "a", clock=lambda: sum(spent))


def test_texts_stay_below_the_length_that_was_given():
    machine = Machine(lambda size: 0)
    machine.check(most=64_000)
    assert machine.lengths == [250, 1_000, 4_000, 16_000, 64_000]


def test_real_work_is_told_apart():
    check_linear(lambda text: [ord(c) for c in text], "a")
    with pytest.raises(AssertionError):
        check_linear(lambda text: [text[i:].count("b") for i in range(len(text))], "a")


def test_calls_are_counted_and_ended_at_the_cap():
    def double(n):
        return 1 if n == 0 else double(n - 1) + double(n - 1)

    assert 255 <= count_calls(lambda: double(7), 1_000) < 300
    with pytest.raises(TooManyCalls):
        count_calls(lambda: double(200), 1_000)
    assert count_calls(lambda: [abs(n) for n in range(50)], 1_000) >= 50
