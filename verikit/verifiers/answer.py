"""`answer` compares final answers by the type of the gold answer; `math` accepts mathematical gold answers only.

The work is in `verikit.answers`. Blame: a wrong, missing, undecided or oversized answer is 0.0 with the reason. An
unreadable gold answer or a helper process that does not start leaves the sample unscored.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from functools import cached_property, lru_cache, partial
from typing import Any, ClassVar, Literal

from verikit.answers.algebra.equality import Equality, EqualityResult, undecided
from verikit.answers.aliases import from_file
from verikit.answers.claims import extract
from verikit.answers.claims.json_answers import JsonGold, gold_json, unwrapped
from verikit.answers.claims.json_fields import JsonRules, TooMuchWork, compare_fields, unfit
from verikit.answers.claims.listing import claims
from verikit.answers.fingerprint import fingerprint
from verikit.answers.gold import read_gold
from verikit.answers.judging import AnswerVerdict
from verikit.answers.judging import Tail as TailCall
from verikit.answers.parser.tree import MAX_CHARS, Node
from verikit.answers.tail import Tail
from verikit.answers.verdict import verify
from verikit.base import TextVerifier
from verikit.errors import HelperError, UsageError
from verikit.messages import content_text
from verikit.replies.unseen import without_unseen
from verikit.types import Prompt, Sample, Score
from verikit.verifiers.json_match import unclaimed
from verikit.verifiers.reading.json_reply import document
from verikit.verifiers.reading.stated import stated

MAX_JSON = 1_000_000
"""Characters of a reply that are read as JSON."""
MAX_BARE = 300
"""Maximum characters of a reply that is read as an answer without a marked one, if there isn't a gold answer."""


@lru_cache(maxsize=8)
def _tail(seconds: float) -> Tail:
    """One helper process for all verifiers of this process with the same deadline."""
    return Tail(seconds)


@dataclass(frozen=True)
class Answer(Equality, TextVerifier):
    """1.0 if the completion's final answer equals the gold: numbers, formulas, sets, units, option letters, short text.

    The gold is `sample.answer`, a string or several accepted ones. `sample.prompt` is the question. `sample.meta` may
    have `options`, the option strings of a multiple-choice question.
    """

    undecided: Literal["zero", "abstain"] = "zero"
    """Score of an answer that can't be shown equal or different."""
    tail_seconds: float = 0.2
    """Approximate CPU seconds for the computer algebra of an undecided pair. 0 turns it off. The limit counts its
    steps, not a clock. If more than 20 such pairs of a gold answer are scored together, they share the budget of 20."""
    aliases: bool | str = True
    """Whether other names of the same thing are accepted (WWI for World War I). A path adds the names of a JSON file,
    `{"World War I": ["WWI", "First World War"]}`, to the built-in ones."""
    name = "answer"
    local_files = ("aliases",)

    def __post_init__(self) -> None:
        TextVerifier.__post_init__(self)
        Equality.__post_init__(self)
        if self.undecided not in ("zero", "abstain"):
            raise UsageError(f"undecided must be zero or abstain, got {self.undecided!r}")
        if self.tail_seconds < 0:
            raise UsageError(f"tail_seconds must be >= 0, got {self.tail_seconds!r}")
        if isinstance(self.aliases, str):
            from_file(self.aliases)

    @cached_property
    def rules(self) -> Equality:
        """Only the options that decide equality."""
        return Equality(**{field.name: getattr(self, field.name) for field in fields(Equality)})

    def score_batch(self, samples: Sequence[Sample]) -> list[Score]:
        """Score each sample separately; samples that need computer algebra share its budget."""
        if not self.tail_seconds:
            return [self._score_sample(sample) for sample in samples]
        asked: dict[tuple[str, ...], set[tuple[Node, Node]]] = {}
        scores: list[Score | None] = []
        for sample in samples:
            pairs: set[tuple[Node, Node]] = set()
            scored = self._score_sample(sample, partial(_note, pairs))
            scores.append(None if pairs else scored)
            if pairs:
                asked.setdefault(tuple(_golds(sample)), set()).update(pairs)
        tails = {golds: _tail(self.tail_seconds).shared(len(pairs)) for golds, pairs in asked.items()}
        return [
            self._score_sample(sample, tails[tuple(_golds(sample))]) if score is None else score
            for sample, score in zip(samples, scores, strict=True)
        ]

    def explain(self, sample: Sample) -> str:
        """Extraction, both trees, the rule and the stage, one per line, then the reply's claims with their roles."""
        if not _golds(sample):
            return ""
        try:
            told = str(self.verdict(sample))
        except HelperError as error:
            told = f"computer algebra: {error}"
        return "\n".join((told, *(f"claim: {claim}" for claim in claims(sample.completion))))

    def _tail_of(self, tail: bool | TailCall) -> TailCall | None:
        """The call that decides pairs which the rules leave open; None if they stay open."""
        if not self.tail_seconds or tail is False:
            return None
        return _tail(self.tail_seconds) if tail is True else tail

    def verdict(self, sample: Sample, *, tail: bool | TailCall = True) -> AnswerVerdict:
        """The whole verdict on a sample; without `tail`, computer algebra is not called.

        Args:
            sample: the sample to score.
            tail: whether undecided pairs go to computer algebra, or the call that decides them instead.

        Raises:
            HelperError: The helper process could not be started or died.
        """
        golds = _golds(sample)
        if any(gold[:1] in ("{", "[") and gold_json(gold) for gold in golds):
            golds, decided = _by_json(sample.completion, golds, self.rules)
            if decided is not None and (decided.equal or not golds):
                return decided
        options = sample.meta.get("options")
        return verify(
            sample.completion,
            golds,
            question=_text(sample.prompt),
            options=[str(option) for option in options] if isinstance(options, list | tuple) else (),
            equality=self.rules,
            tail=self._tail_of(tail),
            letters=self._letters,
            aliases=from_file(self.aliases) if isinstance(self.aliases, str) else self.aliases,
        )

    _letters: ClassVar[bool] = True

    def _score_sample(self, sample: Sample, tail: bool | TailCall = True) -> Score:
        start = time.perf_counter()
        golds = _golds(sample)
        if not golds:
            return Score.error("no gold answer", answer=_said(sample.completion))
        try:
            verdict = self.verdict(sample, tail=tail)
        except HelperError as error:
            return Score.error(f"computer algebra: {error}", seconds=time.perf_counter() - start)
        return self._score_verdict(verdict, time.perf_counter() - start)

    def _score_verdict(self, verdict: AnswerVerdict, seconds: float) -> Score:
        reason = _reason(verdict.outcome, verdict.rule, verdict.stage, verdict.form)
        if verdict.outcome == "bad gold":
            return Score.error(reason, answer=verdict.extracted, seconds=seconds)
        if verdict.outcome == "undecided" and self.undecided == "abstain":
            return Score.abstained(reason, answer=verdict.extracted, seconds=seconds)
        return Score(float(verdict.equal), answer=verdict.extracted, reason=reason, seconds=seconds)

    def equal(self, a: str, b: str) -> bool | None:
        """Whether two answers are the same in both directions; None if neither equality nor inequality could be shown.

        Decided in process only: n answers form up to n² / 2 pairs, and computer algebra may take seconds over each.
        """
        if a == b:
            return True
        forward = self._direction(a, b)
        if forward is False:
            return False
        backward = self._direction(b, a)
        return backward if backward is not True else forward

    def keys(self, answer: str) -> tuple[int] | None:
        """The fingerprint of a plain formula; None for everything else, and under rules that are not transitive."""
        if self.tolerance or self.policy != "strict":
            return None
        found = fingerprint(answer)
        return None if found is None else (found,)

    def matches(self, score: Score) -> bool:
        """Right answers are the gold's."""
        return score.value == 1.0

    def doubts(self, score: Score) -> bool:
        """Whether strings were compared by words, or stayed undecided; numbers, formulas and letters leave no doubt."""
        return score.reason.startswith("undecided") or score.reason.rpartition("(")[2].startswith("text")

    def _direction(self, a: str, b: str) -> bool | None:
        verdict = self.verdict(Sample(completion=a, answer=b), tail=False)
        if verdict.outcome == "bad gold":
            return a.strip() == b.strip()
        return None if verdict.outcome == "undecided" else verdict.equal


def _note(pairs: set[tuple[Node, Node]], gold: Node, answer: Node) -> EqualityResult:
    """Leave a pair undecided, and note that computer algebra would have been called."""
    pairs.add((gold, answer))
    return undecided("not asked yet")


def _by_json(completion: str, golds: list[str], rules: Equality) -> tuple[list[str], AnswerVerdict | None]:
    """Compare a reply with the JSON gold answers; return the other gold answers, and the best verdict on these."""
    left: list[str] = []
    best: AnswerVerdict | None = None
    reply = extract.within_marks(completion if completion.isascii() else without_unseen(completion))
    for gold in golds:
        wanted = gold_json(gold)
        verdict = None if wanted is None else _json_verdict(reply, gold, wanted, rules)
        if verdict is None:
            left.append(gold)
        elif best is None or verdict.equal:
            best = verdict
    return left, best


def _json_verdict(reply: str, gold: str, wanted: JsonGold, rules: Equality) -> AnswerVerdict | None:
    """The verdict on a reply against one JSON gold answer; None leaves a list to the other ways to read it."""
    if len(reply) > MAX_JSON:
        return AnswerVerdict("limit", "the reply is too long for JSON", "json", gold=gold)
    is_list = isinstance(wanted.value, list)
    found = document(reply, bare=wanted.kind == "numbers", array=is_list)
    problem = found.problem or unfit(found.value) or unclaimed(reply, found)
    if found.problem and is_list and wanted.kind != "objects" and _balanced(reply):
        return None
    if not problem:
        problem = _json_difference(wanted.value, unwrapped(found.value, wanted.value), rules)
    if problem and wanted.kind == "numbers":
        return None
    rule = problem or "same JSON"
    return AnswerVerdict("different" if problem else "equal", rule, "json", found.text[:MAX_CHARS], "", gold)


def _json_difference(gold: Any, value: Any, rules: Equality) -> str:
    tolerance = Fraction(str(rules.tolerance))
    try:
        fields = compare_fields(gold, value, JsonRules(rel_tol=tolerance, unordered=rules.order == "unordered"))
    except TooMuchWork as error:
        return str(error)
    wrong = next((field for field in fields if field.problem), None)
    return f"{wrong.path[:80]} is {wrong.problem}" if wrong else ""


def _balanced(text: str) -> bool:
    """Whether all brackets are balanced."""
    return text.count("[") == text.count("]") and text.count("{") == text.count("}")


def _said(reply: str) -> str | None:
    """The answer of a reply if there isn't a gold answer to look for; None for a long reply that does not mark one."""
    found = stated(reply)
    return None if found.form == "whole" and (not found.text or len(found.text) > MAX_BARE) else found.text


@dataclass(frozen=True)
class Math(Answer):
    """`answer` for mathematical gold answers only: a single letter is a symbol, and prose gold answers are unscored."""

    name = "math"
    _letters: ClassVar[bool] = False

    def _score_sample(self, sample: Sample, tail: bool | TailCall = True) -> Score:
        golds = _golds(sample)
        kept = [gold for gold in golds if _may_be_mathematics(gold)]
        if golds and not kept:
            return Score.abstained("the gold answer is not a mathematical expression")
        return super()._score_sample(replace(sample, answer=kept), tail)


def _may_be_mathematics(gold: str) -> bool:
    """Whether a gold answer is mathematics, or can't be read, which `answer` reports."""
    json_value, read = gold_json(gold), read_gold(gold)
    return (json_value is None or json_value.kind == "numbers") and (read.tree is not None or bool(read.problem))


@lru_cache(maxsize=512)
def _reason(outcome: str, rule: str, stage: str, form: str) -> str:
    places = ", ".join(part for part in (stage, form) if part)
    return f"{outcome}: {rule} ({places})" if places else f"{outcome}: {rule}"


def _golds(sample: Sample) -> list[str]:
    golds = sample.answer
    return [golds] if isinstance(golds, str) else [str(gold) for gold in golds or ()]


def _text(prompt: Prompt) -> str:
    return prompt if isinstance(prompt, str) else "\n".join(content_text(message.get("content")) for message in prompt)
