"""A budget of requests per answer chooses how many criteria of a rubric share a request."""

import pytest

from tests.judges.scripted import Scripted, shown
from tests.judges.test_rubric import ROWS, names, scored
from verikit.errors import ConfigError
from verikit.judges import Rubric


@pytest.mark.parametrize(
    ("count", "calls", "sizes"), [(20, 1, [20]), (20, 3, [7, 7, 6]), (5, 3, [2, 2, 1]), (2, 3, [1, 1])]
)
def test_a_budget_of_calls_splits_the_criteria_evenly_whatever_the_answer(count, calls, sizes):
    engine = Scripted(names)
    rows = [{"criterion": f"names w{i}"} for i in range(count)]
    for answer in ("w0", "w0 " * 5000):
        engine.requests.clear()
        score = scored(Rubric(engine, calls=calls), answer, rows)
        assert [shown(request, "criteria").count("names w") for request in engine.requests] == sizes
        assert (score.value, score.usage["calls"]) == (1 / count, len(sizes))


def test_a_budget_of_calls_is_one_of_each_asking_and_none_of_json_replies():
    engine = Scripted(names)
    scored(Rubric(engine, calls=2, asks=3), "iron", ROWS)
    assert len(engine.requests) == 6
    with pytest.raises(ConfigError, match="calls needs a prompt without JSON replies"):
        Rubric(engine, "rubric-healthbench", calls=2)
