"""The check `resources`: what the solution and the tests use, against what the task declares."""

from __future__ import annotations

from verikit.env.audit.records import CheckRecord, EnvFinding, judged
from verikit.env.audit.running.rehearsal import Rehearsal
from verikit.env.audit.task import table
from verikit.platform.numbers import number


def check_resources(rehearsal: Rehearsal) -> CheckRecord:
    """Compare seconds and memory with the declared ones."""
    missing = rehearsal.blocked()
    solved = None if missing else rehearsal.solve()
    if solved is None or solved.needs:
        return CheckRecord("not_run", needs=missing or "a solution that runs")
    runs = {"agent": solved, "verifier": rehearsal.grade(solved.files, name="oracle").run}
    memory = number(table(rehearsal.task.config, "environment").get("memory_mb"))
    findings, notes = [], []
    undecided: list[str] = []
    for role, run in runs.items():
        notes.append(f"{role}: {run.cpu_s:.1f} CPU s, {run.memory_mb:.0f} MiB")
        declared = rehearsal.seconds_of(role)
        undecided += [rehearsal.limit_met(run, role)]
        if (run.why == "wall" and not undecided[-1]) or run.cpu_s > declared:
            what = f"the {role} has not ended after {declared:g} s, its timeout_sec"
            findings.append(EnvFinding("time", what, "task.toml"))
        if memory and run.memory_mb > memory:
            what = f"the {role} takes {run.memory_mb:.0f} MiB, and memory_mb is {memory:g}"
            findings.append(EnvFinding("memory", what, "task.toml"))
    return judged(findings, [one for one in undecided if one], notes)
