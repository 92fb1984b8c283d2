"""Run a Python program against the cases of its row, one by one, and judge each result."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

from verikit.platform.raised import describe
from verikit.sandbox import Failure, FunctionCall, RunResult
from verikit.sandbox.foreign import OpaqueValue
from verikit.sandbox.guest.closed import may_be_closed
from verikit.types import Score
from verikit.verifiers.code import livecodebench, rows
from verikit.verifiers.code.apart.far_program import FarProgram
from verikit.verifiers.code.apart.reach import out_of_reach
from verikit.verifiers.code.attempt import OUT_OF_REACH, CodeAttempt, Rules, no_program, other_language
from verikit.verifiers.code.cases import Called, Case, Driven, Piped, SharedCalls
from verikit.verifiers.code.checkers import checked
from verikit.verifiers.code.compare import holds, same_output, show
from verikit.verifiers.code.humaneval import with_helpers
from verikit.verifiers.reading.solution import solution

_COMPANY = 2
"""The minimum number of calls for which a child in common pays."""
_SHARE_OF_WALL = 4


def read(attempt: CodeAttempt) -> Sequence[Case]:
    """The cases of a row.

    Raises:
        ValueError: The row doesn't have any, or they can't be read.
    """
    sample, rules = attempt.sample, attempt.rules
    if rules.livecodebench:
        return livecodebench.cases(sample.meta)
    cases = rows.read(sample.meta, sample.answer, lift=not rules.in_process)
    if rules.in_process or not isinstance(sample.prompt, str):
        return cases
    return [with_helpers(case, sample.prompt) for case in cases]


def score(attempt: CodeAttempt, cases: Sequence[Case]) -> Score:
    """The score of the Python program in a reply."""
    rules = attempt.rules
    ways = _ways_to_join(attempt, cases)
    if isinstance(ways, Score):
        return ways
    runs = _CaseRuns(attempt, ways)
    calls = [case for case in cases if isinstance(case, Called)]
    if len(calls) < len(cases):
        runs.settle()
    if not (rules.shared_calls or rules.in_process or rules.livecodebench):
        runs.call_together(calls)
    passed, first = 0, ""
    for case in _grouped(cases) if rules.shared_calls else cases:
        problem = runs.problem(case)
        if isinstance(problem, Score):
            return problem
        if not problem:
            passed += 1
            continue
        first = first or (f"{case.text[:120]}: {problem}" if case.text else problem)
        if not rules.fraction:
            break
    return _verdict(rules, runs.program, passed, len(cases), first)


def _verdict(rules: Rules, program: str, passed: int, total: int, first: str) -> Score:
    """The score of a program that passed some tests; `first` is the first problem."""
    reason = first or f"passes {total} of {total} tests"
    if first and rules.fraction:
        reason = f"passes {passed} of {total}; {first}"
    if rules.in_process:
        reason = f"in process, forgeable: {reason}"
    return Score(passed / total if rules.fraction else float(not first), answer=program, reason=reason)


def _ways_to_join(attempt: CodeAttempt, cases: Sequence[Case]) -> list[str] | Score:
    """What the program in a reply may be, joined to its prompt; a score if there is none."""
    if attempt.rules.livecodebench:
        program = livecodebench.solution(attempt.sample.completion)
        return [program] if program.strip() else no_program()
    program, foreign = solution(attempt.sample.completion, _called_names(attempt, cases))
    if foreign:
        return other_language(foreign)
    if not program.strip():
        return no_program()
    ways = attempt.ways_to_join(program)
    return ways if program[0].isspace() else [attempt.first_compiled(ways)]  # a body with its indent likely fits


def output_problem(attempt: CodeAttempt, case: Piped, result: RunResult) -> str | Score:
    """Empty if an output is right: equal to the expected one, or accepted by the row's checker."""
    rules = attempt.rules
    if case.checker and not rules.livecodebench:
        return checked(case, result.stdout, attempt.box, rules.limits)

    def is_right(wanted: str) -> bool:
        if rules.livecodebench:
            return livecodebench.same_output(result.stdout, wanted)
        return same_output(result.stdout, wanted, rules.tolerance)

    return "" if any(map(is_right, (case.stdout, *case.others))) else "another output"


class _CaseRuns:
    """Runs and judges the cases of a program, within the seconds of its row.

    Args:
        attempt: the sample, its rules and its sandbox.
        ways: what the program may be: the first one that is Python.
    """

    def __init__(self, attempt: CodeAttempt, ways: list[str]) -> None:
        self._attempt, self._ways, self.program = attempt, ways, ways[0]
        self._rules, self._box, self._budget = attempt.rules, attempt.box, attempt.budget()
        self._passed = set[int]()
        """Cases (by their `id`) that passed in a child with others."""

    def settle(self) -> bool:
        """Find out which program it is. Returns whether it is another than the first.

        That takes a child, so it is done only after a run of the first failed: what runs is Python.
        """
        first = self.program
        self.program = self._attempt.first_compiled(self._ways)
        self._ways = [self.program]
        return self.program != first

    def call_together(self, cases: Sequence[Called]) -> None:
        """Make all calls in one child, if the program's text shows that they can't affect each other.

        Only a right value is a result. All other cases run again, each in its own child. So a slow program does not
        wait twice, this child has a part of a run's time.
        """
        if len(cases) < _COMPANY or not may_be_closed(self.program):
            return
        calls = [_located(case.call, self.program) for case in cases]

        limits = self._rules.limits
        part = replace(limits, wall_s=min(limits.wall_s / _SHARE_OF_WALL, self._budget.left))
        try:
            result = self._box.run_calls(self.program, calls, part, only_closed=True)
        except ValueError:  # an argument has no typed form, which counts only if its case is reached
            return
        if result.status != "ok":  # its time is not the row's: all cases run again
            if self.settle():
                self.call_together(cases)
            return
        self._ways = [self.program]
        self._budget.spend(result.seconds)
        for case, value in zip(cases, result.value, strict=True):
            with suppress(Exception):  # a value that can't be compared is judged alone
                if self._holds(case, value):
                    self._passed.add(id(case))

    def problem(self, case: Case) -> str | Score:
        """Empty if the case passes, otherwise the problem; a score if the program is not the cause."""
        if id(case) in self._passed:
            return ""
        result = self._run(case)
        if result.status == "infra_error":
            return Score.error(f"sandbox error: {result.error}")
        if result.status != "ok":
            return f"{result.status} ({result.error})" if result.error else result.status
        if isinstance(case, Piped):
            return output_problem(self._attempt, case, result)
        if isinstance(result.value, OpaqueValue) and (again := rows.driven(case)):
            return self.problem(again)
        try:
            return self._value_problem(case, result)
        except Exception as problem:  # noqa: BLE001 - what the program gave is at fault, whatever it runs into
            return f"gives a value that can't be compared ({describe(problem)})"

    def _value_problem(self, case: Called | Driven | SharedCalls, result: RunResult) -> str:
        """Empty if a run gave the expected value, otherwise the value it gave."""
        if isinstance(case, Driven):
            return ""  # its asserts passed, or the run would have failed
        if isinstance(case, Called):
            return "" if self._holds(case, result.value) else f"gives {show(result.value)}"
        for called, value in zip(case.cases, result.value, strict=True):
            if not self._holds(called, value):
                return f"{called.text[:120]}: gives {show(value)}"
        return ""

    def _holds(self, case: Called, value: object) -> bool:
        if self._rules.livecodebench:
            return livecodebench.same_value(value, case.expected)
        return holds(case, value, self._rules.equality, self._rules.tolerance)

    def _run(self, case: Case) -> RunResult:
        result = self._run_once(case)
        if result.status != "ok" and self.settle():
            return self._run_once(case)
        self._ways = [self.program]
        return result

    def _run_once(self, case: Case) -> RunResult:
        box, program, budget = self._box, self.program, self._budget
        if isinstance(case, Driven):
            return self._run_in_process(case) if self._rules.in_process else self._run_apart(case)
        if isinstance(case, SharedCalls):
            calls = [_located(called.call, program) for called in case.cases]
            return budget.run(lambda limits: box.run_calls(program, calls, limits))
        if self._rules.livecodebench:
            return self._run_as_livecodebench(case)
        if isinstance(case, Piped):
            return budget.run(lambda limits: box.run(program, case.stdin, limits=limits))
        return budget.run(lambda limits: box.run(program, call=_located(case.call, program), limits=limits))

    def _run_in_process(self, case: Driven) -> RunResult:
        whole = f"{self.program}\n{case.code}\ndef verikit_end(): return True\n"
        return self._budget.run(lambda limits: self._box.run(whole, call=("verikit_end", [], {}), limits=limits))

    def _run_as_livecodebench(self, case: Called | Piped) -> RunResult:
        box, budget = self._box, self._budget
        if isinstance(case, Piped):
            held = livecodebench.runner(self.program)
            return budget.run(lambda limits: box.run(held, case.stdin, limits=livecodebench.room(limits, case)))
        name, args, kwargs = case.call
        held, call = livecodebench.runner(self.program, name), (livecodebench.METHOD, args, kwargs)
        return budget.run(lambda limits: box.run(held, call=call, limits=livecodebench.room(limits, case)))

    def _run_apart(self, case: Driven) -> RunResult:
        """Run the test code apart from the program; code that fails before it reaches the program is a row error."""
        if name := out_of_reach(case.code):
            return RunResult("infra_error", error=Failure("test code", OUT_OF_REACH.format(name)))
        far = FarProgram(self.program, self._box, self._budget, case.code)
        result = far.run(case.code, case.functions)
        if result.status == "error" and not far.met:
            return RunResult("infra_error", error=Failure("test code", str(result.error)))
        if result.status != "ok":
            return result
        found = far.outlasts(case.code, lambda text: far.run(text, case.functions))
        if isinstance(found, RunResult):
            return found
        return RunResult("error", error=Failure("not a value", found[""])) if found else result


def _grouped(cases: Sequence[Case]) -> list[Case]:
    """The cases with all calls together, for one child."""
    called = tuple(case for case in cases if isinstance(case, Called))
    others: list[Case] = [case for case in cases if not isinstance(case, Called)]
    return [SharedCalls(called), *others] if called else others


def _located(call: FunctionCall, program: str) -> FunctionCall:
    """The call in the form of the program: LeetCode's format has the function in `class Solution`."""
    name, args, kwargs = call
    inside = "class Solution" in program and "." not in name and f"\ndef {name}" not in "\n" + program
    return (f"Solution().{name}" if inside else name), args, kwargs


def _called_names(attempt: CodeAttempt, cases: Sequence[Case]) -> set[str]:
    """The names that the tests expect the program to define; in LeetCode's format the function is in a class."""
    names = attempt.wanted_names(set())
    for case in cases:
        if isinstance(case, Called):
            names.add(case.call[0].partition(".")[0])
        elif isinstance(case, Driven):
            names |= set(case.functions)
    return names | {"Solution"} if names else names
