"""`answer`: the final answer of a text against a gold, compared by what the gold is; `math`: mathematical golds only.

The work is in `verikit.answers`. Blame: a wrong, missing, undecided or oversized answer is 0.0 with the reason; a gold
that can't be read and a helper process that won't start have no value.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Literal

from verikit.answers.fingerprint import fingerprint
from verikit.answers.gold import read_gold
from verikit.answers.policy import OrderRule, Policy, Rounding, Several, Strictness, UnitRule
from verikit.answers.tail import Tail
from verikit.answers.verdict import Verdict, verify
from verikit.base import TextVerifier
from verikit.errors import HelperError, UsageError
from verikit.types import Prompt, Sample, Score


@lru_cache(maxsize=8)
def _tail(seconds: float) -> Tail:
    """One helper process for all verifiers of this process with the same deadline."""
    return Tail(seconds)


@dataclass(frozen=True)
class Answer(TextVerifier):
    """1.0 if the completion's final answer is the gold's: numbers, formulas, sets, units, option letters, short text.

    The gold is `sample.answer`, a string or several accepted ones. `sample.prompt` is the question; `sample.meta` may
    hold `options`, the option texts of multiple choice.
    """

    policy: Strictness = "strict"
    """`strict`, or `lenient`: short texts may contain one another and units may disagree."""
    several: Several = "last"
    """Of several marked answers the `last` counts; `unanimous`: all must agree; `reject`: different ones score 0."""
    units: UnitRule = "optional"
    """`optional`: a unit may be left out; `required`: the gold's must be there; `ignored`: none matters."""
    percent: bool = True
    """Whether 5 and 0.05 both match 5%."""
    assignment: bool = True
    """Whether 5 matches x = 5, and x = 5 matches 5."""
    order: OrderRule = "typed"
    """`typed`: tuples in order, lists and sets in any; or all `ordered`, or all `unordered`."""
    rounding: Rounding = "gold"
    """`gold`: an exact value that rounds to a decimal gold matches it; `off`: it does not."""
    tolerance: float = 0.0
    """Relative tolerance for numbers."""
    undecided: Literal["zero", "abstain"] = "zero"
    """What an answer that can't be shown equal or different gets."""
    tail_seconds: float = 0.2
    """Deadline of the computer algebra for undecided pairs; 0 does without it."""
    name = "answer"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.undecided not in ("zero", "abstain"):
            raise UsageError(f"undecided must be zero or abstain, not {self.undecided!r}")
        if self.tail_seconds < 0:
            raise UsageError(f"tail_seconds must not be negative, not {self.tail_seconds!r}")
        _ = self.rules

    @cached_property
    def rules(self) -> Policy:
        """The options that decide equality."""
        return Policy(
            self.policy,
            self.several,
            self.units,
            self.order,
            self.percent,
            self.assignment,
            self.rounding,
            self.tolerance,
        )

    def score(self, samples: Sequence[Sample]) -> list[Score]:
        """Score each sample by itself."""
        return [self._one(sample) for sample in samples]

    def explain(self, sample: Sample) -> str:
        """Extraction, both trees, the rule and the stage, one a line."""
        if not _golds(sample):
            return ""
        try:
            return str(self.verdict(sample))
        except HelperError as error:
            return f"computer algebra: {error}"

    def verdict(self, sample: Sample, *, tail: bool = True) -> Verdict:
        """The whole verdict on a sample; without `tail`, computer algebra is not asked.

        Raises:
            HelperError: the helper process could not be started or died.
        """
        options = sample.meta.get("options")
        return verify(
            sample.completion,
            _golds(sample),
            question=_text(sample.prompt),
            options=[str(option) for option in options] if isinstance(options, list | tuple) else (),
            policy=self.rules,
            tail=_tail(self.tail_seconds) if tail and self.tail_seconds else None,
            letters=self._letters,
        )

    _letters = True

    def _one(self, sample: Sample) -> Score:
        start = time.perf_counter()
        golds = _golds(sample)
        if not golds:
            return Score.error("no gold answer")
        try:
            verdict = self.verdict(sample)
        except HelperError as error:
            return Score.error(f"computer algebra: {error}", seconds=time.perf_counter() - start)
        return self._score(verdict, time.perf_counter() - start)

    def _score(self, verdict: Verdict, seconds: float) -> Score:
        reason = _reason(verdict.outcome, verdict.rule, verdict.stage, verdict.form)
        if verdict.outcome == "bad gold":
            return Score.error(reason, answer=verdict.extracted, seconds=seconds)
        if verdict.outcome == "undecided" and self.undecided == "abstain":
            return Score.abstained(reason, answer=verdict.extracted, seconds=seconds)
        return Score(float(verdict.equal), answer=verdict.extracted, reason=reason, seconds=seconds)

    def equal(self, a: str, b: str) -> bool | None:
        """Whether two answers are the same in both directions; None where neither could be shown.

        Decided in process alone: n answers make up to n² / 2 pairs, and computer algebra may take seconds over each.
        """
        if a == b:
            return True
        one = self._direction(a, b)
        if one is False:
            return False
        other = self._direction(b, a)
        return other if other is not True else one

    def keys(self, answer: str) -> tuple[int] | None:
        """The fingerprint of a plain formula; None for everything else, and under a policy that is not transitive."""
        if self.tolerance or self.policy != "strict":
            return None
        found = fingerprint(answer)
        return None if found is None else (found,)

    def doubts(self, score: Score) -> bool:
        """Whether texts were compared by their words, or nothing was decided: numbers, formulas, letters are proof."""
        return score.reason.startswith("undecided") or score.reason.rpartition("(")[2].startswith("text")

    def _direction(self, a: str, b: str) -> bool | None:
        verdict = self.verdict(Sample(completion=a, answer=b), tail=False)
        if verdict.outcome == "bad gold":
            return a.strip() == b.strip()
        return None if verdict.outcome == "undecided" else verdict.equal


@dataclass(frozen=True)
class Math(Answer):
    """`answer` for mathematical golds only: a single letter is a symbol, and it abstains where the gold is prose."""

    name = "math"
    _letters = False

    def _one(self, sample: Sample) -> Score:
        golds = _golds(sample)
        kept = [gold for gold in golds if read_gold(gold).tree is not None or read_gold(gold).problem]
        if golds and not kept:
            return Score.abstained("the gold is no mathematics")
        return super()._one(replace(sample, answer=kept))


@lru_cache(maxsize=512)
def _reason(outcome: str, rule: str, stage: str, form: str) -> str:
    places = ", ".join(part for part in (stage, form) if part)
    return f"{outcome}: {rule} ({places})" if places else f"{outcome}: {rule}"


def _golds(sample: Sample) -> list[str]:
    golds = sample.answer
    return [golds] if isinstance(golds, str) else [str(gold) for gold in golds or ()]


def _text(prompt: Prompt) -> str:
    return prompt if isinstance(prompt, str) else "\n".join(str(message.get("content", "")) for message in prompt)
