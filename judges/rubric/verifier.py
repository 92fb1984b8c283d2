"""The verifier `rubric`: the fraction of a rubric's points that an answer gets, by a judge's verdict per criterion."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean, median_low
from typing import Any, ClassVar, Literal, get_args

from verikit.engines.usage import added
from verikit.errors import ConfigError, EngineTimeout, SchemaError, VerikitError
from verikit.judges.asking.ask import FORCED
from verikit.judges.asking.contradicted import CONTRADICTED
from verikit.judges.asking.judge import Judge, failed, usage_of_shown, with_entries_shown
from verikit.judges.asking.prompt import Task
from verikit.judges.asking.reply import JudgeVerdict, ReplyFormat
from verikit.judges.asking.scaled import check_asks, repeated
from verikit.judges.evidence import Shown
from verikit.judges.evidence.shown import NotShown
from verikit.judges.rubric.asking import Question, ask_all, listed
from verikit.judges.rubric.criteria import Criteria, Criterion
from verikit.judges.rubric.read import at, in_row, read, read_file
from verikit.platform.numbers import span
from verikit.platform.raised import describe
from verikit.types import ASKS, LABEL, UNIT, Sample, Score

OnMissing = Literal["unscored", "low", "high"]
_SHOWN = 300
_SPARE = 64
"""Characters of a criterion in addition to its text."""


@dataclass(frozen=True, repr=False)
class Rubric(Judge):
    """Points for the criteria an answer meets, by a judge: points met over all positive points.

    The rubric is in the row (HealthBench, RubricHub, RaR, SWE-Atlas, PaperBench) or in a file (also rewardkit's).
    Negative points are for errors, and `must` criteria gate the whole. `parts` has each criterion's verdict. A missing
    verdict leaves the whole unscored, unless it can't change the value. With `expected`, a criterion counts by the
    probability that it is met, or its mean place on its scale. If it gates the whole, its likeliest verdict is used.
    """

    name = "rubric"
    task: ClassVar[Task] = "rubric"
    local_files: ClassVar[tuple[str, ...]] = (*Judge.local_files, "rubric")
    tallied: ClassVar[tuple[str, ...]] = (FORCED, CONTRADICTED)
    prompt: str = "rubric"
    rubric: str | Mapping[str, Any] | Sequence[Any] = field(default="", hash=False)
    """A file (JSON, or TOML) with the rubric of every row, or the rubric itself. "": each row has its own."""
    key: str = ""
    """The row's key with the rubric (`reward_model.rubrics`). "": the usual names are tried."""
    per_call: int = 8
    """Criteria per request. 1 judges each separately, as prompts with JSON replies always do."""
    calls: int = 0
    """Requests per answer, a budget instead of `per_call`: the criteria are split evenly among them. 0: no budget.

    With `asks` each asking has so many. Criteria with more than `max_chars` characters need more.
    """
    on_missing: OnMissing = "unscored"
    """Value if criteria have no verdict: `low` and `high` give the lowest or highest possible value."""
    clip: bool = True
    """Clip the value to 0 to 1. HealthBench itself clips only the mean over rows."""
    asks: int = 1
    """Number of requests per criterion. The median is used, or with `expected` the mean. Requests differ in seed,
    temperature and order."""
    labels: str = ""
    """The row's key with human labels of each criterion: a list, or an object by name.

    Labels are true, false or numbers, or lists of several people's labels. They do not affect the score. `verikit
    report` shows the judge's agreement with them.
    """
    criteria: Criteria | None = field(init=False, compare=False)
    """The rubric of every row. None: each row has its own."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.on_missing not in get_args(OnMissing):
            raise ConfigError(f"on_missing must be one of {', '.join(get_args(OnMissing))}, got {self.on_missing!r}")
        check_asks(self.asks)
        if isinstance(self.per_call, bool) or not isinstance(self.per_call, int) or self.per_call < 1:
            raise ConfigError(f"per_call must be an integer >= 1, got {self.per_call!r}")
        if isinstance(self.calls, bool) or not isinstance(self.calls, int) or self.calls < 0:
            raise ConfigError(f"calls must be an integer >= 0, got {self.calls!r}")
        if self.calls and self.file.reply.member:
            raise ConfigError(f"calls needs a prompt without JSON replies, {self.prompt!r} judges each criterion alone")
        _check_reply_format(self.file.reply)
        if self.rubric != "" and self.key:
            raise ConfigError("either a rubric for all rows, or the key of each row's own")
        object.__setattr__(self, "criteria", self._fixed())

    def _fixed(self) -> Criteria | None:
        if self.rubric == "":
            return None
        if isinstance(self.rubric, str):
            return read_file(self.rubric)
        try:
            return read(self.rubric)
        except SchemaError as error:
            raise ConfigError(f"rubric: {error}") from None

    def listed(self, criteria: Sequence[Criterion]) -> str:
        """The criteria as the judge sees them, numbered from 1."""
        return listed(criteria, self.file)

    @property
    def bounds(self) -> tuple[float, float]:
        """0 and 1, or the rubric's range if it is not clipped. Infinite if each row brings its own rubric."""
        if self.clip:
            return UNIT
        if self.criteria is None:
            return -math.inf, math.inf
        return span(0.0, *self.criteria.bounds([None] * len(self.criteria.items), clip=False))

    def score_batch(self, samples: Sequence[Sample]) -> list[Score]:
        """Judge every criterion of every sample in one call of the engine."""
        found = [self._of(sample) for sample in samples]
        shown = self.fitted(
            [
                self._texts(sample, rubric) if isinstance(rubric, Criteria) else {}
                for sample, rubric in zip(samples, found, strict=True)
            ]
        )
        self.warn_unseen(
            [
                (texts["answer"], [item.text for item in rubric.items])
                for texts, rubric in zip(shown, found, strict=True)
                if isinstance(rubric, Criteria)
            ]
        )
        plans = [
            list(self._questions(texts, rubric)) if isinstance(rubric, Criteria) else []
            for texts, rubric in zip(shown, found, strict=True)
        ]
        answered = iter(self._answered([asked for plan in plans for _, asked in plan]))
        verdicts = [[(numbers, _each(next(answered), numbers)) for numbers, _ in plan] for plan in plans]
        return [
            self._charged(self._whole(rubric, some, sample), texts) if isinstance(rubric, Criteria) else rubric
            for sample, rubric, some, texts in zip(samples, found, verdicts, shown, strict=True)
        ]

    def _answered(self, questions: Sequence[Question | VerikitError]) -> list[list[JudgeVerdict]]:
        """The verdicts on each question's criteria, from one call. A single error if the question was not sent."""
        said = ask_all(
            self.asked, [asked for asked in questions if isinstance(asked, Question)], self.file, retry=self.retry
        )
        # A reply counts as one, and as read if it contains any verdict.
        self._record.note([min(some, key=lambda verdict: bool(verdict.error)) for some in said], self.probe)
        answered = iter(said)
        return [
            next(answered) if isinstance(asked, Question) else [JudgeVerdict(None, error=asked)] for asked in questions
        ]

    @staticmethod
    def _charged(score: Score, texts: Mapping[str, Shown]) -> Score:
        return with_entries_shown(replace(score, usage=added(score.usage, usage_of_shown(texts))), texts)

    def _of(self, sample: Sample) -> Criteria | Score:
        try:
            return self.criteria or in_row(sample.meta, self.key)
        except SchemaError as error:
            return Score.error(describe(error))

    def _texts(self, sample: Sample, rubric: Criteria) -> dict[str, Shown]:
        """All strings that the requests for a sample show."""
        answer = self.shown_sample(sample)
        texts: dict[str, Shown] = {"prompt": sample.prompt, "answer": answer, "criteria": self.listed(rubric.items)}
        if self.file.needs_reference:
            texts["reference"] = self.reference(sample) or "(none)"
        return texts

    def _questions(
        self, texts: Mapping[str, Shown], rubric: Criteria
    ) -> Iterator[tuple[list[int], Question | VerikitError]]:
        """Each request, or the error that prevents it, with its criteria's indices in the rubric."""
        for number in range(self.asks):
            for numbers in self._batches(rubric.items):
                turned = numbers[number % len(numbers) :] + numbers[: number % len(numbers)]
                criteria = tuple(rubric.items[i] for i in turned)
                request = self.request({**texts, "criteria": self.listed(criteria)})
                if isinstance(request, VerikitError):
                    yield turned, request
                else:
                    yield turned, Question(repeated(request, number, self.asks), criteria)

    def _batches(self, items: Sequence[Criterion]) -> Iterator[list[int]]:
        """Split the rubric by `calls` or `per_call`, with no more characters per request than the judge may see."""
        most = math.ceil(len(items) / self.calls) if self.calls else self.per_call
        most = 1 if self.file.reply.member else most
        batch: list[int] = []
        size = 0
        for number, item in enumerate(items):
            length = len(item.text) + len(item.within) + sum(map(len, item.levels)) + _SPARE
            if batch and (len(batch) == most or size + length > self.max_chars):
                yield batch
                batch, size = [], 0
            batch.append(number)
            size += length
        yield batch

    def _whole(
        self, rubric: Criteria, answered: Sequence[tuple[list[int], list[JudgeVerdict]]], sample: Sample
    ) -> Score:
        for _, verdicts in answered:
            if isinstance(problem := verdicts[0].error, NotShown):
                return self._not_shown(problem, rubric)
        said: list[list[JudgeVerdict]] = [[] for _ in rubric.items]
        for numbers, verdicts in answered:
            for number, verdict in zip(numbers, verdicts, strict=True):
                said[number].append(verdict)
        judged = [self._judged(some, rubric.decides(item)) for item, some in zip(rubric.items, said, strict=True)]
        values = [
            None if level is None else item.value(level) for item, level in zip(rubric.items, judged, strict=True)
        ]
        try:
            labels = self._labels(sample, rubric.items)
        except SchemaError as error:
            return Score.error(describe(error))
        parts = {
            item.name: self._part(item, some, level, label)
            for item, some, level, label in zip(rubric.items, said, judged, labels, strict=True)
        }
        usage = added(*(verdict.usage for some in said for verdict in some))
        replies = dict.fromkeys(verdict.reply for some in said for verdict in some if verdict.reply)
        told: dict[str, Any] = {"parts": parts, "usage": usage, "text": "\n\n".join(replies)}
        return self._decided(
            rubric, values, [verdict.error for some in said for verdict in some if verdict.error], told
        )

    def _not_shown(self, problem: NotShown, rubric: Criteria) -> Score:
        verdict = self.unasked(problem)
        if verdict.error:
            return failed(verdict.error, {})
        low, _ = rubric.bounds([None] * len(rubric.items), clip=self.clip)
        return Score(low, reason=verdict.unasked)

    def _decided(
        self, rubric: Criteria, values: Sequence[float | None], errors: Sequence[Exception], told: Mapping[str, Any]
    ) -> Score:
        low, high = rubric.bounds(values, clip=self.clip)
        missing = sum(value is None for value in values)
        sides = [round(value) if self.expected and value is not None else value for value in values]
        met = sum(side is not None and item.holds(side) for item, side in zip(rubric.items, sides, strict=True))
        reason = f"{met} of {len(values)} criteria as they should be"
        if missing:
            reason += f"; {missing} without a verdict"
        if low == high or (missing and self.on_missing != "unscored"):
            reason += "" if low == high else f", which leave {low:.4g} to {high:.4g} possible"
            return Score(high if self.on_missing == "high" else low, reason=reason, **told)
        reason += f", which leave {low:.4g} to {high:.4g} possible: {describe(errors[0])}"
        late = all(isinstance(error, EngineTimeout) for error in errors)
        return Score.timeout(reason, **told) if late else Score.error(reason, **told)

    def _judged(self, verdicts: Sequence[JudgeVerdict], decides: bool) -> float | None:
        """The combined result of all requests: the median (the lower of two), or None without any verdict.

        By log-probabilities it is the mean. If the criterion must be decided, it is the median of the likeliest
        verdicts.
        """
        values = [float(verdict.value) for verdict in verdicts if verdict.value is not None]
        if not values:
            return None
        if not self.expected:
            return median_low(values)
        if decides:
            return median_low(self._likeliest(verdict) for verdict in verdicts if verdict.value is not None)
        return fmean(values)

    def _likeliest(self, verdict: JudgeVerdict) -> float:
        labels = self.file.reply.labels
        return labels[verdict.label] if verdict.label in labels else float(verdict.label)

    def _part(self, item: Criterion, said: Sequence[JudgeVerdict], judged: float | None, label: float | None) -> Score:
        """A criterion's part: how far it is met according to the judge."""
        more: dict[str, Score] = {}
        if label is not None:
            more[LABEL] = Score(label, reason="what people said")
        if len(said) > 1:
            asks = {str(number): self._asked(item, verdict) for number, verdict in enumerate(said, 1)}
            more[ASKS] = Score(None, "abstained", reason=f"asked {len(said)} times", parts=asks)
        told = f"{item.points:g} points: {item.text[:_SHOWN]}"
        if judged is None:
            lost = failed(next(verdict.error for verdict in said if verdict.error), {})
            return replace(lost, reason=f"{told}; {lost.reason}", parts=more)
        known = [verdict for verdict in said if verdict.value is not None]
        answer = min(known, key=lambda verdict: abs(float(verdict.value or 0.0) - judged)).label
        if self.expected:
            answer = f"{answer} ({_level(item, judged):.2f})"
        return Score(_level(item, judged), answer=answer, reason=f"{answer}, {told}", parts=more)

    def _asked(self, item: Criterion, verdict: JudgeVerdict) -> Score:
        if verdict.value is None:
            return failed(verdict.error or ConfigError("the judge gave no verdict"), {})
        return Score(_level(item, verdict.value), answer=verdict.label)

    def _labels(self, sample: Sample, items: Sequence[Criterion]) -> list[float | None]:
        """The human label of each criterion, 0 to 1, or None if there is no label.

        Raises:
            SchemaError: The labels are neither a list as long as the rubric nor an object by name.
        """
        found = at(sample.meta, self.labels) if self.labels else None
        if found is None:
            return [None] * len(items)
        if isinstance(found, Mapping):
            return [_label(found.get(item.name), item) for item in items]
        if isinstance(found, Sequence) and not isinstance(found, str):
            if len(items) == 1 and len(found) != 1:
                return [_label(found, items[0])]
            if len(found) == len(items):
                return [_label(label, item) for label, item in zip(found, items, strict=True)]
        raise SchemaError(f"expected labels for {len(items)} criteria, got {found!r:.80}", field=self.labels)


def _check_reply_format(reply: ReplyFormat) -> None:
    """Raise if a prompt's replies can't contain a verdict on each criterion."""
    if not reply.member and ("{number}" not in reply.find or "{fence}" not in reply.find):
        raise ConfigError("a rubric prompt's find must contain {fence} and {number}", hint="<{fence} {number}: {}>")
    if len(reply.labels) != 2 or set(reply.labels.values()) != {0.0, 1.0}:
        raise ConfigError("a rubric prompt must have two labels, with the values 1 and 0")


def _each(verdicts: list[JudgeVerdict], numbers: Sequence[int]) -> list[JudgeVerdict]:
    """A verdict for each criterion. If no request was sent, all criteria share its error."""
    return verdicts if len(verdicts) == len(numbers) else verdicts * len(numbers)


def _level(item: Criterion, said: float) -> float:
    """How far a criterion is met, 0 to 1, whether or not it should be."""
    return replace(item, negate=False).value(said)


def _label(said: Any, item: Criterion) -> float | None:
    if said is None:
        return None
    if isinstance(said, Sequence) and not isinstance(said, str):
        known = [label for label in (_label(person, item) for person in said) if label is not None]
        return fmean(known) if known else None
    if not isinstance(said, (bool, int, float)):
        raise SchemaError(f"a label must be true, false or a number, got {said!r:.80}", field="labels")
    return _level(item, float(said))
