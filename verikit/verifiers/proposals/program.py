"""Absolute Zero's checks (arXiv 2505.03335): deduction, abduction, induction, and whether a proposed task is valid.

A model's text is never pasted, evaluated or unpickled. A child reads its literals without running any of it, and binds
them to a call as values. Results are compared here and must have exactly the same types (`1 != True`; `numeric=True`
lifts that). An error of the completion is 0.0. An unreadable row or a sandbox failure is unscored.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, Literal

from verikit.base import TextVerifier
from verikit.platform.raised import describe
from verikit.replies.text import tagged
from verikit.sandbox import ISOLATION, LocalSandbox, RunLimits, RunResult, default_sandbox, same
from verikit.sandbox.budget import Budget, row_seconds
from verikit.sandbox.guest import source
from verikit.types import Sample, Score
from verikit.verifiers.proposals.proposal import InvalidProposal, OurFault, Preset, validate
from verikit.verifiers.proposals.shared_runs import UNREAD, Question, Readings, call_together
from verikit.verifiers.reading.fences import fenced, last

Task = Literal["deduction", "abduction", "induction", "propose"]
_RUNS_OF_PROPOSAL = 4
"""How often `validate` runs a proposed program."""
_COMPANY = 2
"""Minimum number of calls for a shared child."""
_REPOSITORY_NAMES: dict[str, Task] = {"code_o": "deduction", "code_i": "abduction", "code_f": "induction"}


@dataclass(frozen=True)
class Program(TextVerifier):
    """1.0 if the completion solves the task on the program in the row's meta.

    `deduction` (meta: program, input, output): the completion's ```output block equals the output.
    `abduction` (program, output): the program turns the ```input block into the output. Any such input is accepted.
    `induction` (pairs of input and output strings): the ```python block turns every input into its output.
    `propose`: the ```python and ```input blocks are a valid task: well-formed, safe, deterministic.
    The entry function is `f`. Inputs are argument lists of literals, and outputs are literals.
    """

    task: Task | None = None
    """None: `meta.task` of each row."""
    preset: Preset = "paper"
    """`azr-repo`: induction checks only the hidden half, and proposals follow the repository's structural rules."""
    numeric: bool = False
    """Compare with `==` (1 == 1.0 == True) instead of requiring the same types."""
    wall_s: float = 10.0
    """Seconds for one run of a program."""
    memory_mb: int = 512
    """Memory of its process, in MiB."""
    row_s: float | None = None
    """Seconds for all runs of a row together. None: six times `wall_s`. Unfinished runs are 0.0."""
    name = "program"

    def __post_init__(self) -> None:
        super().__post_init__()
        row_seconds(self.wall_s, self.row_s)

    def score_batch(self, samples: Sequence[Sample]) -> list[Score]:
        """Score each sample separately, as many in parallel as the machine has CPU cores.

        Strings are read together, and calls of one closed program run together. Verdicts do not depend on that
        grouping.

        Raises:
            SandboxUnavailable: This machine can't isolate programs; the message names the missing part.
        """
        box = default_sandbox(ISOLATION)
        with ThreadPoolExecutor(box.workers, thread_name_prefix="verikit-program") as threads:
            shared = _Shared(self, box, samples, threads)
            return list(threads.map(lambda sample: self._score_sample(sample, shared), samples))

    @property
    def slowest_s(self) -> float:
        """The budget of a row, plus the time of the shared runs before it."""
        return row_seconds(self.wall_s, self.row_s) + self.wall_s / 2

    def environment(self) -> dict[str, Any]:
        """The properties of the sandbox, as its probes found them."""
        return {"sandbox": default_sandbox(ISOLATION).report.as_dict()}

    def task_of(self, sample: Sample) -> Any:
        """Return the name of a sample's task, which may be unknown."""
        return self.task or _REPOSITORY_NAMES.get(str(sample.meta.get("task")), sample.meta.get("task"))

    def _score_sample(self, sample: Sample, shared: _Shared) -> Score:
        task = self.task_of(sample)
        check = {
            "deduction": self._deduction, "abduction": self._abduction, "induction": self._induction,
            "propose": self._propose,
        }.get(str(task))  # fmt: skip
        if check is None:
            return Score.error(f"meta.task must be deduction, abduction, induction or propose, got {task!r}")
        try:
            return check(_answer(sample), sample.meta, _Row(self, shared))
        except InvalidProposal as problem:
            return Score(0.0, reason=str(problem)[:500])
        except OurFault as problem:
            return Score.error(str(problem)[:500])

    def _deduction(self, text: str, meta: Mapping[str, Any], row: _Row) -> Score:
        gold = row.data("literal", _field(meta, "output"))
        said = _block(text, "output")
        value = row.read("literal", said)
        return self._verdict(value, gold, said)

    def _abduction(self, text: str, meta: Mapping[str, Any], row: _Row) -> Score:
        gold = row.data("literal", _field(meta, "output"))
        said = _block(text, "input")
        args, kwargs = row.read("arguments", said)
        program = _field(meta, "program")
        value = row.shared.value(program, said)
        if value is not UNREAD:
            return self._verdict(value, gold, said)
        try:
            result = row.call(program, args, kwargs)
        except OurFault:
            raise
        except ValueError as problem:
            raise InvalidProposal(f"arguments that can't be passed: {problem}") from None
        if result.status != "ok":
            return Score(0.0, answer=said, reason=f"the program does not take this input: {result.error}")
        return self._verdict(result.value, gold, said)

    def _induction(self, text: str, meta: Mapping[str, Any], row: _Row) -> Score:
        texts = _pairs(meta)
        pairs = row.data("pairs", texts)
        hidden = len(pairs) // 2 if self.preset == "azr-repo" else 0
        program = _solution(text)
        together = row.shared.values(program, [call for call, _ in pairs[hidden:]])
        for number, ((args, kwargs), gold) in enumerate(pairs[hidden:], hidden + 1):
            if together is not None:
                value = together[number - hidden - 1]
            else:
                result = row.call(program, args, kwargs)
                if result.status != "ok":
                    return Score(0.0, answer=program, reason=f"pair {number}: {result.status} ({result.error})")
                value = result.value
            if not self._equal(value, gold):
                return Score(0.0, answer=program, reason=f"pair {number}: another output")
        return Score(1.0, answer=program, reason=f"all {len(pairs) - hidden} pairs")

    def _propose(self, text: str, meta: Mapping[str, Any], row: _Row) -> Score:
        blocks = fenced(text)
        program = next((content for label, content in reversed(blocks) if label in ("python", "py")), None)
        inputs = [content for label, content in blocks if label == "input"]
        if program is None or not inputs:
            raise InvalidProposal("a proposal is a python block and an input block")
        valid = validate(row.box, program, inputs[-1], preset=self.preset, limits=row.share(_RUNS_OF_PROPOSAL))
        return Score(1.0, answer=program, reason=f"valid; gives {valid.output[:200]}")

    def _verdict(self, value: Any, gold: Any, said: str) -> Score:
        right = self._equal(value, gold)
        return Score(float(right), answer=said.strip(), reason="the same value" if right else "another value")

    def _equal(self, value: Any, gold: Any) -> bool:
        try:
            return bool(value == gold) if self.numeric else same(value, gold)
        except Exception as problem:  # noqa: BLE001 - the value is the candidate's, whatever it runs into
            raise InvalidProposal(f"a value that can't be compared ({describe(problem)})") from None


class _Shared:
    """Shared work of a batch's samples: reading their strings, and calls of closed programs."""

    def __init__(self, options: Program, box: LocalSandbox, samples: Sequence[Sample], threads: Executor) -> None:
        self.box = box
        self._limits = RunLimits(wall_s=options.wall_s, memory_mb=options.memory_mb)
        tasks = [options.task_of(sample) for sample in samples]
        asked = [_questions(task, sample) for task, sample in zip(tasks, samples, strict=True)]
        self._readings = Readings(box, self._limits, threads)
        self._readings.read(question for questions in asked for question in questions)
        inputs = self._inputs(questions for task, questions in zip(tasks, asked, strict=True) if task == "abduction")
        values = threads.map(lambda program: self.values(program, list(inputs[program].values())), inputs)
        self._values = {
            (program, said): value
            for program, found in zip(inputs, values, strict=True)
            for said, value in zip(inputs[program], found or (), strict=False)
        }

    def _inputs(self, abductions: Iterable[Sequence[tuple[Any, str]]]) -> dict[str, dict[str, Any]]:
        """The arguments that replies give, by program and by their text."""
        inputs: dict[str, dict[str, Any]] = {}
        for questions in abductions:
            if questions:
                (_, program), (_, said) = questions[1:]
                if (arguments := self.read("arguments", said)) is not UNREAD:
                    inputs.setdefault(program, {})[said] = arguments
        return inputs

    def read(self, how: str, text: Any) -> Any:
        """Return the value of a string; `UNREAD` if it must be read on its own."""
        return self._readings.get((how, text))

    def value(self, program: str, said: str) -> Any:
        """Return a program's result for an abducted input; `UNREAD` if it must be called on its own."""
        return self._values.get((program, said), UNREAD)

    def values(self, program: str, calls: Sequence[Any]) -> list[Any] | None:
        """Return a program's result for each list of arguments; None if each call must be on its own."""
        if len(calls) < _COMPANY or self.read("closed", program) is not True:
            return None
        return call_together(self.box, program, calls, self._limits)


class _Row:
    """The sandbox for one row: all its runs share a budget."""

    def __init__(self, options: Program, shared: _Shared) -> None:
        self.box, self.shared = shared.box, shared
        self._seconds = row_seconds(options.wall_s, options.row_s)
        self._limits = RunLimits(wall_s=options.wall_s, memory_mb=options.memory_mb)
        self._budget = Budget(self._limits, self._seconds)

    def share(self, runs: int) -> RunLimits:
        """The limits of each of `runs` runs."""
        return replace(self._limits, wall_s=min(self._limits.wall_s, self._seconds / runs))

    def call(self, program: str, args: list[Any], kwargs: dict[str, Any]) -> RunResult:
        """Call the program's `f`.

        Raises:
            OurFault: The sandbox failed.
            ValueError: An argument has no typed form.
        """
        result = self._budget.run(lambda limits: self.box.run(program, call=("f", args, kwargs), limits=limits))
        if result.status == "infra_error":
            raise OurFault(f"the sandbox failed: {result.error}")
        return result

    def read(self, how: str, text: Any) -> Any:
        """Read a value that the completion states.

        Raises:
            Invalid: It is not a literal.
            OurFault: The sandbox failed.
        """
        if (known := self.shared.read(how, text)) is not UNREAD:
            return known
        reading = source("reading")
        result = self._budget.run(lambda limits: self.box.run(reading, call=(how, [text], {}), limits=limits))
        if result.status == "infra_error":
            raise OurFault(f"the sandbox failed: {result.error}")
        if result.status != "ok":
            raise InvalidProposal(f"not a literal: {result.error}")
        return result.value

    def data(self, how: str, text: Any) -> Any:
        """Read a value that the row states.

        Raises:
            OurFault: It can't be read.
        """
        try:
            return self.read(how, text)
        except InvalidProposal as problem:
            raise OurFault(f"the row can't be read: {problem}") from None


def _questions(task: Any, sample: Sample) -> list[Question]:
    """The strings of a sample to read; empty if a check of the sample comes first."""
    try:
        text, meta = _answer(sample), sample.meta
        if task == "deduction":
            return [("literal", _field(meta, "output")), ("literal", _block(text, "output"))]
        if task == "abduction":
            gold, program, said = _field(meta, "output"), _field(meta, "program"), _block(text, "input")
            return [("literal", gold), ("closed", program), ("arguments", said)]
        if task == "induction":
            return [("pairs", _pairs(meta)), ("closed", _solution(text))]
    except (InvalidProposal, OurFault):
        pass
    return []


def _answer(sample: Sample) -> str:
    """The content of the answer tag, or the whole completion."""
    answer = tagged(sample.completion, "answer")
    return answer if answer is not None else sample.completion


def _pairs(meta: Mapping[str, Any]) -> tuple[tuple[str, ...], ...]:
    """The strings of a row's inputs and outputs."""
    try:
        texts = tuple(
            (str(pair["input"]), str(pair["output"])) if isinstance(pair, Mapping) else tuple(map(str, pair))
            for pair in meta.get("pairs") or ()
        )
    except (TypeError, KeyError):
        texts = ()
    if not texts or any(len(pair) != 2 for pair in texts):
        raise OurFault("meta.pairs is a list of input and output texts, and not empty")
    return texts


def _solution(text: str) -> str:
    program = last(text, "python", "py", "")
    if program is None:
        raise InvalidProposal("no python block in the completion")
    return program


def _field(meta: Mapping[str, Any], name: str) -> str:
    if not isinstance(meta.get(name), str):
        raise OurFault(f"meta.{name} is missing or no text (meta has {', '.join(sorted(meta)) or 'nothing'})")
    return str(meta[name])


def _block(text: str, label: str) -> str:
    """The last block of that label; without any fence, the whole text."""
    content = last(text, label)
    if content is None and not fenced(text) and text.strip():
        return text
    if content is None:
        raise InvalidProposal(f"no {label} block in the completion")
    return content
