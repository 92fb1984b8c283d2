"""Special judges: a row's own Python that says whether an output is right, run in a sandbox apart from the program."""

from __future__ import annotations

from verikit.sandbox import LocalSandbox, RunLimits, RunResult
from verikit.types import Score
from verikit.verifiers.code_tests import Piped


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
    own = _asked(case, case.stdout, box, limits)
    if own.status == "ok" and _is_yes(own):
        return f"the checker fails on the output ({result.error})"
    return Score.error(f"the row's checker does not work: {result.status}, {result.error}")


def _asked(case: Piped, output: str, box: LocalSandbox, limits: RunLimits) -> RunResult:
    return box.run(case.checker, call=("check", [case.stdin, case.stdout, output], {}), limits=limits)


def _is_yes(result: RunResult) -> bool:
    return isinstance(result.value, bool | int | float) and result.value == 1
