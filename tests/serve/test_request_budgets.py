"""A request's time among its rows: compilers count, many loops leave their neighbours theirs, all get their zeros."""

import asyncio
import random

import pytest

from tests.serve.conftest import REWARDS
from tests.verifiers.test_code_languages import SUM
from tests.verifiers.test_compile_bombs import sums_of_constants
from verikit.sandbox.toolchains import Missing, toolchain
from verikit.types import Sample

for extra in ("uvicorn", "httptools", "starlette", "prometheus_client"):
    pytest.importorskip(extra)


def test_a_compiler_that_loops_has_its_zero_and_its_neighbour_its_score(serve):
    if isinstance(toolchain("cpp"), Missing):
        pytest.skip("no g++")
    tests = {"tests": [{"input": "1 2\n", "output": "3\n"}], "language": "cpp"}
    bombs = [sums_of_constants(random.Random(seed)) for seed in range(3)]
    body = {"samples": [{"completion": f"```cpp\n{text}\n```", "meta": tests} for text in [*bombs, SUM["cpp"]]]}
    with serve("--deadline", 60, spec="code(row_s=2)") as server:
        scores = server.http.post("/score", json=body).json()["scores"]
    assert [(row["value"], row["status"]) for row in scores] == [(0.0, "ok")] * 3 + [(1.0, "ok")]


@pytest.fixture
def declared(serve):
    with serve("--deadline", 60, spec=f"{REWARDS}:declared") as server:
        yield lambda *seconds: server.http.post(
            "/score", json={"samples": [{"completion": str(s)} for s in seconds]}
        ).json()["scores"]


def test_many_rows_that_take_all_their_time_leave_the_others_theirs(declared):
    rows = declared(*[1000] * 200, 0.5, 11, 0.5)
    assert [row["value"] for row in rows] == [0.0] * 200 + [1.0] * 3  # 11 s are more than the first try's
    assert {row["reason"] for row in rows[:200]} == {"timeout: all runs of a row together took 12 s"}


def test_no_row_has_more_than_a_fifth_of_the_deadline_however_few_they_are(declared):
    assert [row["value"] for row in declared(11)] == [1.0]
    assert [row["value"] for row in declared(13)] == [0.0]


def test_what_the_first_try_gave_stands_where_there_is_no_time_for_another():
    async def expired():
        from verikit.serve.queue import Ticket  # needs an extra

        ticket = Ticket([Sample(completion=str(i)) for i in range(3)], 60.0)
        ticket.put(0, b"done")
        ticket.first_tries[1] = b"zero"
        ticket._expire()
        return ticket.rows

    done, zero, late = asyncio.run(expired())
    assert (done, zero) == (b"done", b"zero")
    assert b'"timeout"' in late
