"""The check `resources`: what the solution and the tests use, against what the task declares."""

from __future__ import annotations

from verikit.env.audit.records import CheckRecord, EnvFinding, judged
from verikit.env.audit.running.rehearsal import Rehearsal
from verikit.env.audit.running.solved import solved_here
from verikit.env.audit.task import table
from verikit.platform.numbers import number


def check_resources(rehearsal: Rehearsal) -> CheckRecord:
    """Compare seconds and memory with the declared ones. CPU seconds count, because a machine may be busy."""
    missing = solved_here(rehearsal)
    if missing:
        return CheckRecord("not_run", needs=missing)
    solved = rehearsal.solve()
    runs = {"agent": solved, "verifier": rehearsal.grade(solved.files, name="oracle").run}
    memory = number(table(rehearsal.task.config, "environment").get("memory_mb"))
    findings, notes = [], []
    for role, run in runs.items():
        notes.append(f"{role}: {run.cpu_s:.1f} CPU s, {run.memory_mb:.0f} MiB")
        if run.cpu_s > rehearsal.seconds_of(role):
            what = f"the {role} takes {run.cpu_s:.1f} CPU s, and timeout_sec is {rehearsal.seconds_of(role):g}"
            findings.append(EnvFinding("time", what, "task.toml"))
        if memory and run.memory_mb > memory:
            what = f"the {role} takes {run.memory_mb:.0f} MiB, and memory_mb is {memory:g}"
            findings.append(EnvFinding("memory", what, "task.toml"))
    return judged(findings, notes=notes)
