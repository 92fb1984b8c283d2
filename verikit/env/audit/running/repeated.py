"""The checks `replay` and `portable`: the same files have the same reward, here and on other machines."""

from __future__ import annotations

from collections.abc import Iterator

from verikit.env.audit.running.box import Files, RunSurroundings
from verikit.env.audit.running.findings import SOLUTION, RunFindings
from verikit.env.audit.running.rehearsal import GradedRun, Rehearsal
from verikit.env.audit.running.solved import TOLERANCE

ORACLE_RUNS, NOP_RUNS, SOLVE_RUNS = 16, 4, 2
"""Further runs. A flake of one in five is missed by 16 runs in 3 of 100 cases."""
LEAST_RUNS = 3
ELSEWHERE = (
    RunSurroundings("clock", days=366),
    RunSurroundings("user", env=(("USER", "agent"), ("LOGNAME", "agent"), ("HOME", "/home/agent"))),
    RunSurroundings("locale", env=(("LANG", "C"), ("LC_ALL", "C"), ("TZ", "XXX-13:45"))),
)
"""Each differs from the usual surroundings in one thing."""


def other_surroundings(number: int, *, clock: bool) -> RunSurroundings:
    """One of many: another hash seed, and another day and number of CPUs if that can be done."""
    days, cpus = (number * 5 % 28, 1 + number % 4) if clock else (0, 0)
    return RunSurroundings(f"run {number + 1}", hash_seed=number * 7919, days=days, cpus=cpus)


def same(one: GradedRun, other: GradedRun) -> bool:
    """Whether two runs have the same reward, or none both."""
    if one.value is None or other.value is None:
        return one.value is other.value
    return abs(one.value - other.value) <= TOLERANCE


def check_replay(rehearsal: Rehearsal, found: RunFindings) -> None:
    """Grade the same files many times."""
    clock = bool(rehearsal.box.clock())
    if not clock:
        found.notes.append("no C compiler: neither the day nor the number of CPUs was changed")
    for name, after, count in _repeated(rehearsal):
        first = rehearsal.grade(after, name=name)
        for number in range(1, count + 1):
            told = _repeat(rehearsal, name, after, first, number, clock=clock)
            found.enough = name == "oracle" and number >= LEAST_RUNS
            if told.needs:
                found.undecided.append(told.needs)
                break
            if not same(first, told):
                around = _differs(number, clock=clock)
                found.add("reward", f"{name}: the reward is {first.told()} and then {told.told()} ({around})")
                break
    rehearsal.repeats = not found.findings
    if rehearsal.repeats:
        _solve_again(rehearsal, found, clock=clock)


def _repeated(rehearsal: Rehearsal) -> Iterator[tuple[str, Files, int]]:
    yield "nop", rehearsal.before, NOP_RUNS
    if not rehearsal.blocked():
        yield "oracle", rehearsal.solve().files, ORACLE_RUNS


def _repeat(rehearsal: Rehearsal, name: str, after: Files, first: GradedRun, number: int, *, clock: bool) -> GradedRun:
    """One more run. A run whose time was up while the first's was not is made again once: the machine may be busy."""
    around = other_surroundings(number, clock=clock)
    told = rehearsal.grade(after, around, name=f"{name}, {around.name}", again=True)
    if told.run.why == "wall" and first.run.why != "wall":
        told = rehearsal.grade(after, around, name=f"{name}, {around.name}", again=True)
    return told


def _differs(number: int, *, clock: bool) -> str:
    around = other_surroundings(number, clock=clock)
    return f"hash seed {around.hash_seed}, {around.days} days later, {around.cpus or 'the same'} CPUs"


def _solve_again(rehearsal: Rehearsal, found: RunFindings, *, clock: bool) -> None:
    """Solve again in other surroundings: the reward has to be the same."""
    if rehearsal.blocked():
        return
    first = rehearsal.grade(rehearsal.solve().files, name="oracle")
    for number in range(1, SOLVE_RUNS + 1):
        solved = rehearsal.solve(other_surroundings(number, clock=clock))
        told = rehearsal.grade(solved.files, name=f"oracle, solved again ({number})")
        if solved.why == "exit" and not told.needs and not same(first, told):
            what = f"the solution's reward is {first.told()}, and {told.told()} when it is run again"
            found.add("solution", what, SOLUTION)
            return


def check_portable(rehearsal: Rehearsal, found: RunFindings) -> None:
    """Grade the same files on another day, as another user and in another locale. Runs never have a network."""
    for around in ELSEWHERE:
        if around.days and not rehearsal.box.clock():
            found.undecided.append("a C compiler, for another clock")
            continue
        for name, after, _ in _repeated(rehearsal):
            first = rehearsal.grade(after, name=name)
            told = rehearsal.grade(after, around, name=f"{name}, {around.name}")
            missing = first.needs or told.needs
            found.undecided.append(missing)
            if not missing and not same(first, told) and _stays(rehearsal, after, around, name, first, told):
                what = f"{name}: the reward is {first.told()}, and {told.told()} with another {_WORDS[around.name]}"
                found.add(around.name, what)


_WORDS = {"clock": "year", "user": "user and home", "locale": "locale and time zone"}


def _stays(
    rehearsal: Rehearsal, after: Files, around: RunSurroundings, name: str, first: GradedRun, told: GradedRun
) -> bool:
    """Whether a difference occurs again, which rules out a flake."""
    again = rehearsal.grade(after, name=name, again=True)
    there = rehearsal.grade(after, around, name=f"{name}, {around.name}", again=True)
    return same(first, again) and same(told, there)
