"""Special judges: a row's own Python or C++ that judges an output, in a sandbox apart from the program."""

from __future__ import annotations

from verikit.sandbox import LocalSandbox, RunLimits, RunResult
from verikit.types import Score
from verikit.verifiers.code import testlib
from verikit.verifiers.code.cases import Piped
from verikit.verifiers.reading.row_faults import RowFaults

_faults = RowFaults()


def checked(case: Piped, output: str, box: LocalSandbox, limits: RunLimits) -> str | Score:
    """Empty if the case's checker accepts the output, otherwise its message; a score if the checker itself failed.

    A Python checker defines `check(input, expected, output)` and returns True (or 1) for a right output. A C++ checker
    ends with testlib's exit codes. A checker that fails is the row's error, unless it accepts the expected output: then
    the candidate's output made it fail.
    """
    if testlib.is_cpp(case.checker):
        return _checked_by_cpp(case, output, box, limits)
    result = _asked(case, output, box, limits)
    if result.status == "infra_error":
        return Score.error(f"sandbox error: {result.error}")
    if result.status == "ok":
        return "" if _is_yes(result) else "the checker rejects the output"
    row = (case.checker, case.stdin, case.stdout, limits)
    if fault := _faults.of(row, lambda: _fault(case, box, limits)):
        return Score.error(f"the row's checker failed: {fault}")
    return f"the checker fails on the output ({result.error})"


def _by_points(case: Piped, given: float | None, box: LocalSandbox, limits: RunLimits) -> str | Score:
    """The checker's points, relative to its points for the expected output."""
    full = testlib.points(testlib.run(case, case.stdout, box, limits)) if case.stdout else None
    if full is None or given is None:
        return Score.error("the checker gives points, and none for the expected output to measure them by")
    return "" if given >= full else f"the checker gives {given:g} of {full:g} points"


def _checked_by_cpp(case: Piped, output: str, box: LocalSandbox, limits: RunLimits) -> str | Score:
    try:
        result = testlib.run(case, output, box, limits)
    except ValueError as problem:
        return Score.error(str(problem))
    told = f" ({testlib.said(result)})" if testlib.said(result) else ""
    if result.status == "infra_error":
        return Score.error(f"sandbox error: {result.error}")
    if _ended(result, testlib.FAIL):
        return Score.error(f"the row's checker reports an error in itself or in the expected output{told}")
    if _ended(result, testlib.OK):
        return ""
    if _ended(result, testlib.POINTS):
        return _by_points(case, testlib.points(result), box, limits)
    if _gave_verdict(result):
        return f"the checker rejects the output{told}"
    row = (case.checker, case.checker_files, case.stdin, case.stdout, limits)
    if fault := _faults.of(row, lambda: _cpp_fault(case, box, limits)):
        return Score.error(f"the row's checker failed: {fault}")
    return f"the checker fails on the output ({result.error})"


def _ended(result: RunResult, code: int) -> bool:
    """Whether a checker ended on its own, with an exit code."""
    return result.status in ("ok", "error") and result.exit_code == code


def _gave_verdict(result: RunResult) -> bool:
    """Whether a checker rejected an output, rather than crashed."""
    return result.status == "error" and result.exit_code in (1, 2, 4, 8, *range(testlib.PARTLY, testlib.PARTLY + 201))


def _cpp_fault(case: Piped, box: LocalSandbox, limits: RunLimits) -> str:
    """Why a C++ checker rejects the expected output, "" if it accepts it; without one, any verdict is accepted."""
    own = testlib.run(case, case.stdout or "0\n", box, limits)
    if _ended(own, testlib.OK) or _ended(own, testlib.POINTS) or (not case.stdout and _gave_verdict(own)):
        return ""
    return f"{own.status}, {own.error} {testlib.said(own)}"


def _fault(case: Piped, box: LocalSandbox, limits: RunLimits) -> str:
    """Why a checker rejects the expected output, "" if it accepts it; without one, any verdict is enough."""
    own = _asked(case, case.stdout or "0\n", box, limits)
    if own.status != "ok":
        return f"{own.status}, {own.error}"
    return "" if _is_yes(own) or not case.stdout else "it rejects the expected output"


def _asked(case: Piped, output: str, box: LocalSandbox, limits: RunLimits) -> RunResult:
    return box.run(case.checker, call=("check", [case.stdin, case.stdout, output], {}), limits=limits)


def _is_yes(result: RunResult) -> bool:
    return isinstance(result.value, bool | int | float) and result.value == 1
