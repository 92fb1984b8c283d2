"""Progress of a run on stderr: rate, what could not be scored, and what is taking longest right now."""

from __future__ import annotations

import sys
import threading
import time
from typing import Self

from rich.console import Console
from rich.status import Status

from verikit.scoring.run import Progress

EVERY_S = 30.0
"""How often a line is written where stderr is no terminal."""


class Watch:
    """Shows a run's progress while its context lasts: a live line in a terminal, else a line now and then."""

    def __init__(self, *, quiet: bool = False) -> None:
        self._quiet = quiet
        self._console = Console(stderr=True)
        self._done = threading.Event()
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self._done.set()
        if self._thread:
            self._thread.join()

    def start(self, progress: Progress) -> None:
        """Begin to show."""
        if not self._quiet:
            self._thread = threading.Thread(target=self._show, args=(progress,), daemon=True)
            self._thread.start()

    def note(self, text: str) -> None:
        """Say something once."""
        if not self._quiet:
            self._console.print(text, style="dim", highlight=False, markup=False, soft_wrap=True)

    def _show(self, progress: Progress) -> None:
        start = time.monotonic()
        if not sys.stderr.isatty():
            while not self._done.wait(EVERY_S):
                self.note(describe(progress, time.monotonic() - start))
            return
        with Status("", console=self._console) as status:
            while not self._done.wait(0.2):
                status.update(describe(progress, time.monotonic() - start))


def describe(progress: Progress, seconds: float) -> str:
    """One line: `1,234 rows, 5,678 candidates, 410 rows/s, 3 unscored; slowest: line 17 for 12 s`."""
    counts = progress.tally.counts
    text = f"{counts['prompts'] + counts['bad_rows']:,} rows, {counts['candidates']:,} candidates"
    text += f", {progress.rows / max(seconds, 0.1):,.0f} rows/s, {progress.tally.unscored:,} unscored"
    for chunk, begun in list(progress.in_flight)[:1]:
        if (waiting := time.monotonic() - begun) > 2:
            last = f"-{chunk.last_line}" if len(chunk.rows) > 1 else ""
            text += f"; slowest: line {chunk.rows[0][0]}{last} for {waiting:.0f} s"
    return text
