"""Programs of other languages with their test program appended: in one process, which the program owns.

The output of such a process is weak evidence on its own. So a program that passes runs again several times, in a hidden
order. Some of these runs use a test program that is false in one place. The program has to pass the true test programs
and fail the false ones. Only the answers distinguish the two: they look alike, and each run receives its own word to
write.
"""

from __future__ import annotations

import hashlib
import random
import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from verikit.sandbox import LocalSandbox, RunResult
from verikit.sandbox.budget import Budget
from verikit.sandbox.programs import BuiltProgram
from verikit.types import Sample, Score
from verikit.verifiers.code import languages
from verikit.verifiers.code.attempt import CodeAttempt, no_program
from verikit.verifiers.code.cases import Piped
from verikit.verifiers.code.foreign import ForeignRow, build, row_of, score_row
from verikit.verifiers.code.joining import forms
from verikit.verifiers.falsified.programs import falsified

_TRUE, _FALSE = 2, 3
"""Further runs of a program that has passed once; with that run they fill the row's time (`FULL_RUNS`).

A program that answers at random in each run passes once in 64 times."""
_KEY = secrets.token_bytes(16)


def score(attempt: CodeAttempt, language: str, tests: str) -> Score:
    """The score of a program with its test program appended, with the limits of a pass.

    Args:
        attempt: the sample's attempt.
        language: the program's language.
        tests: the row's test program.
    """
    if language not in forms.FORMS:
        return Score.error(f"test programs in {language} can't be run")
    try:
        appended = _appended(attempt.sample, language, tests)
        text = appended.whole()
    except ValueError as problem:
        return Score.error(f"the row's tests can't be read: {problem}")
    if not appended.program.strip():
        return no_program(language)
    box, word = attempt.box, _word()

    def judge(_: Piped, result: RunResult) -> str:
        return "" if _came_to_the_end(result, word) else "it ended before its tests did"

    def confirm(found: Score, true: BuiltProgram, budget: Budget) -> Score:
        false = _false_programs(appended, row, box, budget)
        return false if isinstance(false, Score) else _confirmed(found, true, false, row, box, budget)

    row = row_of(attempt.rules, language, text, [Piped(f"{word}\n", word, "test program")], judge)
    found = score_row(row, box, confirm)
    reason = f"in process, forgeable: {found.reason}" if found.scored else found.reason
    return replace(found, answer=appended.program, reason=reason.replace(word, "…"))


@dataclass(frozen=True, slots=True)
class _Appended:
    """A program and its test program."""

    language: str
    prompt: str
    program: str
    tests: str
    stops: Sequence[str]
    setup: str

    def whole(self, tests: str = "", last: str = "") -> str:
        """One source of the program, its tests (or other tests), and an assertion after them."""
        tests = tests or self.tests
        return forms.whole(self.language, self.prompt, self.program, tests, self.stops, self.setup, last)

    def falsified(self) -> Iterator[str]:
        """Sources of the program with false test programs, the better ones first; the same for equal programs.

        Raises:
            ValueError: See `whole`.
        """
        content = "\0".join([self.program, self.tests]).encode("utf-8", "replace")
        draw = random.Random(hashlib.blake2b(content, key=_KEY).digest())
        names = [forms.defined(self.prompt, self.language), "candidate"]
        for _ in range(_FALSE):
            if tests := falsified(self.language, self.tests, [name for name in names if name], draw, self.prompt):
                yield self.whole(tests)
        one, other = draw.sample(range(2, 100), 2)
        yield self.whole(last=forms.false_assertion(self.language, self.tests, one, other))


def _appended(sample: Sample, language: str, tests: str) -> _Appended:
    meta = sample.meta
    prompt = forms.given(meta, str(sample.prompt))
    name = forms.defined(prompt, language)
    program = languages.program(sample.completion, language, [name] if name else ())
    stops, setup = meta.get("stop_tokens"), meta.get("test_setup")
    stops = [stop for stop in stops if isinstance(stop, str)] if isinstance(stops, list) else []
    return _Appended(language, prompt, program, tests, stops, setup if isinstance(setup, str) else "")


def _confirmed(
    found: Score, true: BuiltProgram, false: Sequence[BuiltProgram], row: ForeignRow, box: LocalSandbox, budget: Budget
) -> Score:
    """The score of a program that has passed once: its pass, if the tests caused it."""
    order = [True] * _TRUE + [False] * _FALSE
    secrets.SystemRandom().shuffle(order)
    for number, is_true in enumerate(order):
        result, passes = _run(true if is_true else false[number % len(false)], box, budget)
        if result.status == "infra_error":
            return Score.error(f"sandbox error: {result.error}")
        if result.status == "timeout" and budget.is_spent:
            return Score(0.0, reason=f"{row.language}: test program: timeout ({result.error})")
        if passes and not is_true:
            return Score(0.0, reason=f"{row.language}: passes tests that are false, too: it was not tested")
        if is_true and not passes:
            return Score(0.0, reason=f"{row.language}: passes its tests in some runs only")
    return found


def _run(program: BuiltProgram, box: LocalSandbox, budget: Budget) -> tuple[RunResult, bool]:
    """One run, and whether it passes."""
    word = _word()
    result = budget.run(lambda limits: box.programs.run(program, [f"{word}\n"], limits)[0])
    return result, result.status == "ok" and _came_to_the_end(result, word)


def _false_programs(
    appended: _Appended, row: ForeignRow, box: LocalSandbox, budget: Budget
) -> list[BuiltProgram] | Score:
    """The program with false tests: several if the language is not compiled, otherwise the first that compiles."""
    wanted, programs = _FALSE if row.language in forms.SCRIPTS else 1, list[BuiltProgram]()
    for text in appended.falsified():
        built = build(row, text, box, budget)
        if isinstance(built, BuiltProgram):
            programs.append(built)
        elif not built.scored:
            return built
        if len(programs) == wanted:
            break
    return programs or Score(0.0, reason=f"{row.language}: compiles with its own tests only")


def _word() -> str:
    return secrets.token_hex(12)


def _came_to_the_end(result: RunResult, word: str) -> bool:
    """Whether the last line of a program's output is the word that it received."""
    return result.stdout.rstrip().rpartition("\n")[2].strip() == word
