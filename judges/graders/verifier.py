"""The verifier `openai_grader`: a row's grade by one of OpenAI's graders."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import KW_ONLY, dataclass, field
from functools import cached_property
from typing import Any, Literal

from verikit.base import TextVerifier
from verikit.compose.combine import whole
from verikit.engines import Engine
from verikit.engines.load import is_engine
from verikit.errors import ConfigError, MissingExtra
from verikit.graders.formula import Formula
from verikit.graders.schema import (
    Grader,
    LabelModel,
    Multi,
    Python,
    ScoreModel,
    StringCheck,
    TextSimilarity,
    read_grader,
    read_grader_file,
)
from verikit.graders.similarity import similarity
from verikit.graders.template import NoValue, filled
from verikit.judges.asking.ask import PROBE, Record, ask, connect
from verikit.judges.asking.judge import failed
from verikit.judges.evidence.shown import MAX_CHARS, NotShown
from verikit.judges.evidence.special_tokens import clearing
from verikit.judges.graders import python
from verikit.judges.graders.asking import cut, reply_format, request
from verikit.messages import by_assistant
from verikit.platform.numbers import distinct, span
from verikit.platform.raised import describe
from verikit.replies.text import accepted
from verikit.sandbox import ISOLATION, LocalSandbox, RunLimits, RunResult, default_sandbox
from verikit.sandbox.budget import row_seconds
from verikit.sandbox.values import MAX_DEPTH, encode
from verikit.types import UNIT, Sample, Score
from verikit.verifiers.reading.row_faults import RowFaults

JUDGE = "VERIKIT_JUDGE"
"""Environment variable with the engine of model graders, if no engine is passed."""
GOLD_KEYS = (
    "answer",
    "reference_answer",
    "reference",
    "gold",
    "target",
    "label",
    "ground_truth",
    "solution",
    "expected",
    "gold_answer",
    "final_answer",
)
"""Keys of `item` for the row's gold answer, which readers remove from the row."""
_DEEPEST = MAX_DEPTH - 2
"""Maximum nesting of `output_json`, which is inside `sample`, which is inside the call's arguments."""
Values = Mapping[str, Any]
_faults = RowFaults()


@dataclass(frozen=True)
class OpenAIGrader(TextVerifier):
    """A grade by one of OpenAI's graders: string_check, text_similarity, python, score_model, label_model or multi.

    `item` is the row (its keys, and its gold answer under `answer`, `reference_answer`, …), `sample` the reply. A key
    that the row lacks is a data error and leaves the row unscored. A key that the reply lacks (JSON, a tool call) is
    0.0. Python runs in the sandbox. Model graders use `engine`, which is OpenAI only if you set it so.
    """

    grader: str | Mapping[str, Any] = field(hash=False)
    """A JSON file with the grader, or the grader itself."""
    engine: str | Engine = ""
    """Engine for score_model and label_model, such as `openai:http://host/v1#model`. "": the variable VERIKIT_JUDGE.

    The file's `model` is only a name.
    """
    _: KW_ONLY
    options: Mapping[str, Any] = field(default_factory=dict, hash=False)
    """Options of the engine, if it is a spec."""
    cache: bool = True
    """Store the model's replies in the user's cache of generations, if the engine is a spec."""
    on_raise: Literal["unscored", "zero"] = "unscored"
    """Result of a Python grader that also returns no number for simple replies. OpenAI gives 0.

    If a grader grades a simple reply of the row, it works. A reply that it then fails to grade is 0.0.
    """
    wall_s: float = 30.0
    """Seconds for one run of a Python grader. OpenAI's own limit is 120."""
    memory_mb: int = 2048
    """Memory of its process, in MiB."""
    probe: int = PROBE
    """Stop if none of this many first replies of a model has a result. 0 never stops."""
    max_chars: int = MAX_CHARS
    """Maximum characters of each filled-in template that a model sees."""
    spec: Grader = field(init=False, compare=False, repr=False)
    """The validated grader."""
    _record: Record = field(default_factory=Record, compare=False, repr=False)
    name = "openai_grader"
    local_files = ("grader", "engine")

    def __post_init__(self) -> None:
        super().__post_init__()
        path = isinstance(self.grader, str)
        object.__setattr__(self, "spec", read_grader_file(self.grader) if path else read_grader(self.grader))  # type: ignore[arg-type]
        if self.on_raise not in ("unscored", "zero"):
            raise ConfigError(f"on_raise must be unscored or zero, got {self.on_raise!r}")
        if not (self.wall_s > 0 and self.memory_mb > 0 and self.max_chars > 0):
            raise ConfigError("wall_s, memory_mb and max_chars must be greater than 0")
        if self.engine == "" and any(isinstance(grader, ScoreModel | LabelModel) for grader in self._graders.values()):
            named = os.environ.get(JUDGE, "")
            if not is_engine(named):
                raise ConfigError(
                    "a model grader needs an engine",
                    hint=f"openai_grader('FILE', engine='openai:http://host:8000/v1#model'), or {JUDGE}",
                )
            object.__setattr__(self, "engine", named)

    def __repr__(self) -> str:
        """The grader itself instead of its file, and the options that affect its grades."""
        engine = self.engine if isinstance(self.engine, str) and not self.options else self._engine.identity
        shown = f"{self.spec!r}, engine={engine!r}, on_raise={self.on_raise!r}, wall_s={self.wall_s}"
        return f"OpenAIGrader({shown}, memory_mb={self.memory_mb}, max_chars={self.max_chars}, reads={self.reads!r})"

    @property
    def bounds(self) -> tuple[float, float]:
        """The range of a score_model, including the 0.0 of an empty reply.

        Otherwise 0 and 1, as OpenAI requires of grades.
        """
        return span(0.0, *self.spec.range) if isinstance(self.spec, ScoreModel) else UNIT

    @property
    def batch(self) -> int:  # type: ignore[override]
        """Samples per batch: the number of requests that the engine has in flight, or 1 without an engine."""
        return int(self.options.get("concurrency", 64)) if self.engine else 1

    @property
    def slowest_s(self) -> float:
        """The time of all its Python graders, doubled for the check that they work."""
        return 2 * self._limits.wall_s * sum(isinstance(grader, Python) for grader in self._graders.values())

    def environment(self) -> dict[str, Any]:
        """The sandbox's properties, if a Python grader runs in it."""
        needed = any(isinstance(grader, Python) for grader in self._graders.values())
        return {"sandbox": default_sandbox(ISOLATION).report.as_dict()} if needed else {}

    def score_batch(self, samples: Sequence[Sample]) -> list[Score]:
        """Grade each sample: run every grader on all samples, then the formula.

        Raises:
            SandboxUnavailable: There is a Python grader, and this machine can't isolate it.
        """
        values = [{"item": _item(sample), "sample": _sample(sample)} for sample in samples]
        columns = {name: self._column(grader, values, samples) for name, grader in self._graders.items()}
        if not isinstance(self.spec, Multi):
            return next(iter(columns.values()))
        rows = zip(*columns.values(), strict=True)
        return [self._combined(dict(zip(columns, row, strict=True))) for row in rows]

    @cached_property
    def _graders(self) -> Mapping[str, Any]:
        return self.spec.graders if isinstance(self.spec, Multi) else {self.spec.name or self.spec.type: self.spec}

    @cached_property
    def _formula(self) -> Formula:
        return Formula(self.spec.calculate_output if isinstance(self.spec, Multi) else "0")

    @property
    def _engine(self) -> Engine:
        if isinstance(self.engine, str):
            return connect(self.engine, self.options, cached=self.cache)
        return self.engine

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in self.__dict__.items() if key not in ("_graders", "_formula")}

    def _column(self, grader: Any, values: Sequence[Values], samples: Sequence[Sample]) -> list[Score]:
        """One grader's grades of all samples."""
        if isinstance(grader, ScoreModel | LabelModel):
            return self._asked(grader, values)
        if isinstance(grader, Python):
            return self._ran(grader, values, samples)
        return [_compared(grader, row) for row in values]

    def _combined(self, parts: Mapping[str, Score]) -> Score:
        for name in sorted(self._formula.names):
            score = parts[name]
            if score.value is None:
                return whole(parts, None, score.status, f"{name}: {score.reason}")
        known = {name: score.value for name, score in parts.items() if score.value is not None}
        try:
            value = self._formula.value(known)
        except (ArithmeticError, ValueError) as error:
            told = f"calculate_output has no value here: {error}"
            blamed = self._formula.grades_the_best  # the reply got grades for which the formula has no value
            return whole(parts, 0.0, "ok", told) if blamed else whole(parts, None, "error", told)
        return whole(parts, value, "ok", self._formula.text[:200] + _threshold(self.spec, value))

    def _asked(self, grader: ScoreModel | LabelModel, values: Sequence[Values]) -> list[Score]:
        """Send all samples to the model in one call."""
        structured = "json" in self._engine.structured
        clear = clearing(self._engine.tokenizer)
        found: list[Any] = []
        for row in values:
            try:
                found.append(request(grader, row, structured=structured, max_chars=self.max_chars, clear=clear))
            except NotShown as problem:
                found.append(Score.error(describe(problem)))
            except NoValue as problem:
                found.append(_lacking(problem, grader.range if isinstance(grader, ScoreModel) else (0.0, 1.0)))
        live = [asked for asked in found if not isinstance(asked, Score)]
        verdicts = ask(self._engine, live, reply_format(grader))
        self._record.note(verdicts, self.probe)
        answered = iter(verdicts)
        return [asked if isinstance(asked, Score) else _judged(grader, next(answered)) for asked in found]

    @property
    def _limits(self) -> RunLimits:
        return RunLimits(wall_s=row_seconds(self.wall_s, self.wall_s), memory_mb=self.memory_mb)

    def _ran(self, grader: Python, values: Sequence[Values], samples: Sequence[Sample]) -> list[Score]:
        box = default_sandbox(ISOLATION)

        def run(row: Values, sample: Sample) -> Score:
            try:
                result = python.grade(grader.source, row["sample"], row["item"], box, self._limits)
            except ValueError as problem:
                return _unsent(row, problem)
            return self._of_run(grader, result, row, sample, box)

        if len(values) < 2:
            return list(map(run, values, samples))
        with ThreadPoolExecutor(box.workers, thread_name_prefix="verikit-grader") as threads:
            return list(threads.map(run, values, samples))

    def _of_run(self, grader: Python, result: RunResult, row: Values, sample: Sample, box: LocalSandbox) -> Score:
        if result.status == "infra_error":
            return Score.error(f"the sandbox failed: {result.error}")
        value = python.number(result.value)
        if result.status == "ok" and value is not None:
            return Score(value, reason=f"{grader.name or 'python'}" + _threshold(grader, value))
        problem = (
            f"{result.status} ({result.error})" if result.status != "ok" else f"{result.value!r:.80} is not a number"
        )
        if self.on_raise == "zero":
            return Score(0.0, reason=f"the Python grader gave no grade: {problem}")
        if not (fault := self._row_fault(grader, row["item"], sample, box)):
            return Score(0.0, reason=f"the Python grader grades a simple reply, but not this one: {problem}")
        lost = Score.timeout if result.status == "timeout" else Score.error
        return lost(f"the Python grader gave no grade: {problem}; and none for simple replies: {fault}")

    def _row_fault(self, grader: Python, item: Mapping[str, Any], sample: Sample, box: LocalSandbox) -> str:
        """Why the grader can't grade any reply of this row. "" if it grades a simple one."""

        def find() -> str:
            simple = [_sample(reply) for reply in python.simple_replies(grader.source, sample)]
            return python.row_fault(grader.source, item, simple, box, self._limits)

        return _faults.of((grader.source, self._limits, item), find)


def _unsent(values: Values, problem: ValueError) -> Score:
    """The score of input that the sandbox rejects: the candidate's 0.0 in the reply, a data error in the row."""
    try:
        encode(values["sample"], MAX_DEPTH - 1)
    except ValueError as fault:
        return Score(0.0, reason=f"the reply can't be given to the Python grader: {fault}")
    return Score.error(f"the row can't be given to the Python grader: {problem}")


def _compared(grader: StringCheck | TextSimilarity, values: Values) -> Score:
    """Compare the two filled-in strings."""
    try:
        text, reference = filled(grader.input, values), filled(grader.reference, values)
    except NoValue as problem:
        return _lacking(problem)
    if isinstance(grader, TextSimilarity):
        try:
            value = similarity(grader.evaluation_metric, text, reference)
        except MissingExtra as error:
            return Score.error(describe(error))
        return Score(value, answer=text, reason=grader.evaluation_metric + _threshold(grader, value))
    right = {
        "eq": text == reference,
        "ne": text != reference,
        "neq": text != reference,
        "like": reference in text,
        "ilike": reference.lower() in text.lower(),
    }[grader.operation]
    return Score(float(right), answer=text, reason=f"{grader.operation}: {'yes' if right else 'no'}")


def _judged(grader: ScoreModel | LabelModel, verdict: Any) -> Score:
    verdict = cut(grader, verdict)
    if verdict.value is None:
        return failed(verdict.error or ConfigError("the grader returned no result"), verdict.usage)
    told = f"the model says {verdict.label}" + _threshold(grader, verdict.value)
    return Score(verdict.value, answer=verdict.label, reason=told, usage=verdict.usage, text=verdict.reply)


def _lacking(problem: NoValue, ends: tuple[float, float] = (0.0, 1.0)) -> Score:
    """The score of a missing path: the candidate's 0.0 if it is in the reply, a data error if it is in the row.

    If the grader's range does not include 0, its low end is used, so a grade is never out of range.
    """
    path = str(problem).removesuffix(" leads nowhere")
    if problem.namespace == "sample":
        low, high = ends
        return Score(0.0 if low <= 0.0 <= high else low, reason=f"the reply has no {path}")
    return Score.error(f"the row has no {path}")


def _threshold(grader: Any, value: float) -> str:
    """Whether a grade reaches the grader's threshold, as text."""
    at = grader.pass_threshold
    if at is None:
        return ""
    return f"; {'passes' if value >= at else 'fails'} at {at:g}"


def _item(sample: Sample) -> dict[str, Any]:
    """The row as `item` shows it."""
    golds = accepted(sample.answer)
    gold = golds[0] if len(golds) == 1 else list(golds)
    shown = dict.fromkeys(GOLD_KEYS, gold) if golds else {}
    return {"id": sample.id, "prompt": _prompt(sample), **shown, **sample.meta}


def _prompt(sample: Sample) -> Any:
    return sample.prompt if isinstance(sample.prompt, str) else [dict(turn) for turn in sample.prompt]


def _sample(sample: Sample) -> dict[str, Any]:
    """The reply as `sample` shows it."""
    calls = [call for turn in sample.messages if by_assistant(turn) for call in turn.get("tool_calls") or ()]
    message: dict[str, Any] = {"role": "assistant", "content": sample.completion}
    if calls:
        message["tool_calls"] = calls
    return {
        "output_text": sample.completion,
        "output_json": _json(sample.completion),
        "output_tools": calls,
        "output_audio": None,
        "choices": [{"index": 0, "finish_reason": "tool_calls" if calls else "stop", "message": message}],
    }


def _json(text: str) -> Any:
    """The reply parsed as JSON. None if it is not valid JSON, or nests deeper than the sandbox accepts."""
    try:
        value = json.loads(text, object_pairs_hook=distinct)
        encode(value, _DEEPEST)
    except (ValueError, RecursionError):
        return None
    return value
