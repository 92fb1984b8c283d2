"""Special judges: a row's own Python that says whether an output is right, run in a sandbox apart from the program."""

from __future__ import annotations

from verikit.sandbox import LocalSandbox, RunLimits, RunResult
from verikit.types import Score
from verikit.verifiers.code_tests import Piped
from verikit.verifiers.row_faults import RowFaults

_faults = RowFaults()


def checked(case: Piped, output: str, box: LocalSandbox, limits: RunLimits) -> str | Score:
    """Empty if the case's checker takes the output, else what it says; a score if the checker itself is at fault.

    The checker defines `check(input, expected, output)` and returns True (or 1) for a right output. One that fails is
    the row's fault, unless it takes what is expected: then the output made it fail.
    """
    result = _asked(case, output, box, limits)
    if result.status == "infra_error":
        return Score.error(f"not the program's fault: {result.error}")
    if result.status == "ok":
        return "" if _is_yes(result) else "the checker refuses the output"
    row = (case.checker, case.stdin, case.stdout, limits)
    if fault := _faults.of(row, lambda: _fault(case, box, limits)):
        return Score.error(f"the row's checker does not work: {fault}")
    return f"the checker fails on the output ({result.error})"


def _fault(case: Piped, box: LocalSandbox, limits: RunLimits) -> str:
    """Why a checker does not take the expected output; "" if it does. If none is expected, judging one is enough."""
    own = _asked(case, case.stdout or "0\n", box, limits)
    if own.status != "ok":
        return f"{own.status}, {own.error}"
    return "" if _is_yes(own) or not case.stdout else "it refuses the output that is expected"


def _asked(case: Piped, output: str, box: LocalSandbox, limits: RunLimits) -> RunResult:
    return box.run(case.checker, call=("check", [case.stdin, case.stdout, output], {}), limits=limits)


def _is_yes(result: RunResult) -> bool:
    return isinstance(result.value, bool | int | float) and result.value == 1
