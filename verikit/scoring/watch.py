"""Progress of a run in one line: percent, rate, time left, unscored candidates, and the slowest current work."""

from __future__ import annotations

import time

from verikit.platform.terminal import pace
from verikit.scoring.run import Progress

SLOW_S = 2.0
"""Work that takes longer is named."""


def describe(progress: Progress, seconds: float) -> str:
    """Describe a run in one line.

    Example: `123 of 300 rows (41%), 410/s, 0:04 left, 5,678 candidates, 3 unscored; slowest: line 17 for 9 s`.
    """
    text = pace(progress.line, progress.size.rows, "rows", seconds, new=progress.rows)
    text += f", {progress.tally.counts['candidates']:,} candidates, {progress.tally.unscored:,} unscored"
    if scoring := list(progress.in_flight.values()):
        chunk, begun = min(scoring, key=lambda entry: entry[1])
        if (waiting := time.monotonic() - begun) > SLOW_S:
            last = f"-{chunk.last_line}" if len(chunk.rows) > 1 else ""
            text += f"; slowest: line {chunk.rows[0][0]}{last} for {waiting:.0f} s"
    return text
