"""Progress of a run in one line: rate, what could not be scored, and what is taking longest right now."""

from __future__ import annotations

import time

from verikit.scoring.run import Progress

SLOW_S = 2.0
"""What takes longer is named."""


def describe(progress: Progress, seconds: float) -> str:
    """One line: `1,234 rows, 5,678 candidates, 410 rows/s, 3 unscored; slowest: line 17 for 12 s`."""
    counts = progress.tally.counts
    text = f"{counts['prompts'] + counts['bad_rows']:,} rows, {counts['candidates']:,} candidates"
    text += f", {progress.rows / max(seconds, 0.1):,.0f} rows/s, {progress.tally.unscored:,} unscored"
    if scoring := list(progress.in_flight.values()):
        chunk, begun = min(scoring, key=lambda entry: entry[1])
        if (waiting := time.monotonic() - begun) > SLOW_S:
            last = f"-{chunk.last_line}" if len(chunk.rows) > 1 else ""
            text += f"; slowest: line {chunk.rows[0][0]}{last} for {waiting:.0f} s"
    return text
