"""The check `resources`: resource use of the solution and the tests, compared with the task's declaration."""

from __future__ import annotations

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
    found.notes.append(f"{role}: {run.cpu_s:.1f} CPU s, {run.memory_mb:.0f} MiB")
    if (run.why == "wall" and not missing) or run.cpu_s > declared:
        found.add("time", f"the {role} has not ended after {declared:g} s, its timeout_sec", "task.toml")
    if memory and run.memory_mb > memory:
        found.add("memory", f"the {role} takes {run.memory_mb:.0f} MiB, and memory_mb is {memory:g}", "task.toml")
