"""The verified properties of a sandbox, for the log, the results folder and `verikit doctor`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from verikit.errors import SandboxUnavailable

Property = Literal[
    "file_reads", "file_writes", "network", "signals", "processes", "memory", "cpu", "output", "disk_total",
    "system_calls", "state_reset",
]  # fmt: skip
Proof = Literal["proved", "best_effort", "absent"]
PROPERTIES: tuple[Property, ...] = Property.__args__  # type: ignore[attr-defined]
ISOLATION: frozenset[Property] = frozenset(PROPERTIES) - {"disk_total"}
"""Requirements for scoring model-written code: all properties except a limit on the total written."""

_REMEDIES: dict[Property, str] = {
    "disk_total": "allow user namespaces (docker: --security-opt seccomp=… with unshare and mount; Ubuntu: an AppArmor "
    "profile with `userns`), or put the temporary folder on a small memory file system",
    "file_reads": "a kernel with Landlock (5.13 or newer, `lsm=landlock,…`) or user namespaces",
    "file_writes": "a kernel with Landlock (5.13 or newer, `lsm=landlock,…`) or user namespaces",
    "network": "a kernel that accepts seccomp filters (CONFIG_SECCOMP_FILTER)",
    "signals": "a kernel that accepts seccomp filters (CONFIG_SECCOMP_FILTER)",
    "processes": "a kernel that accepts seccomp filters (CONFIG_SECCOMP_FILTER)",
    "system_calls": "a kernel that accepts seccomp filters (CONFIG_SECCOMP_FILTER)",
}


@dataclass(frozen=True, slots=True)
class Report:
    """The layers of a sandbox and the properties that its start-up probes verified."""

    backend: str
    kernel: str = ""
    layers: Mapping[str, str] = field(default_factory=dict)
    """Maps each layer to "active", or to why it is missing."""
    properties: Mapping[Property, Proof] = field(default_factory=dict)
    notes: Mapping[Property, str] = field(default_factory=dict)
    """Observations of the probes for unverified properties."""

    def unproved(self) -> list[Property]:
        """The properties that are not verified, in a fixed order."""
        return [name for name in PROPERTIES if self.properties.get(name) != "proved"]

    def require(self, wanted: frozenset[Property] | set[Property]) -> None:
        """Reject a sandbox that lacks a property.

        Raises:
            SandboxUnavailable: Names each property that is missing and the remedy.
        """
        missing: list[Property] = [name for name in self.unproved() if name in wanted]
        if missing:
            what = ", ".join(f"{name} ({self.notes[name]})" if name in self.notes else name for name in missing)
            remedies = dict.fromkeys(_REMEDIES.get(name, "another backend or machine") for name in missing)
            raise SandboxUnavailable(
                f"the {self.backend!r} sandbox can't promise: {what}", hint="needs " + "; ".join(remedies)
            )

    def as_dict(self) -> dict[str, Any]:
        """Plain data, for JSON."""
        return asdict(self)

    def text(self) -> str:
        """A few lines for a terminal."""
        marks = {"proved": "yes", "best_effort": "partly", "absent": "NO"}
        lines = [f"sandbox {self.backend} on {self.kernel}"]
        lines += [f"  {name:<14}{state}" for name, state in self.layers.items()]
        for name in PROPERTIES:
            note = f"  {self.notes[name]}" if name in self.notes else ""
            lines.append(f"  {name:<14}{marks[self.properties.get(name, 'absent')]}{note}")
        return "\n".join(lines)
