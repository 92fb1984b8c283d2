"""Is the JSON of a reply the gold's JSON? Compared by field, with the fields as parts."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any, Literal, get_args

from verikit.answers.claims.json_fields import (
    ExtraKeys,
    FieldVerdict,
    JsonRules,
    TooMuchWork,
    canonical,
    compare_fields,
    unfit,
)
from verikit.answers.claims.roles import is_alternative, role_among
from verikit.answers.claims.tokens import after, before
from verikit.base import TextVerifier
from verikit.errors import UsageError
from verikit.types import Sample, Score
from verikit.verifiers.reading.gold import check_choice
from verikit.verifiers.reading.json_reply import Document, documents, parsed

SeveralDocuments = Literal["last", "reject"]
MAX_PARTS = 500
"""Maximum fields that become parts; further fields count, but are not listed."""
_TOLD = 3
_MAX_NAME = 200
_MAX_ANSWER = 20_000


@dataclass(frozen=True)
class JsonMatch(TextVerifier):
    """1.0 if the JSON in the completion equals the gold's: the same fields with the same values.

    The JSON is located as by `json_schema`. Objects match in any order of keys, lists in order. Strings match exactly,
    numbers by value: 1 is 1.0, but not "1" and not true. Parts are the fields, by path (`items[0].price`).
    """

    rel_tol: float = 0.0
    """Allowed |number - gold| / |gold|."""
    abs_tol: float = 0.0
    """Allowed |number - gold|."""
    unordered: bool | Sequence[str] = False
    """True: all lists match in any order, as multisets. Or the paths of such lists: `("tags", "items[*].tags")`. `$` is
    the whole document."""
    extra: ExtraKeys = "refuse"
    """Whether keys missing from the gold answer are an error (`refuse`) or `ignore`d. Extra list items always are."""
    typed_numbers: bool = False
    """Whether 1 and 1.0 differ."""
    reward: Literal["all", "fraction"] = "all"
    """`all` fields must be right, or the value is the `fraction` of right fields. An item of an unordered list is one
    field. An extra key or item is a wrong field."""
    several: SeveralDocuments = "last"
    """If there are several documents, the `last` is used. `reject`: 0.0 if an earlier one differs from it."""
    expected: str = "expected"
    """The row's key with the gold as JSON or a JSON string. If a row doesn't have that key, its gold answer is used."""
    max_chars: int = 1_000_000
    """A longer completion is 0.0 without being read."""
    name = "json_match"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("extra", self.extra, get_args(ExtraKeys))
        check_choice("reward", self.reward, ("all", "fraction"))
        check_choice("several", self.several, get_args(SeveralDocuments))
        if not (0 <= self.rel_tol < 1 and 0 <= self.abs_tol < float("inf")):
            raise UsageError("tolerances must be at least 0, and rel_tol below 1")
        if self.max_chars < 1:
            raise UsageError(f"max_chars must be at least 1, got {self.max_chars!r}")
        if not isinstance(self.unordered, bool):
            paths = [self.unordered] if isinstance(self.unordered, str) else list(self.unordered)
            if not all(isinstance(path, str) and path for path in paths):
                raise UsageError(f"unordered must be true, false, or paths of lists, got {self.unordered!r}")
            object.__setattr__(self, "unordered", tuple(paths))

    @cached_property
    def rules(self) -> JsonRules:
        """The options that decide equality."""
        unordered = self.unordered if isinstance(self.unordered, bool) else frozenset(self.unordered)
        tolerances = Fraction(str(self.rel_tol)), Fraction(str(self.abs_tol))
        return JsonRules(*tolerances, unordered, self.extra, self.typed_numbers)

    def score_batch(self, samples: Sequence[Sample]) -> list[Score]:
        """Score each sample separately."""
        return [self._score_sample(sample) for sample in samples]

    def _score_sample(self, sample: Sample) -> Score:
        gold: Any = sample.meta.get(self.expected, sample.answer)
        golds = [read_gold_json(text) for text in _accepted(gold)]
        known = [document for document in golds if not document.problem]
        if not known:
            return Score.error(golds[0].problem if golds else "the row has no gold answer")
        if len(sample.completion) > self.max_chars:
            return Score(0.0, reason=f"{len(sample.completion)} characters, over the cap of {self.max_chars}")
        return max((self._score_reply(sample.completion, gold) for gold in known), key=float)

    def _score_reply(self, reply: str, gold: Document) -> Score:
        found = documents(reply, array=isinstance(gold.value, list))
        last = found[-1]
        answer = last.text[:_MAX_ANSWER]
        if problem := last.problem or unfit(last.value) or unclaimed(reply, last):
            return Score(0.0, answer=answer, reason=problem)
        if self.several == "reject" and any(not self._is_same(other, last) for other in found[:-1]):
            return Score(0.0, answer=answer, reason="several documents that differ")
        try:
            fields = compare_fields(gold.value, last.value, self.rules)
        except TooMuchWork as error:
            return Score(0.0, answer=answer, reason=str(error))
        return self._score_fields(fields, answer)

    def _score_fields(self, fields: Sequence[FieldVerdict], answer: str) -> Score:
        wrong = [field for field in fields if field.problem]
        share = (len(fields) - len(wrong)) / len(fields)
        value = share if self.reward == "fraction" else float(not wrong)
        return Score(value, answer=answer, reason=_reason(wrong, len(fields)), parts=_parts(fields))

    def _is_same(self, other: Document, last: Document) -> bool:
        if other.problem or unfit(other.value):
            return False
        return canonical(other.value, self.rules) == canonical(last.value, self.rules)

    def equal(self, a: str, b: str) -> bool:
        """Whether two documents are equal in both directions; other strings equal only themselves."""
        if a == b:
            return True
        first, second = parsed(a.strip()), parsed(b.strip())
        if first.problem or second.problem or unfit(first.value) or unfit(second.value):
            return False
        try:
            both = [*compare_fields(first.value, second.value, self.rules)]
            both += compare_fields(second.value, first.value, self.rules)
        except TooMuchWork:
            return False
        return not any(field.problem for field in both)

    def keys(self, answer: str) -> tuple[str] | None:
        """The document's canonical text; None under tolerances, since equality is then not transitive."""
        document = parsed(answer.strip())
        if self.rel_tol or self.abs_tol or document.problem or unfit(document.value):
            return None
        return (canonical(document.value, self.rules),)

    def matches(self, score: Score) -> bool:
        """Right answers are the gold's."""
        return score.value == 1.0

    def doubts(self, score: Score) -> bool:
        """Always False: a difference between two values is certain."""
        return False


def _accepted(gold: Any) -> list[str]:
    """The strings of a row's gold answers: one, several accepted ones, or a value that is JSON itself."""
    if gold is None:
        return []
    if isinstance(gold, str):
        return [gold]
    if isinstance(gold, Sequence) and gold and all(isinstance(item, str) for item in gold):
        return list(gold)
    try:
        return [json.dumps(dict(gold) if isinstance(gold, Mapping) else gold, allow_nan=False)]
    except (TypeError, ValueError, RecursionError) as error:
        return [f"the gold is not JSON: {error}"]


@lru_cache(maxsize=256)
def read_gold_json(text: str) -> Document:
    """The gold answer as JSON, with the problem if it is unusable. Callers must not change its value."""
    document = parsed(text.strip())
    problem = document.problem or unfit(document.value)
    return document._replace(problem=f"the gold can't be compared: {problem}" if problem else "")


def unclaimed(reply: str, document: Document) -> str:
    """Why a document among prose is not an answer ("" if it is): its sentence denies it, or offers alternatives."""
    if document.text == reply.strip():
        return ""
    start = reply.rfind(document.text)
    left = before(reply, start)
    said = role_among(left, after(reply, start + len(document.text)))
    if said in ("denied", "quoted"):
        return f"the JSON is {said}, not claimed"
    return "the JSON is offered with another" if said == "alternative" or is_alternative(left) else ""


def _reason(wrong: Sequence[FieldVerdict], count: int) -> str:
    if not wrong:
        return f"all {count} fields are the gold's" if count > 1 else "the gold's value"
    told = "; ".join(_told(field) for field in wrong[:_TOLD])
    more = f"; {len(wrong) - _TOLD} more" if len(wrong) > _TOLD else ""
    return f"{len(wrong)} of {count} fields wrong: {told}{more}" if count > 1 else told


def _told(field: FieldVerdict) -> str:
    name = field.path[:_MAX_NAME]
    if field.problem in ("missing", "extra", "no such item"):
        return f"{name} is {field.problem}" if field.problem != "no such item" else f"{name} has no equal item"
    return f"{name} is {field.problem}"


def _parts(fields: Sequence[FieldVerdict]) -> dict[str, Score]:
    """The fields as scores by path."""
    return {
        field.path[:_MAX_NAME]: Score(float(not field.problem), reason=field.problem or "the gold's value")
        for field in fields[:MAX_PARTS]
    }
