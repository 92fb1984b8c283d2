"""Rules that end a prompt's sampling early: `--until` of `verikit sample` and `verikit serve --best-of`.

    majority              stop when no continuation up to n can change the majority's answer
    majority(0.95)        also stop when the leading answer is the most frequent one with that probability
    first(SPEC)           stop at the first sample that passes a verifier
    confident(SPEC, 0.9)  stop at the first sample whose score by a verifier is at least that value

A rule is called after each finished sample. It sees gold answers only through a verifier of its own. For each prompt
that it stops, it gives the reason: `settled` (more samples could not change the majority), `likely` (the leading answer
is probably the most frequent one) or `passed` (a sample has a sufficient score).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, get_args

from verikit.base import Verifier
from verikit.errors import SpecError, UsageError, nearest
from verikit.names.named_call import NamedCall, read_call
from verikit.names.spec import load
from verikit.select import clusters
from verikit.stats.beta import beta_probability
from verikit.stats.early import is_settled
from verikit.types import PASS_MARK, Sample
from verikit.verifiers.answer import Answer
from verikit.verifiers.reading.stated import stated

Posterior = Literal["beta", "dirichlet"]
MAX_KEPT = 10_000
"""Number of answers that a rule caches, so no sample is read twice."""
MAX_BARE = 300
"""Maximum characters of a reply that is an answer without marking one."""
_STEPS = 2_000


@dataclass(frozen=True)
class MajorityRule:
    """Stops when the majority is settled. Ties go to the answer that came first, as in the selector `majority`.

    With `confidence` 1 it is settled when no answers of the remaining samples could change it. Below 1 it is also
    settled when the leader is the policy's most frequent answer with at least that probability, given the votes and a
    flat prior. This is adaptive consistency (Aggarwal et al. 2023, "Let's Sample Step by Step"), with the beta
    distribution of the two leading answers (their default) or the Dirichlet distribution of all answers seen.
    """

    confidence: float = 1.0
    """Sufficient probability. 1 means certainty."""
    by: Verifier | None = None
    """The verifier whose extracted answers (`Score.answer`) vote.

    None: a reply's stated answers vote, compared by `answer`.
    """
    form: Posterior = "beta"
    """`beta` or `dirichlet`."""
    name: str = field(default="majority", compare=False)
    """The rule's name in a row."""
    _known: dict[tuple[str, str], str | None] = field(default_factory=dict, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not 0.5 <= self.confidence <= 1:
            raise UsageError(f"confidence must be between 0.5 and 1, got {self.confidence!r}")
        if self.form not in get_args(Posterior):
            raise UsageError(f"form must be one of {', '.join(get_args(Posterior))}, got {self.form!r}")

    def stop(self, samples: Sequence[Sample], n: int) -> bool:
        """Count the votes so far."""
        return self._reason(self._votes(samples), n - len(samples)) is not None

    def why(self, samples: Sequence[Sample], n: int) -> str:
        """Return `settled` or `likely` for samples at which it stops."""
        return self._reason(self._votes(samples), n - len(samples)) or ""

    def least(self, n: int) -> int:
        """Return the fewest samples that can stop it: that many equal votes."""
        return next((m for m in range(1, n) if self._reason({0: m}, n - m)), n)

    def _votes(self, samples: Sequence[Sample]) -> Mapping[int, int]:
        reader = self.by or _ANSWERS
        voted = clusters(self.answers(samples), reader.equal, reader.keys)
        return Counter(number for number in voted if number is not None)

    def _reason(self, votes: Mapping[int, int], remaining: int) -> str | None:
        if not votes:
            return None
        if is_settled(votes, remaining):
            return "settled"
        likely = self.confidence < 1 and leads_with(sorted(votes.values(), reverse=True), self.form) >= self.confidence
        return "likely" if likely else None

    def answers(self, samples: Sequence[Sample]) -> list[str | None]:
        """Return the answers that vote. None if a sample has none."""
        fresh = [sample for sample in samples if (sample.id, sample.completion) not in self._known]
        if len(self._known) + len(fresh) > MAX_KEPT:
            self._known.clear()
            fresh = list(samples)
        if self.by is not None:
            found = [score.answer for score in self.by.score(fresh)]
        else:
            found = [_stated(sample.completion) for sample in fresh]
        held = {(sample.id, sample.completion): answer for sample, answer in zip(fresh, found, strict=True)}
        self._known.update(held)
        return [self._known[sample.id, sample.completion] for sample in samples]


@dataclass(frozen=True)
class ScoreRule:
    """Stops at the first sample whose score by a verifier is at least `level`. Unscored samples don't stop it."""

    by: Verifier
    level: float = PASS_MARK
    """The smallest sufficient score."""
    name: str = field(default="confident", compare=False)
    """The rule's name in a row."""

    def stop(self, samples: Sequence[Sample], n: int) -> bool:
        """Score the newest sample. Earlier calls scored those before it."""
        value = self.by.score([samples[-1]])[0].value
        return value is not None and value >= self.level

    def why(self, samples: Sequence[Sample], n: int) -> str:
        """Return `passed`."""
        return "passed"

    def least(self, n: int) -> int:
        """Return 1: the first sample can have the score."""
        return 1


def _stated(reply: str) -> str | None:
    """Return the answer that a reply marks, or the whole reply. None for a long reply that marks none."""
    found = stated(reply)
    return None if found.form == "whole" and (len(found.text or "") > MAX_BARE or not found.text) else found.text


def leads_with(counts: Sequence[int], form: Posterior = "beta") -> float:
    """Return the probability that the leading answer is the policy's most frequent one, under a flat prior.

    Args:
        counts: Votes of each answer, largest first. At least one.
        form: `beta` uses only the two leading answers (Aggarwal et al. 2023, equation 2). `dirichlet` uses all.
    """
    first, second = counts[0], counts[1] if len(counts) > 1 else 0
    if form == "beta" or len(counts) <= 2:
        return 1 - beta_probability(0.5, first + 1, second + 1)
    return _dirichlet_lead([count + 1 for count in counts])


def _dirichlet_lead(shapes: Sequence[int]) -> float:
    """Return P(the first component is the largest) under a Dirichlet distribution.

    Its components are gamma variables divided by their sum. Integrated by Simpson's rule.
    """
    first, *others = shapes
    high = first + 12 * math.sqrt(first) + 40
    width = high / _STEPS
    total = 0.0
    for i in range(1, _STEPS + 1):
        x = i * width
        density = math.exp((first - 1) * math.log(x) - x - math.lgamma(first))
        for shape in others:
            density *= _gamma_below(x, shape)
        total += density * _simpson_weight(i)
    return min(1.0, total * width / 3)


def _simpson_weight(i: int) -> int:
    if i == _STEPS:
        return 1
    return 4 if i % 2 else 2


def _gamma_below(x: float, shape: int) -> float:
    """Return P(a gamma variable of integer shape is below x)."""
    term, total = 1.0, 1.0
    for j in range(1, shape):
        term *= x / j
        total += term
    return max(0.0, 1 - math.exp(-x) * total)


def load_rule(spec: str) -> MajorityRule | ScoreRule:
    """Create the rule that a spec describes.

    Raises:
        SpecError: It can't be read, names no rule, or names a verifier that doesn't exist.
        UsageError: An option is out of range.
    """
    call = read_call(spec)
    make = _RULES.get(call.name) if call else None
    if call is None or make is None:
        hint = nearest(spec, _EXAMPLES, f"as in {', '.join(_EXAMPLES)}")
        raise SpecError(f"{spec!r} is not a stopping rule", hint=hint)
    try:
        return replace(make(call), name=spec.strip())
    except ValueError as error:
        raise SpecError(f"{spec!r}: {error}", hint=f"as in {', '.join(_EXAMPLES)}") from None


def _majority(call: NamedCall) -> MajorityRule:
    named = call.bound(("confidence", "by", "form"))
    by = named.get("by")
    forms: Mapping[str, Posterior] = {name: name for name in get_args(Posterior)}
    form = named.get("form", "beta").strip("\"'")
    if form not in forms:
        raise ValueError(f"form must be one of {', '.join(forms)}, got {form!r}")
    return MajorityRule(float(named.get("confidence", 1.0)), load(by) if by else None, forms[form])


def _first(call: NamedCall) -> ScoreRule:
    return _scored(call, PASS_MARK)


def _confident(call: NamedCall) -> ScoreRule:
    return _scored(call, 0.9)


def _scored(call: NamedCall, level: float) -> ScoreRule:
    named = call.bound(("by", "level"))
    if not named.get("by", "").strip():
        raise ValueError("it needs a verifier")
    return ScoreRule(load(named["by"]), float(named.get("level", level)))


_ANSWERS = Answer(tail_seconds=0)
_RULES: Mapping[str, Callable[[NamedCall], MajorityRule | ScoreRule]] = {
    "majority": _majority,
    "first": _first,
    "confident": _confident,
}
_EXAMPLES = ("majority", "majority(0.95)", "majority(0.95, by=choice)", "first(answer)", "confident(SPEC, 0.9)")
