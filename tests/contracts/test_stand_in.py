"""What stands for a score that is none, where a stack takes a number for every sample."""

import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verikit import Score
from verikit.adapters.stand_in import GROUPS, StandIn
from verikit.errors import Unscored, UsageError

LOST = Score.error("the judge is away")


@given(
    st.lists(st.tuples(st.integers(0, 2), st.none() | st.floats(-9, 9)), min_size=1, max_size=12).filter(
        lambda rows: any(value is not None for _, value in rows)
    )
)
def test_an_unscored_sample_of_a_scored_group_has_no_advantage(rows):
    scores = [LOST if value is None else Score(value) for _, value in rows]
    groups = [group for group, _ in rows]
    values = StandIn("mean", "x").values(scores, groups)
    for group, score, value in zip(groups, scores, values, strict=True):
        own = [found for found, other in zip(values, groups, strict=True) if other == group]
        known = any(s.value is not None for s, other in zip(scores, groups, strict=True) if other == group)
        if score.value is not None:
            assert value == score.value
        elif known:
            assert value == pytest.approx(sum(own) / len(own), abs=1e-9)


def test_a_group_without_any_score_takes_what_was_seen_of_it_and_then_of_all():
    stand_in = StandIn("mean", "x")
    assert stand_in.values([LOST], ["a"]) == [0.0]
    assert stand_in.values([Score(1.0), Score(0.5)], ["a", "b"]) == [1.0, 0.5]
    assert stand_in.values([LOST, LOST], ["a", "c"]) == [1.0, 0.75]
    assert (stand_in.lost, stand_in.seen) == (3, 5)


def test_a_number_stands_as_it_is_and_raise_refuses():
    assert StandIn(-1.0, "x").values([LOST, Score(1.0)], ["a", "a"]) == [-1.0, 1.0]
    with pytest.raises(Unscored, match="the judge is away"):
        StandIn("raise", "x").values([Score(1.0), LOST], ["a", "a"])
    with pytest.raises(UsageError, match="'mean' or 'raise'"):
        StandIn("median", "x")


def test_the_memory_of_groups_is_bounded_and_threads_lose_no_count():
    stand_in = StandIn("mean", "x")

    def ask(start):
        for group in range(start, start + GROUPS):
            stand_in.values([Score(1.0)], [group])

    threads = [threading.Thread(target=ask, args=(start,)) for start in (0, GROUPS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(stand_in._means) == GROUPS
    assert stand_in.seen == 2 * GROUPS
