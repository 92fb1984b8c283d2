"""Programs of other languages than Python against their tests: compiled once, each case in a fresh process."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from verikit.errors import SandboxUnavailable
from verikit.sandbox import LocalSandbox, RunLimits, RunResult
from verikit.sandbox.programs import BUILD, Program
from verikit.types import Score
from verikit.verifiers.code_tests import Piped

_CHUNKS = (2, 8, 32)
"""How many cases go together: few at first, since a wrong program mostly fails one of them."""
_LEAST_S = 0.01


@dataclass(frozen=True, slots=True)
class ForeignRow:
    """A program of another language, and how its cases are run and judged."""

    language: str
    program: str
    cases: Sequence[Piped]
    limits: RunLimits
    row_s: float
    compile_s: float
    fraction: bool
    judge: Callable[[Piped, RunResult], str | Score]
    """Empty if a run that ended well gave what the case expects, else what it gave; a score if that can't be said."""


def score_row(row: ForeignRow, box: LocalSandbox) -> Score:
    """The score of one program; without a value where this machine can't run its language."""
    try:
        if problem := box.programs.problem(row.language):
            return Score.error(problem)
        built = box.programs.build(row.language, row.program, of_compiler(row.compile_s))
        if isinstance(built, RunResult):
            return not_built(built, row.program)
        return _run(row, built, box)
    except SandboxUnavailable as problem:
        return Score.error(f"{problem}; {problem.hint}")


def of_compiler(seconds: float) -> RunLimits:
    """So many seconds of a processor; a compiler waits for nothing but a busy machine, so its wall clock is far off."""
    return replace(BUILD, wall_s=10 * seconds, cpu_s=seconds)


def not_built(result: RunResult, program: str) -> Score:
    """The score of a program that its compiler refused; without a value where that is not the program's fault."""
    if result.status == "infra_error":
        return Score.error(f"not the program's fault: {result.error}")
    if result.status == "timeout" and "wall" in str(result.error):
        return Score.timeout(f"the machine is too busy to compile: {result.error}")
    lines = [line for line in (result.stderr or result.stdout).split("\n") if line.strip()]
    first = " | ".join(lines[:4])[:600] if result.status == "error" else str(result.error)
    return Score(0.0, answer=program, reason=f"does not compile: {result.status}: {first}")


def _run(row: ForeignRow, built: Program, box: LocalSandbox) -> Score:
    passed, done, first, left, turn = 0, 0, "", row.row_s, 0
    total = len(row.cases)
    while done < total:
        if left < _LEAST_S:
            first = first or f"timeout (all runs of a row together took {row.row_s:g} s)"
            break
        chunk = row.cases[done : done + _CHUNKS[min(turn, len(_CHUNKS) - 1)]]
        results = box.programs.run(built, [case.stdin for case in chunk], row.limits, budget_s=left)
        for case, result in zip(chunk, results, strict=False):
            verdict = _verdict(row, case, result)
            if isinstance(verdict, Score):
                return verdict
            passed += not verdict
            done += 1
            left -= result.seconds
            first = first or (verdict and f"{case.text[:120]}: {verdict}")
        turn += 1
        if first and not row.fraction:
            break
    share = passed / total
    reason = first if first else f"passes {total} of {total} tests"
    if first and row.fraction:
        reason = f"passes {passed} of {total}; {first}"
    return Score(share if row.fraction else float(not first), answer=row.program, reason=f"{row.language}: {reason}")


def _verdict(row: ForeignRow, case: Piped, result: RunResult) -> str | Score:
    if result.status == "infra_error":
        return Score.error(f"not the program's fault: {result.error}")
    if result.status != "ok":
        return f"{result.status} ({result.error})" if result.error else result.status
    return row.judge(case, result)
