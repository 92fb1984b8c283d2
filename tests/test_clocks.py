"""No test depends on how fast the machine is: no test file reads a clock, but for those named here."""

import ast

import pytest

from tests.conftest import ROOT

TESTS = ROOT / "tests"
READ = {"monotonic", "monotonic_ns", "perf_counter", "perf_counter_ns", "process_time", "process_time_ns",
        "thread_time", "thread_time_ns", "time_ns", "default_timer"}  # fmt: skip
SUSPECT = READ | {"time.time", ".time()", "from time", "from timeit"}
"""No file without one of these need be parsed."""
CLOCKS = {
    "engines/test_cache.py": 1,  # the hour at which its own clock begins
    "growth.py": 1,  # compares costs with one another
    "hostile/stage.py": 4,  # what it measures is printed
    "mutants.py": 7,  # a tool, no test
    "answers/test_tail.py": 1,  # a limit of processor time for a worker that is to be killed
    "sandbox/test_local.py": 1,  # an argument that is a time far ahead
    "sandbox/test_node_engine.py": 1,  # an engine that is to fail from then on
    "test_kills.py": 2,  # when to kill; every moment is right
    "waiting.py": 2,  # ends a wait that is in vain
}
"""How often a file names a clock, and why. To judge work by growth or by calls: `tests/growth.py`. To wait for another
thread or process: `tests/waiting.py`."""


def clocks_read(source):
    """How often code names a clock of `time`, `timeit` or an event loop, by any name it may be imported under."""
    nodes = list(ast.walk(ast.parse(source)))
    imported = {}
    for node in nodes:
        if isinstance(node, ast.ImportFrom) and node.module in ("time", "timeit"):
            imported |= {alias.asname or alias.name: alias.name for alias in node.names}
    members = [node for node in nodes if isinstance(node, ast.Attribute)]
    names = [imported.get(node.id) for node in nodes if isinstance(node, ast.Name)]
    own_time = [member for member in members if member.attr == "time" and ast.unparse(member.value).startswith("time")]
    loops = [node for node in members if node.attr == "time" and "loop" in ast.unparse(node.value)]
    return (
        sum(member.attr in READ for member in members)
        + sum(name in READ or name == "time" for name in names)
        + len(own_time)
        + len(loops)
    )


@pytest.mark.parametrize(
    ("source", "count"),
    [
        ("import time\nbegun = time.monotonic()\nassert time.monotonic() - begun < 5", 2),
        ("import time as clock\nclock.perf_counter()", 1),
        ("import time\nnow = time.thread_time\nassert now() < 3", 1),
        ("from time import process_time as now\nassert now() < 3", 1),
        ("from time import time\ntime()", 1),
        ("assert time.time() < 9", 1),
        ("asyncio.get_event_loop().time()", 1),
        ("import timeit\ntimeit.default_timer()", 1),
        ("import time\ntime.sleep(1)\nmonkeypatch.setattr('time.monotonic', lambda: 1)\nrow.time", 0),
    ],
)
def test_a_clock_that_is_read_is_seen(source, count):
    assert clocks_read(source) == count


def test_no_test_reads_a_clock():
    sources = {str(path.relative_to(TESTS)): path.read_text("utf-8") for path in TESTS.rglob("*.py")}
    suspects = [path for path, source in sources.items() if any(word in source for word in SUSPECT)]
    found = {path: clocks_read(sources[path]) for path in suspects if path != "test_clocks.py"}
    assert {path: count for path, count in found.items() if count} == CLOCKS
