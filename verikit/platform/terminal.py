"""Terminal output: tables, and one line on stderr that shows progress."""

from __future__ import annotations

import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Self

import click

from verikit.platform.secrets import strike

REFRESH_S = 0.2
"""Seconds between updates of the line in a terminal."""
SMALLEST = 1e-6
"""Percentage below which a number is only rounding error."""
EVERY_S = 30.0
"""Seconds between lines if stderr is not a terminal."""
SPENT = {
    "calls": "{:,.0f} calls",
    "prompt_tokens": "{:,.0f} prompt tokens",
    "prompt_cached": "{:,.0f} of them from the server's cache",
    "completion_tokens": "{:,.0f} reply tokens",
    "cached": "{:,.0f} from the cache",
    "cost": "cost {:,.4g}",
}
"""The shown keys of a usage, with their format."""


def table(
    header: Sequence[str], rows: Sequence[Sequence[str]], marks: Sequence[float | None] | None = None
) -> list[str]:
    """Return the lines of a table with right-aligned columns, two spaces apart, under a bold header.

    Args:
        header: The names of the columns.
        rows: The cells, row by row.
        marks: A value per row. Rows are coloured by it, as `pass_or_fail` does.
    """
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    lines = ["  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in (header, *rows)]
    below = lines[1:] if marks is None else list(map(pass_or_fail, lines[1:], marks))
    return [click.style(lines[0], bold=True), *below]


def markdown_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Lines of a Markdown table."""
    cells = [[printable(cell).replace("|", "\\|") for cell in row] for row in (header, *rows)]
    lines = [f"| {' | '.join(row)} |" for row in cells]
    return [lines[0], "|" + "---|" * len(header), *lines[1:]]


def printable(text: str) -> str:
    """Return text for a terminal. A model's output must not move the cursor."""
    return "".join(char if char.isprintable() else " " for char in text)


def pass_or_fail(text: str, value: float | None) -> str:
    """Return text in the colour of a score: green for 1, red for 0, otherwise yellow, including no value."""
    return click.style(text, fg={1.0: "green", 0.0: "red"}.get(-1.0 if value is None else value, "yellow"))


def in_percent(share: float, places: int = 1, sign: str = "") -> str:
    """Format a fraction in percent, with this many decimal places. A nonzero value that would round to 0 gets more.

    >>> in_percent(0.0032), in_percent(0.0004), in_percent(-0.00004), in_percent(0.0)
    ('0.3', '0.04', '-0.004', '0.0')
    """
    value = 100 * share
    while round(value, places) == 0 and abs(value) >= SMALLEST:
        places += 1
    return f"{value if abs(value) >= SMALLEST else 0.0:{sign}.{places}f}"


def pace(done: int, of: int | None, what: str, seconds: float, *, new: int | None = None, rate: bool = True) -> str:
    """Describe progress: `1,234 of 3,000 rows (41%), 410/s, 0:04 left`, or `1,234 rows, 410/s` without a total.

    Args:
        done: Number of finished items, including those of an earlier session.
        of: Total number of items, or None if it is unknown.
        what: Name of the items, in the plural.
        seconds: Seconds since this session started.
        new: Number of items that this session finished. Defaults to `done`.
        rate: Whether to include the rate.
    """
    speed = (done if new is None else new) / max(seconds, 0.1)
    text = f"{done:,} {what}"
    if of:
        text = f"{done:,} of {of:,} {what} ({min(100, int(100 * done / of))}%)"
    if rate:
        text += f", {speed:,.0f}/s" if speed >= 10 else f", {speed:.2g}/s"
    if of and speed and done < of:
        text += f", {clock((of - done) / speed)} left"
    return text


def quantity(count: int, noun: str) -> str:
    """Describe a number of things: `1 task`, `2,000 tasks`."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def spending(usage: Mapping[str, float]) -> str:
    """Describe the engines' usage: `12 calls, 24,011 prompt tokens, 1,204 reply tokens, cost 0.031`."""
    return ", ".join(text.format(usage[name]) for name, text in SPENT.items() if usage.get(name))


def clock(seconds: float) -> str:
    """Format a duration as m:ss or h:mm:ss."""
    minutes, left = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{left:02d}" if hours else f"{minutes}:{left:02d}"


class Watch:
    """Shows progress on stderr: a live line in a terminal, otherwise a line at intervals."""

    def __init__(self, *, quiet: bool = False) -> None:
        self._quiet = quiet
        self._live = sys.stderr.isatty()
        self._done = threading.Event()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self._done.set()
        if self._thread and self._thread.is_alive():  # an interrupt may come before it has started
            self._thread.join()

    def start(self, describe: Callable[[float], str]) -> None:
        """Start to show the result of `describe(seconds since now)`."""
        if not self._quiet:
            self._thread = threading.Thread(target=self._show, args=(describe, time.monotonic()), daemon=True)
            self._thread.start()

    def note(self, text: str) -> None:
        """Print a note once."""
        if not self._quiet:
            with self._lock:
                self._clear()
                click.secho(strike(text), dim=True, err=True)

    def warn(self, text: str) -> None:
        """Print a warning once, even if progress is not shown."""
        with self._lock:
            self._clear()
            click.echo(strike(text), err=True)

    def _show(self, describe: Callable[[float], str], start: float) -> None:
        while not self._done.wait(REFRESH_S if self._live else EVERY_S):
            line = printable(describe(time.monotonic() - start))
            if not self._live:
                self.note(line)
                continue
            with self._lock:
                self._clear()
                sys.stderr.write(line[: shutil.get_terminal_size().columns - 1])
                sys.stderr.flush()
        with self._lock:
            self._clear()

    def _clear(self) -> None:
        if self._live:
            sys.stderr.write("\r\x1b[2K")


@contextmanager
def stages_shown(*, quiet: bool = False) -> Iterator[Callable[[str, int, int], None]]:
    """Show the progress of work in stages.

    Yields:
        A function to call with a stage's name, the number of finished items, and the total.
    """
    now: tuple[str, int, int] = ("starting", 0, 0)

    def progress(stage: str, done: int, total: int) -> None:
        nonlocal now
        now = stage, done, total

    with Watch(quiet=quiet) as watch:
        watch.start(lambda seconds: f"{now[0]} {now[1]}/{now[2]} · {seconds:.0f} s")
        yield progress
