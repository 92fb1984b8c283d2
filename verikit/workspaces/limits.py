"""How much of a workspace is read. Exceeding the task's limits fails the agent; exceeding verikit's leaves no value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from verikit.errors import AgentFault, WorkspaceError

MB = 2**20
MAX_PATH = 4095
"""Bytes of a path within a workspace; the kernel opens no longer one."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of one workspace. Sizes are apparent sizes, so a sparse file counts in full."""

    mb: float = 64
    """MiB of a file."""
    total_mb: float = 512
    """MiB of all files. A hard-linked file counts only once."""
    entries: int = 10_000
    """Files, folders and all other named entries."""
    stated: frozenset[str] = frozenset()
    """Which of them the task states."""

    @classmethod
    def of(cls, told: object) -> Limits:
        """The limits of a row's `limits`: some of `mb`, `total_mb` and `entries`.

        Raises:
            WorkspaceError: `limits` is not such an object.
        """
        if told is None:
            return cls()
        if not isinstance(told, Mapping):
            raise WorkspaceError("limits is an object with mb, total_mb or entries")
        found: dict[str, Any] = {}
        for name, value in told.items():
            if value is None:  # a table gives every row the names of all rows
                continue
            if name not in ("mb", "total_mb", "entries"):
                raise WorkspaceError(f"there is no limit {name!r}", hint="mb, total_mb or entries")
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1e12:
                raise WorkspaceError(f"the limit {name} must be a positive number, got {value!r}")
            found[name] = value
        limits = cls(**found, stated=frozenset(found))
        return limits if "total_mb" in found else replace(limits, total_mb=max(limits.total_mb, limits.mb))

    def for_before(self) -> Limits:
        """The same limits for files that the agent did not create. Exceeding them is never the agent's failure."""
        return replace(self, stated=frozenset())

    def for_display(self) -> Limits:
        """Smaller limits for files that the agent did not create, if they are read only to display changes."""
        return replace(self.for_before(), total_mb=min(self.total_mb, 16), entries=min(self.entries, 1000))

    def over(self, name: str, message: str) -> AgentFault | WorkspaceError:
        """The error of something over a limit."""
        told = f"{message}, over the limit of {getattr(self, name):,g}"
        if name in self.stated:
            return AgentFault(f"{told} that the task states")
        return WorkspaceError(told, hint=f'raise it in the row: "limits": {{"{name}": …}}')

    @property
    def file_bytes(self) -> int:
        """Bytes of a file."""
        return int(self.mb * MB)

    @property
    def total_bytes(self) -> int:
        """Bytes of all files."""
        return int(self.total_mb * MB)
