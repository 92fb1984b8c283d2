"""`rescue`: a judge for the samples that a rule rejects without certainty, or can't decide.

Rules are cheap and rarely accept a wrong answer, but they reject right answers in unknown wordings. A judge understands
the wording, but costs a call and can be persuaded by the text. So it sees the question, the gold answer and the
extracted answer, and no other part of the reply. Answers that the rule accepts, or rejects with certainty
(`Verifier.doubts`), are not sent to the judge.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from verikit.base import Verifier
from verikit.compose.combine import Part, as_verifier
from verikit.errors import UsageError
from verikit.replies.split import Reads
from verikit.replies.text import accepted
from verikit.types import Sample, Score


@dataclass(frozen=True)
class Rescue(Verifier):
    """A rule with a judge for the answers that it rejects. See `rescue`."""

    rule: Verifier
    judge: Verifier
    max_chars: int = 300
    name = "rescue"
    reads: ClassVar[Reads | None] = None
    tallied: ClassVar[tuple[str, ...]] = ("judge_calls", "rescued")

    def score_batch(self, samples: Sequence[Sample]) -> list[Score]:
        """Score by the rule, then send doubtful samples to the judge in one batch. Equal questions are sent once."""
        scores = self.rule.score(samples)
        asked: dict[Hashable, list[int]] = {}
        for i, (sample, score) in enumerate(zip(samples, scores, strict=True)):
            if self._doubtful(sample, score):
                asked.setdefault((repr(sample.prompt), score.answer, *accepted(sample.answer)), []).append(i)
        shown = [self._shown(samples[indices[0]], scores[indices[0]]) for indices in asked.values()]
        for indices, second in zip(asked.values(), self.judge.score(shown), strict=True):
            for i in indices:
                scores[i] = self._decided(scores[i], second, called=i == indices[0])
        return scores

    def _doubtful(self, sample: Sample, score: Score) -> bool:
        """Whether the judge can help: the rule rejected or abstained on a short answer, and there is a gold answer."""
        refused = score.status == "abstained" or (score.scored and not score.passed)
        if not refused or not score.answer or len(score.answer) > self.max_chars or not accepted(sample.answer):
            return False
        return score.status == "abstained" or self.rule.doubts(score)

    def _shown(self, sample: Sample, score: Score) -> Sample:
        """The sample for the judge, in which the completion is only the extracted answer."""
        return Sample(sample.prompt, score.answer or "", sample.answer, sample.id)

    def _decided(self, first: Score, second: Score, *, called: bool) -> Score:
        parts = {"rule": first, "judge": second}
        rescued = second.scored and second.passed
        usage = {**first.usage, "judge_calls": float(called), "rescued": float(rescued)}
        if called:
            usage = {**second.usage, **usage}
        kept = replace(first if second.scored and not rescued and first.scored else second, answer=first.answer)
        if rescued:
            how = "accepts"
        else:
            how = "also rejects" if second.scored else "has no verdict on"
        reason = f"the judge {how} the answer that the rule did not accept ({first.reason})"
        return replace(kept, reason=reason if second.scored else f"{reason}: {second.reason}", parts=parts, usage=usage)

    def equal(self, a: str, b: str) -> bool | None:
        """Compare with the rule."""
        return self.rule.equal(a, b)

    def keys(self, answer: str) -> tuple[Hashable, ...] | None:
        """The rule's keys."""
        return self.rule.keys(answer)

    def matches(self, score: Score) -> bool:
        """Whether the rule counts the score as a match with the gold answer."""
        return self.rule.matches(score)


def rescue(rule: Part, judge: Part, max_chars: int = 300) -> Verifier:
    """Score with a rule, and call a judge if the rule rejects without certainty or can't decide.

    The judge sees only the question, the gold answer and the extracted answer. If it accepts, its value is used,
    otherwise the rule's. If it gives no verdict, the whole has none. `Score.usage` counts `judge_calls` and `rescued`
    verdicts.

    Args:
        rule: A verifier that returns the answer it read (`Score.answer`).
        judge: A verifier with a gold answer, such as `reference_judge('openai:…', prompt='reference-xverify')`.
        max_chars: Maximum length of an answer for the judge. A longer one stays rejected.

    Raises:
        UsageError: `max_chars` is below 1.
    """
    if not max_chars >= 1:
        raise UsageError(f"max_chars must be at least 1, got {max_chars!r}")
    return Rescue(as_verifier(rule), as_verifier(judge), max_chars)
