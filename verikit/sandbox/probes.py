"""Verify a sandbox's properties at start-up, by trying to break it with harmless programs.

Each property is decided by attempts, never by the mechanism that is assumed to be active. The result is cached per
process and configuration, and logged once if a property is not verified.
"""

from __future__ import annotations

import logging
import os
import platform
import tempfile
import threading
from typing import TYPE_CHECKING, Any

from verikit.errors import SandboxError
from verikit.platform.system import at_fork
from verikit.sandbox.guest import source
from verikit.sandbox.report import Proof, Property, Report
from verikit.sandbox.types import RunLimits, RunResult, Sandbox

if TYPE_CHECKING:
    from verikit.sandbox.local import LocalSandbox
    from verikit.sandbox.pool import Pool

_LOG = logging.getLogger("verikit.sandbox")
_SMALL = RunLimits(wall_s=5, memory_mb=64, disk_mb=1, output_kb=4, files=64)
_known: dict[tuple[bool, bool], Report] = {}
_lock = threading.Lock()
at_fork(before=_lock.acquire, in_parent=_lock.release, in_child=_lock.release)


def report(box: LocalSandbox, pool: Pool, *, paranoid: bool) -> Report:
    """The report of a local sandbox; probes run once per process and configuration."""
    with _lock:
        key = (paranoid, pool.namespaces)
        if key not in _known:
            _known[key] = _probe(box, pool, paranoid=paranoid)
            if missing := _known[key].unproved():
                _LOG.warning("sandbox: not proved here: %s", ", ".join(missing))
        return _known[key]


def _probe(box: LocalSandbox, pool: Pool, *, paranoid: bool) -> Report:
    properties, notes = examine(box)
    server = pool.take(source("bare"), 0)
    layers = _layers(server.facts, pool.refusal, paranoid=paranoid)
    pool.give(server)
    return Report("local", platform.platform(terse=True), layers, properties, notes)


def examine(box: Sandbox, *, spin_s: float = 0.05) -> tuple[dict[Property, Proof], dict[Property, str]]:
    """Run the probes. Returns the verified properties, and the observations of failed probes.

    Args:
        box: the sandbox to examine.
        spin_s: how long a loop runs before it must be stopped; longer than the sandbox takes to start a program.

    Raises:
        SandboxError: The sandbox can't even run these.
    """
    with tempfile.NamedTemporaryFile(prefix="verikit-probe-") as canary:
        canary.write(b"canary")
        canary.flush()
        os.chmod(canary.name, 0o666)
        facts = box.run(source("attempts"), call=("facts", [canary.name, os.getpid()], {}), limits=_SMALL)
        if facts.status != "ok":
            raise SandboxError(f"the sandbox does not run its own probes: {facts.status}, {facts.error}")
        with open(canary.name, "rb") as file:
            untouched = file.read() == b"canary"
    spin = box.run("while True: pass", limits=RunLimits(wall_s=spin_s))
    flood = box.run("while True: print('x' * 1000)", limits=_SMALL)
    fill = box.run(source("attempts"), call=("fill", [], {}), limits=_SMALL)
    again = box.run(source("attempts"), call=("left_over", [], {}), limits=_SMALL)
    proofs, notes = _judge(facts.value, spin, flood, again, untouched=untouched)
    if fill.stdout.strip().isdecimal() and int(fill.stdout) <= _SMALL.disk_mb << 20:
        proofs["disk_total"] = "proved"
    else:
        proofs["disk_total"] = "best_effort" if fill.status == "disk" else "absent"
        held = "no memory file system of one's own: the total is polled every 20 ms"
        notes["disk_total"] = held if fill.status == "disk" else "more went through than was allowed"
    return proofs, notes


def _judge(
    facts: dict[Property, str], spin: RunResult, flood: RunResult, again: RunResult, *, untouched: bool
) -> tuple[dict[Property, Proof], dict[Property, str]]:
    """Turn the observations of the probes into verified properties and notes."""
    seen = dict(facts)
    if not untouched:
        seen["file_writes"] = "a file outside was changed"
    if spin.status != "timeout":
        seen["cpu"] = f"a loop ended as {spin.status}"
    if flood.status != "output":
        seen["output"] = f"a flood ended as {flood.status}"
    if again.status != "ok" or again.value:
        seen["state_reset"] = f"left by the run before: {again.value or again.error}"
    names: list[Property] = [*facts, "cpu", "output", "state_reset"]
    return {name: "absent" if seen.get(name) else "proved" for name in names}, {k: v for k, v in seen.items() if v}


def _layers(facts: dict[str, Any], refusal: str | None, *, paranoid: bool) -> dict[str, str]:
    """Which mechanisms are in force, and why others are not."""
    abi = facts["landlock"]
    spaces = "active" if facts["namespaces"] else f"missing: {refusal}"
    other_user = "active"
    if not facts["user_drop"]:
        other_user = f"{'missing' if facts['root'] else 'not needed'}: stays the user"
    return {
        "landlock": f"active (ABI {abi})" if abi else "missing: the kernel has none",
        "seccomp": "active",
        "limits": "active",
        "user_drop": other_user,
        "namespaces": spaces,
        "fresh_tmpfs": spaces,
        "paranoid": "active" if paranoid and facts["namespaces"] else "off",
        "preloaded": ", ".join(facts["modules"]) or "standard library",
    }
