"""The rules of equality on which conventions differ, and the result of a comparison."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, get_args

from verikit.errors import UsageError

Outcome = Literal["equal", "different", "undecided", "limit", "bad gold"]
Strictness = Literal["strict", "lenient"]
Several = Literal["last", "unanimous", "reject"]
UnitRule = Literal["optional", "required", "ignored"]
OrderRule = Literal["typed", "ordered", "unordered"]
Rounding = Literal["gold", "off"]
_CHOICES: dict[str, tuple[str, ...]] = {
    "policy": get_args(Strictness), "several": get_args(Several), "units": get_args(UnitRule),
    "order": get_args(OrderRule), "rounding": get_args(Rounding),
}  # fmt: skip


@dataclass(frozen=True)
class Equality:
    """The disputed rules, each with a default. `docs/answer.md` compares the rules of similar libraries."""

    policy: Strictness = "strict"
    """`strict` or `lenient`.

    In `lenient` mode a text may contain the gold answer or be contained in it, and units and percent signs may
    disagree.
    """
    several: Several = "last"
    """With several marked answers: `last` uses the last, `unanimous` requires all to agree, `reject` scores 0."""
    units: UnitRule = "optional"
    """`optional`, `required` or `ignored`.

    With `optional` a unit may be omitted, but two units must agree. With `required` the gold answer's unit must be
    present. With `ignored` units have no effect.
    """
    percent: bool = True
    """Whether 5 and 0.05 both match 5%."""
    assignment: bool = True
    """Whether 5 matches x = 5, and x = 5 matches 5."""
    order: OrderRule = "typed"
    """`typed`: tuples in order, lists and sets in any order. Or all `ordered`, or all `unordered`."""
    rounding: Rounding = "gold"
    """`gold` or `off`.

    With `gold` an exact value that rounds to a decimal gold answer matches it, if that shows at least two places and
    three digits. With `off` it does not.
    """
    tolerance: float = 0.0
    """Relative tolerance for numbers. 0 compares exactly."""

    def __post_init__(self) -> None:
        for field, choices in _CHOICES.items():
            if getattr(self, field) not in choices:
                raise UsageError(f"{field} must be one of {', '.join(choices)}, got {getattr(self, field)!r}")
        if not 0 <= self.tolerance < 1:
            raise UsageError(f"tolerance must be at least 0 and below 1, got {self.tolerance!r}")

    @property
    def lenient(self) -> bool:
        """Whether the lenient rules apply."""
        return self.policy == "lenient"

    @property
    def strict(self) -> Equality:
        """A copy of the rules with the strict policy."""
        return replace(self, policy="strict") if self.lenient else self


@dataclass(frozen=True, slots=True)
class EqualityResult:
    """The result of comparing two trees or texts."""

    outcome: Outcome
    rule: str
    stage: str = ""

    def __bool__(self) -> bool:
        return self.outcome == "equal"


def different(rule: str, stage: str = "") -> EqualityResult:
    """A result for two different trees or texts."""
    return EqualityResult("different", rule, stage)


def equal(rule: str, stage: str = "") -> EqualityResult:
    """A result for two equal trees or texts."""
    return EqualityResult("equal", rule, stage)


def undecided(rule: str, stage: str = "") -> EqualityResult:
    """A result if neither equality nor difference could be shown."""
    return EqualityResult("undecided", rule, stage)


def all_of(matches: list[EqualityResult], rule: str) -> EqualityResult:
    """Equal if every part is. Otherwise the first difference is returned, or else the first undecided part."""
    for outcome in ("different", "limit", "undecided"):
        for match in matches:
            if match.outcome == outcome:
                return EqualityResult(match.outcome, f"{rule}: {match.rule}", match.stage)
    return equal(rule, matches[0].stage if matches else "")
