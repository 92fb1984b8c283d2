"""The check `resources`: resource use of the solution and the tests, compared with the task's declaration."""

from __future__ import annotations

import math

from verikit.env.audit.running.box import BoxRun
from verikit.env.audit.running.findings import RunFindings
from verikit.env.audit.running.rehearsal import Rehearsal
from verikit.env.audit.task import table
from verikit.platform.numbers import number


def check_resources(rehearsal: Rehearsal, found: RunFindings) -> None:
    """Compare seconds and memory with the declared ones."""
    solved = rehearsal.solve()
    _compare(rehearsal, found, "agent", solved)
    _compare(rehearsal, found, "verifier", rehearsal.grade(solved.files, name="oracle").run)


def _compare(rehearsal: Rehearsal, found: RunFindings, role: str, run: BoxRun) -> None:
    declared = rehearsal.seconds_of(role)
    memory = number(table(rehearsal.task.config, "environment").get("memory_mb"))
    missing = run.needs or rehearsal.limit_met(run, role)
    found.undecided.append(missing)
    # rounded up, because a second run takes a little more or less and must give the same report
    found.notes.append(f"{role}: at most {1 << max(63, math.ceil(run.memory_mb) - 1).bit_length()} MiB")
    if (run.why == "wall" and not missing) or run.cpu_s > declared:
        found.add("time", f"the {role} has not ended after {declared:g} s, its timeout_sec", "task.toml")
    if memory and run.memory_mb > memory:
        found.add("memory", f"the {role} takes more than memory_mb, {memory:g} MiB", "task.toml")
