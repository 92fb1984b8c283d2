"""Verifiers built from verifiers.

All sums follow the same rules. A part that abstains drops out. Weights are not renormalised, and only `mean` divides by
the number of remaining parts. If all parts abstain, the whole abstains. A part may fail where it should have a score
(timeout, error). Then the whole has no value and stores its parts, because an error is never a zero. A part passes with
a value of at least `PASS_MARK`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from verikit.base import Verifier, describe_function, unique_names
from verikit.errors import UsageError
from verikit.platform.numbers import span
from verikit.replies.split import Reads
from verikit.types import PASS_MARK, UNIT, Sample, Score, Status

Part = Verifier | float
"""A verifier, or a number as a constant score."""

_RULES: dict[str, Callable[[Sequence[float], Sequence[float]], float]] = {
    "sum": lambda values, weights: math.fsum(w * v for w, v in zip(weights, values, strict=True)),
    "mean": lambda values, weights: math.fsum(values) / len(values),
    "minimum": lambda values, weights: min(values),
    "maximum": lambda values, weights: max(values),
    "all_of": lambda values, weights: float(all(v >= PASS_MARK for v in values)),
    "majority": lambda values, weights: float(2 * sum(v >= PASS_MARK for v in values) > len(values)),
}


@dataclass(frozen=True, repr=False)
class Combined(Verifier):
    """Several verifiers under one rule. The extracted answer is from the heaviest part that found one."""

    name: str
    """The rule: sum, mean, minimum, maximum, all_of or majority."""
    parts: tuple[Verifier, ...]
    weights: tuple[float, ...]
    reads: ClassVar[Reads | None] = None

    def score_batch(self, samples: Sequence[Sample]) -> list[Score]:
        """Score every part on every sample, then apply the rule."""
        names = unique_names(part.name for part in self.parts)
        columns = [part.score(samples) for part in self.parts]
        return [self._merge(dict(zip(names, row, strict=True))) for row in zip(*columns, strict=True)]

    def _merge(self, parts: Mapping[str, Score]) -> Score:
        for name, score in parts.items():
            if score.status in ("timeout", "error"):
                return whole(parts, None, score.status, f"{name}: {score.reason}")
        live = [(s.value, w) for s, w in zip(parts.values(), self.weights, strict=True) if s.value is not None]
        if not live:
            return whole(parts, None, "abstained", f"every part of {self.name} abstained")
        values, weights = zip(*live, strict=True)
        left_out = "" if len(live) == len(parts) else f" ({len(parts) - len(live)} abstained)"
        value = _RULES[self.name](values, weights)
        heaviest = sorted(zip(self.weights, parts.values(), strict=True), key=lambda pair: -abs(pair[0]))
        answer = next((score.answer for _, score in heaviest if score.answer is not None), None)
        return replace(whole(parts, value, "ok", f"{self.name} of {len(live)}{left_out}"), answer=answer)

    @property
    def bounds(self) -> tuple[float, float]:
        """The bounds of the rule. A part of a sum may drop out, so its bounds are extended to include 0."""
        if self.name == "sum":
            pairs = list(zip(self.parts, self.weights, strict=True))
            shares = [span(0.0, *(w * end for end in part.bounds)) for part, w in pairs if w]
            return math.fsum(low for low, _ in shares), math.fsum(high for _, high in shares)
        if self.name in ("all_of", "majority"):
            return UNIT
        return span(*(end for part in self.parts for end in part.bounds))

    def equal(self, a: str, b: str) -> bool | None:
        """Whether the answers are equal for any part. A part without its own comparison compares them as text."""
        return equal_for_any(self.parts, a, b)

    def keys(self, answer: str) -> tuple[Hashable, ...] | None:
        """The keys of all parts."""
        return keys_of_all(self.parts, answer)

    def matches(self, score: Score) -> bool:
        """Whether a part with the same answer counts it as a match, regardless of the combined value."""
        found = [score.parts.get(name) for name in unique_names(part.name for part in self.parts)]
        return any(
            said is not None and said.answer == score.answer and part.matches(said)
            for part, said in zip(self.parts, found, strict=True)
        )

    def __repr__(self) -> str:
        """Rule, weights and parts."""
        if self.name == "sum":
            return f"({' + '.join(f'{w!r}*{part!r}' for w, part in zip(self.weights, self.parts, strict=True))})"
        return f"{self.name}({', '.join(map(repr, self.parts))})"


def equal_for_any(parts: Sequence[Verifier], a: str, b: str) -> bool | None:
    """Whether two answers are equal for any part. None if no part finds them equal and one can't decide."""
    undecided = False
    for part in parts:
        same = part.equal(a, b)
        if same:
            return True
        undecided = undecided or same is None
    return None if undecided else False


def keys_of_all(parts: Sequence[Verifier], answer: str) -> tuple[Hashable, ...] | None:
    """The keys of all parts, tagged by part. None if a part has no keys."""
    found: list[Hashable] = []
    for number, part in enumerate(parts):
        keys = part.keys(answer)
        if keys is None:
            return None
        found += [(number, key) for key in keys]
    return tuple(found)


def whole(
    parts: Mapping[str, Score], value: float | None, status: Status, reason: str, decided_by: Score | None = None
) -> Score:
    """A score built from others. It stores them, sums their usage, and takes the answer of the deciding one."""
    answer = None if decided_by is None else decided_by.answer
    if answer is None:
        answer = next((score.answer for score in parts.values() if score.answer is not None), None)
    usage: dict[str, float] = {}
    for score in parts.values():
        for key, amount in score.usage.items():
            usage[key] = usage.get(key, 0) + amount
    seconds = [score.seconds for score in parts.values() if score.seconds is not None]
    return Score(
        value,
        status,
        answer=answer,
        reason=reason,
        parts=parts,
        steps=() if decided_by is None else decided_by.steps,
        usage=usage,
        seconds=sum(seconds) if seconds else None,
    )


def _combined(rule: str, parts: Sequence[Part]) -> Combined:
    if not parts:
        raise UsageError(f"{rule} needs at least one verifier")
    return Combined(rule, tuple(map(as_verifier, parts)), (1.0,) * len(parts))


def mean(*parts: Part) -> Verifier:
    """Average the parts that did not abstain.

    Args:
        *parts: Verifiers, or numbers.
    """
    return _combined("mean", parts)


def minimum(*parts: Part) -> Verifier:
    """Take the smallest value of the parts that did not abstain.

    Args:
        *parts: Verifiers, or numbers.
    """
    return _combined("minimum", parts)


def maximum(*parts: Part) -> Verifier:
    """Take the largest value of the parts that did not abstain.

    Args:
        *parts: Verifiers, or numbers.
    """
    return _combined("maximum", parts)


def all_of(*parts: Part) -> Verifier:
    """Give 1.0 if every part that did not abstain passes, otherwise 0.0.

    Args:
        *parts: Verifiers. A part passes at 0.5 or more.
    """
    return _combined("all_of", parts)


def majority(*parts: Part) -> Verifier:
    """Give 1.0 if more than half of the parts that did not abstain pass, otherwise 0.0 (a tie does not pass).

    Args:
        *parts: Verifiers. A part passes at 0.5 or more.
    """
    return _combined("majority", parts)


def weighted(part: Verifier, weight: float) -> Verifier:
    """Scale a verifier. This is the meaning of `0.8 * v`.

    Raises:
        UsageError: The weight, or a product of weights, is not a finite number.
    """
    whole = part if isinstance(part, Combined) and part.name == "sum" else Combined("sum", (part,), (1.0,))
    if isinstance(weight, bool) or not (_finite(weight) and all(_finite(w * weight) for w in whole.weights)):
        raise UsageError(f"a weight must be a finite number, got {weight!r}")
    return replace(whole, weights=tuple(w * float(weight) for w in whole.weights))


def add(left: Verifier, right: Verifier) -> Verifier:
    """Sum two verifiers, flattening sums of sums. This is the meaning of `a + b`."""
    sides = [v if isinstance(v, Combined) and v.name == "sum" else Combined("sum", (v,), (1.0,)) for v in (left, right)]
    return Combined("sum", sides[0].parts + sides[1].parts, sides[0].weights + sides[1].weights)


@dataclass(frozen=True)
class Constant(Verifier):
    """The same value for every sample. A plain number inside a combinator becomes this verifier."""

    value: float
    name = "constant"
    reads: ClassVar[Reads | None] = None

    def score_batch(self, samples: Sequence[Sample]) -> list[Score]:
        """Return the value for each sample."""
        return [Score(self.value, reason="constant")] * len(samples)

    @property
    def bounds(self) -> tuple[float, float]:
        """The value, twice."""
        return self.value, self.value


def _finite(number: float) -> bool:
    try:
        return math.isfinite(number)
    except OverflowError:  # an int beyond the floats
        return False


def as_verifier(part: Part) -> Verifier:
    """Return the verifier, or the constant for a number.

    Raises:
        UsageError: It is neither.
    """
    if isinstance(part, Verifier):
        return part
    if isinstance(part, (int, float)) and _finite(part):
        return Constant(float(part))
    hint = "wrap a function in @verifier"
    if isinstance(part, type) and issubclass(part, Verifier):
        hint = f"make one of the class: {part.__name__}()"
    elif isinstance(part, str):
        hint = f"verikit.load({part!r}) makes one of a spec"
    raise UsageError(f"expected a verifier or a finite number, got {part!r}", hint=hint)


@dataclass(frozen=True, repr=False)
class Mapped(Verifier):
    """A verifier whose values are passed through a function. Created by `v >> fn`."""

    name: str
    part: Verifier
    fn: Callable[[float], float]
    reads: ClassVar[Reads | None] = None

    def score_batch(self, samples: Sequence[Sample]) -> list[Score]:
        """Apply the function to the values. Scores without a value stay unchanged."""
        scores = self.part.score(samples)
        return [s if s.value is None else replace(s, value=float(self.fn(s.value))) for s in scores]

    @property
    def bounds(self) -> tuple[float, float]:
        """The part's bounds, clipped. Functions other than `Clip` are assumed to stay within [0, 1]."""
        return span(*map(self.fn, self.part.bounds)) if isinstance(self.fn, Clip) else UNIT

    def equal(self, a: str, b: str) -> bool | None:
        """Compare with the part."""
        return self.part.equal(a, b)

    def keys(self, answer: str) -> tuple[Hashable, ...] | None:
        """The part's keys."""
        return self.part.keys(answer)

    def matches(self, score: Score) -> bool:
        """Whether the part counts the score as a match."""
        return self.part.matches(score)

    def __repr__(self) -> str:
        """Part and function."""
        return f"({self.part!r} >> {describe_function(self.fn)})"


def mapped(part: Verifier, fn: Callable[[float], float]) -> Verifier:
    """Pass a verifier's values through a function. This is the meaning of `v >> fn`."""
    return Mapped(part.name, part, fn)


@dataclass(frozen=True)
class Clip:
    """The function `x -> min(max(x, low), high)`."""

    low: float
    high: float

    def __call__(self, value: float) -> float:
        """Return the value, or the bound that it exceeds."""
        return min(max(value, self.low), self.high)


def clip(part: Part, low: float = 0.0, high: float = 1.0) -> Verifier:
    """Keep values within [low, high].

    Args:
        part: A verifier.
        low: The value for smaller values.
        high: The value for larger values.

    Raises:
        UsageError: `low` is above `high`.
    """
    if not low <= high:
        raise UsageError(f"clip requires low <= high, got {low!r} and {high!r}")
    return mapped(as_verifier(part), Clip(float(low), float(high)))
