"""Does the program pass its tests? Each case runs in a sandboxed child of its own; the verdict is computed outside.

What the program does (crash, hang, cheat) is its own 0.0; a row without readable tests, or a sandbox that fails, is
unscored. Expected values never enter the child, so there is nothing to forge, save with `in_process=True`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Literal

from verikit.sandbox import ISOLATION, Array, Limits, LocalSandbox, Opaque, RunResult, Symbolic, default_sandbox, same
from verikit.types import Sample, Score
from verikit.verifier import Verifier
from verikit.verifiers import code_tests
from verikit.verifiers.code_tests import Called, Case, Driven, Equality, Piped
from verikit.verifiers.fences import last


@dataclass(frozen=True)
class Code(Verifier):
    """1.0 if the program in the completion passes its tests, which the row's meta holds.

    `meta.tests` is a list of asserts, of `{"call": "f(2)", "expected": "4"}`, `{"fn", "args", "expected"}` or
    `{"input", "output"}` (standard input and output); rows of HumanEval (`test`, `entry_point`), MBPP (`test_list`) and
    LiveCodeBench (`public_test_cases`) are read as they are.
    """

    reward: Literal["all", "fraction"] = "all"
    """All tests or nothing, or the share of tests passed."""
    wall_s: float = 5.0
    """For each case."""
    memory_mb: int = 512
    equality: Equality | None = None
    """How values are compared; None: as the test is written (`==` for asserts, exact for `call`, JSON for `fn`)."""
    tolerance: float = 0.0
    """Numbers may differ by this much, absolutely or relatively."""
    in_process: bool = False
    """Run the asserts inside the program's own process. The program can forge the verdict."""
    name = "code"

    def score(self, samples: Sequence[Sample]) -> list[Score]:
        """Score each sample by itself, as many at a time as the machine has processors.

        Raises:
            SandboxUnavailable: this machine can't isolate programs; names what is missing.
        """
        box = default_sandbox(ISOLATION)
        if len(samples) < 2:
            return [self._one(sample, box) for sample in samples]
        with ThreadPoolExecutor(box.workers, thread_name_prefix="verikit-code") as threads:
            return list(threads.map(lambda sample: self._one(sample, box), samples))

    def environment(self) -> dict[str, Any]:
        """The properties of the sandbox, as its probes found them."""
        return {"sandbox": default_sandbox(ISOLATION).report.as_dict()}

    def _one(self, sample: Sample, box: LocalSandbox) -> Score:
        try:
            cases = code_tests.read(sample.meta, lift=not self.in_process)
        except (ValueError, TypeError) as problem:
            return Score.error(f"the row's tests can't be read: {problem}")
        program = extract(sample.completion)
        if not program.strip():
            return Score(0.0, reason="no program in the completion")
        program = _complete(program, sample)
        passed, first = 0, ""
        for case in cases:
            verdict = self._case(case, program, box)
            if isinstance(verdict, Score):
                return verdict
            passed += not verdict
            first = first or (verdict and f"{case.text[:120]}: {verdict}")
            if first and self.reward == "all":
                break
        share = passed / len(cases)
        reason = first if first else f"passes {len(cases)} of {len(cases)} tests"
        if first and self.reward == "fraction":
            reason = f"passes {passed} of {len(cases)}; {first}"
        if self.in_process:
            reason = f"in process, forgeable: {reason}"
        return Score(share if self.reward == "fraction" else float(not first), answer=program, reason=reason)

    def _case(self, case: Case, program: str, box: LocalSandbox) -> str | Score:
        """Empty if the case passes, else what went wrong; a score if that is not the program's fault."""
        limits = Limits(wall_s=self.wall_s, memory_mb=self.memory_mb)
        if isinstance(case, Driven) and self.in_process:
            whole = f"{program}\n{case.code}\ndef verikit_end(): return True\n"
            result = box.run(whole, call=("verikit_end", [], {}), limits=limits)
        elif isinstance(case, Driven):
            result = self._drive(case, program, box, limits)
        elif isinstance(case, Piped):
            result = box.run(program, case.stdin, limits=limits)
        else:
            name, args, kwargs = case.call
            if "class Solution" in program and "." not in name and f"\ndef {name}" not in "\n" + program:
                name = f"Solution().{name}"
            result = box.run(program, call=(name, args, kwargs), limits=limits)
        if result.status == "infra_error":
            return Score.error(f"the sandbox failed: {result.error}")
        if result.status != "ok":
            return f"{result.status} ({result.error})" if result.error else result.status
        if isinstance(case, Piped):
            return "" if _same_output(result.stdout, case.stdout, self.tolerance) else "another output"
        if isinstance(case, Called):
            return "" if self._holds(case, result.value, box) else f"gives {_show(result.value)}"
        return ""

    def _holds(self, case: Called, value: Any, box: LocalSandbox) -> bool:
        if isinstance(value, Array) and value.shape is None:
            value = value.items[0]
        if isinstance(value, Symbolic) and isinstance(case.expected, int) and not isinstance(case.expected, bool):
            return box.equivalent(value, Symbolic(f"Integer({case.expected})"))
        if case.relation in ("true", "false"):
            return not isinstance(value, Opaque) and bool(value) is (case.relation == "true")
        if case.relation == "close":
            return close(value, case.expected, case.tolerance, relative=False)
        equality = self.equality or case.equality
        if self.tolerance and close(value, case.expected, self.tolerance):
            return True
        if equality == "exact":
            return same(value, case.expected)
        if equality == "json":
            return bool(_listed(value) == _listed(case.expected))
        return bool(value == case.expected)

    def _drive(self, case: Driven, program: str, box: LocalSandbox, limits: Limits) -> RunResult:
        """Run the test code in a session of its own; each call it makes runs the program in a fresh child."""

        def answer(function: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> RunResult:
            return box.run(program, call=(function, args, kwargs), limits=limits)

        with box.session(limits) as session:
            return session.run(case.code, ask=case.functions, answer=answer)


def extract(completion: str) -> str:
    """The program in a completion: the last fenced block marked as Python or unmarked, else the whole text."""
    block = last(completion, "python", "py", "python3", "")
    return completion if block is None else block


def _complete(program: str, sample: Sample) -> str:
    """Put the prompt's code before a completion that only goes on with it (HumanEval)."""
    entry, prompt = sample.meta.get("entry_point"), sample.prompt
    if entry and isinstance(prompt, str) and f"def {entry}" in prompt and f"def {entry}" not in program:
        return prompt + program
    return program


def _listed(value: Any) -> Any:
    """The same value as JSON would have it: tuples are lists."""
    if isinstance(value, list | tuple):
        return [_listed(item) for item in value]
    if isinstance(value, dict):
        return {key: _listed(item) for key, item in value.items()}
    return value


def close(a: Any, b: Any, tolerance: float, *, relative: bool = True) -> bool:
    """Whether two values are equal up to a tolerance on their numbers, absolute or (if allowed) relative."""
    if isinstance(a, list | tuple) and isinstance(b, list | tuple):
        return len(a) == len(b) and all(close(x, y, tolerance, relative=relative) for x, y in zip(a, b, strict=True))
    if isinstance(a, int | float) and isinstance(b, int | float):
        try:
            return abs(a - b) <= tolerance * (max(1.0, abs(a), abs(b)) if relative else 1.0) or a == b
        except OverflowError:
            return a == b
    return bool(a == b)


def _same_output(got: str, wanted: str, tolerance: float) -> bool:
    """Compare whole outputs, trailing space aside; with a tolerance, word by word."""
    a, b = ([line.rstrip() for line in text.rstrip().split("\n")] for text in (got, wanted))
    if a == b or not tolerance:
        return a == b
    return len(a) == len(b) and all(
        len(x.split()) == len(y.split())
        and all(_same_word(v, w, tolerance) for v, w in zip(x.split(), y.split(), strict=True))
        for x, y in zip(a, b, strict=True)
    )


def _same_word(a: str, b: str, tolerance: float) -> bool:
    if a == b:
        return True
    try:
        return close(float(a), float(b), tolerance)
    except ValueError:
        return False


def _show(value: Any) -> str:
    """A short form of a value for a reason."""
    try:
        return repr(value)[:100]
    except ValueError:  # an integer too long to be written in decimal
        return f"an integer of {value.bit_length()} bits" if isinstance(value, int) else "a very large value"
