"""A session for sandboxes that only run whole programs: test code is run again with each answer that it got.

`LocalSandbox.session` keeps one process and answers its questions as they come. Where nothing can be said to a program
while it runs, its first question ends it; it is then run again from its start with the answer at hand, up to its next
question. Test code must therefore ask the same questions each time (`random` is seeded); one that does not is
unscored. What the runs before the last one took is ours, and is not counted as the program's time.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Self

from verikit.sandbox import records, values
from verikit.sandbox.runner import UNREPEATABLE
from verikit.sandbox.session import FunctionCallback
from verikit.sandbox.types import Failure, FunctionCall, RunLimits, RunResult

Execute = Callable[[bytes, RunLimits, int], RunResult]
"""Runs a payload with so many calls, and returns a `Question` as the value of a program that asks."""
MOST_CALLS = 400
"""Of one session: the runs grow as the square of it."""


class ReplaySession:
    """One step of test code; made by the `session` of a sandbox that runs whole programs."""

    def __init__(self, execute: Execute, limits: RunLimits) -> None:
        self._execute, self._limits = execute, limits
        self._used = False

    def run(
        self,
        code: str,
        *,
        call: FunctionCall | None = None,
        ask: Sequence[str] = (),
        answer: FunctionCallback | None = None,
    ) -> RunResult:
        """Run the step; the arguments are those of `Session.run`."""
        if self._used:
            return _ours("this sandbox has sessions of one step; the local sandbox has longer ones")
        self._used = True
        answers: list[tuple[str, str]] = []
        paused = 0.0
        for _ in range(MOST_CALLS):
            payload = records.payload(code, [call] if call else [], ask=ask, answers=answers)
            result = self._execute(payload, self._limits, 1 if call else 0)
            if not isinstance(result.value, records.Question):
                return self._last(result, call, paused)
            if answer is None:
                return _ours("test code asks and nobody answers")
            begun = time.monotonic()
            told = answer(*result.value.call)
            paused += time.monotonic() - begun
            if told.status == "infra_error":
                return told
            answers.append((result.value.text, reply_line(told)))
        return _ours(f"the tests make more than {MOST_CALLS} calls: use the local sandbox")

    @staticmethod
    def _last(result: RunResult, call: FunctionCall | None, paused: float) -> RunResult:
        if result.error is not None and result.error.type == UNREPEATABLE:
            return _ours("the tests do not ask the same each time they are run: use the local sandbox")
        if call and result.status == "ok":
            result = replace(result, value=result.value[0])
        return replace(result, seconds=result.seconds + paused)

    def close(self) -> None:
        """Nothing stays behind."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


def _ours(problem: str) -> RunResult:
    return RunResult("infra_error", error=Failure("infra", problem))


def reply_line(result: RunResult) -> str:
    """What a call returned, or how it failed, as the test code reads it."""
    error = result.error or Failure(result.status)
    status = result.status
    if status == "ok":
        try:
            return f'{{"status":"ok","value":{values.dumps(result.value)}}}'
        except ValueError as problem:
            status, error = "error", Failure("ValueError", str(problem))
    return json.dumps({"status": status, "type": error.type, "message": error.message})
