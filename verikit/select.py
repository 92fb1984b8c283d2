"""Selectors: rank the candidates of one group, best first, from their scores.

This is the only interface for groups, and pairwise judges implement it too. A ranking is always a permutation of all
candidates and always the same for the same group. Candidates without a score (or, in votes, without an answer) come
after all others, so an unscored candidate is never chosen over a scored one. Selectors are registered under the entry
point group `verikit.selectors`.
"""

from __future__ import annotations

import math
import operator
import random
from abc import ABC, abstractmethod
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from heapq import merge
from typing import TYPE_CHECKING

from verikit.stats.votes import Weighting, vote_weights
from verikit.types import Group, Score

if TYPE_CHECKING:
    from verikit.base import Verifier

Equal = Callable[[str, str], bool | None]
"""Whether two answers are the same, or None if that is undecided. A verifier's `equal` is one."""
Keys = Callable[[str], tuple[Hashable, ...] | None]
"""Keys such that equal answers have one in common, or None if they are unknown. A verifier's `keys` is one."""
MAX_COMPARISONS = 20_000
"""Comparisons in one vote: all pairs of 200 answers without keys, about a second. Keys allow more answers."""

_GOLD = object()
"""The key of all answers that match the gold answer."""


class Selector(ABC):
    """Ranks the candidates of a group."""

    name: str = "selector"
    by_score: bool = False
    """Whether it ranks by the scores' values. These decide who is right, unless other scores rank."""

    @abstractmethod
    def select(self, group: Group, scores: Sequence[Score]) -> list[int]:
        """Return the indices of all candidates, best first. `scores` are parallel to `group.completions`."""

    def votes(self, scores: Sequence[Score]) -> list[int] | None:
        """Return for each candidate how many have its answer, 0 without an answer.

        None if votes don't determine the ranking.
        """
        return None


@dataclass(frozen=True)
class Best(Selector):
    """The highest score. Ties are broken by position."""

    name = "best"
    by_score = True

    def select(self, group: Group, scores: Sequence[Score]) -> list[int]:
        """Rank by score."""
        return sorted(range(len(scores)), key=lambda i: -scores[i].filled(-math.inf))


@dataclass(frozen=True)
class Majority(Selector):
    """The most frequent answer (Wang et al. 2022).

    Ties are broken by first appearance, within an answer by position.
    """

    name = "majority"
    equal: Equal = operator.eq
    """Which extracted answers (`Score.answer`) are the same."""
    keys: Keys | None = None
    """Keys that reduce the comparisons of answers, from the verifier whose `equal` is used."""

    def select(self, group: Group, scores: Sequence[Score]) -> list[int]:
        """Rank by votes of the candidate's answer."""
        voted = clusters([score.answer for score in scores], self.equal, self.keys)
        return _by_votes(voted, [1.0] * len(scores), list(range(len(scores))))

    def votes(self, scores: Sequence[Score]) -> list[int]:
        """Return for each candidate how many have its answer, 0 without an answer."""
        voted = clusters([score.answer for score in scores], self.equal, self.keys)
        sizes = Counter(cluster for cluster in voted if cluster is not None)
        return [0 if cluster is None else sizes[cluster] for cluster in voted]


@dataclass(frozen=True)
class Weighted(Selector):
    """The answer with the largest sum of weights.

    Ties are broken by first appearance. Within an answer, the highest score comes first. With `raw` weights a negative
    score counts against its own answer, so more votes can lose. Use `raw` for scores that are never negative
    (probabilities, fractions), `sigmoid` or `softmax` for the logits of a reward model.
    """

    name = "weighted"
    by_score = True
    equal: Equal = operator.eq
    """Which extracted answers (`Score.answer`) are the same."""
    weights: Weighting = "sigmoid"
    """How a score becomes a weight. See `verikit.stats.vote_weights`."""
    keys: Keys | None = None
    """Keys that reduce the comparisons of answers, from the verifier whose `equal` is used."""

    def select(self, group: Group, scores: Sequence[Score]) -> list[int]:
        """Rank by the summed weights of the candidate's answer, over candidates that have a score."""
        heard = [i for i, score in enumerate(scores) if score.value is not None]
        weights = [0.0] * len(scores)
        for i, weight in zip(heard, vote_weights([float(scores[i]) for i in heard], self.weights), strict=True):
            weights[i] = weight
        voted = clusters([score.answer if score.scored else None for score in scores], self.equal, self.keys)
        return _by_votes(voted, weights, Best().select(group, scores))


@dataclass(frozen=True)
class First(Selector):
    """The order of the file: the baseline without selection."""

    name = "first"

    def select(self, group: Group, scores: Sequence[Score]) -> list[int]:
        """Keep the order."""
        return list(range(len(scores)))


@dataclass(frozen=True)
class Random(Selector):
    """A seeded shuffle, keyed by the group's id, or its prompt if it has none. The order of rows doesn't matter."""

    name = "random"
    seed: int = 0
    """Seed of the shuffles."""

    def select(self, group: Group, scores: Sequence[Score]) -> list[int]:
        """Shuffle."""
        order = list(range(len(scores)))
        random.Random(f"{self.seed}:{group.id or group.prompt}").shuffle(order)
        return order


def clusters(
    answers: Sequence[str | None], equal: Equal = operator.eq, keys: Keys | None = None, *, most: int = MAX_COMPARISONS
) -> list[int | None]:
    """Number each answer's cluster of equal answers, in order of first appearance. None stays None (no answer).

    Equality is transitive: if a equals b and b equals c, all three vote together, even if `equal` finds a and c
    different. So the clusters don't depend on the order of the answers. An undecided comparison (None) merges nothing.
    With `keys`, answers are compared only if they have a key in common or one has no keys (`keys` returns None).
    Different strings are compared in order of length, then by their characters. After `most` comparisons, strings that
    are neither identical nor in one cluster by then are treated as different.
    """
    texts = sorted({answer for answer in answers if answer is not None}, key=lambda text: (len(text), text))
    joined = list(range(len(texts)))
    by_key: dict[Hashable, list[int]] = defaultdict(list)
    keyless: list[int] = []
    for number, text in enumerate(texts):
        marks = keys(text) if keys else None
        others = range(number) if marks is None else merge(keyless, *(by_key[mark] for mark in marks))
        for other in others:
            first, second = _root(joined, other), _root(joined, number)
            if first == second:
                continue
            if most <= 0:
                break
            most -= 1
            if equal(texts[other], text):
                joined[second] = first
        for home in [keyless] if marks is None else [by_key[mark] for mark in marks]:
            home.append(number)
    known = {text: _root(joined, number) for number, text in enumerate(texts)}
    order: dict[int, int] = {}
    return [None if answer is None else order.setdefault(known[answer], len(order)) for answer in answers]


def _root(joined: list[int], number: int) -> int:
    """Return the root string of a cluster. The path to it is halved for later calls."""
    while joined[number] != number:
        joined[number] = joined[joined[number]]
        number = joined[number]
    return number


def equality(verifier: Verifier, truth: Sequence[Score]) -> tuple[Equal, Keys]:
    """Return how to compare the answers of a group: as the verifier does, with all that match the gold answer equal.

    Two answers can each match the gold answer without matching each other: 18-13 and 14-9 are both 5, but not equal
    pairs.

    Args:
        verifier: The verifier whose answers (`Score.answer`) are compared.
        truth: Its scores of the group's candidates.
    """
    right = {score.answer for score in truth if score.answer is not None and verifier.matches(score)}
    if len(right) < 2:
        return verifier.equal, verifier.keys

    def equal(a: str, b: str) -> bool | None:
        return (a in right and b in right) or verifier.equal(a, b)

    def keys(answer: str) -> tuple[Hashable, ...] | None:
        found = verifier.keys(answer)
        return found if found is None or answer not in right else (*found, _GOLD)

    return equal, keys


def comparing(selector: Selector, equal: Equal, keys: Keys) -> Selector:
    """Return the selector with these comparisons of answers. A selector that compares none is returned unchanged."""
    if not is_dataclass(selector):
        return selector
    given = {"equal": equal, "keys": keys}
    return replace(selector, **{field.name: given[field.name] for field in fields(selector) if field.name in given})


def _by_votes(voted: Sequence[int | None], weights: Sequence[float], order: Sequence[int]) -> list[int]:
    """Sort the candidates of `order` by their cluster's total. Those without a vote come last."""
    totals: dict[int, float] = defaultdict(float)
    for cluster, weight in zip(voted, weights, strict=True):
        if cluster is not None:
            totals[cluster] += weight

    def rank_key(i: int) -> tuple[float, int]:
        cluster = voted[i]
        return (math.inf, 0) if cluster is None else (-totals[cluster], cluster)

    return sorted(order, key=rank_key)
