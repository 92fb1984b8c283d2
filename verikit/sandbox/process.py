"""A plain process for each program, for machines without other sandboxes (macOS): limits, but no isolation.

Its report lists no verified properties, and requiring a property raises an error.
"""

from __future__ import annotations

import os
import platform
import resource
import sys
from collections.abc import Iterable, Sequence
from typing import Any

from verikit.sandbox import probes
from verikit.sandbox.client import command
from verikit.sandbox.oneshot import OneShot, command_line
from verikit.sandbox.report import PROPERTIES, Proof, Property, Report
from verikit.sandbox.types import RunLimits

_LIMITED: set[Property] = {"cpu", "output", "memory", "state_reset"}


class ProcessSandbox(OneShot):
    """Runs programs as the user, with limits on time, memory and output. Only for programs you trust.

    Args:
        require: properties that must be verified.
        limits: of each run.
        workers: parallel programs.
        examine: run the probes. Otherwise every property is unverified.

    Raises:
        SandboxUnavailable: A required property is not verified.
    """

    def __init__(
        self,
        *,
        require: Iterable[Property] = (),
        limits: RunLimits | None = None,
        workers: int | None = None,
        examine: bool = False,
    ) -> None:
        self.limits: RunLimits = limits or RunLimits()
        self.workers: int = workers or os.cpu_count() or 1
        found: dict[Property, Proof] = {name: "best_effort" if name in _LIMITED else "absent" for name in PROPERTIES}
        notes: dict[Property, str] = {}
        if examine:
            found, notes = probes.examine(self, spin_s=1.0)
        self._report = Report("process", platform.platform(terse=True), {"limits": "active"}, found, notes)
        self._report.require(frozenset(require))

    @property
    def report(self) -> Report:
        """The results of the probes, if they ran. Otherwise every property is unverified."""
        return self._report

    def _command(self, order: dict[str, Any], record: int, commands: int, work: str) -> tuple[list[str], Sequence[int]]:
        skip = [resource.RLIMIT_NPROC]  # counts all of the user's processes, not this program's
        if sys.platform == "darwin":
            skip.append(resource.RLIMIT_AS)
        return command_line(command("once"), order | {"filter": False, "tasks": 0, "skip": skip}, record, commands), ()
