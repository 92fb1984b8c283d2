"""A session for sandboxes that only run whole programs: test code is rerun with each answer that it got.

`LocalSandbox.session` has one process and answers its questions as they arrive. Other sandboxes can't send data to a
running program. There, its first question ends it. It is then rerun from the start with all answers so far, up to its
next question. So test code must send the same questions each time (`random` is seeded), and is unscored otherwise.
The time of the runs before the last one is overhead, not the program's time.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Self

from verikit.sandbox import records
from verikit.sandbox.records import Role
from verikit.sandbox.runner import UNREPEATABLE
from verikit.sandbox.session import Relay
from verikit.sandbox.types import Failure, FunctionCall, RunLimits, RunResult

Execute = Callable[[bytes, RunLimits, int], RunResult]
"""Runs a payload with this many calls, and returns a `Turn` as the value of a program that ends with one."""
MOST_TURNS = 400
"""Maximum turns of one session: total run time grows with the square of it."""


class ReplaySession:
    """One step, or one side of a conversation, created by the `session` of a sandbox that runs whole programs."""

    def __init__(self, execute: Execute, limits: RunLimits) -> None:
        self._execute, self._limits = execute, limits
        self._payload: Callable[[list[tuple[str, str]]], bytes] | None = None
        self._calls = 0
        self._answers: list[tuple[str, str]] = []
        self._said = ""
        self._used_s = 0.0
        self._is_program = False

    def run(
        self,
        code: str,
        *,
        call: FunctionCall | None = None,
        role: Role | None = None,
        names: Sequence[str] = (),
        relay: Relay | None = None,
    ) -> RunResult:
        """Run the step; it has the arguments of `Session.run`."""
        if self._payload is not None:
            return _ours("this sandbox has sessions of one step; the local sandbox has longer ones")
        calls = [call] if call else []
        self._calls = len(calls)
        self._payload = lambda answers: records.payload(code, calls, role=role, names=names, answers=answers)
        paused = 0.0
        said = self._next()
        while isinstance(said, str):
            if relay is None:
                return _ours("test code asks and nobody answers")
            begun = time.monotonic()
            answer = relay(said)
            paused += time.monotonic() - begun
            said = self.exchange(answer)
        if call and said.status == "ok":
            said = replace(said, value=said.value[0])
        return replace(said, seconds=said.seconds + paused)

    def begin(self, code: str, role: Role) -> str | RunResult:
        """Start a side of a conversation: its first line, or how it ended instead."""
        self._is_program = role == "program"
        self._payload = lambda answers: records.payload(code, role=role, answers=answers)
        return self._next()

    def exchange(self, line: str) -> str | RunResult:
        """Send a line. Returns the line that answers it, or how the side ended instead."""
        self._answers.append((self._said, line))
        if len(self._answers) >= MOST_TURNS:
            return _ours(f"the tests use the program more than {MOST_TURNS} times: use the local sandbox")
        return self._next()

    @property
    def used_s(self) -> float:
        """Seconds of the last run. Earlier runs are not the program's time."""
        return self._used_s

    def _next(self) -> str | RunResult:
        assert self._payload is not None
        result = self._execute(self._payload(self._answers), self._limits, self._calls)
        self._used_s = result.seconds
        if isinstance(result.value, records.ProgramLine):
            self._said = result.value.text
            return self._said
        if result.error is not None and result.error.type == UNREPEATABLE:
            if self._is_program:
                return RunResult("error", error=Failure(UNREPEATABLE, "the program does other things when run again"))
            return _ours("the tests make different calls each time they run: use the local sandbox")
        return result

    def close(self) -> None:
        """Nothing stays behind."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


def _ours(problem: str) -> RunResult:
    return RunResult("infra_error", error=Failure("infra", problem))
