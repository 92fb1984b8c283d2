"""What counts as equal where mathematicians differ, and what a comparison says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from verikit.errors import UsageError

Outcome = Literal["equal", "different", "undecided", "limit", "bad gold"]
Strictness = Literal["strict", "lenient"]
Several = Literal["last", "unanimous", "reject"]
UnitRule = Literal["optional", "required", "ignored"]
OrderRule = Literal["typed", "ordered", "unordered"]
Rounding = Literal["gold", "off"]


@dataclass(frozen=True, slots=True)
class Policy:
    """The disputed questions, each with a default; `docs/answer.md` lists what each peer does."""

    strictness: Strictness = "strict"
    """`lenient`: a text may contain the gold or be contained in it, and units and percent signs may disagree."""
    several: Several = "last"
    """Of several different answers: the last one counts; or they must all agree (`unanimous`); or there may be only one
    (`reject`)."""
    units: UnitRule = "optional"
    """A unit that one side leaves out is fine, two units must agree; or the gold's must be there; or none matters."""
    order: OrderRule = "typed"
    """Lists and sets in any order, tuples in order; or all in order; or none."""
    percent: bool = True
    """Whether 5 and 0.05 both match 5%."""
    assignment: bool = True
    """Whether 5 matches x = 5, and x = 5 matches 5."""
    rounding: Rounding = "gold"
    """`gold`: an exact value that rounds to a decimal gold matches it (at least two places and three digits shown)."""
    tolerance: float = 0.0
    """Relative tolerance for numbers; 0 compares exactly."""

    def __post_init__(self) -> None:
        for field, choices in (
            ("strictness", Strictness), ("several", Several), ("units", UnitRule), ("order", OrderRule),
            ("rounding", Rounding),
        ):  # fmt: skip
            if getattr(self, field) not in get_args(choices):
                raise UsageError(
                    f"policy: {field} must be one of {', '.join(get_args(choices))}, not {getattr(self, field)!r}"
                )
        if not 0 <= self.tolerance < 1:
            raise UsageError(f"tolerance must be at least 0 and below 1, not {self.tolerance!r}")

    @property
    def lenient(self) -> bool:
        """Whether the lenient rules apply."""
        return self.strictness == "lenient"


@dataclass(frozen=True, slots=True)
class Match:
    """The result of comparing two trees or texts."""

    outcome: Outcome
    rule: str
    stage: str = ""

    def __bool__(self) -> bool:
        return self.outcome == "equal"


def different(rule: str, stage: str = "") -> Match:
    """The two are not the same."""
    return Match("different", rule, stage)


def equal(rule: str, stage: str = "") -> Match:
    """The two are the same."""
    return Match("equal", rule, stage)


def undecided(rule: str, stage: str = "") -> Match:
    """Neither could be shown."""
    return Match("undecided", rule, stage)


def all_of(matches: list[Match], rule: str) -> Match:
    """Equal if every part is; the first difference, else the first doubt, speaks for all."""
    for outcome in ("different", "limit", "undecided"):
        for match in matches:
            if match.outcome == outcome:
                return Match(match.outcome, f"{rule}: {match.rule}", match.stage)
    return equal(rule, matches[0].stage if matches else "")
