"""Does the program pass its tests? Each case runs in a sandboxed child of its own; the verdict is computed outside.

What the program does (crash, hang, cheat) is its own 0.0; a row without readable tests, or a sandbox that fails, is
unscored. Expected values never enter the child, so there is nothing to forge, save with `in_process=True` and in test
programs of other languages (`code_appended`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

from verikit.base import TextVerifier, describe
from verikit.errors import UsageError
from verikit.sandbox import Failure, FunctionCall, LocalSandbox, RunLimits, RunResult
from verikit.sandbox.backends import backend_name, chosen_sandbox
from verikit.sandbox.budget import Budget, row_seconds
from verikit.sandbox.foreign import OpaqueValue
from verikit.sandbox.guest import source
from verikit.sandbox.toolchains import LANGUAGES
from verikit.types import Sample, Score
from verikit.verifiers.code import appended, languages, livecodebench, rows, suites
from verikit.verifiers.code.apart.far_program import ANY_PROGRAM, FarProgram
from verikit.verifiers.code.apart.reach import out_of_reach
from verikit.verifiers.code.apart.reference import reference_reply
from verikit.verifiers.code.checkers import checked
from verikit.verifiers.code.compare import holds, same_output, show
from verikit.verifiers.code.completions import completed, prompts
from verikit.verifiers.code.foreign import ForeignRow, score_row
from verikit.verifiers.code.humaneval import with_entry_point, with_helpers
from verikit.verifiers.code.joining import forms
from verikit.verifiers.code.rows import Called, Case, Driven, Equality, Piped, Together
from verikit.verifiers.code.suites import Suite
from verikit.verifiers.reading.row_faults import RowFaults
from verikit.verifiers.reading.solution import solution

Preset = Literal["livecodebench"]
_faults = RowFaults()
Language = Literal["auto", "python", "c", "cpp", "java", "javascript", "typescript", "go", "rust", "bash", "lean"]


@dataclass(frozen=True)
class Code(TextVerifier):
    """1.0 if the program in the completion passes its tests, which the row's meta holds.

    `meta.tests` is a list of asserts, of `{"call": "f(2)", "expected": "4"}`, `{"fn", "args", "expected"}` or
    `{"input", "output"}` (standard input and output); rows of HumanEval (`test`, `entry_point`), MBPP (`test_list`) and
    LiveCodeBench (`public_test_cases`) are read as they are, and so are tests that are the gold answer as JSON (verl).
    `tests` (or `test`) may be a pytest, unittest or doctest file, too, `public_tests` another one: parts are the tests.
    """

    reward: Literal["all", "fraction"] = "all"
    """All tests or nothing, or the share of tests passed."""
    wall_s: float = 5.0
    """For each case."""
    memory_mb: int = 512
    """Memory of a test's process, in MiB."""
    equality: Equality | None = None
    """How values are compared; None: as the test is written (`==` for asserts, exact for `call`, JSON for `fn`)."""
    tolerance: float = 0.0
    """Numbers may differ by this much, absolutely or relatively."""
    children: Literal["case", "row"] = "case"
    """A child for each call (no call can know of another), or one for all calls of a row: faster, and as strict about
    values, but the calls share the program's state, as they do in HumanEval's own script."""
    in_process: bool = False
    """Run the asserts inside the program's own process. The program can forge the verdict."""
    row_s: float | None = None
    """For all cases of a row together; None: six times `wall_s`. What is not done by then is 0.0."""
    preset: Preset | None = None
    """`livecodebench`: programs are taken from replies, run and judged by the rules of LiveCodeBench's own runner."""
    language: Language = "auto"
    """Of the program. `auto`: what the row says (`language`, `lang`), else, for tests of standard input and output, the
    label of the reply's fence, else Python. `verikit doctor` lists which can be run here. A row whose language can't be
    run here is unscored; a reply that chooses such a language itself is 0.0."""
    compile_s: float = 30.0
    """Of a processor, for the compiler, once for each program."""
    sandbox: str | None = None
    """`local`, `bwrap`, `process`, `http://HOST`, `docker:IMAGE` or `docker+http`; None: what VERIKIT_SANDBOX says,
    else `local`. `verikit doctor` tries each that is there."""
    name = "code"

    def __post_init__(self) -> None:
        super().__post_init__()
        row_seconds(self.wall_s, self.row_s)
        if self.sandbox is not None:
            backend_name(self.sandbox)
        if self.children == "row" and self.reward == "fraction":
            raise UsageError("one child for a row has no share of tests passed", hint="use children='case'")
        if self.preset not in (None, *get_args(Preset)):
            raise UsageError(f"preset is one of {', '.join(get_args(Preset))}, not {self.preset!r}")
        if self.language not in get_args(Language):
            raise UsageError(f"language is one of {', '.join(get_args(Language))}, not {self.language!r}")
        if self.preset and (self.children == "row" or self.in_process or self.equality or self.tolerance):
            raise UsageError("a preset has its own way to run and to compare", hint="leave out the other options")

    def score(self, samples: Sequence[Sample]) -> list[Score]:
        """Score each sample by itself, as many at a time as the machine has processors.

        Raises:
            SandboxUnavailable: this machine can't isolate programs; names what is missing.
        """
        box = chosen_sandbox(self.sandbox)
        if len(samples) < 2:
            return [self._score_row(sample, box) for sample in samples]
        with ThreadPoolExecutor(box.workers, thread_name_prefix="verikit-code") as threads:
            return list(threads.map(lambda sample: self._score_row(sample, box), samples))

    @property
    def slowest_s(self) -> float:
        """The budget of a row."""
        return row_seconds(self.wall_s, self.row_s)

    def environment(self) -> dict[str, Any]:
        """The properties of the sandbox, as its probes found them."""
        return {"sandbox": chosen_sandbox(self.sandbox).report.as_dict()}

    def _score_row(self, sample: Sample, box: LocalSandbox) -> Score:
        """The score of a sample; none if its row's own solution fails tests that use objects, too."""
        found = self._score_sample(sample, box)
        if found.value is None or found.value == 1.0 or self.in_process or self.preset:
            return found
        prompt = sample.prompt if isinstance(sample.prompt, str) else ""
        own = reference_reply(sample.meta, prompt)
        if not own or not self._uses_objects(sample):
            return found

        def find() -> str:
            score = self._score_sample(replace(sample, completion=own), box)
            return "" if score.value == 1.0 else f"the row's own solution fails its tests: {score.reason}"

        fault = _faults.of((self, sample.meta, prompt), find)
        return Score.error(fault) if fault else found

    def _uses_objects(self, sample: Sample) -> bool:
        """Whether tests run beside the program instead of being calls with an expected value."""
        try:
            return bool(suites.suites(sample.meta)) or any(isinstance(c, Driven) for c in self._cases(sample))
        except (ValueError, TypeError, RecursionError):
            return False

    def _score_sample(self, sample: Sample, box: LocalSandbox) -> Score:
        language = languages.row_language(sample.meta) if self.language == "auto" else self.language
        if self.language == "auto" and not language and (named := languages.unknown_language(sample.meta)):
            return Score.abstained(f"no runner for {named}, which the row names as its language")
        if language in LANGUAGES and (tests := forms.test_program(sample.meta)):
            return self._score_form(sample, language, tests, box)
        try:
            sample = replace(sample, meta=with_entry_point(sample.meta))
            if files := suites.suites(sample.meta) if language in ("", "python") and not self.preset else []:
                return self._score_suites(sample, files, box)
            cases = self._cases(sample)
        except (ValueError, TypeError, RecursionError) as problem:
            return Score.error(f"the row's tests can't be read: {problem}")
        piped = [case for case in cases if isinstance(case, Piped)]
        if self.language == "auto" and not language and not self.preset and len(piped) == len(cases):
            language = languages.fence_language(sample.completion)
            if language in LANGUAGES and (missing := box.programs.problem(language)):
                return Score(0.0, reason=f"the reply chose {language}, which the row does not name: {missing}")
        if language in LANGUAGES:
            return self._score_foreign(sample, language, piped, len(cases), box)
        if self.preset:
            program, language = livecodebench.solution(sample.completion), ""
        else:
            program, language = solution(sample.completion, _called(cases, sample))
        if language:
            return _other_language(language)
        if not program.strip():
            return Score(0.0, reason="no program in the completion")
        program = program if self.preset else self._completed(program, sample, box)
        if self.children == "row":
            called = tuple(case for case in cases if isinstance(case, Called))
            cases = [*([Together(called)] if called else []), *(case for case in cases if not isinstance(case, Called))]
        limits = RunLimits(wall_s=self.wall_s, memory_mb=self.memory_mb)
        budget = Budget(limits, row_seconds(self.wall_s, self.row_s))
        passed, first = 0, ""
        for case in cases:
            verdict = self._case(case, program, box, budget)
            if isinstance(verdict, Score):
                return verdict
            passed += not verdict
            first = first or (verdict and (f"{case.text[:120]}: {verdict}" if case.text else verdict))
            if first and self.reward == "all":
                break
        share = passed / len(cases)
        reason = first if first else f"passes {len(cases)} of {len(cases)} tests"
        if first and self.reward == "fraction":
            reason = f"passes {passed} of {len(cases)}; {first}"
        if self.in_process:
            reason = f"in process, forgeable: {reason}"
        return Score(share if self.reward == "fraction" else float(not first), answer=program, reason=reason)

    def _completed(self, program: str, sample: Sample, box: LocalSandbox) -> str:
        limits = RunLimits(wall_s=self.wall_s, memory_mb=self.memory_mb)
        return completed(program, sample.prompt, sample.meta, box, limits)

    def _score_suites(self, sample: Sample, files: Sequence[Suite], box: LocalSandbox) -> Score:
        """The score of a program whose tests are files of named tests."""
        if not self.in_process and (
            name := next(filter(None, (out_of_reach(suite.text, suite.modules) for suite in files)), "")
        ):
            return Score.error(f"the tests {name}, which can't be carried over from another process: in_process=True")
        if not self.in_process:
            files = [suites.with_imports(suite, prompts(sample.prompt, sample.meta)) for suite in files]
        names = suites.wanted(files)
        entry = sample.meta.get("entry_point")
        program, foreign = solution(sample.completion, names | ({entry} if isinstance(entry, str) else set()))
        if foreign:
            return _other_language(foreign)
        if not program.strip():
            return Score(0.0, reason="no program in the completion")
        program = self._completed(program, sample, box)
        limits = RunLimits(wall_s=self.wall_s, memory_mb=self.memory_mb)
        budget = Budget(limits, row_seconds(self.wall_s, self.row_s))
        tests: dict[str, Mapping[str, Score]] = {}
        for suite in files:
            result, met = self._run_suite(suite, program, box, budget)
            seen = suites.judged(suite, result, met=met)
            if isinstance(seen, Mapping):
                tests[suite.group] = seen
                continue
            reason = seen.reason if isinstance(seen, Score) else seen
            fault = reason if result.status == "infra_error" else self._suite_fault(suite, limits, box)
            if fault:
                return Score.error(fault)
            return Score(0.0, answer=program, reason=f"in process: {reason}" if self.in_process else reason)
        score = suites.total(tests, program, fraction=self.reward == "fraction")
        return replace(score, reason=f"in process, forgeable: {score.reason}") if self.in_process else score

    def _suite_fault(self, suite: Suite, limits: RunLimits, box: LocalSandbox) -> str:
        """Why a test file has no test that runs, whatever the program is; "" if the program decides that."""

        def find() -> str:
            result, met = self._run_suite(suite, ANY_PROGRAM, box, Budget(limits, limits.wall_s))
            seen = suites.judged(suite, result, met=met)
            if isinstance(seen, Mapping) or (met and result.status != "ok"):
                return ""
            return seen.reason if isinstance(seen, Score) else f"the row's tests don't run: {seen}"

        return _faults.of((suite, limits), find)

    def _run_suite(self, suite: Suite, program: str, box: LocalSandbox, budget: Budget) -> tuple[RunResult, bool]:
        """Run a test file; also whether it came as far as the program."""
        code = source("suite")
        functions, modules = list(suite.functions), list(suite.modules)
        if self.in_process:
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

    def _cases(self, sample: Sample) -> Sequence[Case]:
        if self.preset:
            return livecodebench.cases(sample.meta)
        cases = rows.read(sample.meta, sample.answer, lift=not self.in_process)
        if self.in_process or not isinstance(sample.prompt, str):
            return cases
        return [with_helpers(case, sample.prompt) for case in cases]

    def _score_foreign(self, sample: Sample, language: str, cases: list[Piped], total: int, box: LocalSandbox) -> Score:
        """The score of a program in another language, whose tests are standard input and output."""
        if len(cases) < total:
            return Score.error(f"tests that call functions of a program in {language} can't be run in this form")
        program = languages.program(sample.completion, language)
        if not program.strip():
            return Score(0.0, reason=f"no program in {language} in the completion")

        def judge(case: Piped, result: RunResult) -> str | Score:
            return self._judge_output(case, result, box)

        return score_row(self._foreign(language, program, cases, judge), box)

    def _score_form(self, sample: Sample, language: str, tests: str, box: LocalSandbox) -> Score:
        """The score of a program with its test program appended."""
        if language not in forms.FORMS:
            return Score.error(f"test programs in {language} can't be run")
        return appended.score(sample, tests, self._foreign(language, "", [], lambda *_: ""), box)

    def _foreign(
        self, language: str, program: str, cases: list[Piped], judge: Callable[[Piped, RunResult], str | Score]
    ) -> ForeignRow:
        limits = RunLimits(wall_s=self.wall_s, memory_mb=self.memory_mb)
        row_s = row_seconds(self.wall_s, self.row_s)
        return ForeignRow(language, program, cases, limits, row_s, self.compile_s, self.reward == "fraction", judge)

    def _case(self, case: Case, program: str, box: LocalSandbox, budget: Budget) -> str | Score:
        """Empty if the case passes, else what went wrong; a score if that is not the program's fault."""
        result = self._run(case, program, box, budget)
        if result.status == "infra_error":
            return Score.error(f"not the program's fault: {result.error}")
        if result.status != "ok":
            return f"{result.status} ({result.error})" if result.error else result.status
        if isinstance(case, Piped):
            return self._judge_output(case, result, box)
        if isinstance(result.value, OpaqueValue) and (again := rows.driven(case)):
            return self._case(again, program, box, budget)
        try:
            return self._judge(case, result)
        except Exception as problem:  # noqa: BLE001 - what the program gave is at fault, whatever it runs into
            return f"gives a value that can't be compared ({describe(problem)})"

    def _judge(self, case: Case, result: RunResult) -> str:
        """Empty if what a run gave is what the case expects, else what it gave."""
        if isinstance(case, Piped | Driven):
            return ""
        if self.preset and isinstance(case, Called):
            return "" if livecodebench.same_value(result.value, case.expected) else f"gives {show(result.value)}"
        calls = case.cases if isinstance(case, Together) else (case,)
        values = result.value if isinstance(case, Together) else [result.value]
        for called, value in zip(calls, values, strict=True):
            if not holds(called, value, self.equality, self.tolerance):
                return f"{called.text[:120]}: gives {show(value)}" if called is not case else f"gives {show(value)}"
        return ""

    def _judge_output(self, case: Piped, result: RunResult, box: LocalSandbox) -> str | Score:
        """Empty if an output is right: equal to one that is, or taken by the row's checker."""
        if case.checker and not self.preset:
            return checked(case, result.stdout, box, RunLimits(wall_s=self.wall_s, memory_mb=self.memory_mb))
        right = any(self._same_output(result.stdout, wanted) for wanted in (case.stdout, *case.others))
        return "" if right else "another output"

    def _same_output(self, got: str, wanted: str) -> bool:
        return livecodebench.same_output(got, wanted) if self.preset else same_output(got, wanted, self.tolerance)

    def _run(self, case: Case, program: str, box: LocalSandbox, budget: Budget) -> RunResult:
        if isinstance(case, Driven) and self.in_process:
            whole = f"{program}\n{case.code}\ndef verikit_end(): return True\n"
            return budget.run(lambda limits: box.run(whole, call=("verikit_end", [], {}), limits=limits))
        if isinstance(case, Driven):
            return self._drive(case, program, box, budget)
        if self.preset and isinstance(case, Called | Piped):
            return self._benchmarked(case, program, box, budget)
        if isinstance(case, Piped):
            return budget.run(lambda limits: box.run(program, case.stdin, limits=limits))
        if isinstance(case, Together):
            calls = [_located(called.call, program) for called in case.cases]
            return budget.run(lambda limits: box.run_calls(program, calls, limits))
        return budget.run(lambda limits: box.run(program, call=_located(case.call, program), limits=limits))

    def _benchmarked(self, case: Called | Piped, program: str, box: LocalSandbox, budget: Budget) -> RunResult:
        """Run a case as LiveCodeBench does."""
        if isinstance(case, Piped):
            held = livecodebench.runner(program)
            return budget.run(lambda limits: box.run(held, case.stdin, limits=livecodebench.room(limits, case)))
        name, args, kwargs = case.call
        held, call = livecodebench.runner(program, name), (livecodebench.METHOD, args, kwargs)
        return budget.run(lambda limits: box.run(held, call=call, limits=livecodebench.room(limits, case)))

    def _drive(self, case: Driven, program: str, box: LocalSandbox, budget: Budget) -> RunResult:
        """Run the test code apart from the program; code that fails before it has met it is the row's fault."""
        if name := out_of_reach(case.code):
            message = f"the tests {name}, which can't be carried over from another process: in_process=True"
            return RunResult("infra_error", error=Failure("test code", message))
        far = FarProgram(program, box, budget, case.code)
        result = far.run(case.code, case.functions)
        if result.status == "error" and not far.met:
            return RunResult("infra_error", error=Failure("test code", str(result.error)))
        if result.status != "ok":
            return result
        found = far.outlasts(case.code, lambda text: far.run(text, case.functions))
        if isinstance(found, RunResult):
            return found
        return RunResult("error", error=Failure("not a value", found[""])) if found else result


def _other_language(language: str) -> Score:
    """The score of a reply whose only program is in a language that the row does not ask for."""
    return Score(0.0, reason=f"no Python program in the completion, only one in {language}")


def _located(call: FunctionCall, program: str) -> FunctionCall:
    """The call as the program needs it: LeetCode's form puts the function into `class Solution`."""
    name, args, kwargs = call
    inside = "class Solution" in program and "." not in name and f"\ndef {name}" not in "\n" + program
    return (f"Solution().{name}" if inside else name), args, kwargs


def _called(cases: Sequence[Case], sample: Sample) -> set[str]:
    """The names that the tests expect the program to define; LeetCode's form has the function in a class."""
    entry = sample.meta.get("entry_point")
    names = {entry} if isinstance(entry, str) else set()
    for case in cases:
        if isinstance(case, Called):
            names.add(case.call[0].partition(".")[0])
        elif isinstance(case, Driven):
            names |= set(case.functions)
    return names | {"Solution"} if names else names
