"""Boxes for applications that need more than the sandbox gives programs: a browser, an office program.

The box ends with all its processes. `verikit.sandbox.application` is its inside.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress

from verikit.errors import SandboxError

DISPLAYING = (
    "/lib", "/lib64", "/usr/lib", "/usr/lib64", "/etc/ld.so.cache", "/etc/fonts", "/usr/share/fonts",
    "/usr/share/fontconfig", "/usr/local/share/fonts", "/var/cache/fontconfig", "/usr/share/zoneinfo",
)  # fmt: skip
"""The paths that programs need to draw text: libraries, fonts and time zones."""


def python_paths() -> list[str]:
    """The paths that a Python program in a box needs."""
    from verikit.sandbox import paths

    return [*paths.readable(), sys.prefix, sys.base_prefix]


class ApplicationBox:
    """One application, from start to end.

    Args:
        command: The application.
        readable: The paths that it may read. It sees nothing else of the machine.
        limits: `memory` and `disk` in bytes, and `cpu` in seconds, of each of its processes.

    Raises:
        SandboxError: The machine can't isolate it.
    """

    def __init__(self, command: Sequence[str], readable: Sequence[str], limits: Mapping[str, int]) -> None:
        from verikit.sandbox import client

        theirs, self.commands = os.pipe()
        self.answers, their_answers = os.pipe()
        order = {
            "command": list(command), "commands": theirs, "answers": their_answers, "readable": list(readable),
            "environment": {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "TZ": "UTC", "HOME": "/tmp"}, **limits,
        }  # fmt: skip
        try:
            self._process: subprocess.Popen[bytes] = subprocess.Popen(
                [*client.command("application"), json.dumps(order)], stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, cwd="/", env=client.clean_environment(),
                start_new_session=True, pass_fds=[theirs, their_answers],
            )  # fmt: skip
        except OSError as error:
            os.close(self.commands)
            os.close(self.answers)
            raise SandboxError(f"a box can't be made: {error}") from None
        finally:
            os.close(theirs)
            os.close(their_answers)
        os.set_blocking(self.commands, False)

    def resident_mb(self) -> int:
        """Memory in use by all its processes."""
        from verikit.sandbox import processes

        return int(processes.measured(processes.resident, self._process.pid)) >> 20

    def largest_mb(self) -> int:
        """Memory in use by the one of its processes that uses most."""
        from verikit.sandbox import processes

        return int(processes.measured(processes.largest, self._process.pid)) >> 20

    def cpu_s(self) -> float:
        """CPU seconds that they have used."""
        from verikit.sandbox import processes

        return processes.measured(processes.processor_seconds, self._process.pid)

    def told(self) -> str:
        """After its end: why the box could not be created, if it failed."""
        self.end()
        assert self._process.stderr is not None
        return os.read(self._process.stderr.fileno(), 2000).decode("utf-8", "replace").strip()

    def end(self) -> None:
        """End it with all its processes. They are in a process namespace, which ends with its first process."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def close(self) -> None:
        """End it, and close the pipes."""
        self.end()
        assert self._process.stderr is not None
        self._process.stderr.close()
        for descriptor in (self.commands, self.answers):
            with suppress(OSError):
                os.close(descriptor)
