"""One program against the tests of its row: the rules, the sample, and the sandbox that runs it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from verikit.sandbox import LocalSandbox, RunLimits
from verikit.sandbox.budget import Budget
from verikit.types import Sample, Score
from verikit.verifiers.code.cases import Equality
from verikit.verifiers.code.completions import first_compiled, ways_to_join


@dataclass(frozen=True, slots=True)
class Rules:
    """How programs are run and judged: the options of `code`, checked."""

    limits: RunLimits
    """Of one test."""
    row_s: float
    """Seconds for all tests of a row together."""
    compile_s: float
    """CPU seconds for the compiler."""
    fraction: bool
    """The score is the fraction of tests passed; otherwise it is 1.0 if all pass."""
    in_process: bool
    """Tests run inside the program's process, which can forge the verdict."""
    shared_calls: bool
    """One child makes all calls of a row."""
    livecodebench: bool
    """Programs are run and judged as LiveCodeBench's own runner does."""
    equality: Equality | None
    tolerance: float


@dataclass(frozen=True, slots=True)
class CodeAttempt:
    """A sample to score."""

    rules: Rules
    sample: Sample
    box: LocalSandbox

    def budget(self) -> Budget:
        """The full budget of a row."""
        return Budget(self.rules.limits, self.rules.row_s)

    def ways_to_join(self, program: str) -> list[str]:
        """The ways to add the code that a program needs from the prompt, most likely one first."""
        return ways_to_join(program, self.sample.prompt, self.sample.meta)

    def first_compiled(self, ways: Sequence[str]) -> str:
        """The first of these programs that is Python. It costs a child if there are several."""
        return first_compiled(ways, self.box, self.rules.limits)

    def completed(self, program: str) -> str:
        """The program with the code it needs from the prompt."""
        return self.first_compiled(self.ways_to_join(program))

    def wanted_names(self, names: set[str]) -> set[str]:
        """Names that the tests expect the program to define, and the row's `entry_point`."""
        entry = self.sample.meta.get("entry_point")
        return names | {entry} if isinstance(entry, str) else names


OUT_OF_REACH = "the tests {}, which can't be carried over from another process: in_process=True"


def other_language(language: str) -> Score:
    """The score of a reply whose only program is in a language other than the row's."""
    return Score(0.0, reason=f"no Python program in the completion, only one in {language}")


def no_program(language: str = "") -> Score:
    """The score of a reply without a program."""
    return Score(0.0, reason=f"no program {f'in {language} ' if language else ''}in the completion")
