"""Programs in languages other than Python against their tests: compiled once, each case in a fresh process."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from verikit.errors import SandboxUnavailable
from verikit.sandbox import LocalSandbox, RunLimits, RunResult
from verikit.sandbox.budget import Budget
from verikit.sandbox.programs import BuiltProgram, was_too_busy
from verikit.types import Score
from verikit.verifiers.code import languages
from verikit.verifiers.code.attempt import CodeAttempt, Rules, no_program
from verikit.verifiers.code.cases import Piped
from verikit.verifiers.code.python_cases import output_problem

_CHUNKS = (2, 8, 32)
"""Cases per run: few at first, since a wrong program usually fails one of them."""


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
    """Empty if a completed run gave the expected output, otherwise its output; a score if that can't be decided."""


def score(attempt: CodeAttempt, language: str, cases: Sequence[Piped], total: int) -> Score:
    """The score of a program in another language, whose tests are standard input and output.

    Args:
        attempt: the sample's attempt.
        language: the program's language, as in `LANGUAGES`.
        cases: the row's cases with standard input and output.
        total: how many cases the row has.
    """
    if len(cases) < total:
        return Score.error(f"tests that call functions of a program in {language} can't be run in this form")
    program = languages.program(attempt.sample.completion, language)
    if not program.strip():
        return no_program(language)

    def judge(case: Piped, result: RunResult) -> str | Score:
        return output_problem(attempt, case, result)

    return score_row(row_of(attempt.rules, language, program, cases, judge), attempt.box)


def row_of(
    rules: Rules, language: str, program: str, cases: Sequence[Piped], judge: Callable[[Piped, RunResult], str | Score]
) -> ForeignRow:
    """A program and its cases under the rules of an attempt."""
    return ForeignRow(language, program, cases, rules.limits, rules.row_s, rules.compile_s, rules.fraction, judge)


Confirm = Callable[[Score, BuiltProgram, Budget], Score]
"""The score of a program that passed, given its score so far, the program, and the row's remaining budget."""


def score_row(row: ForeignRow, box: LocalSandbox, confirm: Confirm | None = None) -> Score:
    """The score of one program; unscored if this machine can't run its language.

    Args:
        row: the program and its cases.
        box: runs it.
        confirm: called for a program that passed everything.
    """
    try:
        if problem := box.programs.problem(row.language):
            return Score.error(problem)
        budget = Budget(row.limits, row.row_s)
        built = build(row, row.program, box, budget)
        if isinstance(built, Score):
            return built
        found = _run(row, built, box, budget)
        return confirm(found, built, budget) if confirm and found.value == 1.0 else found
    except SandboxUnavailable as problem:
        return Score.error(f"{problem}. {problem.hint}")


def build(row: ForeignRow, text: str, box: LocalSandbox, budget: Budget) -> BuiltProgram | Score:
    """The program of a source text, or the score of one that its compiler rejected."""
    built = budget.build(lambda limits: box.programs.build(row.language, text, limits), row.compile_s)
    return _not_built(built, text) if isinstance(built, RunResult) else built


def _not_built(result: RunResult, program: str) -> Score:
    """The score of a program that its compiler rejected; unscored if the program is not the cause."""
    if result.status == "infra_error":
        return Score.error(f"sandbox error: {result.error}")
    if was_too_busy(result):
        return Score.timeout(f"the machine is too busy to compile: {result.error}")
    lines = [line for line in (result.stderr or result.stdout).split("\n") if line.strip()]
    first = " | ".join(lines[:4])[:600] if result.status == "error" else str(result.error)
    return Score(0.0, answer=program, reason=f"does not compile: {result.status}: {first}")


def _run(row: ForeignRow, built: BuiltProgram, box: LocalSandbox, budget: Budget) -> Score:
    passed, done, first, turn = 0, 0, "", 0
    total = len(row.cases)
    while done < total:
        if budget.is_spent:
            first = first or f"timeout (all runs of a row together took {row.row_s:g} s)"
            break
        chunk = row.cases[done : done + _CHUNKS[min(turn, len(_CHUNKS) - 1)]]
        results = box.programs.run(built, [case.stdin for case in chunk], row.limits, budget_s=budget.left)
        for case, result in zip(chunk, results, strict=False):
            verdict = _verdict(row, case, result)
            if isinstance(verdict, Score):
                return verdict
            passed += not verdict
            done += 1
            budget.spend(result.seconds)
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
        return Score.error(f"sandbox error: {result.error}")
    if result.status != "ok":
        return f"{result.status} ({result.error})" if result.error else result.status
    return row.judge(case, result)
