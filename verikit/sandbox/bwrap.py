"""bubblewrap around a fresh interpreter, with verikit's system call filter, for sites that require it.

It has no property that `local` lacks, at the price of a process start. bwrap itself gets a clean environment, because
its environment can be read inside, with or without `--clearenv`.
"""

from __future__ import annotations

import os
import platform
import shutil
import sys
import sysconfig
from collections.abc import Iterable, Sequence
from typing import Any

from verikit.errors import SandboxUnavailable
from verikit.platform.system import processors
from verikit.sandbox import paths, probes, seccomp
from verikit.sandbox.client import command, sealed
from verikit.sandbox.oneshot import OneShot, command_line
from verikit.sandbox.report import PROPERTIES, Property, Report
from verikit.sandbox.types import RunLimits

_WORK = "/tmp"


class BwrapSandbox(OneShot):
    """Runs each program under bubblewrap: own namespaces, read-only view, memory file system, verikit's seccomp filter.

    Raises:
        SandboxUnavailable: bwrap is absent or not allowed here, or a required property is not verified.
    """

    def __init__(
        self,
        *,
        strict: bool = False,
        require: Iterable[Property] = (),
        limits: RunLimits | None = None,
        workers: int | None = None,
    ) -> None:
        self.limits: RunLimits = limits or RunLimits()
        self.workers: int = workers or processors()
        found = shutil.which("bwrap")
        if found is None:
            raise SandboxUnavailable(
                "bwrap is not installed", hint="apt-get install bubblewrap, or use the local sandbox"
            )
        self._bwrap = found
        first = self.run("print('ok')")
        if first.status != "ok":
            raise SandboxUnavailable(
                f"bwrap does not work here: {first.stderr.strip()[-300:] or first.error}",
                hint="bubblewrap needs user namespaces. The local sandbox also works without them",
            )
        properties, notes = probes.examine(self, spin_s=1.0)
        layers = {"bwrap": "active", "seccomp": "active", "limits": "active", "namespaces": "active"}
        self._report = Report("bwrap", platform.platform(terse=True), layers, properties, notes)
        self._report.require(frozenset(PROPERTIES) if strict else frozenset(require))

    @property
    def report(self) -> Report:
        """The verified properties."""
        return self._report

    def _command(self, order: dict[str, Any], record: int, commands: int, work: str) -> tuple[list[str], Sequence[int]]:
        rules = sealed(seccomp.program(None, may_exec=True))
        base = command("once")
        line = [
            self._bwrap, "--unshare-all", "--die-with-parent", "--new-session", "--cap-drop", "ALL",
            "--size", str(order["disk"]), "--tmpfs", _WORK, "--chdir", _WORK, "--seccomp", str(rules),
            "--setenv", "HOME", _WORK, "--setenv", "TMPDIR", _WORK,
        ]  # fmt: skip
        for path in dict.fromkeys([*paths.readable(), *_interpreter(base)]):
            line += ["--ro-bind", os.path.realpath(path), path]
        for device in paths.DEVICES:
            line += ["--dev-bind-try", device, device]
        inside = command_line(base, order | {"filter": True, "tasks": 0, "skip": []}, record, commands)
        return [*line, "--remount-ro", "/", "--", *inside], (rules,)


def _interpreter(base: Sequence[str]) -> list[str]:
    """What starting Python takes beyond its libraries."""
    needed = [sys.executable, os.path.realpath(sys.executable), os.path.dirname(base[-2])]
    needed += [os.path.join(os.path.dirname(os.path.dirname(sys.executable)), "pyvenv.cfg")]
    library = sysconfig.get_config_var("LDLIBRARY")
    needed += [os.path.join(sysconfig.get_config_var("LIBDIR") or "", name) for name in {library, f"{library}.1.0"}]
    return [path for path in needed if os.path.exists(path) and not path.endswith(".a")]
