"""A program as test code in another sandbox reaches it: each call runs it in a fresh child, and is remembered.

What tests that passed were told is told to the same tests with other expected values (`changed_tests`), which have to
fail. No program runs for that: an answer given before is given again.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from typing import Any

from verikit.sandbox import Failure, FunctionCall, LocalSandbox, RunLimits, RunResult, values
from verikit.verifiers.budget import Budget
from verikit.verifiers.changed_tests import ALARM, VARIANTS, changed, still_passing

_MOST_KEPT = 16 << 20
"""Of all answers, in bytes; what does not fit is asked again."""


class FarProgram:
    """A program that test code calls from afar.

    Args:
        program: its text.
        box: where it and the tests run.
        budget: of the row.
        tests: the test code, by which is seen what has to be loaded.
        located: whether calls of a function are to find it in LeetCode's class `Solution`.
    """

    def __init__(self, program: str, box: LocalSandbox, budget: Budget, tests: str, *, located: bool) -> None:
        self._program, self._box, self._budget, self._located = program, box, budget, located
        self._science = any(name in text for name in ("numpy", "sympy") for text in (tests, program))
        if self._science:
            self._program += "\n# numpy"  # by this name it is loaded: the program may be given values of it
        self._kept: dict[str, list[RunResult]] = {}
        self._room = _MOST_KEPT
        self._compared_by_numpy = "numpy" in tests
        self.met = False
        """Whether the tests made any call."""

    @property
    def plain(self) -> bool:
        """Whether all that the tests were told is equal to one value only, however they compare it."""
        answers = (answer for answers in self._kept.values() for answer in answers)
        return not self._compared_by_numpy and self._room > 0 and all(is_plain(answer.value) for answer in answers)

    def run(self, code: str, ask: Sequence[str], call: FunctionCall | None = None, *, again: bool = False) -> RunResult:
        """Run test code in a session of its own.

        Args:
            code: the session's step.
            ask: names of functions that it finds there.
            call: a function of it to call then.
            again: whether answers given before are given again.
        """
        idle_s = 0.0
        left = {key: list(answers) for key, answers in self._kept.items()} if again else {}

        def answer(function: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> RunResult:
            nonlocal idle_s
            self.met, begun = True, time.monotonic()
            key = _key(function, args, kwargs)
            if kept := left.get(key):
                return kept.pop(0) if len(kept) > 1 else kept[0]
            result = self._call(function, args, kwargs)
            if not again:
                self._keep(key, result)
            idle_s += time.monotonic() - begun
            return result

        def drive(limits: RunLimits) -> RunResult:
            with self._box.session(limits, science=self._science, testing=call is not None) as session:
                result = session.run(code, call=call, ask=ask, answer=answer)
            return replace(result, seconds=result.seconds - idle_s)

        result = self._budget.run(drive)
        told = result.status == "infra_error" or (call is not None and result.status == "ok")
        return self._budget.late() if self._budget.is_spent and not told else result

    def outlasts(self, text: str, rerun: Callable[[str], RunResult]) -> RunResult | dict[str, str]:
        """Which tests pass with other expected values too, by name, with why that is known.

        Args:
            text: of tests that passed.
            rerun: runs other ones, which are told what these were told.

        Returns:
            A result instead if a run came to no end: by whose fault, its status says.
        """
        found: dict[str, str] | None = None
        for variant in range(VARIANTS if not self.plain else 0):
            other = changed(text, guarded=True, variant=variant)
            result = rerun(other) if other else RunResult("ok", [])
            if result.status in ("infra_error", "timeout"):
                return result
            found = still_passing(found, _alarms(result))
            if not found:
                break
        return found or {}

    def _call(self, function: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> RunResult:
        asked: FunctionCall = (function, list(args), dict(kwargs))
        try:
            asked = located(asked, self._program) if self._located else asked
            return self._budget.run(lambda limits: self._box.run(self._program, call=asked, limits=limits))
        except ValueError as problem:  # arguments made of what the program gave
            return RunResult("error", error=Failure("ValueError", str(problem)))

    def _keep(self, key: str, result: RunResult) -> None:
        try:
            size = len(values.dumps(result.value)) + len(key) + 200
        except ValueError:
            size = _MOST_KEPT
        self._room -= size
        if self._room > 0 and key:
            self._kept.setdefault(key, []).append(replace(result, stdout="", stderr=""))


def _alarms(result: RunResult) -> dict[str, str]:
    """The alarms of changed tests: of a whole program under no name, of a test file by the names of its tests."""
    if result.error is not None:
        return {"": result.error.message} if result.error.type == ALARM else {}
    told = {name: message.partition(f"{ALARM}: ") for name, _, message in result.value or ()}
    return {name: why for name, (_, found, why) in told.items() if found}


def _key(function: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> str:
    try:
        return values.dumps([function, list(args), dict(kwargs)])
    except ValueError:
        return ""


def is_plain(value: Any) -> bool:
    """Whether a value holds nothing that other code could find equal to several: no array, nothing empty, no NaN."""
    if isinstance(value, float):
        return math.isfinite(value)
    if isinstance(value, Decimal):
        return value.is_finite()
    if isinstance(value, str | bytes):
        return bool(value)
    if isinstance(value, list | tuple | set | frozenset):
        return bool(value) and all(map(is_plain, value))
    if isinstance(value, dict):
        return bool(value) and all(map(is_plain, value.values()))
    return value is None or isinstance(value, bool | int | Fraction)


def located(call: FunctionCall, program: str) -> FunctionCall:
    """The call as the program needs it: LeetCode's form puts the function into `class Solution`."""
    name, args, kwargs = call
    inside = "class Solution" in program and "." not in name and f"\ndef {name}" not in "\n" + program
    return (f"Solution().{name}" if inside else name), args, kwargs
