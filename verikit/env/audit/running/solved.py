"""The checks `oracle`, `nop` and `floor`: the solution has the full reward, and undone work has no reward."""

from __future__ import annotations

import re
from collections.abc import Iterator

from verikit.env.audit.running.box import BoxFile
from verikit.env.audit.running.findings import SOLUTION, RunFindings
from verikit.env.audit.running.programs import gap_in
from verikit.env.audit.running.rehearsal import GradedRun, Rehearsal

TOLERANCE = 1e-3
_DURATION = re.compile(r"\b\d{1,9}(?:\.\d{1,9})? ?(?:s|ms|sec|seconds?)\b(?: \(\d{1,9}:\d\d:\d\d\))?")
"""A duration in the output of the tests. It differs from run to run, and the report should not."""
_RULE = re.compile("={3,}")
"""Pytest fills the line of the duration up to its width."""
MARGIN = 0.5
"""The minimum difference between the full reward and the reward of undone work."""


def is_full(graded: GradedRun) -> bool:
    """Whether a reward is the maximum."""
    return graded.value is not None and graded.value >= 1 - TOLERANCE


def is_paid(graded: GradedRun) -> bool:
    """Whether a reward is above the floor."""
    return graded.value is not None and graded.value > graded.floor + TOLERANCE


def check_oracle(rehearsal: Rehearsal, found: RunFindings) -> None:
    """Run the solution, collect, and run the tests in another box."""
    solved = rehearsal.solve()
    missing = solved.needs or rehearsal.limit_met(solved, "agent")
    if missing:
        found.undecided.append(missing)
        return
    graded = rehearsal.grade(solved.files, name="oracle")
    found.notes += rehearsal.agent.notes
    if solved.code:
        found.notes.append(f"the solution ends with exit code {solved.code}")
    if is_full(graded):
        return
    missing = graded.needs or rehearsal.solved_gap() or gap_in(graded.run.text)
    if missing:
        found.undecided.append(missing)
        found.notes.append(f"the reward here is {graded.told()}")
        return
    printed = last_output(graded.run.text)
    last = f". The tests print: {printed!r}" if printed else ""
    kind = "none" if graded.value is None else "unsolved"
    found.add(kind, f"the reward of the solution is {graded.told()}{last}", SOLUTION)


def last_output(text: str) -> str:
    """The end of the output of the tests. It is cut last, because the length of a duration would move the cut."""
    return _RULE.sub("===", _DURATION.sub("… s", text.strip()))[-200:]


def solved_here(rehearsal: Rehearsal) -> str:
    """Why checks that start from a solved task can't run; empty if the solution has the full reward."""
    if rehearsal.blocked():
        return rehearsal.blocked()
    graded = rehearsal.grade(rehearsal.solve().files, name="oracle")
    return "" if is_full(graded) else f"a solution with the full reward; it has {graded.told()}"


def tests_gap(rehearsal: Rehearsal) -> str:
    """The missing requirement of the tests according to their output on a solution; empty if there is no sign of it."""
    if rehearsal.blocked():
        return ""
    graded = rehearsal.grade(rehearsal.solve().files, name="oracle")
    return "" if is_full(graded) else gap_in(graded.run.text)


def undone(rehearsal: Rehearsal) -> Iterator[tuple[str, dict[str, BoxFile]]]:
    """Named outcomes of agents that did not do the task."""
    before, names = rehearsal.before, output_names(rehearsal)
    prompt = rehearsal.prompt.encode("utf-8", "replace")
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
    return [path for path in rehearsal.declared() if "." in path.rpartition("/")[2] and "*" not in path][:20]


def check_nop(rehearsal: Rehearsal, found: RunFindings) -> None:
    """Grade work that was not done."""
    for name, after in undone(rehearsal):
        graded = rehearsal.grade(after, name=name)
        missing = graded.needs or ("" if graded.has_file else gap_in(graded.run.text))
        if missing:
            found.undecided.append(missing)
        elif is_paid(graded):
            found.add("paid", f"{name}: the reward is {graded.told()}")
        elif not graded.has_file:
            found.add("none", f"{name}: the reward is {graded.told()}")


def check_floor(rehearsal: Rehearsal, found: RunFindings) -> None:
    """Compare the rewards of the solution and of work that was not done."""
    family = {name: rehearsal.grade(after, name=name) for name, after in undone(rehearsal)}
    every = dict(family)
    if not rehearsal.blocked():
        every["oracle"] = rehearsal.grade(rehearsal.solve().files, name="oracle")
    for name, graded in every.items():
        _look_at_number(found, name, graded)
    values = [graded.value for graded in family.values() if graded.value is not None]
    if values and 1 - max(values) < MARGIN:
        what = f"work that was not done has up to {max(values):g}, less than {MARGIN:g} below the full reward"
        found.add("margin", what)
    if not values:
        found.undecided.append("a reward for work that was not done")


def _look_at_number(found: RunFindings, name: str, graded: GradedRun) -> None:
    """Whether a reward is a number from 0 to 1."""
    found.undecided.append(graded.needs)
    if graded.reward.problem:
        found.add("malformed", f"{name}: {graded.reward.problem}")
    elif not -TOLERANCE <= (graded.value or 0.0) <= 1 + TOLERANCE:
        found.add("range", f"{name}: the reward {graded.value:g} is not from 0 to 1")
