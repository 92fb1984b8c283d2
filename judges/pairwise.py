"""Pairwise judges: which of two answers is better, judged in both orders.

A judge that prefers a position gives no information. With both orders a win counts only if both agree, otherwise it is
a tie. Verdicts read from log-probabilities are averaged instead. If one order has no verdict, neither has the
comparison.

If a pair is judged more than once (`scaled.py`), this applies to each repetition, and their mean counts.
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from statistics import fmean, pvariance
from types import NoneType
from typing import Any, ClassVar, Literal, get_args

from verikit.base import Verifier
from verikit.engines import Request
from verikit.engines.usage import added
from verikit.errors import ConfigError, JudgeError, UsageError, VerikitError
from verikit.judges.asking.ask import FORCED, told
from verikit.judges.asking.contradicted import CONTRADICTED
from verikit.judges.asking.judge import entries_shown, failed, usage_of_shown
from verikit.judges.asking.prompt import Task
from verikit.judges.asking.reply import JudgeVerdict
from verikit.judges.asking.scaled import Scaled, mean_of_askings, mean_of_criteria
from verikit.judges.evidence import Shown, as_text
from verikit.messages import TEXT_PARTS, THOUGHT_PARTS, CompletionMessage, are_parts, calls_beside, media_of
from verikit.platform.raised import describe
from verikit.replies.views import text_read
from verikit.stats.beta import beta_interval, beta_probability
from verikit.types import WORKSPACE, Prompt, Sample, Score
from verikit.workspaces import TaskWorkspace, Workspace

Order = Literal["both", "fixed", "random"]
AgentFiles = Workspace | TaskWorkspace | None
"""The files that an agent left, if the row has them."""
TIE = 0.5
_SAID = (*TEXT_PARTS, *THOUGHT_PARTS)
OPPONENT_WORKSPACE = "opponent_workspace"
"""The row's key with the files that the opponent left, in the format of its `workspace`."""


@dataclass(frozen=True, slots=True)
class Pair:
    """Two answers to one prompt."""

    first: str
    second: str
    prompt: Prompt = ""
    reference: Shown = None
    """A gold answer, for prompts that show one."""
    messages: tuple[Sequence[CompletionMessage], Sequence[CompletionMessage]] = ((), ())
    """The messages of both answers, if they are conversations."""
    workspaces: tuple[AgentFiles, AgentFiles] = (None, None)
    """The files that both agents left."""

    @property
    def equal(self) -> bool:
        """Whether both answers are the same, including all messages but not workspaces."""
        first, second = ([] if _lone(run) else list(run) for run in self.messages)
        return self.first == self.second and first == second


@dataclass(frozen=True, slots=True)
class OrderVerdict:
    """One order in which a pair was shown."""

    swapped: bool
    """Whether the second answer was shown first."""
    verdict: JudgeVerdict
    """The judge's verdict. Its value is for the answer that was shown first."""

    @property
    def preference(self) -> float | None:
        """The preference for the pair's first answer."""
        value = self.verdict.value
        return value if value is None or not self.swapped else 1 - value


@dataclass(frozen=True, slots=True)
class Comparison:
    """The result of judging a pair."""

    preference: float | None
    """For the first answer: 1 win, 0.5 tie, 0 loss. None: no verdict."""
    reason: str = ""
    orders: tuple[OrderVerdict, ...] = ()
    error: Exception | None = None
    """The error that left the comparison without a preference."""
    usage: Mapping[str, float] = field(default_factory=dict)
    """Usage of all orders and judges."""

    @property
    def unread(self) -> bool:
        """Whether the judge answered without a verdict. Other failures may succeed on a retry."""
        return isinstance(self.error, JudgeError)


class Comparer(ABC):
    """Anything that can compare pairs of answers."""

    @abstractmethod
    def compare(self, pairs: Sequence[Pair]) -> list[Comparison]:
        """Compare each pair, in order. A failure is a comparison without a preference."""


@dataclass(frozen=True, repr=False)
class Pairwise(Scaled, Comparer):
    """Compares an answer with an opponent's. As a verifier, the opponent is `sample.meta["opponent"]`.

    Sources: both orders Zheng et al. 2023 (MT-Bench), one-token verdicts AlpacaEval 2, length guard Elo-Evolve,
    repeated requests and criteria Kwok et al. 2026 (LLM-as-a-Verifier).
    """

    name = "pairwise"
    task: ClassVar[Task] = "pairwise"
    tallied: ClassVar[tuple[str, ...]] = (FORCED, CONTRADICTED)
    prompt: str = "pairwise"
    _: KW_ONLY
    order: Order = "both"
    """Which orders are shown: `both`, `fixed` (the answer first, then the opponent), or `random`.

    `random` shows one order, derived from the prompt's text.
    """
    tie: float = TIE
    """Score of a tie. 0.0 makes the score a binary reward."""
    max_longer: int | None = None
    """Length guard: 0.0, without a call, for answers longer than the opponent's by more than this many words.

    Elo-Evolve uses 300.
    """
    confidence: float = 1.0
    """Stop the repeated requests (`asks`) for a pair once its better answer is determined with this probability.

    The probability is computed from the verdicts so far and a flat prior. 1 never stops early.
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.confidence, (int, float)) or not 0.5 < self.confidence <= 1:
            raise ConfigError(f"confidence must be above 0.5 and at most 1, got {self.confidence!r}")
        if self.order not in get_args(Order):
            raise ConfigError(f"order must be one of {', '.join(get_args(Order))}, got {self.order!r}")
        if self.file.reply.span != (0.0, 1.0):
            raise ConfigError(
                f"{self.prompt!r}: the value of a pairwise verdict must be 0 to 1, for the answer shown first"
            )
        if not isinstance(self.tie, (int, float)):
            raise ConfigError(f"tie must be a number, the score of a tie, got {self.tie!r}")
        if not isinstance(self.max_longer, (int, NoneType)):
            raise ConfigError(f"max_longer must be a number of words, got {self.max_longer!r}")

    def score_batch(self, samples: Sequence[Sample]) -> list[Score]:
        """Compare each completion with its opponent, in one call of the engine."""
        pairs = [self._pair(sample) for sample in samples]
        compared = iter(self.compare([pair for pair in pairs if isinstance(pair, Pair)]))
        return [self._scored(next(compared)) if isinstance(pair, Pair) else pair for pair in pairs]

    def compare(self, pairs: Sequence[Pair]) -> list[Comparison]:
        """Compare each pair. Equal answers with equal messages are a tie without a judge call."""
        pairs = [
            replace(pair, first=text_read(pair.first, self.reads), second=text_read(pair.second, self.reads))
            for pair in pairs
        ]
        heard: list[list[OrderVerdict]] = [[] for _ in pairs]
        shown = self.fitted([{} if self._same(pair) else self._texts(pair) for pair in pairs])
        self.warn_unseen([(texts.get("answer_1"), self.criteria) for texts in shown if texts])
        for number in range(self.asks):
            plans = {
                i: self._plan(pair, shown[i], number) for i, pair in enumerate(pairs) if not self._decided(heard[i])
            }
            verdicts = iter(self.ask([request for plan in plans.values() for _, request in plan]))
            for i, plan in plans.items():
                heard[i] += [OrderVerdict(swapped, next(verdicts)) for swapped, _ in plan]
        compared = [self._compared(tuple(orders)) for orders in heard]
        return [
            replace(found, reason=found.reason + entries_shown(texts), usage=added(found.usage, usage_of_shown(texts)))
            for found, texts in zip(compared, shown, strict=True)
        ]

    def _plan(self, pair: Pair, texts: Mapping[str, Shown], number: int) -> list[tuple[bool, Request | VerikitError]]:
        """The requests of one repetition: one per criterion and order."""
        return [
            (swapped, self.asking(_swapped(texts) if swapped else texts, criterion, number))
            for criterion in self.criteria or ("",)
            for swapped in self._orders(pair)
        ]

    def _texts(self, pair: Pair) -> dict[str, Shown]:
        first, second = (
            self.shown_reply(text, messages, sample=Sample(workspace=workspace))
            for text, messages, workspace in zip((pair.first, pair.second), pair.messages, pair.workspaces, strict=True)
        )
        texts: dict[str, Shown] = {"prompt": pair.prompt, "answer_1": first, "answer_2": second}
        return texts if pair.reference is None else texts | {"reference": pair.reference}

    def _decided(self, heard: Sequence[OrderVerdict]) -> bool:
        """Whether the better answer is determined with the required confidence."""
        known = [order.preference for order in heard if order.preference is not None]
        return self.confidence < 1 and leads(known) >= self.confidence

    def _same(self, pair: Pair) -> bool:
        """Whether the judge would see the same answer twice."""
        return pair.equal and not (self.shows == "workspace" and any(pair.workspaces))

    def _orders(self, pair: Pair) -> tuple[bool, ...]:
        if self._same(pair):
            return ()
        if self.order == "both":
            return (False, True)
        drawn = hashlib.sha256(as_text(pair.prompt).encode("utf-8", "replace")).digest()[0] % 2 == 1
        return (self.order == "random" and drawn,)

    def _mean(self, each: Sequence[Comparison]) -> JudgeVerdict:
        """The mean over each criterion's repetitions, then over criteria. Verdicts alternate between the criteria."""
        questions = len(self.criteria or ("",))
        return mean_of_criteria([mean_of_askings([_said(c) for c in each[i::questions]]) for i in range(questions)])

    def _compared(self, orders: tuple[OrderVerdict, ...]) -> Comparison:
        if not orders:
            return Comparison(TIE, "the answers are equal")
        width = 2 if self.order == "both" else 1
        each = [self._agreed(orders[i : i + width]) for i in range(0, len(orders), width)]
        if len(each) == 1:
            return each[0]
        whole = self._mean(each)
        if whole.value is None:
            error = whole.error
            return Comparison(None, describe(error) if error else "", orders, error, whole.usage)
        known = [order.preference for order in orders if order.preference is not None]
        low, high = beta_interval(fmean(known), pvariance(known), len(known))
        reason = f"{low:.2f} to {high:.2f} by {len(orders)} replies{told(whole.usage)}"
        return Comparison(whole.value, reason, orders, usage=whole.usage)

    def _agreed(self, orders: tuple[OrderVerdict, ...]) -> Comparison:
        """The result of one repetition over its orders."""
        usage = added(*(order.verdict.usage for order in orders))
        if error := next((order.verdict.error for order in orders if order.verdict.error), None):
            return Comparison(None, describe(error), orders, error, usage)
        preferences = [order.preference or 0.0 for order in orders]
        if self.file.reply.read == "logprobs":
            reason = f"mean probability of {_orders(len(orders))}"
        elif len(set(map(side, preferences))) == 1:
            reason = _agreement(orders)
        else:
            return Comparison(TIE, f"the orders disagree{told(usage)}", orders, usage=usage)
        return Comparison(fmean(preferences), reason + told(usage), orders, usage=usage)

    def _pair(self, sample: Sample) -> Pair | Score:
        try:
            theirs = Sample(completion=sample.meta.get("opponent", 0))
        except UsageError:
            return Score.error("meta has no text and no messages under 'opponent' to compare with")
        opponent = text_read(theirs.completion, self.reads)
        if self.max_longer is not None and not within_words(sample.completion, opponent, self.max_longer):
            return Score(0.0, reason=f"more than {self.max_longer} words longer than the opponent's answer")
        reference = self.reference(sample)
        if self.file.needs_reference and reference is None:
            return Score.error("the prompt shows a reference, and this row has no gold answer")
        messages = (sample.messages, theirs.messages)
        return Pair(sample.completion, opponent, sample.prompt, reference, messages, _workspaces(sample))

    def _scored(self, comparison: Comparison) -> Score:
        if comparison.preference is None:
            return failed(comparison.error or ConfigError(comparison.reason), comparison.usage)
        value = self.tie if comparison.preference == TIE else comparison.preference
        outcome = side(comparison.preference)
        return Score(value, answer=outcome, reason=f"{outcome}: {comparison.reason}", usage=comparison.usage)


def _workspaces(sample: Sample) -> tuple[AgentFiles, AgentFiles]:
    """The workspaces of a sample and of its opponent, with paths that start from the same folder."""
    own, theirs = sample.workspace, sample.meta.get(OPPONENT_WORKSPACE)
    if own is None and (told := sample.meta.get(WORKSPACE)) is not None:
        own = TaskWorkspace(told, None)
    if theirs is None:
        return own, None
    return own, own.beside(theirs) if isinstance(own, TaskWorkspace) else TaskWorkspace(theirs, None)


def _lone(run: Sequence[CompletionMessage]) -> bool:
    """Whether a conversation is a single message without calls, results or pictures, so its text is complete."""
    if len(run) != 1 or calls_beside(run[0]):
        return False
    content = run[0].get("content")
    parts = content if isinstance(content, Sequence) and not isinstance(content, str) else ()
    return not media_of(content) and all(isinstance(part, Mapping) and part.get("type") in _SAID for part in parts)


def _gold(reference: Shown) -> Any:
    """A reference as a verifier's gold answer: content parts unchanged, or the text."""
    return reference if are_parts(reference) else as_text(reference) or None


@dataclass(frozen=True)
class ByScore(Comparer):
    """Any verifier as a judge of pairs: the higher score wins."""

    verifier: Verifier
    margin: float = field(default=0.0, kw_only=True)
    """Maximum difference of scores that counts as a tie (FastChat: 0.1 of 10)."""

    def compare(self, pairs: Sequence[Pair]) -> list[Comparison]:
        """Score all answers in one batch and compare each pair's scores."""
        scores = iter(
            self.verifier.score(
                [
                    Sample(pair.prompt, text, _gold(pair.reference), messages=messages, workspace=workspace)
                    for pair in pairs
                    for text, messages, workspace in zip(
                        (pair.first, pair.second), pair.messages, pair.workspaces, strict=True
                    )
                ],
            )
        )
        return [self._compared(next(scores), next(scores)) for _ in pairs]

    def _compared(self, first: Score, second: Score) -> Comparison:
        usage = added(first.usage, second.usage)
        for score in (first, second):
            if score.value is None:
                return Comparison(None, score.reason, error=VerikitError(score.reason), usage=usage)
        gap = float(first) - float(second)
        preference = TIE if abs(gap) <= self.margin else float(gap > 0)
        return Comparison(preference, f"{float(first):.4g} against {float(second):.4g}", usage=usage)


def leads(preferences: Sequence[float]) -> float:
    """The probability that the leading one of two answers is preferred by most future replies.

    Args:
        preferences: Preferences of single replies, for the same answer. Each counts for its side, and a tie counts half
            for both. The fraction of replies for a side has a flat prior.
    """
    won = sum((preference > TIE) + (preference == TIE) / 2 for preference in preferences)
    lost = len(preferences) - won
    return beta_probability(0.5, min(won, lost) + 1, max(won, lost) + 1)


def _said(comparison: Comparison) -> JudgeVerdict:
    return JudgeVerdict(comparison.preference, error=comparison.error, usage=comparison.usage)


def within_words(text: str, opponent: str, most: int) -> bool:
    """Whether a text is at most `most` words longer than the opponent's."""
    return len(text.split()) <= len(opponent.split()) + most


def side(preference: float) -> str:
    """A preference as a word: win, loss or tie."""
    if preference == TIE:
        return "tie"
    return "win" if preference > TIE else "loss"


def _orders(n: int) -> str:
    return "both orders" if n > 1 else "one order"


def _swapped(texts: Mapping[str, Shown]) -> dict[str, Shown]:
    return {**texts, "answer_1": texts["answer_2"], "answer_2": texts["answer_1"]}


def _agreement(orders: Sequence[OrderVerdict]) -> str:
    """How orders agreed: without a request if there was a reason not to send one."""
    agreement = "both orders agree" if len(orders) > 1 else "one order"
    return next((order.verdict.unasked for order in orders if order.verdict.unasked), agreement)
