"""What a person sees on a terminal: tables, and one line on stderr that tells how long work comes along."""

from __future__ import annotations

import shutil
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Self

import click

from verikit.platform.secrets import strike

REFRESH_S = 0.2
"""How often the line changes in a terminal."""
SMALLEST = 1e-6
"""Percent below which a number is the rounding of a computer."""
EVERY_S = 30.0
"""How often a line is written where stderr is no terminal."""
SPENT = {
    "calls": "{:,.0f} calls",
    "prompt_tokens": "{:,.0f} prompt tokens",
    "completion_tokens": "{:,.0f} reply tokens",
    "cached": "{:,.0f} from the cache",
    "cost": "cost {:,.4g}",
}
"""What of a usage is told, and how."""


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Lines of a table with right-aligned columns, two spaces apart, under a bold header."""
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    lines = ["  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in (header, *rows)]
    return [click.style(lines[0], bold=True), *lines[1:]]


def markdown_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Lines of a Markdown table."""
    cells = [[printable(cell).replace("|", "\\|") for cell in row] for row in (header, *rows)]
    lines = [f"| {' | '.join(row)} |" for row in cells]
    return [lines[0], "|" + "---|" * len(header), *lines[1:]]


def printable(text: str) -> str:
    """Text for a terminal: what a model wrote must not move the cursor."""
    return "".join(char if char.isprintable() else " " for char in text)


def pass_or_fail(text: str, value: float | None) -> str:
    """Text in the colour of a score: green for 1, red for 0, yellow in between and without a value."""
    return click.style(text, fg={1.0: "green", 0.0: "red"}.get(-1.0 if value is None else value, "yellow"))


def in_percent(share: float, places: int = 1, sign: str = "") -> str:
    """A share in percent, with so many decimal places; with more where it would read as 0 and is not.

    >>> in_percent(0.0032), in_percent(0.0004), in_percent(-0.00004), in_percent(0.0)
    ('0.3', '0.04', '-0.004', '0.0')
    """
    value = 100 * share
    while round(value, places) == 0 and abs(value) >= SMALLEST:
        places += 1
    return f"{value if abs(value) >= SMALLEST else 0.0:{sign}.{places}f}"


def pace(done: int, of: int | None, what: str, seconds: float, *, new: int | None = None, rate: bool = True) -> str:
    """How far work is, in words: `1,234 of 3,000 rows (41%), 410/s, 0:04 left`; without a size `1,234 rows, 410/s`.

    Args:
        done: What is done, with what an earlier session did.
        of: How much there is; None where that is not known.
        what: What is counted, in the plural.
        seconds: Since this session began.
        new: What this session did; all of `done` unless given.
        rate: Whether the rate is told.
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


def spending(usage: Mapping[str, float]) -> str:
    """What engines spent, in words: `12 calls, 24,011 prompt tokens, 1,204 reply tokens, cost 0.031`."""
    return ", ".join(text.format(usage[name]) for name, text in SPENT.items() if usage.get(name))


def clock(seconds: float) -> str:
    """A duration as m:ss or h:mm:ss."""
    minutes, left = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{left:02d}" if hours else f"{minutes}:{left:02d}"


class Watch:
    """Tells on stderr how long work comes along: a live line in a terminal, else a line now and then."""

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
        """Begin to show what `describe(seconds since now)` says."""
        if not self._quiet:
            self._thread = threading.Thread(target=self._show, args=(describe, time.monotonic()), daemon=True)
            self._thread.start()

    def note(self, text: str) -> None:
        """Say something once."""
        if not self._quiet:
            with self._lock:
                self._clear()
                click.secho(strike(text), dim=True, err=True)

    def warn(self, text: str) -> None:
        """Say something once, also where no progress is shown."""
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
