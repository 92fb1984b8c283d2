"""docs/casts: the recordings of the jobs show what the commands print today."""

import os
from xml.etree import ElementTree

import pytest

from benchmarks.casts import CASTS, JOBS, SECONDS, Screen, cast, shown_s, svg

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


@pytest.mark.parametrize("job", JOBS)
def test_a_recording_takes_about_a_minute_and_is_small(job):
    text = (CASTS / f"{job}.svg").read_text("utf-8")
    screens = [group.findall("{*}text") for group in ElementTree.fromstring(text).findall("{*}g")]
    assert len(screens) == len(JOBS[job])
    assert 50 <= sum(shown_s(screens)) <= SECONDS + 0.01
    assert len(text) < 16_000


def test_a_screen_leaves_when_the_next_begins_and_the_last_stays():
    drawn = ElementTree.fromstring(svg([Screen("one", "a", ["b"]), Screen("two", "c", [])]))
    first, last = drawn.findall("{*}g")
    begins = last.find("{*}text").get("style").removeprefix("animation-delay:")
    assert first.get("style") == f"animation:out .01s {begins} forwards"
    assert last.get("style") is None


def test_without_motion_only_the_last_screen_is_drawn():
    style = ElementTree.fromstring(svg([Screen("one", "a", []), Screen("two", "b", [])])).find("{*}style").text
    assert "prefers-reduced-motion:reduce){*{animation:none!important}g:not(:last-child){display:none}}" in style
