"""docs/casts: the recordings of the jobs show what the commands print today."""

import os

import pytest

from benchmarks.casts import CASTS, JOBS, cast

SLOW = {"suites": 4, "train": 6}
"""Jobs with packages that take seconds to load."""
NEEDS = {"suites": "lm_eval", "train": "torch"}


@pytest.mark.parametrize(
    "job", [pytest.param(job, marks=[pytest.mark.slow(seconds=SLOW[job])] if job in SLOW else []) for job in JOBS]
)
def test_a_stored_recording_shows_what_its_commands_print(job, monkeypatch):
    if job in NEEDS:
        pytest.importorskip(NEEDS[job])
    monkeypatch.setitem(os.environ, "COLUMNS", "96")
    assert cast(job) == (CASTS / f"{job}.svg").read_text("utf-8"), f"python -m benchmarks.casts {job}"
