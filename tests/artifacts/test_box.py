"""Readers run in a child that knows no expected value, and whose observation is hostile data."""

from dataclasses import replace

import pytest

from tests.artifacts.books import cells, left, sales
from verikit.artifacts import box, slowness
from verikit.artifacts.box import observe
from verikit.errors import AgentFault, WorkspaceError
from verikit.sandbox import RunLimits
from verikit.verifiers.xlsx.observed import READER

pytest.importorskip("openpyxl")

CANARY = "canary-7f3a91c2"
REQUEST = {"cells": ["D6"], "model": []}
SEARCH = """
def read(blobs, request):
    import os, sys
    seen = [repr(request), repr(dict(os.environ)), repr(sys.argv), repr(blobs)]
    frame = sys._getframe().f_back
    while frame:
        seen += [repr(value)[:10_000] for value in frame.f_locals.values()]
        frame = frame.f_back
    for folder in (".", "/tmp", "/home", "/root"):
        for root, folders, names in os.walk(folder):
            folders[:] = [name for name in folders if name not in ("lib", "lib64")]  # Python's own, thousands of files
            for name in names[:20]:
                try:
                    seen.append(open(os.path.join(root, name), errors="replace").read(10_000))
                except OSError:
                    pass
    word = "2c19a3f7-yranac"[::-1]
    return {"refused": "FOUND" if any(word in text for text in seen) else "nothing"}
"""


def lying(record):
    return f"def read(blobs, request):\n    return {record!r}\n"


def test_a_hostile_reader_finds_no_expected_value_in_its_frames_files_or_environment(monkeypatch):
    verikit = pytest.importorskip("verikit")
    told = []

    def hostile(reader, blobs, request, **_):
        with pytest.raises(AgentFault) as fault:
            observe(reader, blobs, request, program=SEARCH)
        told.append(str(fault.value))
        raise fault.value

    monkeypatch.setattr("verikit.verifiers.xlsx.observed.observe", hostile)
    monkeypatch.setenv("CANARY_ELSEWHERE", CANARY)
    score = verikit.xlsx(values={"D6": CANARY}).score([left(sales(cells(D6="x")))])[0]
    assert (score.value, told) == (0.0, ["nothing"])


def test_the_search_for_a_canary_finds_one_that_is_there():
    with pytest.raises(AgentFault, match="FOUND"):
        observe(READER, [CANARY.encode()], REQUEST, program=SEARCH)


@pytest.mark.parametrize(
    "program",
    [
        "import os\ndef read(blobs, request):\n    os._exit(0)\n",
        "import os\ndef read(blobs, request):\n    os.kill(os.getpid(), 9)\n",
        "def read(blobs, request):\n    raise ValueError('no')\n",
        "def read(blobs, request):\n    return [0] * 10**9\n",
        lying({"value": 422}),
        lying(
            {
                "sheets": [],
                "names": {},
                "macros": 1,
                "links": [],
                "cells": {},
                "missing": [],
                "model": {},
                "problem": "",
            }
        ),
        lying([[[]]]),
        lying(float("nan")),
    ],
)
def test_a_reader_that_dies_or_lies_about_a_right_file_leaves_no_value(program):
    with pytest.raises(WorkspaceError):
        observe(READER, [sales()], REQUEST, program=program)


def test_a_reader_that_dies_of_a_file_which_the_second_one_refuses_is_the_agents_fault():
    with pytest.raises(AgentFault, match="no reader takes the file"):
        observe(READER, [b"PK\3\4 no zip"], REQUEST, program="def read(blobs, request):\n    raise ValueError\n")


SMALL = replace(READER, limits=RunLimits(wall_s=120.0, cpu_s=1.0, memory_mb=256))
EATS = "import os\ndef read(blobs, request):\n    held = b'x' * (220 << 20)\n    os.abort()\n"
SPINS = "def read(blobs, request):\n    while True:\n        pass\n"


@pytest.mark.parametrize(("program", "limit"), [(EATS, "256 MiB of memory"), (SPINS, "1 s of CPU time")])
def test_a_file_that_takes_its_reader_to_a_limit_is_the_agents_fault(program, limit, monkeypatch):
    monkeypatch.setattr(box, "is_slow", lambda: False)
    with pytest.raises(AgentFault, match=f"reading the file takes more than {limit}"):
        observe(SMALL, [sales()], REQUEST, program=program)


def test_a_slow_machine_a_crash_and_files_of_our_own_are_not_the_agents_fault(monkeypatch):
    crash = "import os\ndef read(blobs, request):\n    os.abort()\n"
    for reader, program in ((SMALL, SPINS), (SMALL, crash), (replace(SMALL, kind=""), EATS)):
        monkeypatch.setattr(box, "is_slow", lambda: True)
        with pytest.raises(WorkspaceError):
            observe(reader, [sales()], REQUEST, program=program)


def test_a_machine_is_slow_by_its_cpu_time(monkeypatch):
    monkeypatch.setattr(slowness, "_work", iter([0.5, 0.13, 0.4]).__next__)
    assert slowness.is_slow()
    monkeypatch.setattr(slowness, "_work", iter([0.5, 0.05, 0.4]).__next__)
    assert not slowness.is_slow()


def test_other_threads_do_not_make_a_machine_slow(monkeypatch):
    monkeypatch.setattr(slowness.time, "process_time", lambda: pytest.fail("the time of all threads"))
    assert slowness._work() > 0
