"""Runs a reader of files in a fresh sandboxed child: blobs in, one observation out.

The files may be hostile, and so may the child that parsed them. `BoxReader.shape` checks its observation.
Expected values never go in. A child that a file controls can return a false observation, but can't aim at a verdict.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

from verikit.artifacts.shape import Observed
from verikit.artifacts.slowness import is_slow
from verikit.errors import AgentFault, MissingExtra, SandboxError, WorkspaceError
from verikit.sandbox import ISOLATION, RunLimits, RunResult, default_sandbox, records
from verikit.sandbox.guest import source

LIMITS = RunLimits(wall_s=120.0, cpu_s=20.0, memory_mb=1536, output_kb=64, value_kb=24 << 10, disk_mb=8)
"""Of one reader. The wall clock is far off: a busy machine must not change a score."""
_SECOND = "verikit.artifacts.readers.container"
_FULL = 0.7
"""Fraction of the memory limit that a reader uses when it dies of the limit: libraries also reserve memory."""


@dataclass(frozen=True)
class BoxReader:
    """A module with `read(blobs, request)`, which runs in the sandbox and returns plain data."""

    module: str
    """Its full name."""
    packages: Mapping[str, str]
    """The modules that it imports, each with its pip name."""
    extra: str
    """The extra of verikit that brings them."""
    shape: Callable[[Any], Observed]
    """Checks the observation; raises ValueError."""
    kind: str = ""
    """The kind of file, for the second reader. Empty: verikit created the blobs."""
    warm: bool = False
    """Whether to call the module's `warm()` before creating children."""
    limits: RunLimits = LIMITS

    def check_packages(self) -> None:
        """Look for the packages.

        Raises:
            MissingExtra: One is not installed.
        """
        for package in self.packages:
            if find_spec(package) is None:
                raise MissingExtra(self.packages[package], self.extra)

    @property
    def preload(self) -> str:
        """The program that a fork server runs once, to give its children everything preloaded."""
        names = [self.module, *self.packages]
        loads = "".join(f"import {name}\n" for name in names)
        return f"{loads}{self.module}.warm()\n" if self.warm else loads


class ReaderOverLimit(AgentFault):
    """Reading the file takes more time or memory than it may."""


class ReaderFailed(WorkspaceError):
    """A reader crashed on a file that the second reader takes. The file may be right, and the agent chose it."""


def observe(reader: BoxReader, blobs: Sequence[bytes], request: Mapping[str, Any], *, program: str = "") -> Observed:
    """Read files in a child of the sandbox.

    Args:
        reader: The reader.
        blobs: The contents of the files.
        request: Where to read. It must not contain or depend on expected values.
        program: A program to run instead of the reader (tests pass hostile ones).

    Raises:
        AgentFault: The reader rejects the file, the file takes it to a limit, or the reader crashed and a second reader
            rejects the file.
        ReaderFailed: The reader crashed on a valid file, or its observation has a wrong shape.
        MissingExtra: A package is not installed.
        SandboxError: The sandbox failed.
    """
    reader.check_packages()
    result = _run(program or f"from {reader.module} import read", blobs, request, reader.limits, reader.preload)
    if result.status != "ok":
        raise _died(reader, blobs, result)
    try:
        if isinstance(result.value, dict) and isinstance(refusal := result.value.get("refused"), str):
            raise AgentFault(refusal[:300])
        return reader.shape(result.value)
    except ValueError as problem:
        raise _died(reader, blobs, RunResult("no_result", error=None, stderr=str(problem))) from None


def _run(
    program: str, blobs: Sequence[bytes], request: Mapping[str, Any], limits: RunLimits, preload: str
) -> RunResult:
    """Blobs travel by standard input, their sizes and the request as arguments of the call."""
    code = f"{program}\n\n{_UNPACK}"
    payload = records.payload(code, [("unpack", [list(map(len, blobs)), dict(request)], {})])
    box = default_sandbox(ISOLATION)
    result = box.run_payload(payload, b"".join(blobs), limits, source("bare") + preload, 1)
    if result.status == "infra_error":
        raise SandboxError(f"the file's reader could not be run: {result.error}")
    if result.status != "ok":
        return result
    return RunResult("ok", result.value[0], seconds=result.seconds, cpu_s=result.cpu_s)


_UNPACK = """
def unpack(sizes, request):
    import sys

    blobs = [sys.stdin.buffer.read(size) for size in sizes]
    return read(blobs, request)
"""


def _died(reader: BoxReader, blobs: Sequence[bytes], result: RunResult) -> AgentFault | WorkspaceError:
    """Who caused a reader's crash: the file, if it took the reader to a limit, or if a second reader rejects it.

    The second reader needs no package.
    """
    if reader.kind and (limit := _limit_met(reader.limits, result)):
        return ReaderOverLimit(f"reading the file takes more than {limit}")
    told = str(result.error or result.stderr or result.status)[:200]
    for blob in blobs if reader.kind else ():
        second = _run(
            f"from {_SECOND} import read", [blob], {"kind": reader.kind}, reader.limits, f"import {_SECOND}\n"
        )
        if second.status == "ok" and isinstance(second.value, dict):
            refused = second.value.get("refused")
            if isinstance(refused, str):
                return AgentFault(f"no reader takes the file: {refused[:200]}")
    return ReaderFailed(
        f"the reader of the file ended with {result.status}: {told}",
        hint="open the file in its program and save it again, then grade this copy" if reader.kind else "",
    )


def _limit_met(limits: RunLimits, result: RunResult) -> str:
    """The limit that a crashed reader met. Empty if there is none, or if the machine is too slow to know."""
    if result.peak_mb >= _FULL * limits.memory_mb:
        return f"{limits.memory_mb:,} MiB of memory"
    if result.error == records.OUT_OF_CPU and not is_slow():
        return f"{limits.cpu_s or limits.wall_s:g} s of CPU time"
    return ""
