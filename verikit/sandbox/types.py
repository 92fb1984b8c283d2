"""Inputs and outputs of a sandbox."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, Self

from verikit.errors import UsageError
from verikit.sandbox.report import Report

Status = Literal[
    "ok", "error", "timeout", "memory", "output", "disk", "killed", "violation", "no_result", "infra_error"
]
"""How a run ended. All except `infra_error` are the program's doing; `infra_error` is verikit's and never scored.

`error`: an exception left the program. `killed`: a signal ended it. `violation`: it entered the kernel by a forbidden
gate. `no_result`: it ended without a record (`os._exit`), or with one that is not well-formed.
"""

FunctionCall = tuple[str, Sequence[Any], Mapping[str, Any]]
"""A function of the program (`f`, `Solution().f`), its positional and keyword arguments."""


@dataclass(frozen=True, slots=True)
class RunLimits:
    """Limits of one run."""

    wall_s: float = 5.0
    cpu_s: float | None = None
    """None: one second more than the wall clock allows."""
    memory_mb: int = 512
    """Address space beyond the interpreter's own."""
    output_kb: int = 1024
    """Standard output and error, each."""
    value_kb: int = 1024
    """Maximum size of a call's result, as typed JSON."""
    disk_mb: int = 64
    files: int = 4096
    threads: int = 64

    def __post_init__(self) -> None:
        for name in ("wall_s", "cpu_s", "memory_mb", "output_kb", "value_kb", "disk_mb", "files", "threads"):
            value, kind = getattr(self, name), (int, float) if name.endswith("_s") else int
            if value is None and name == "cpu_s":
                continue
            if not isinstance(value, kind) or isinstance(value, bool) or not 0 < value < 1e9:
                number = "number" if name.endswith("_s") else "integer"
                raise UsageError(f"the limit {name} must be a positive {number}, got {value!r:.80}")


@dataclass(frozen=True, slots=True)
class Failure:
    """The error of a program, or of its run."""

    type: str
    message: str = ""
    line: int = 0
    """Of the program; 0 if unknown."""

    def __str__(self) -> str:
        text = f"{self.type}: {self.message}" if self.message else self.type
        return f"{text} (line {self.line})" if self.line else text


@dataclass(frozen=True, slots=True)
class RunResult:
    """The end and output of a run: text, and the value of the call if there was one."""

    status: Status
    value: Any = None
    stdout: str = ""
    stderr: str = ""
    error: Failure | None = None
    seconds: float = 0.0
    cpu_s: float = 0.0
    """CPU seconds of its processes, if known."""
    exit_code: int = 0
    """Exit code of the process, if known; negative for a signal. An exception that left the program is not an exit."""
    files: Mapping[str, bytes] = field(default_factory=dict)
    """The files of `Job.fetch` that exist."""
    peak_mb: float = 0.0
    """Peak resident memory of its process in MiB, if known."""


@dataclass(frozen=True, slots=True)
class Job:
    """One program to run; `map` takes many."""

    code: str
    stdin: str | bytes = ""
    call: FunctionCall | None = None
    limits: RunLimits | None = None
    """None: the sandbox's own."""
    files: Mapping[str, str | bytes] = field(default_factory=dict)
    """Relative names and contents, written to the program's directory."""
    fetch: Sequence[str] = ()
    """Relative names of files that the program may leave. `LocalSandbox` returns small ones."""


class Sandbox(Protocol):
    """Runs programs that may be hostile. A program's behaviour never raises."""

    @property
    def report(self) -> Report:
        """The properties that were verified."""
        ...

    def run(
        self,
        code: str,
        stdin: str | bytes = "",
        call: FunctionCall | None = None,
        limits: RunLimits | None = None,
        files: Mapping[str, str | bytes] | None = None,
    ) -> RunResult:
        """Run one program; with `call`, call a function of it and return the value."""
        ...

    def map(self, jobs: Iterable[Job]) -> list[RunResult]:
        """Run many programs, several at a time; results keep the order."""
        ...

    def close(self) -> None:
        """End every process."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(self, *exception: object) -> None: ...
