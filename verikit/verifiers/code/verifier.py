"""Does the program pass its tests? Each case runs in its own sandboxed child; the verdict is computed outside.

A program that crashes, hangs or cheats scores 0.0. A row without readable tests, or a sandbox failure, is unscored.
Expected values never enter the child, so there is nothing to forge, save with `in_process=True` and in test programs of
other languages (`appended`).
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

from verikit.base import TextVerifier
from verikit.errors import UsageError
from verikit.sandbox import LocalSandbox, RunLimits
from verikit.sandbox.backends import backend_name, chosen_sandbox
from verikit.sandbox.budget import row_seconds
from verikit.sandbox.toolchains import LANGUAGES
from verikit.types import Sample, Score
from verikit.verifiers.code import appended, foreign, languages, python_cases, suite_runs, suites
from verikit.verifiers.code.apart.reference import reference_reply
from verikit.verifiers.code.attempt import CodeAttempt, Rules
from verikit.verifiers.code.cases import Driven, Equality, Piped
from verikit.verifiers.code.humaneval import with_entry_point
from verikit.verifiers.code.joining import forms
from verikit.verifiers.reading.row_faults import RowFaults

Preset = Literal["livecodebench"]
_faults = RowFaults()
Language = Literal["auto", "python", "c", "cpp", "java", "javascript", "typescript", "go", "rust", "bash", "lean"]


def _check_choice(option: str, value: str, choices: Sequence[str]) -> None:
    if value not in choices:
        raise UsageError(f"{option} must be one of {', '.join(choices)}, got {value!r}")


@dataclass(frozen=True)
class Code(TextVerifier):
    """1.0 if the program in the completion passes the tests in the row's meta.

    `meta.tests` is a list of asserts, of `{"call": "f(2)", "expected": "4"}`, `{"fn", "args", "expected"}` or
    `{"input", "output"}` (standard input and output). Rows of HumanEval (`test`, `entry_point`), MBPP (`test_list`) and
    LiveCodeBench (`public_test_cases`) are read unchanged, and so are tests in the gold answer as JSON (verl). `tests`
    (or `test`) may also be a pytest, unittest or doctest file, and `public_tests` another one. The parts are the tests.
    """

    reward: Literal["all", "fraction"] = "all"
    """All tests or nothing, or the fraction of tests passed."""
    wall_s: float = 5.0
    """Seconds per case."""
    memory_mb: int = 512
    """Memory of a test's process, in MiB."""
    equality: Equality | None = None
    """How values are compared. None: as the test is written (`==` for asserts, exact for `call`, JSON for `fn`)."""
    tolerance: float = 0.0
    """Allowed difference of numbers, absolute or relative."""
    children: Literal["case", "row"] = "case"
    """One child per call (calls are isolated), or one for all calls of a row. The latter is faster and as strict about
    values, but the calls share the program's state, as in HumanEval's own script. Programs whose text shows that their
    calls share nothing have one child in any case."""
    in_process: bool = False
    """Run the asserts inside the program's own process. The program can forge the verdict."""
    row_s: float | None = None
    """Seconds for all cases of a row together. None: six times `wall_s`. Unfinished cases are 0.0."""
    preset: Preset | None = None
    """`livecodebench`: programs are extracted, run and judged by the rules of LiveCodeBench's own runner."""
    language: Language = "auto"
    """Language of the program. `auto`: the row's (`language`, `lang`), or for tests of standard input and output the
    label of the reply's fence, or Python. `verikit doctor` lists the languages that can run here. A row in another
    language is unscored. A reply that chooses such a language itself is 0.0."""
    compile_s: float = 30.0
    """CPU seconds of the compiler, once per program."""
    sandbox: str | None = None
    """`local`, `bwrap`, `process`, `http://HOST`, `docker:IMAGE` or `docker+http`. None: VERIKIT_SANDBOX, or `local`.
    `verikit doctor` tries each that is available."""
    name = "code"

    def __post_init__(self) -> None:
        super().__post_init__()
        row_seconds(self.wall_s, self.row_s)
        if self.sandbox is not None:
            backend_name(self.sandbox)
        if self.children == "row" and self.reward == "fraction":
            raise UsageError("one child per row can't report the fraction of passed tests", hint="use children='case'")
        if self.preset is not None:
            _check_choice("preset", self.preset, get_args(Preset))
        _check_choice("language", self.language, get_args(Language))
        if self.preset and (self.children == "row" or self.in_process or self.equality or self.tolerance):
            raise UsageError("a preset has its own way to run and to compare", hint="remove the other options")

    def score_batch(self, samples: Sequence[Sample]) -> list[Score]:
        """Score each sample separately, as many in parallel as the machine has CPU cores.

        Raises:
            SandboxUnavailable: This machine can't isolate programs; the message names the missing part.
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
        """The score of a sample; unscored if the row's own solution also fails tests that use objects."""
        found = self._score_sample(sample, box)
        if found.value is None or found.value == 1.0 or self.in_process or self.preset:
            return found
        prompt = sample.prompt if isinstance(sample.prompt, str) else ""
        own = reference_reply(sample.meta, prompt)
        if not own or not self._uses_objects(sample, box):
            return found

        def find() -> str:
            score = self._score_sample(replace(sample, completion=own), box)
            return "" if score.value == 1.0 else f"the row's own solution fails its tests: {score.reason}"

        fault = _faults.of((self, sample.meta, prompt), find)
        return Score.error(fault) if fault else found

    def _uses_objects(self, sample: Sample, box: LocalSandbox) -> bool:
        """Whether tests run next to the program instead of being calls with an expected value."""
        try:
            cases = python_cases.read(CodeAttempt(self._rules(), sample, box))
            return bool(suites.suites(sample.meta)) or any(isinstance(case, Driven) for case in cases)
        except (ValueError, TypeError, RecursionError):
            return False

    def _rules(self) -> Rules:
        return Rules(
            limits=RunLimits(wall_s=self.wall_s, memory_mb=self.memory_mb),
            row_s=row_seconds(self.wall_s, self.row_s),
            compile_s=self.compile_s,
            fraction=self.reward == "fraction",
            in_process=self.in_process,
            shared_calls=self.children == "row",
            livecodebench=self.preset == "livecodebench",
            equality=self.equality,
            tolerance=self.tolerance,
        )

    def _score_sample(self, sample: Sample, box: LocalSandbox) -> Score:
        """The score of a sample by the form that its row's tests have."""
        language = languages.row_language(sample.meta) if self.language == "auto" else self.language
        if not language and (named := languages.unknown_language(sample.meta)):
            return Score.abstained(f"runner not found for {named}, the language of the row")
        attempt = CodeAttempt(self._rules(), sample, box)
        if language in LANGUAGES and (tests := forms.test_program(sample.meta)):
            return appended.score(attempt, language, tests)
        try:
            attempt = replace(attempt, sample=replace(sample, meta=with_entry_point(sample.meta)))
            if language in ("", "python") and not self.preset and (files := suites.suites(attempt.sample.meta)):
                return suite_runs.score(attempt, files)
            cases = python_cases.read(attempt)
        except (ValueError, TypeError, RecursionError) as problem:
            return Score.error(f"the row's tests can't be read: {problem}")
        piped = [case for case in cases if isinstance(case, Piped)]
        if not language and not self.preset and len(piped) == len(cases):
            language = languages.fence_language(sample.completion)
            if language in LANGUAGES and (missing := box.programs.problem(language)):
                return Score(0.0, reason=f"the reply chose {language}, which the row does not name: {missing}")
        if language in LANGUAGES:
            return foreign.score(attempt, language, piped, len(cases))
        return python_cases.score(attempt, cases)
