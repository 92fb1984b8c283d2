"""Run a row's test files next to the program and score each test: the files in one sandbox, the program in another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from verikit.sandbox import FunctionCall, RunResult
from verikit.sandbox.budget import Budget
from verikit.sandbox.guest import source
from verikit.types import Score
from verikit.verifiers.code import suites
from verikit.verifiers.code.apart.far_program import ANY_PROGRAM, FarProgram
from verikit.verifiers.code.apart.reach import out_of_reach
from verikit.verifiers.code.attempt import OUT_OF_REACH, CodeAttempt, no_program, other_language
from verikit.verifiers.code.completions import prompts
from verikit.verifiers.code.suites import SuiteFile
from verikit.verifiers.reading.row_faults import RowFaults
from verikit.verifiers.reading.solution import solution

_faults = RowFaults()


def score(attempt: CodeAttempt, files: Sequence[SuiteFile]) -> Score:
    """The score of a program whose tests are files of named tests; the parts are the tests."""
    rules, sample = attempt.rules, attempt.sample
    if not rules.in_process:
        unreachable = (out_of_reach(suite.text, suite.modules) for suite in files)
        if name := next(filter(None, unreachable), ""):
            return Score.error(OUT_OF_REACH.format(name))
        files = [suites.with_imports(suite, prompts(sample.prompt, sample.meta)) for suite in files]
    program, foreign = solution(sample.completion, attempt.wanted_names(suites.wanted(files)))
    if foreign:
        return other_language(foreign)
    if not program.strip():
        return no_program()
    program = attempt.completed(program)
    budget, tests = attempt.budget(), dict[str, Mapping[str, Score]]()
    for suite in files:
        result, met = _run(attempt, suite, program, budget)
        found = suites.judged(suite, result, met=met)
        if not isinstance(found, Mapping):
            return _failed(attempt, suite, program, result, found)
        tests[suite.group] = found
    whole = suites.total(tests, program, fraction=rules.fraction)
    return replace(whole, reason=f"in process, forgeable: {whole.reason}") if rules.in_process else whole


def _failed(attempt: CodeAttempt, suite: SuiteFile, program: str, result: RunResult, found: str | Score) -> Score:
    """The score if a test file did not run to its end with this program: 0.0, unless it never does."""
    reason = found.reason if isinstance(found, Score) else found
    fault = reason if result.status == "infra_error" else _fault(attempt, suite)
    if fault:
        return Score.error(fault)
    return Score(0.0, answer=program, reason=f"in process: {reason}" if attempt.rules.in_process else reason)


def _fault(attempt: CodeAttempt, suite: SuiteFile) -> str:
    """Why no test of a file can run with any program; "" if that depends on the program."""
    limits = attempt.rules.limits

    def find() -> str:
        result, met = _run(attempt, suite, ANY_PROGRAM, Budget(limits, limits.wall_s))
        found = suites.judged(suite, result, met=met)
        if isinstance(found, Mapping) or (met and result.status != "ok"):
            return ""
        return found.reason if isinstance(found, Score) else f"the row's tests can't run: {found}"

    return _faults.of((suite, limits, attempt.rules.in_process), find)


def _run(attempt: CodeAttempt, suite: SuiteFile, program: str, budget: Budget) -> tuple[RunResult, bool]:
    """Run a test file; also return whether it reached the program."""
    box, code = attempt.box, source("suite")
    functions, modules = list(suite.functions), list(suite.modules)
    if attempt.rules.in_process:
        call: FunctionCall = ("run", [suite.form, suite.text, functions, modules, program], {})
        return budget.run(lambda limits: box.run(code, call=call, limits=limits)), True
    far = FarProgram(program, box, budget, suite.text)

    def run(text: str) -> RunResult:
        return far.run(code, call=("run", [suite.form, text, functions, modules, ""], {}))

    result = run(suite.text)
    if result.status != "ok" or suite.form == "doctest":
        return result, far.met
    found = far.outlasts(suite.text, run)
    return (found if isinstance(found, RunResult) else suites.without(result, found)), far.met
