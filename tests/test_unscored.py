"""No reply makes itself unscored: on a row that is sound every text has a value, for each registered verifier.

A sample without a score drops out of means and of training, so a way to have none is a way around every 0.0. The
number of replies is fixed, and so is their choice. `VERIKIT_FORGERIES=9 pytest -m slow` on this file tries others.
"""

from __future__ import annotations

import os
import random
import sys

import pytest

from tests.artifacts.pages import need_browser
from tests.hostile_replies import HUGE, mutants, replies
from tests.sound_rows import ROWS, SoundRow
from verikit.names.registry import registered

EFFORT = int(os.environ.get("VERIKIT_FORGERIES", "1"))


def test_every_registered_verifier_has_a_sound_row() -> None:
    ours = {name for name, entry in registered("verifiers").items() if entry.value.startswith("verikit.")}
    assert {name.partition(",")[0] for name in ROWS} == ours


def unscored(row: SoundRow, texts: list[str]) -> list[tuple[str, str, str]]:
    """The replies without a value, with the status and the reason; the right reply has one before and after them."""
    verifier = row.make()
    samples = [row.sample(text) for text in (row.right, *texts, row.right)]
    first, *scores, last = verifier.score(samples)
    assert first.passed or first.value == verifier.bounds[1], first
    assert last.value == first.value
    return [
        (text[:200], score.status, score.reason)
        for text, score in zip(texts, scores, strict=True)
        if score.value is None
    ]


def needs(row: SoundRow) -> None:
    for package in row.needs:
        pytest.importorskip(package)
    if row.sandboxed and sys.platform != "linux":
        pytest.skip("the local sandbox needs Linux")
    if row.browser:
        need_browser()


@pytest.mark.parametrize("name", ROWS)
def test_no_reply_to_a_sound_row_is_unscored(name: str) -> None:
    row = ROWS[name]
    needs(row)
    few = row.sandboxed or "torch" in row.needs or name == "with_timeout"
    texts = random.Random(EFFORT).sample(replies(), 12) if few else replies()
    texts += mutants(row.right, 6 if few else 60) if isinstance(row.right, str) else []
    if row.browser:  # most of a second each, and the text is not read
        texts = texts[:1]
    assert unscored(row, texts) == []


@pytest.mark.slow(seconds=240)
@pytest.mark.parametrize("name", ROWS)
def test_no_reply_of_many_to_a_sound_row_is_unscored(name: str) -> None:
    row = ROWS[name]
    needs(row)
    texts = [*replies(seed=EFFORT), *HUGE]
    texts += mutants(row.right, 100, seed=EFFORT) if isinstance(row.right, str) else []
    if row.browser:
        texts = texts[:20]
    assert unscored(row, texts) == []
