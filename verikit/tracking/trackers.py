"""A run's trackers: metrics are sent to each from one thread, and a tracker's failures do not affect the run.

The thread sends calls in order. A tracker's first exception is reported, and after `PATIENCE` consecutive failures it
receives no more calls. `trackers.json` in the run's folder stores each tracker's run name and the last step sent to it.
A resumed run therefore continues the same tracker run and sends no step twice.
"""

from __future__ import annotations

import json
import logging
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from queue import SimpleQueue
from typing import Any
from zlib import crc32

from verikit.platform.numbers import number
from verikit.platform.raised import describe
from verikit.platform.secrets import strike_all
from verikit.tracking.spec import TrackerSpec
from verikit.tracking.vendors import TrackedRun, Tracker, open_tracker

STATE = "trackers.json"
"""File of a run's folder."""
PATIENCE = 3
"""Consecutive failures after which a tracker receives no more calls."""
MOST_WAITING = 10_000
"""Maximum number of calls that wait for a slow tracker. Further calls are dropped, with a warning."""
CLOSE_S = 60.0
"""Maximum seconds that the end of a run waits for its trackers."""
CELL_CHARS = 4_000
"""Maximum characters of a string in a table. Longer strings are cut."""
_log = logging.getLogger("verikit")


class _Tracked:
    """One tracker: its open run, the steps sent to it, and its number of failures."""

    def __init__(self, spec: TrackerSpec, kept: Mapping[str, Any]) -> None:
        self.spec = spec
        self.tracker: Tracker | None = None
        self.kept: str = str(kept.get("run", ""))
        sent = kept.get("sent")
        pairs = sent.items() if isinstance(sent, dict) else ()
        self.sent: dict[str, int] = {stream: step for stream, step in pairs if isinstance(step, int)}
        """The last step by stream."""
        self.failures = 0
        self.told = False
        self.gone = False

    def state(self) -> dict[str, Any]:
        return {"run": self.kept, "sent": self.sent}


class Trackers:
    """The trackers of one run; without a spec every call does nothing."""

    def __init__(
        self,
        specs: Sequence[TrackerSpec],
        folder: Path | None,
        config: Mapping[str, Any],
        *,
        name: str = "",
        warn: Callable[[str], None] = _log.warning,
    ) -> None:
        """Start each tracker's run, or resume the run stored in the folder.

        Args:
            specs: The trackers, checked by `read_trackers`.
            folder: The run's folder. None if nothing is stored.
            config: The run's settings. API keys are redacted.
            name: The run's name. "" uses its folder's name.
            warn: Called once per tracker that fails, from another thread.
        """
        self._folder, self._config, self._warn = folder, strike_all(dict(config)), warn
        self._name = name or (folder.resolve().name if folder is not None else "") or "run"
        kept = _read(folder)
        self._kept = {key: value for key, value in kept.items() if key not in {spec.key for spec in specs}}
        self._tracked = [_Tracked(spec, kept.get(spec.key, {})) for spec in specs]
        self._calls: SimpleQueue[Callable[[_Tracked], None] | None] = SimpleQueue()
        self._full = False
        self._thread: threading.Thread | None = None
        if self._tracked:
            self._thread = threading.Thread(target=self._work, name="verikit-trackers", daemon=True)
            self._thread.start()

    def __bool__(self) -> bool:
        """Whether there is any."""
        return bool(self._tracked)

    @property
    def samples(self) -> int:
        """Largest number of samples that any tracker accepts per table."""
        return max((tracked.spec.samples for tracked in self._tracked), default=0)

    def log(self, metrics: Mapping[str, Any], step: int, stream: str = "") -> None:
        """Send a step's numbers, unless this step of this stream was already sent. Other values are not sent."""
        numbers = _numbers(metrics)

        def send(tracked: _Tracked) -> None:
            if tracked.tracker is not None and step > tracked.sent.get(stream, -1):
                tracked.tracker.log(numbers, step)
                tracked.sent[stream] = step

        self._hand_over(send)

    def table(self, name: str, rows: Sequence[Mapping[str, Any]], step: int) -> None:
        """Send rows as a table, unless an earlier session sent this step's; mappings in them become JSON."""
        columns, cells = _cells(rows)
        stream = f"table {name}"

        def send(tracked: _Tracked) -> None:
            most = cells[: tracked.spec.samples]
            if tracked.tracker is not None and most and step > tracked.sent.get(stream, -1):
                tracked.tracker.table(name, columns, most, step)
                tracked.sent[stream] = step

        self._hand_over(send)

    def finished(self, metrics: Mapping[str, Any], samples: Sequence[Mapping[str, Any]]) -> None:
        """Send the numbers and samples of a finished run, unless a tracker already has exactly these."""
        numbers, (columns, cells) = _numbers(metrics), _cells(samples)
        mark = crc32(json.dumps([numbers, cells], sort_keys=True).encode())

        def send(tracked: _Tracked) -> None:
            if tracked.tracker is None or tracked.sent.get("finished") == mark:
                return
            tracked.tracker.summary(numbers)
            if most := cells[: tracked.spec.samples]:
                step = tracked.sent.get("table samples", -1) + 1
                tracked.tracker.table("samples", columns, most, step)
                tracked.sent["table samples"] = step
            tracked.sent["finished"] = mark

        self._hand_over(send)

    def close(self) -> None:
        """Wait until all calls are sent, for at most `CLOSE_S`. `trackers.json` then has the runs' names."""
        if self._thread is None:
            return
        self._calls.put(None)
        self._thread.join(CLOSE_S)
        if self._thread.is_alive():
            names = ", ".join(tracked.spec.key for tracked in self._tracked if not tracked.gone)
            self._warn(
                f"trackers: {names} took more than {CLOSE_S:.0f} s to finish. Data that was not sent is in the run"
            )
        self._thread = None

    def _hand_over(self, call: Callable[[_Tracked], None]) -> None:
        if self._thread is None:
            return
        if self._calls.qsize() < MOST_WAITING:
            self._calls.put(call)
        elif not self._full:
            self._full = True
            self._warn(f"trackers are slow: {MOST_WAITING:,} calls are waiting, and new ones are dropped")

    def _work(self) -> None:
        self._all(self._open)
        while call := self._calls.get():
            self._all(call)
        self._all(_close)

    def _all(self, call: Callable[[_Tracked], None]) -> None:
        for tracked in self._tracked:
            if not tracked.gone:
                self._try(call, tracked)
        self._write()

    def _try(self, call: Callable[[_Tracked], None], tracked: _Tracked) -> None:
        try:
            call(tracked)
        except Exception as error:  # noqa: BLE001 - a tracker's package raises whatever it likes
            tracked.failures += 1
            tracked.gone = tracked.tracker is None or tracked.failures >= PATIENCE
            if not tracked.told:
                tracked.told = True
                where = f"; everything is in {self._folder}" if self._folder is not None else ""
                self._warn(f"tracker {tracked.spec.key}: {describe(error)}: the run continues{where}")
        else:
            tracked.failures = 0

    def _open(self, tracked: _Tracked) -> None:
        name = tracked.spec.name or self._name
        tracked.tracker = open_tracker(tracked.spec, TrackedRun(name, self._folder, self._config, tracked.kept))
        tracked.kept = tracked.tracker.run

    def _write(self) -> None:
        if self._folder is None:
            return
        state = self._kept | {tracked.spec.key: tracked.state() for tracked in self._tracked if tracked.kept}
        new = self._folder / f".{STATE}"
        with suppress(OSError):  # the run itself reports a full disk
            new.write_text(json.dumps(state, indent=2) + "\n", "utf-8")
            os.replace(new, self._folder / STATE)


def _close(tracked: _Tracked) -> None:
    if tracked.tracker is not None:
        tracked.tracker.close()


def _read(folder: Path | None) -> dict[str, Any]:
    """Return the content of `trackers.json`, or an empty dict if it can't be read."""
    if folder is None:
        return {}
    try:
        found = json.loads((folder / STATE).read_bytes())
    except (OSError, ValueError):
        return {}
    return {key: value for key, value in found.items() if isinstance(value, dict)} if isinstance(found, dict) else {}


def _numbers(metrics: Mapping[str, Any]) -> dict[str, float]:
    return {name: found for name, value in metrics.items() if (found := number(value)) is not None}


def _cells(rows: Sequence[Mapping[str, Any]]) -> tuple[list[str], list[list[Any]]]:
    """The columns of rows, and their cells."""
    columns = list(dict.fromkeys(column for row in rows for column in row))
    return columns, [[_cell(row.get(column)) for column in columns] for row in rows]


def _cell(value: Any) -> Any:
    if isinstance(value, (Mapping, list, tuple)):
        value = json.dumps(value, ensure_ascii=False, default=str)
    if isinstance(value, str) and len(value) > CELL_CHARS:
        return f"{value[: CELL_CHARS - 1]}…"
    return value if isinstance(value, (str, int, float)) or value is None else str(value)
