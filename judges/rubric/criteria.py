"""A rubric: criteria with points, and the rule that combines how far each is met into one value."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from verikit.errors import SchemaError

Rule = Literal["points", "sum", "all", "any", "required", "threshold"]
"""How criteria combine into one value.

`points`: points met over all positive points (HealthBench). `sum`: the same without the division. `all`, `any`: 1.0 if
all criteria are satisfied, or any. `required`: 1.0 if all criteria that are not optional are satisfied. `threshold`:
1.0 if `points` reaches the threshold.
"""
RULES: tuple[Rule, ...] = get_args(Rule)


@dataclass(frozen=True, slots=True)
class Criterion:
    """One question for the judge."""

    text: str
    name: str = ""
    points: float = 1.0
    """Below zero for errors. These points are added if the answer makes the error."""
    must: bool = False
    """If it is not satisfied, the whole is at most 0.0."""
    optional: bool = False
    """The rule `required` ignores it."""
    negate: bool = False
    """Satisfied if the judge reports it as not met."""
    categories: tuple[str, ...] = ()
    scale: tuple[float, float] | None = None
    """Instead of met or unmet: a number between these two, inclusive."""
    levels: tuple[str, ...] = ()
    """The meanings of the scale's numbers, from 0."""
    within: str = ""
    """The parent requirement, if rubrics are trees."""

    def value(self, said: float) -> float:
        """How far it is met, 0 to 1, from the judge's verdict: 1 or 0, or a number on the scale."""
        if self.scale is not None:
            low, high = self.scale
            said = min(1.0, max(0.0, (said - low) / (high - low)))
        return 1.0 - said if self.negate else said

    def form(self, met: str, unmet: str) -> str:
        """The possible verdicts on it, in words."""
        if self.levels:
            return "; ".join(f"{i} = {level}" for i, level in enumerate(self.levels))
        if self.scale is not None:
            return f"a number from {self.scale[0]:g} to {self.scale[1]:g}"
        return f"{met} or {unmet}"

    def holds(self, value: float) -> bool:
        """Whether this value satisfies it: fully met, or not met at all if its points are below zero."""
        return value <= 0.0 if self.points < 0 else value >= 1.0


@dataclass(frozen=True, slots=True)
class Criteria:
    """A whole rubric. Trees are flattened to their leaves."""

    items: tuple[Criterion, ...]
    rule: Rule = "points"
    threshold: float = 0.5

    def __post_init__(self) -> None:
        if not self.items:
            raise SchemaError("a rubric with no criteria", field="rubric")
        if self.rule not in RULES:
            raise SchemaError(f"a rubric's rule must be one of {', '.join(RULES)}, got {self.rule!r}", field="rule")
        if self.rule in ("points", "threshold") and not self.positive > 0:
            raise SchemaError("the rubric needs a criterion with points above zero", field="points")
        if self.rule == "required" and all(item.optional for item in self.items):
            raise SchemaError("all criteria of the rubric are optional", field="optional")

    @property
    def positive(self) -> float:
        """The maximum points."""
        return math.fsum(item.points for item in self.items if item.points > 0)

    def decides(self, item: Criterion) -> bool:
        """Whether satisfying the criterion matters, rather than how far it is met."""
        return item.must or self.rule in ("all", "any", "required")

    def total(self, values: Sequence[float], *, clip: bool) -> float:
        """The whole rubric's value.

        Args:
            values: How far each criterion is met, 0 to 1.
            clip: Keep the value within 0 to 1.
        """
        pairs = list(zip(self.items, values, strict=True))
        found = self._counted(pairs)
        if any(item.must and not item.holds(value) for item, value in pairs):
            found = min(found, 0.0)
        return min(1.0, max(0.0, found)) if clip else found

    def _counted(self, pairs: Sequence[tuple[Criterion, float]]) -> float:
        if self.rule in ("all", "any", "required"):
            held = [item.holds(value) for item, value in pairs if self.rule != "required" or not item.optional]
            return float(any(held) if self.rule == "any" else all(held))
        found = math.fsum(item.points * value for item, value in pairs)
        if self.rule != "sum":
            found /= self.positive
        return float(found >= self.threshold) if self.rule == "threshold" else found

    def bounds(self, values: Sequence[float | None], *, clip: bool) -> tuple[float, float]:
        """The lowest and the highest value over all possible results of the unjudged criteria (None).

        Under every rule the value rises with criteria of positive points and falls with the others.
        """
        worst = [float(item.points < 0) if v is None else v for item, v in zip(self.items, values, strict=True)]
        best = [float(item.points >= 0) if v is None else v for item, v in zip(self.items, values, strict=True)]
        ends = self.total(worst, clip=clip), self.total(best, clip=clip)
        return min(ends), max(ends)

    def by_category(self, values: Sequence[float | None], *, clip: bool) -> dict[str, float]:
        """Points met over all positive points, by category. A category is omitted unless all of it was judged.

        A category without positive points has no value, as in HealthBench.
        """
        found: dict[str, list[tuple[Criterion, float | None]]] = {}
        for item, value in zip(self.items, values, strict=True):
            for category in dict.fromkeys(item.categories):
                found.setdefault(category, []).append((item, value))
        shares = {category: _share_of_points(pairs) for category, pairs in found.items()}
        return {
            category: min(1.0, max(0.0, share)) if clip else share
            for category, share in shares.items()
            if share is not None
        }


def _share_of_points(pairs: Sequence[tuple[Criterion, float | None]]) -> float | None:
    """Points met over all positive points. None if there are no positive points, or if a criterion has no value."""
    known = [(item, value) for item, value in pairs if value is not None]
    most = math.fsum(item.points for item, _ in pairs if item.points > 0)
    if len(known) < len(pairs) or most <= 0:
        return None
    return math.fsum(item.points * value for item, value in known) / most
