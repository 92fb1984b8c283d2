"""One run on a server that runs programs of other languages: its job, and how its record is read.

The record comes from a supervisor that runs next to the program. It is hostile input, like all output of a sandbox.
"""

from __future__ import annotations

import errno
import json
import os
import signal
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from verikit.sandbox.client import GRACE_S, Broken, ForkServer, sealed
from verikit.sandbox.types import Failure, RunLimits, RunResult, Status

_PAGE = 4096
_ELF = b"\x7fELF"
_MOST_PRODUCT = 64 << 20
_OUT_OF_MEMORY = ("bad_alloc", "OutOfMemoryError", "heap out of memory", "memory allocation of", "out of memory")


@dataclass(frozen=True)
class ProgramJob:
    """The job of the supervisor."""

    command: Sequence[str]
    files: Mapping[str, bytes]
    env: Mapping[str, str]
    stdins: Sequence[bytes]
    limits: RunLimits
    budget_s: float
    data_mb: int = 0
    collect: str = ""
    native: bytes = b""
    """The native supervisor; empty: Python's."""
    engine: bool = False
    """Whether the command starts an engine of many cases. Only the native supervisor supports it."""
    alone: Sequence[str] = ()
    """The command that reruns a case that failed in an engine. Empty: the engine forks per case, which
    is final except for a fork of node that needs threads."""

    def payload(self) -> list[bytes]:
        """A line of JSON padded to whole pages, and the contents that it refers to. Programs also start on a page."""
        contents: list[bytes] = []
        end = 0

        def put(content: bytes) -> list[int]:
            nonlocal end
            if content.startswith(_ELF):
                gap = -end % _PAGE
                contents.append(bytes(gap))
                end += gap
            contents.append(content)
            end += len(content)
            return [end - len(content), end]

        head = {
            "argv": list(self.command), "env": dict(self.env),
            "files": [[name, *put(content), 0o700] for name, content in self.files.items()],
            "cases": [put(content) for content in self.stdins], "wall": self.limits.wall_s,
            "budget": min(self.budget_s, 1e6), "output": self.limits.output_kb << 10,
            "data": (self.limits.memory_mb + self.data_mb) << 20 if self.data_mb else 0,
            "stop": True, "collect": self.collect, "native": put(self.native) if self.native else [],
            "engine": self.engine, "alone": list(self.alone),
        }  # fmt: skip
        line = json.dumps(head).encode()
        return [line, b" " * (-(len(line) + 1) % _PAGE) + b"\n", *contents]

    def order(self, size: int) -> tuple[RunLimits, float, int, int]:
        """Limits of the supervisor, its wall clock, the memory of all processes in MiB, and the bytes of its record."""
        lim = self.limits
        memory = lim.memory_mb + self.data_mb
        if self.engine:  # which has the program in memory as well, next to the supervisor and the case
            memory += -(-sum(map(len, self.files.values())) >> 20)
        limits = replace(
            lim, cpu_s=lim.cpu_s if lim.cpu_s is not None else 2 * lim.wall_s + 2,
            memory_mb=1 << 20 if self.data_mb else lim.memory_mb, threads=max(lim.threads, 64) + self.engine,
            disk_mb=lim.disk_mb + 3 * (size >> 20) + 2 + (2 * lim.output_kb >> 10),
        )  # fmt: skip
        wall = min(self.budget_s, lim.wall_s * len(self.stdins)) + 2.0
        most = len(self.stdins) * ((2 * lim.output_kb << 10) + 4096) + _MOST_PRODUCT
        return limits, wall, memory + 64, most


@dataclass(slots=True)
class ProgramRun:
    """The outcome of one run."""

    results: list[RunResult] = field(default_factory=list)
    products: dict[str, bytes] = field(default_factory=dict)
    """The files of the `collect` folder."""
    again: str = ""
    """How the remaining cases need another run. Empty: they don't.

    `engine`: the last case left something behind. `alone`: the next case can't run in an engine.
    """
    cpu_s: float = 0.0
    """CPU seconds of all its processes, as reported by the fork server. The record itself is not trustworthy."""


def fly(server: ForkServer, payload: Sequence[bytes], job: ProgramJob) -> ProgramRun:
    """One run on one server.

    Raises:
        Broken: The server or the supervisor failed.
    """
    limits, wall, resident, most = job.order(sum(map(len, payload)))
    commands, given = sealed(*payload), sealed()
    try:
        flight = server.start(limits, given, commands, wall_s=wall, resident_mb=resident, record_cap=most)
    finally:
        os.close(commands)
        os.close(given)
    try:
        flight.pump(time.monotonic() + wall + GRACE_S)
    finally:
        flight.close()
    if flight.ended is None:
        raise Broken("the run has no end")
    run = read_record(bytes(flight.data["record"]), job.limits)
    run.cpu_s = float(flight.ended["cpu"])
    results = run.results
    again = run.again and (results or job.engine)
    if not again and (not results or (results[-1].status == "ok" and len(results) < len(job.stdins))):
        results.append(_cut_short(flight.ended, flight.overflow, job))
    return run


def _cut_short(ended: Mapping[str, Any], overflow: str, job: ProgramJob) -> RunResult:
    """The result of a run whose supervisor did not report its end."""
    seconds = float(ended["seconds"])
    if overflow:
        return RunResult("output", error=Failure("output", "more than the cap"), seconds=seconds)
    if ended["why"] == "memory":
        told = Failure("memory", f"more than {job.limits.memory_mb} MiB in use")
        return RunResult("memory", error=told, seconds=seconds)
    if ended["why"] in ("wall", "stopped") or seconds >= job.budget_s:
        return RunResult("timeout", error=Failure("timeout", f"{seconds:.1f} s of wall clock"), seconds=seconds)
    return RunResult("killed", error=Failure("killed", "the program ended its own supervisor"), seconds=seconds)


def read_record(record: bytes, limits: RunLimits) -> ProgramRun:
    """The results and the files in a record.

    Raises:
        Broken: The supervisor reports that it failed, or the record can't be read.
    """
    run, position = ProgramRun(), 0
    while (end := record.find(b"\n", position)) >= 0:
        try:
            said = json.loads(record[position:end])
            position = end + 1
            if "infra" in said:
                raise Broken(f"a supervisor failed: {said['infra']}")
            if "spoiled" in said:
                told = Failure("killed", f"the program spoiled its own surroundings: {str(said['spoiled'])[:200]}")
                run.results.append(RunResult("killed", error=told))
                continue
            if "again" in said:
                run.again = str(said["again"])
                continue
            if "file" in said:
                run.products[str(said["file"])] = record[position : position + int(said["size"])]
                position += int(said["size"])
                continue
            out, err = record[position : position + said["out"]], record[position + said["out"] :][: said["err"]]
            position += said["out"] + said["err"]
            run.results.append(_result(said, out, err, limits))
        except (ValueError, KeyError, TypeError) as problem:
            raise Broken(f"a record that can't be read: {problem!r}") from None
    return run


def _result(said: Mapping[str, Any], out: bytes, err: bytes, limits: RunLimits) -> RunResult:
    if said["why"] == "exec" and said["exit"] == errno.EAGAIN:  # the machine's: nothing of the program runs by then
        raise Broken("no process can be started: too many are running")
    cap = limits.output_kb << 10
    stdout, stderr = (data[:cap].decode("utf-8", "replace") for data in (out, err))
    status, error = _ended(said, max(len(out), len(err)) > cap, stderr, limits)
    return RunResult(status, None, stdout, stderr, error, float(said["seconds"]), float(said["cpu"]), int(said["exit"]))


def _ended(said: Mapping[str, Any], flood: bool, stderr: str, limits: RunLimits) -> tuple[Status, Failure | None]:
    """The outcome of a case. Evidence from outside takes precedence."""
    code, why = int(said["exit"]), said["why"]
    if flood or why == "output":
        return "output", Failure("output", f"more than {limits.output_kb} KiB")
    if why == "wall":
        return "timeout", Failure("timeout", f"{limits.wall_s:g} s of wall clock")
    if why == "exec":
        return "error", Failure("start", f"the program can't be started: {os.strerror(code)}")
    if code == 0:
        return "ok", None
    if said["full"] or code == -signal.SIGXFSZ:
        return "disk", Failure("disk", "more than the cap of what may be written")
    tail = stderr[-4000:]
    if any(mark in tail for mark in _OUT_OF_MEMORY):
        return "memory", Failure("memory", f"more than {limits.memory_mb} MiB")
    if code == -signal.SIGXCPU or (code == -signal.SIGKILL and said["cpu"] >= limits.wall_s):
        return "timeout", Failure("timeout", "CPU time")
    if code == -signal.SIGSYS:
        return "violation", Failure("violation", "a system call by a forbidden gate")
    if code < 0:
        number = -code
        name = signal.Signals(number).name if number in signal.valid_signals() and number < 32 else f"signal {number}"
        return "killed", Failure("killed", name)
    lines = [line for line in stderr.strip().split("\n") if line.strip()]
    return "error", Failure(f"exit code {code}", " | ".join(lines[:3])[:500])
