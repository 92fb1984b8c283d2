"""Judges of a single answer: a rating, or True or False against a reference."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import ClassVar, Literal, get_args

from verikit.engines.usage import added
from verikit.errors import ConfigError
from verikit.judges.asking.ask import told
from verikit.judges.asking.judge import Judge, failed, usage_of_shown, with_entries_shown
from verikit.judges.asking.prompt import Task
from verikit.judges.asking.reply import JudgeVerdict
from verikit.judges.asking.scaled import Scaled, mean_of_askings, mean_of_criteria
from verikit.judges.evidence import Evidence, Shown, turns
from verikit.judges.evidence.content import LONE
from verikit.judges.pairwise import TIE, Comparer, Comparison, Pair
from verikit.platform.batches import take
from verikit.platform.raised import describe
from verikit.replies.views import text_read
from verikit.types import Sample, Score

Turns = Literal["last", "each"]


@dataclass(frozen=True, repr=False)
class Pointwise(Scaled, Comparer):
    """Rates an answer. The value is the rating's place on its scale (1 to 10 becomes 0 to 1), `answer` the rating.

    With `expected`, or the prompt `rating-token`, the rating is the mean over the verdicts' probabilities (G-Eval, Liu
    et al.). Without log-probabilities, the mean of `asks` ratings approximates it.
    """

    name = "judge"
    task: ClassVar[Task] = "pointwise"
    prompt: str = "rating"
    turns: Turns = "last"
    """`each` rates every assistant turn of a conversation and averages them (MT-Bench's two turns). See `steps`."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.turns not in get_args(Turns):
            raise ConfigError(f"turns must be one of {', '.join(get_args(Turns))}, got {self.turns!r}")

    def score_batch(self, samples: Sequence[Sample]) -> list[Score]:
        """Rate each completion, in one call of the engine."""
        asked = [self._turns(sample) for sample in samples]
        shown = self.fitted([texts for turns in asked if isinstance(turns, list) for texts in turns])
        self.warn_unseen([(texts["answer"], self.criteria) for texts in shown])
        rated = zip(self._rate(shown), shown, strict=True)
        return [
            self._merged([with_entries_shown(self._scored(said), texts) for said, texts in take(rated, len(turns))])
            if isinstance(turns, list)
            else turns
            for turns in asked
        ]

    def compare(self, pairs: Sequence[Pair]) -> list[Comparison]:
        """Rate both answers of each pair, in one call of the engine. The higher rating wins."""
        texts: list[dict[str, Shown]] = [
            {
                "prompt": pair.prompt,
                "answer": self.shown_reply(text_read(text, self.reads), messages, sample=Sample(workspace=workspace)),
                **({"reference": pair.reference} if pair.reference else {}),
            }
            for pair in pairs
            for text, messages, workspace in zip((pair.first, pair.second), pair.messages, pair.workspaces, strict=True)
        ]
        rated = map(mean_of_criteria, self._rate(self.fitted(texts)))
        return [self._compared(next(rated), next(rated)) for _ in pairs]

    def _rate(self, shown: Sequence[Mapping[str, Shown]]) -> list[list[JudgeVerdict]]:
        """Rate by every criterion `asks` times. Return the verdicts per criterion for each text."""
        numbers, criteria = range(self.asks), self.criteria or ("",)
        requests = [self.asking(texts, each, number) for texts in shown for each in criteria for number in numbers]
        verdicts = iter(self.ask(requests))
        rated = [[mean_of_askings([next(verdicts) for _ in numbers]) for _ in criteria] for _ in shown]
        for texts, said in zip(shown, rated, strict=True):
            said[0] = replace(said[0], usage=added(said[0].usage, usage_of_shown(texts)))
        return rated

    def _compared(self, first: JudgeVerdict, second: JudgeVerdict) -> Comparison:
        usage = added(first.usage, second.usage)
        if first.value is None or second.value is None:
            error = first.error or second.error
            return Comparison(None, describe(error) if error else "", error=error, usage=usage)
        preference = TIE if first.value == second.value else float(first.value > second.value)
        reason = f"rated {first.value:.4g} against {second.value:.4g}{told(usage)}"
        return Comparison(preference, reason, usage=usage)

    def _turns(self, sample: Sample) -> list[dict[str, Shown]] | Score:
        """The strings of each question to the judge."""
        reference = self.reference(sample)
        if self.file.needs_reference and reference is None:
            return Score.error("the prompt shows a reference, and this row has no gold answer")
        shown: dict[str, Shown] = {} if reference is None else {"reference": reference}
        answer = self.shown_sample(sample)
        questions: list[dict[str, Shown]] = [{"prompt": sample.prompt, "answer": answer, **shown}]
        if self.turns == "each" and not isinstance(sample.prompt, str):
            asked = turns(sample.prompt)
            questions[:0] = [
                {
                    "prompt": Evidence(tuple(asked[:number])),
                    "answer": Evidence((turn._replace(role=LONE, text=text_read(turn.text, self.reads)),)),
                    **shown,
                }
                for number, turn in enumerate(asked)
                if turn.role == "assistant" and number
            ]
        return questions

    def _scored(self, verdicts: Sequence[JudgeVerdict]) -> Score:
        """The score of a text from the verdicts on its criteria."""
        whole = mean_of_criteria(verdicts)
        parts: dict[str, Score] = {}
        if self.criteria:
            parts = {name: self._rating(said) for name, said in zip(self.criteria, verdicts, strict=True)}
        if whole.value is None:
            return replace(failed(whole.error or ConfigError("the judge gave no verdict"), whole.usage), parts=parts)
        return replace(self._rating(whole), parts=parts, usage=whole.usage)

    def _rating(self, verdict: JudgeVerdict) -> Score:
        if verdict.value is None:
            return failed(verdict.error or ConfigError("the judge gave no verdict"), {})
        low, high = self.file.reply.span
        if verdict.unasked:
            return Score(0.0, reason=verdict.unasked)
        how = "by the tokens' probabilities" if self.file.reply.read == "logprobs" else "by the judge"
        often = f", mean of {self.asks} askings" if self.asks > 1 else ""
        reason = f"rated {verdict.value:.4g} of {high:g} {how}{often}{told(verdict.usage)}"
        return Score((verdict.value - low) / (high - low), answer=f"{verdict.value:.6g}", reason=reason)

    def _merged(self, turns: list[Score]) -> Score:
        if len(turns) == 1:
            return turns[0]
        usage = added(*(turn.usage for turn in turns))
        if lost := next((turn for turn in turns if not turn.scored), None):
            return replace(lost, steps=tuple(turns), usage=usage)
        value = fmean(map(float, turns))
        return Score(value, reason=f"mean of {len(turns)} turns", steps=tuple(turns), usage=usage)


@dataclass(frozen=True, repr=False)
class Reference(Judge):
    """Judges True (1.0) or False (0.0) whether an answer agrees with the gold one (R1-Searcher's ACC_L)."""

    name = "reference_judge"
    task: ClassVar[Task] = "reference"
    prompt: str = "reference"

    def score_batch(self, samples: Sequence[Sample]) -> list[Score]:
        """Judge each completion that has a gold answer, in one call of the engine."""
        texts = [self._texts(sample) for sample in samples]
        shown = self.fitted([text for text in texts if text is not None])
        verdicts = self.ask([self.request(text) for text in shown])
        scores = iter(
            with_entries_shown(self._scored(replace(verdict, usage=added(verdict.usage, usage_of_shown(text)))), text)
            for verdict, text in zip(verdicts, shown, strict=True)
        )
        return [Score.error("there is no gold answer to judge by") if text is None else next(scores) for text in texts]

    def _texts(self, sample: Sample) -> Mapping[str, Shown] | None:
        reference = self.reference(sample)
        if reference is None:
            return None
        answer = self.shown_sample(sample)
        return {"prompt": sample.prompt, "answer": answer, "reference": reference}

    def _scored(self, verdict: JudgeVerdict) -> Score:
        if verdict.value is None:
            return failed(verdict.error or ConfigError("the judge gave no verdict"), verdict.usage)
        reason = verdict.unasked or f"the judge says {verdict.label}{told(verdict.usage)}"
        return Score(verdict.value, answer=verdict.label, reason=reason, usage=verdict.usage)
