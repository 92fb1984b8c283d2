"""A fresh process for each program: the slow, portable way that the `process` and `bwrap` backends share.

Output is capped and time measured from outside. The whole process group is always killed at the end.
"""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import IO, Any

from verikit.sandbox import records
from verikit.sandbox.client import caps, clean_environment
from verikit.sandbox.types import Failure, RunLimits, RunResult
from verikit.sandbox.whole import WholeRuns

_TICK_MS = 20


class OneShot(WholeRuns):
    """Base of the backends that start a process per program."""

    def _command(self, order: dict[str, Any], record: int, commands: int, work: str) -> tuple[list[str], Sequence[int]]:
        """The command line, and the descriptors that it needs in addition to the run's."""
        raise NotImplementedError

    def _execute(self, payload: bytes, stdin: bytes, limits: RunLimits, calls: int, *, asking: bool) -> RunResult:
        with (
            tempfile.TemporaryFile() as program,
            tempfile.TemporaryFile() as given,
            tempfile.TemporaryDirectory(prefix="verikit-", ignore_cleanup_errors=True) as work,
        ):
            program.write(payload)
            given.write(stdin)
            for file in (program, given):
                file.seek(0)
            try:
                return self._fly(program, given, limits, work, calls, asking=asking)
            except OSError as error:
                return RunResult("infra_error", error=Failure("infra", str(error)))

    def _fly(
        self, payload: IO[bytes], given: IO[bytes], limits: RunLimits, work: str, calls: int, *, asking: bool
    ) -> RunResult:
        pipes = {name: os.pipe() for name in ("stdout", "stderr", "record")}
        order = {
            "cpu": limits.cpu_s if limits.cpu_s is not None else limits.wall_s + 1, "memory": limits.memory_mb << 20,
            "disk": limits.disk_mb << 20, "threads": limits.threads, "files": limits.files,
        }  # fmt: skip
        command, extra = self._command(order, pipes["record"][1], payload.fileno(), work)
        start = time.monotonic()
        try:
            process = subprocess.Popen(
                command, stdin=given, stdout=pipes["stdout"][1], stderr=pipes["stderr"][1], cwd=work,
                env=clean_environment() | {"HOME": work, "TMPDIR": work}, start_new_session=True,
                pass_fds=[pipes["record"][1], payload.fileno(), *extra],
            )  # fmt: skip
        except OSError:
            for read, _ in pipes.values():
                os.close(read)
            raise
        finally:
            for descriptor in (*(write for _, write in pipes.values()), *extra):
                os.close(descriptor)
        reads = {read: name for name, (read, _) in pipes.items()}
        most = caps(limits)
        try:
            data, why = _collect(process, reads, most, start + limits.wall_s)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        overflow = why if why in most else ""
        ended = {
            "why": why, "exit": process.returncode, "seconds": time.monotonic() - start, "disk_full": False,
            "cpu_over": False,
        }  # fmt: skip
        return records.result(ended, overflow, data, limits, calls, asking=asking)


def _collect(
    process: subprocess.Popen[bytes], reads: dict[int, str], caps: Mapping[str, int], deadline: float
) -> tuple[dict[str, bytearray], str]:
    """Read until the process ends, its deadline, or a cap. Returns which (`exit`, `wall`, or the stream's name)."""
    data = {name: bytearray() for name in caps}
    waiting = select.poll()
    for read in reads:
        waiting.register(read, select.POLLIN)
    why = ""
    open_reads = dict(reads)
    while not why:
        ended = process.poll() is not None
        ready = [descriptor for descriptor, _ in waiting.poll(0 if ended else _TICK_MS)]
        for descriptor in ready:
            name = open_reads[descriptor]
            chunk = os.read(descriptor, 1 << 16)
            data[name] += chunk
            if not chunk:
                waiting.unregister(descriptor)
                del open_reads[descriptor]
            elif len(data[name]) > caps[name]:
                del data[name][caps[name] :]
                why = name
        if ended and not ready:
            why = why or "exit"
        elif time.monotonic() >= deadline:
            why = why or "wall"
    for read in reads:
        os.close(read)
    return data, why


def command_line(base: Sequence[str], order: dict[str, Any], record: int, commands: int) -> list[str]:
    """The interpreter's command line for `once`."""
    return [*base, str(record), str(commands), json.dumps(order)]
