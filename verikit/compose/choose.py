"""Verifiers that select another verifier: by a condition, by the first that does not abstain, by a sample's key."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from verikit.base import Verifier, unique_names
from verikit.compose.combine import Part, as_verifier, equal_for_any, keys_of_all, whole
from verikit.errors import UsageError
from verikit.platform.numbers import span
from verikit.replies.split import Reads
from verikit.types import Sample, Score


@dataclass(frozen=True)
class Gate(Verifier):
    """One verifier if a condition passes, another if it does not. See `gate`."""

    cond: Verifier
    then: Verifier
    otherwise: Verifier
    name = "gate"
    reads: ClassVar[Reads | None] = None

    def score_batch(self, samples: Sequence[Sample]) -> list[Score]:
        """Score the condition, then each sample with the selected branch."""
        conditions = self.cond.score(samples)
        name = self.cond.name
        scores = [c if c.scored else whole({name: c}, None, c.status, f"{name}: {c.reason}") for c in conditions]
        for branch, taken, word in ((self.then, True, "passed"), (self.otherwise, False, "did not pass")):
            chosen = [i for i, c in enumerate(conditions) if c.scored and c.passed is taken]
            for i, score in zip(chosen, branch.score([samples[i] for i in chosen]), strict=True):
                parts = dict(zip(unique_names((name, branch.name)), (conditions[i], score), strict=True))
                reason = f"{name} {word}; {branch.name}: {score.reason}"
                scores[i] = whole(parts, score.value, score.status, reason, decided_by=score)
        return scores

    @property
    def bounds(self) -> tuple[float, float]:
        """The range that the two branches span."""
        return span(*self.then.bounds, *self.otherwise.bounds)

    def equal(self, a: str, b: str) -> bool | None:
        """Compare with the `then` branch."""
        return self.then.equal(a, b)

    def keys(self, answer: str) -> tuple[Hashable, ...] | None:
        """The keys of the `then` branch."""
        return self.then.keys(answer)

    def matches(self, score: Score) -> bool:
        """Whether the `then` branch counts the score as a match."""
        return self.then.matches(score)


def gate(cond: Verifier, then: Part, otherwise: Part = 0.0) -> Verifier:
    """Score with `then` if `cond` passes, and with `otherwise` if it does not.

    Only the selected branch runs. If the condition has no value, the whole has none and takes its status.

    Args:
        cond: A verifier. It passes at 0.5 or more.
        then: A verifier or a number, if it passes.
        otherwise: A verifier or a number, if it does not.
    """
    return Gate(as_verifier(cond), as_verifier(then), as_verifier(otherwise))


@dataclass(frozen=True)
class FirstOf(Verifier):
    """The first verifier that does not abstain. See `first_of`."""

    parts: tuple[Verifier, ...]
    name = "first_of"
    reads: ClassVar[Reads | None] = None

    def score_batch(self, samples: Sequence[Sample]) -> list[Score]:
        """Pass the samples on which a part abstains to the next part."""
        names = unique_names(part.name for part in self.parts)
        tried: list[dict[str, Score]] = [{} for _ in samples]
        open_ = list(range(len(samples)))
        for name, part in zip(names, self.parts, strict=True):
            for i, score in zip(open_, part.score([samples[i] for i in open_]), strict=True):
                tried[i][name] = score
            open_ = [i for i in open_ if tried[i][name].status == "abstained"]
        return [self._merge(parts) for parts in tried]

    def _merge(self, parts: Mapping[str, Score]) -> Score:
        name, last = list(parts.items())[-1]
        return whole(parts, last.value, last.status, f"{name}: {last.reason}", decided_by=last)

    def equal(self, a: str, b: str) -> bool | None:
        """Whether the answers are equal for any part."""
        return equal_for_any(self.parts, a, b)

    def keys(self, answer: str) -> tuple[Hashable, ...] | None:
        """The keys of all parts."""
        return keys_of_all(self.parts, answer)

    def matches(self, score: Score) -> bool:
        """Whether the part that decided, the last one tried, counts the score as a match."""
        return bool(score.parts) and self.parts[len(score.parts) - 1].matches(score)


def first_of(*parts: Part) -> Verifier:
    """Use the first part that does not abstain. If a part fails, later parts are not tried.

    Args:
        *parts: Verifiers, in the order in which they are tried.

    Raises:
        UsageError: There is no part.
    """
    if not parts:
        raise UsageError("first_of needs at least one verifier")
    return FirstOf(tuple(map(as_verifier, parts)))


@dataclass(frozen=True)
class By(Verifier):
    """A verifier chosen by one of the sample's own keys. See `by`."""

    key: str
    verifiers: Mapping[str, Verifier] = field(hash=False)
    default: Verifier | None = None
    name = "by"
    reads: ClassVar[Reads | None] = None

    def score_batch(self, samples: Sequence[Sample]) -> list[Score]:
        """Score each sample with the verifier that its key names, in one batch per verifier."""
        scores: list[Score | None] = [None] * len(samples)
        groups: dict[str, list[int]] = {}
        for i, sample in enumerate(samples):
            groups.setdefault(str(sample.meta.get(self.key)), []).append(i)
        for value, members in groups.items():
            chosen = self.verifiers.get(value, self.default)
            batch = [samples[i] for i in members]
            for i, score in zip(members, self._unknown(batch) if chosen is None else chosen.score(batch), strict=True):
                scores[i] = score
        return [score for score in scores if score is not None]

    def equal(self, a: str, b: str) -> bool | None:
        """The common result of all verifiers, or undecided, since the row that would select one is not known here."""
        said = {chosen.equal(a, b) for chosen in (*self.verifiers.values(), *filter(None, [self.default]))}
        return said.pop() if len(said) == 1 else None

    def matches(self, score: Score) -> bool:
        """Whether all verifiers count it as a match, since the row that would select one is not known here."""
        return all(chosen.matches(score) for chosen in (*self.verifiers.values(), *filter(None, [self.default])))

    def _unknown(self, batch: Sequence[Sample]) -> list[Score]:
        known = ", ".join(self.verifiers)
        return [
            Score.error(f"verifier for {self.key}={s.meta.get(self.key)!r} not found. Available: {known}")
            for s in batch
        ]


def by(key: str, verifiers: Mapping[str, Part], default: Part | None = None) -> Verifier:
    """Select the verifier by the sample's own key, e.g. `by("task", {"math": answer, "code": code})`.

    A value that is not listed uses `default`. Without a default, the sample is unscored because of the data.

    Args:
        key: The name of a key of the sample's meta.
        verifiers: A verifier for each of its values.
        default: A verifier for all other values, and for samples without the key.

    Raises:
        UsageError: There is no value, or two that read the same as text (1 and "1").
    """
    chosen = {str(value): as_verifier(part) for value, part in verifiers.items()}
    if not chosen or len(chosen) < len(verifiers):
        raise UsageError(f"by needs distinct values of {key!r}, each with its verifier")
    return By(key, chosen, None if default is None else as_verifier(default))
