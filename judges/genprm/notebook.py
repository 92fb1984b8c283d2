"""The code of one path: a namespace that persists over the steps of its solution and never beyond.

A live process for each of hundreds of paths would cost 70 MB and a second of start each. So a path's earlier code is
run again before its next block, in a fresh session (about 10 ms). Code that breaks a limit leaves nothing behind.
Neither does code after a path's total time exceeds the limit of one block. Code that raises keeps its effects up to
that point. Unseeded random generators are sampled again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol as Interface

from verikit.errors import SandboxError
from verikit.judges.evidence.shown import visible
from verikit.judges.genprm.protocol import Messages
from verikit.sandbox import RunLimits, RunResult, Session
from verikit.sandbox.local import SCIENCE
from verikit.verifiers.reading.fences import last

MAX_CODE = 64_000
"""Maximum characters of all code of a path."""


class Sessions(Interface):
    """The part of a sandbox that a notebook uses."""

    def session(self, limits: RunLimits | None = None, *, science: bool = True) -> Session:
        """A namespace that persists. `science` preloads numpy and sympy."""
        ...


@dataclass(frozen=True, slots=True)
class Cell:
    """A block of code that was run."""

    code: str
    output: str
    """The output that the reviewer saw."""
    status: str
    """How the run ended. `no_code` if there was no code."""


class Notebook:
    """One path's namespace."""

    def __init__(self, sandbox: Sessions | None, limits: RunLimits, messages: Messages, max_output: int) -> None:
        self._sandbox, self._limits, self._messages, self._max_output = sandbox, limits, messages, max_output
        self._earlier: list[str] = []
        self._seconds = 0.0

    def copy(self) -> Notebook:
        """Another path's namespace that starts with this one's current state."""
        made = Notebook(self._sandbox, self._limits, self._messages, self._max_output)
        made._earlier, made._seconds = list(self._earlier), self._seconds
        return made

    def run(self, text: str) -> Cell:
        """Run the last Python block of a text and return its output as the reviewer sees it.

        Raises:
            SandboxError: The sandbox failed.
        """
        code = last(text, "python", "py")
        if code is None or not code.strip():
            return Cell("", self._messages.no_code, "no_code")
        if len(code) + sum(map(len, self._earlier)) > MAX_CODE:
            return Cell(code[:MAX_CODE], self._messages.timeout, "too long")
        assert self._sandbox is not None, "only full reviews run code"
        science = any(name in source for source in (*self._earlier, code) for name in SCIENCE)
        with self._sandbox.session(self._limits, science=science) as session:
            for earlier in self._earlier:
                _sound(session.run(earlier))
            result = _sound(session.run(code))
        if result.status in ("ok", "error") and self._seconds + result.seconds <= self._limits.wall_s:
            self._earlier.append(code)
            self._seconds += result.seconds
        return Cell(code, visible(self._shown(result), self._max_output), result.status)

    def _shown(self, result: RunResult) -> str:
        if result.status == "ok":
            return result.stdout.strip()
        if result.status == "timeout":
            return self._messages.timeout
        what = f"{result.error.type}: {result.error.message}" if result.error else result.status
        return self._messages.error.replace("{error}", what)


def _sound(result: RunResult) -> RunResult:
    if result.status == "infra_error":
        raise SandboxError(f"the sandbox failed: {result.error}")
    return result
