"""The checks `oracle`, `nop` and `floor`: the solution has the full reward, and work that was not done has none."""

from __future__ import annotations

from collections.abc import Iterator

from verikit.env.audit.declared import declared_artifacts
from verikit.env.audit.records import CheckRecord, EnvFinding, judged
from verikit.env.audit.running.box import BoxFile
from verikit.env.audit.running.programs import gap_in
from verikit.env.audit.running.rehearsal import Graded, Rehearsal

TOLERANCE = 1e-3
FLOOR = 0.0
"""The reward of work that was not done."""
MARGIN = 0.5
"""The least distance between the full reward and that of work that was not done."""


def is_full(graded: Graded) -> bool:
    """Whether a reward is the maximum."""
    return graded.value is not None and graded.value >= 1 - TOLERANCE


def is_paid(graded: Graded) -> bool:
    """Whether a reward is above the floor."""
    return graded.value is not None and graded.value > FLOOR + TOLERANCE


def check_oracle(rehearsal: Rehearsal) -> CheckRecord:
    """Run the solution, collect, and run the tests in another box."""
    missing = rehearsal.blocked()
    if missing:
        return CheckRecord("not_run", needs=missing)
    solved = rehearsal.solve()
    missing = solved.needs or rehearsal.limit_met(solved, "agent")
    if missing:
        return CheckRecord("not_run", needs=missing)
    graded = rehearsal.grade(solved.files, name="oracle")
    if is_full(graded):
        notes = [f"the solution ends with exit code {solved.code}"] if solved.code else []
        return judged([], notes=[*rehearsal.agent.notes, *notes])
    missing = graded.needs or rehearsal.solved_gap() or gap_in(graded.run.text)
    if missing:
        return CheckRecord("not_run", needs=missing, notes=(f"the reward here is {graded.told()}",))
    kind = "none" if graded.value is None else "unsolved"
    last = f". The tests print: {graded.run.text.strip()[-200:]!r}" if graded.run.text.strip() else ""
    return judged([EnvFinding(kind, f"the reward of the solution is {graded.told()}{last}", "solution/solve.sh")])


def solved_here(rehearsal: Rehearsal) -> str:
    """Why checks that begin with a solved task can't run; empty if the solution has the full reward."""
    missing = rehearsal.blocked()
    if missing:
        return missing
    graded = rehearsal.grade(rehearsal.solve().files, name="oracle")
    return "" if is_full(graded) else f"a solution with the full reward; it has {graded.told()}"


def undone(rehearsal: Rehearsal) -> Iterator[tuple[str, dict[str, BoxFile]]]:
    """What agents leave that did not do the task, by name."""
    before, names = rehearsal.before, output_names(rehearsal)
    prompt = (rehearsal.task.text(rehearsal.part.instruction) or "").encode()
    yield "the files as they were", before
    yield "no files", {}
    if names:
        yield "empty files of the declared names", before | {name: BoxFile() for name in names}
        yield "the prompt as output", before | {name: BoxFile(prompt) for name in names}


def output_names(rehearsal: Rehearsal) -> list[str]:
    """The files that the solution leaves and the tests get; without a solution, those that the task declares."""
    if not rehearsal.blocked():
        before = rehearsal.before
        solved = rehearsal.solve()
        return [path for path, one in rehearsal.collected(solved.files).items() if before.get(path) != one][:20]
    declared = [path for path, _ in declared_artifacts(rehearsal.task, rehearsal.part)]
    return [path for path in declared if "." in path.rpartition("/")[2] and "*" not in path][:20]


def check_nop(rehearsal: Rehearsal) -> CheckRecord:
    """Grade work that was not done."""
    if rehearsal.needs:
        return CheckRecord("not_run", needs="; ".join(rehearsal.needs)[:600])
    findings, undecided = [], []
    for name, after in undone(rehearsal):
        graded = rehearsal.grade(after, name=name)
        if graded.needs:
            undecided.append(graded.needs)
        elif is_paid(graded):
            findings.append(EnvFinding("paid", f"{name}: the reward is {graded.told()}", "tests/test.sh"))
        elif graded.value is None and not graded.reward.problem:
            missing = gap_in(graded.run.text)
            if missing:
                undecided.append(missing)
            else:
                findings.append(EnvFinding("none", f"{name}: the reward is {graded.told()}", "tests/test.sh"))
    return judged(findings, undecided)


def check_floor(rehearsal: Rehearsal) -> CheckRecord:
    """Compare the rewards of the solution and of work that was not done."""
    if rehearsal.needs:
        return CheckRecord("not_run", needs="; ".join(rehearsal.needs)[:600])
    family = {name: rehearsal.grade(after, name=name) for name, after in undone(rehearsal)}
    every = dict(family)
    if not rehearsal.blocked():
        every["oracle"] = rehearsal.grade(rehearsal.solve().files, name="oracle")
    findings = []
    for name, graded in every.items():
        if graded.reward.problem:
            findings.append(EnvFinding("malformed", f"{name}: {graded.reward.problem}", "tests/test.sh"))
        elif graded.value is not None and not -TOLERANCE <= graded.value <= 1 + TOLERANCE:
            findings.append(
                EnvFinding("range", f"{name}: the reward {graded.value:g} is not from 0 to 1", "tests/test.sh")
            )
    values = [graded.value for graded in family.values() if graded.value is not None]
    if values and 1 - max(values) < MARGIN:
        what = f"work that was not done has up to {max(values):g}, less than {MARGIN:g} below the full reward"
        findings.append(EnvFinding("margin", what, "tests/test.sh"))
    undecided = [graded.needs for graded in every.values() if graded.needs]
    if not values and not undecided and not findings:
        undecided = ["a reward for work that was not done"]
    return judged(findings, undecided)
