"""The environment: parses proposals and solutions, runs them in the sandbox, and reports errors in them.

All text from a model is hostile. Children of the sandbox read it without running it, or run it. This process never
evaluates or unpickles it, and never pastes it into an expression.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from textwrap import indent
from typing import Any

from verikit.compose.guards import cached
from verikit.sandbox import ISOLATION, FunctionCall, LocalSandbox, RunLimits, default_sandbox
from verikit.sandbox.guest import source
from verikit.trainers.recipes.absolute_zero.options import AbsoluteZeroOptions, Task
from verikit.trainers.recipes.absolute_zero.problem import Problem
from verikit.trainers.recipes.absolute_zero.rewards import Fault
from verikit.types import Sample
from verikit.verifiers.proposals.program import Program
from verikit.verifiers.proposals.proposal import InvalidProposal, OurFault, as_literal, run_twice, settle, validate
from verikit.verifiers.proposals.shared_runs import UNREAD, read_together
from verikit.verifiers.reading.fences import fenced, last
from verikit.verifiers.tags import Tags

_NAME_OF_ERROR = """


_called = f


def f(*args, **kwargs):
    try:
        _called(*args, **kwargs)
    except Exception as problem:
        return type(problem).__name__
    return "NoError"
"""
_MEASURES = (Path(__file__).parent / "measures.py").read_text(encoding="utf-8")
_EVERY = "\n\n\ndef every_input(calls):\n    return [f(*args, **kwargs) for args, kwargs in calls]\n"
LONGEST_MESSAGE = 2000


@dataclass(frozen=True, slots=True)
class ProgramVerdict:
    """The error in a completion, and the problem of a valid proposal."""

    fault: Fault
    reason: str = ""
    problem: Problem | None = None


class Environment:
    """Judges completions. It is thread-safe."""

    options: AbsoluteZeroOptions
    opening: str

    def __init__(self, options: AbsoluteZeroOptions, opening: str) -> None:
        """Take the options, and the tag that the prompts already end with (`""`: none)."""
        self.options, self.opening = options, opening
        self._format = Tags("think", "answer")
        self._program = cached(Program(preset=options.preset, wall_s=options.wall_s, memory_mb=options.memory_mb))
        self._limits = RunLimits(wall_s=options.wall_s, memory_mb=options.memory_mb)

    @property
    def box(self) -> LocalSandbox:
        """The sandbox.

        Raises:
            SandboxUnavailable: This machine can't isolate programs. The message names the missing part.
        """
        return default_sandbox(ISOLATION)

    def answer(self, completion: str) -> str | None:
        """Return the content of the answer tag if the completion follows the format exactly, otherwise None."""
        score = self._format(self.opening + completion)
        return score.answer if score.value == 1.0 else None

    def proposal(
        self, task: Task, completion: str, program: str = "", functions: Sequence[Problem] = ()
    ) -> ProgramVerdict:
        """Judge a proposal; `program` is the one that an induction's inputs are for."""
        answer = self.answer(completion)
        if answer is None:
            return ProgramVerdict("format", "not <think>…</think> <answer>…</answer>")
        try:
            if task == "induction":
                return ProgramVerdict("", problem=self.read_inputs(answer, program))
            return ProgramVerdict("", problem=self.read_program(task, answer, functions))
        except Malformed as problem:
            return ProgramVerdict("format", str(problem)[:500])
        except InvalidProposal as problem:
            return ProgramVerdict("wrong", str(problem)[:500])
        except OurFault as problem:
            return ProgramVerdict("error", str(problem)[:500])

    def solutions(self, problem: Problem, completions: Sequence[str]) -> list[ProgramVerdict]:
        """Judge solutions of one problem. Equal answers are run once."""
        answers = [self.answer(completion) for completion in completions]
        distinct = list(dict.fromkeys(answer for answer in answers if answer is not None))
        known = dict(zip(distinct, self._judged(problem, distinct), strict=True))
        return [
            ProgramVerdict("format", "the answer is missing") if answer is None else known[answer] for answer in answers
        ]

    def _judged(self, problem: Problem, answers: Sequence[str]) -> list[ProgramVerdict]:
        if problem.task == "error":
            return [ProgramVerdict("" if _names(answer, problem.output) else "wrong") for answer in answers]
        samples = [Sample("", f"<answer>{answer}</answer>", meta=problem.meta()) for answer in answers]
        verdicts = []
        for score in self._program.score(samples):
            fault: Fault = "error"
            if score.value is not None:
                fault = "" if score.value == 1.0 else "wrong"
            verdicts.append(ProgramVerdict(fault, score.reason))
        return verdicts

    def read_program(self, task: Task, answer: str, functions: Sequence[Problem]) -> Problem:
        """Read and check a proposal of a program and an input."""
        program, given = blocks(answer)
        if task == "error":
            valid = validate(self.box, program + _NAME_OF_ERROR, given, limits=self._limits)
            return Problem(task, program, given, str(valid.value))
        if functions:
            program = self._composite(program, functions)
        # A composite program has several defs, which the repository's rule would reject.
        preset = "paper" if functions else self.options.preset
        valid = validate(self.box, program, given, preset=preset, limits=self._limits)
        return Problem(task, program, given, valid.output)

    def _composite(self, program: str, functions: Sequence[Problem]) -> str:
        """Prepend the given functions to a program that calls each and redefines none of them.

        Raises:
            Invalid: It redefines one, or does not call one.
        """
        facts = self.measure("names", [program])
        names = [f"g_{number}" for number in range(len(functions))]
        if made := sorted(set(names) & set(facts["bound"])):
            raise InvalidProposal(f"composite: defines {made[0]}, which is given")
        if missing := sorted(set(names) - set(facts["called"])):
            raise InvalidProposal(f"composite: does not call {missing[0]}")
        return (
            "".join(wrapped(name, function.program) for name, function in zip(names, functions, strict=True)) + program
        )

    def read_inputs(self, answer: str, program: str) -> Problem:
        """Read and check the inputs and the message of an induction proposal.

        Raises:
            Malformed: There are too few inputs, or no message.
            Invalid: An input is not a literal, or the program fails on one or is not deterministic.
        """
        texts, message = inputs_and_message(answer, self.options.inputs)
        given = tuple((text, "None") for text in texts)
        read, closed = read_together(self.box, [("pairs", given), ("closed", program)], self._limits)
        if read is UNREAD:
            read = self._child(source("reading"), ("pairs", [given], {}))
        calls: FunctionCall = ("every_input", [[call for call, _ in read]], {})
        values, seen = run_twice(self.box, program + _EVERY, calls, self._limits)
        settle(self.box, program + _EVERY, calls, self._limits, seen, closed=closed is True)
        if any(value is None for value in values):
            raise InvalidProposal("integrity: returns nothing")
        pairs = tuple((text, as_literal(value)) for text, value in zip(texts, values, strict=True))
        return Problem("induction", program, message=message, pairs=pairs)

    def measure(self, name: str, arguments: list[Any]) -> Any:
        """Call a function of `measures` in the sandbox.

        Raises:
            Invalid: The program can't be measured.
            OurFault: The sandbox failed.
        """
        return self._child(_MEASURES, (name, arguments, {}))

    def _child(self, program: str, call: FunctionCall) -> Any:
        result = self.box.run(program, call=call, limits=self._limits)
        if result.status == "infra_error":
            raise OurFault(f"the sandbox failed: {result.error}")
        if result.status != "ok":
            raise InvalidProposal(f"integrity: {result.status} ({result.error})")
        return result.value


class Malformed(ValueError):
    """An answer without the required blocks."""


def blocks(answer: str) -> tuple[str, str]:
    """Return the last python block and the last input block.

    Raises:
        Malformed: One is missing.
    """
    program, given = last(answer, "python", "py"), last(answer, "input")
    if program is None or given is None:
        raise Malformed("a proposal is a python block and an input block")
    return program, given.strip()


def inputs_and_message(answer: str, count: int) -> tuple[list[str], str]:
    """Return the last `count` input blocks and the last message block.

    Raises:
        Malformed: There are too few inputs, or no message.
    """
    found = fenced(answer)
    texts = [text.strip() for label, text in found if label == "input"][-count:]
    message = next((text.strip() for label, text in reversed(found) if label == "message"), "")
    if len(texts) < count:
        raise Malformed(f"{len(texts)} inputs, not {count}")
    if not message or len(message) > LONGEST_MESSAGE:
        raise Malformed(f"no message, or a message of more than {LONGEST_MESSAGE} characters")
    return texts, message


def wrapped(name: str, program: str) -> str:
    """Turn a program whose entry is `f` into one function of another name."""
    return f"def {name}(*args, **kwargs):\n{indent(program, '    ')}\n    return f(*args, **kwargs)\n\n\n"


def _names(answer: str, gold: str) -> bool:
    """Whether the first word before a colon is the exception's name, ignoring case."""
    said = last(answer, "output")
    words = (answer if said is None else said).partition(":")[0].split()
    return bool(words) and words[0].casefold() == gold.casefold()
