"""The protocol that drives the browser: commands and answers as JSON over two pipes.

A page may have taken control of the browser. So all incoming data is hostile: it is bounded, parsed and never trusted.
"""

from __future__ import annotations

import json
import os
import select
import time
from collections.abc import Callable, Mapping
from typing import Any

from verikit.artifacts.browser.box import MEMORY_MB, RESIDENT_MB, BrowserBox
from verikit.errors import AgentFault, WorkspaceError

Answer = dict[str, Any]
Event = Callable[[str, str, Answer], None]
"""Gets a session, the name of an event, and its data."""
_MOST_MESSAGE, _MOST_BYTES, _MOST_EVENTS = 48 << 20, 512 << 20, 100_000
_LOOK_S = 0.2
"""Seconds between checks of the browser's memory."""
_FULL = 0.8
"""Fraction of a process's memory limit that it uses when it dies of the limit: it also reserves memory."""


class Refusal(Exception):
    """The browser could not carry out a command."""


class Silent(Exception):
    """No answer came in time."""


class BrowserPipe:
    """Commands to one browser, and its replies."""

    def __init__(self, box: BrowserBox) -> None:
        self._box = box
        self.deadline: float = time.monotonic() + 60.0
        """Of all that is read; monotonic seconds."""
        self.heard: Event = lambda session, name, data: None
        self._buffer = bytearray()
        self._number = self._bytes = self._events = 0
        self._looked = 0.0
        self._largest = 0
        self._answers: dict[int, Answer] = {}

    def send(self, method: str, session: str = "", **parameters: Any) -> int:
        """Send a command without waiting; the number of its answer."""
        self._number += 1
        message: Answer = {"id": self._number, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        self._write(json.dumps(message).encode() + b"\0")
        return self._number

    def call(self, method: str, session: str = "", *, within: float | None = None, **parameters: Any) -> Answer:
        """Send a command and wait for its answer. Events that arrive meanwhile are handled.

        Args:
            method: The command.
            session: The page or worker that receives it; empty: the browser.
            within: Seconds to wait; None: until the deadline.
            parameters: Of the command.

        Raises:
            Refusal: The browser could not do it.
            Silent: There was no answer in time.
            WorkspaceError: The browser ended.
        """
        number = self.send(method, session, **parameters)
        end = self.deadline if within is None else min(self.deadline, time.monotonic() + within)
        while number not in self._answers:
            self._read(end)
        answer = self._answers.pop(number)
        if "error" in answer:
            raise Refusal(f"{method}: {str(answer['error'])[:300]}")
        result = answer.get("result")
        return result if isinstance(result, dict) else {}

    def listen(self, seconds: float) -> None:
        """Hear events for a while."""
        end = min(self.deadline, time.monotonic() + seconds)
        try:
            while time.monotonic() < end:
                self._read(end)
        except Silent:
            if time.monotonic() >= self.deadline:
                raise

    def forget(self) -> None:
        """Drop answers that no caller waits for."""
        self._answers.clear()

    def _write(self, data: bytes) -> None:
        """Write all, and read meanwhile: both pipes are short."""
        view = memoryview(data)
        while view:
            ready = select.select([self._box.answers], [self._box.commands], [], self._left(self.deadline))
            if ready[0]:
                self._receive()
            if ready[1]:
                try:
                    view = view[os.write(self._box.commands, view[: 1 << 16]) :]
                except BlockingIOError:
                    continue
                except BrokenPipeError:
                    raise self._gone() from None
            if not ready[0] and not ready[1]:
                raise Silent

    def _read(self, end: float) -> None:
        """Read once and handle the complete messages."""
        self._look()
        if select.select([self._box.answers], [], [], min(_LOOK_S, self._left(end)))[0]:
            self._receive()
        while (cut := self._buffer.find(0)) >= 0:
            message = bytes(self._buffer[:cut])
            del self._buffer[: cut + 1]
            self._hear(message)

    def _receive(self) -> None:
        data = os.read(self._box.answers, 1 << 20)
        if not data:
            raise self._gone()
        self._bytes += len(data)
        self._buffer += data
        if len(self._buffer) > _MOST_MESSAGE or self._bytes > _MOST_BYTES:
            raise AgentFault("the page makes the browser send more than the limit")

    def _hear(self, message: bytes) -> None:
        try:
            told = json.loads(message)
        except (ValueError, RecursionError):
            raise WorkspaceError("the browser sent invalid JSON") from None
        if not isinstance(told, dict):
            raise WorkspaceError("the browser sent an invalid message")
        if isinstance(told.get("id"), int):
            self._answers[told["id"]] = told
            return
        self._events += 1
        if self._events > _MOST_EVENTS:
            raise AgentFault("the page causes events without end")
        session, name, data = told.get("sessionId", ""), told.get("method"), told.get("params")
        if isinstance(session, str) and isinstance(name, str) and isinstance(data, Mapping):
            self.heard(session, name, dict(data))

    def _look(self) -> None:
        now = time.monotonic()
        if now - self._looked > _LOOK_S:
            self._looked = now
            if self._box.resident_mb() > RESIDENT_MB:
                raise AgentFault(f"the page takes more than {RESIDENT_MB:,} MiB of memory")
            self._largest = max(self._largest, self._box.largest_mb())

    @property
    def was_full(self) -> bool:
        """Whether one of the browser's processes has come close to its memory limit."""
        return self._largest >= _FULL * MEMORY_MB

    def _left(self, end: float) -> float:
        left = end - time.monotonic()
        if left <= 0:
            raise Silent
        return left

    def _gone(self) -> WorkspaceError:
        told = self._box.told()
        return WorkspaceError(f"the browser ended{': ' + told[:300] if told else ''}")


def result_of(answer: Answer, *, by_value: bool) -> Any:
    """The value, or the object, that a function in the page returned.

    Raises:
        Refusal: It threw an exception.
    """
    if "exceptionDetails" in answer:
        raise Refusal(f"a reader of the page failed: {str(answer['exceptionDetails'])[:300]}")
    result = answer.get("result")
    return result.get("value") if by_value and isinstance(result, dict) else result


def text_of(answer: Any, name: str) -> str:
    """A string of an answer.

    Raises:
        WorkspaceError: It has none by this name.
    """
    told = answer.get(name) if isinstance(answer, dict) else None
    if not isinstance(told, str):
        raise WorkspaceError(f"the browser's answer has no {name}")
    return told
