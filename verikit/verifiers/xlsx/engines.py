"""Engines that recalculate, each in its own box, and the verdict from their values together.

LibreOffice is slower to start than the other two, so it is the third opinion: it computes what they don't agree on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, Literal

from verikit.artifacts.box import BoxReader, observe
from verikit.artifacts.office.cells import recalculated
from verikit.artifacts.shape import Shape, each, mapping, record, scalar, text
from verikit.errors import WorkspaceError
from verikit.sandbox import RunLimits

ENGINES = ("formulas", "formualizer")
Model = Mapping[str, Mapping[str, Any]]
Case = Mapping[str, "str | bool | float | None"]
"""Cells with other values than the model's."""
Verdict = Literal["yes", "no", "unknown"]
THIRD = "LibreOffice"


@dataclass(frozen=True, slots=True)
class Found:
    """The content of a cell as an engine has it."""

    value: str | bool | float | None = None
    error: str = ""
    unknown: str = ""
    """Why the engine doesn't have a value, or, with `value`, why its type is not known."""

    def __str__(self) -> str:
        if self.unknown:
            return f"no value ({self.unknown[:60]})"
        return self.error or (f"{self.value:.12g}" if isinstance(self.value, float) else repr(self.value))


def _found(value: Any) -> Found:
    if type(value) is not dict or len(value) != 1 or not set(value) <= {"value", "error", "unknown"}:
        raise ValueError("an observation without a cell's value")
    [(kind, content)] = value.items()
    if kind == "value":
        return Found(scalar(content))
    return Found(error=text(content)) if kind == "error" else Found(unknown=text(content))


_RUNS: Shape = record({"runs": each(mapping(_found, 100_000), 1000)})
CALCULATOR = BoxReader(
    "verikit.artifacts.readers.calculate",
    {"formulas": "recalculating workbooks", "formualizer": "recalculating workbooks"},
    "office",
    _RUNS,
    warm=True,
    limits=RunLimits(wall_s=120.0, cpu_s=20.0, memory_mb=1536, output_kb=256, value_kb=16 << 10, disk_mb=8),
)


Same = Callable[[Found, Found], bool]
Values = Sequence[Mapping[str, Found]]
"""The values of cells for each case."""


@dataclass(frozen=True)
class Runs:
    """The values of cells for each case, by each engine."""

    by_engine: Mapping[str, Values]
    same: Same
    """Whether two values are the same."""
    ask_third: Callable[[], Values]

    def of(self, key: str, case: int) -> dict[str, Found]:
        """A cell's value in a case, by engine. The third engine is one of them if the others don't settle all."""
        found = self.of_two(key, case)
        return found if self.settled else found | {THIRD: _typed(self._third[case][key], found)}

    def of_two(self, key: str, case: int) -> dict[str, Found]:
        """A cell's value in a case, by the first two engines."""
        return {engine: runs[case][key] for engine, runs in self.by_engine.items()}

    @cached_property
    def settled(self) -> bool:
        """Whether the first two engines agree on all values."""
        one, other = self.by_engine.values()
        return all(not (a[key].unknown or b[key].unknown) and self.same(a[key], b[key])
                   for a, b in zip(one, other, strict=True) for key in a)  # fmt: skip

    @cached_property
    def _third(self) -> Values:
        return self.ask_third()


def _typed(one: Found, others: Mapping[str, Found]) -> Found:
    """A value of LibreOffice with the type that the other engines give it: its truth values are numbers."""
    if one.error or one.unknown or one.value not in (0, 1):
        return one
    equal = [other.value for other in others.values()
             if not (other.error or other.unknown) and other.value == one.value]  # fmt: skip
    if not equal or any(type(a) is not type(b) for a, b in pairwise(equal)):
        return Found(one.value, unknown="a number or a truth value")
    return Found(equal[0])


def calculate(model: Model, cells: Sequence[str], cases: Sequence[Case], same: Same) -> Runs:
    """Evaluate cells of a model once for each case.

    Raises:
        MissingExtra: An engine is not installed.
        SandboxError: The sandbox failed.
    """
    request: dict[str, Any] = {name: dict(model[name]) for name in ("values", "formulas", "errors")}
    request |= {"cells": list(cells), "cases": [dict(case) for case in cases]}
    runs = {engine: _run(engine, request, cells, cases) for engine in ENGINES}

    def third() -> Values:
        return [{key: _found(told) for key, told in run.items()} for run in recalculated(model, cells, cases)]

    return Runs(runs, same, third)


def results(formula: str, same: Same, cases: Sequence[Mapping[str, Found]]) -> list[Found | None]:
    """The value of a formula for each set of inputs, which may have errors. None: the engines differ.

    The errors are those of `calculate`.
    """
    own = "X1!A1"
    found: list[Found | None] = [None] * len(cases)
    for errors in _distinct([_errors(case) for case in cases]):
        numbers = [number for number, case in enumerate(cases) if _errors(case) == errors]
        model = {"values": {}, "formulas": {own: formula}, "errors": errors}
        runs = calculate(model, [own], [values_of(cases[number]) for number in numbers], same)
        for place, number in enumerate(numbers):
            found[number] = agreed(runs.of(own, place), same)
    return found


def values_of(inputs: Mapping[str, Found]) -> Case:
    """The inputs without errors, as a case."""
    return {key: one.value for key, one in inputs.items() if not one.error}


def _errors(inputs: Mapping[str, Found]) -> dict[str, str]:
    return {key: one.error for key, one in inputs.items() if one.error}


def _distinct(items: Sequence[dict[str, str]]) -> list[dict[str, str]]:
    return [item for number, item in enumerate(items) if item not in items[:number]]


def _run(engine: str, request: Mapping[str, Any], cells: Sequence[str], cases: Sequence[Case]) -> Values:
    try:
        runs: list[dict[str, Found]] = observe(CALCULATOR, [], {**request, "engine": engine})["runs"]
    except WorkspaceError as problem:
        return [dict.fromkeys(cells, Found(unknown=str(problem)))] * len(cases)
    if len(runs) != len(cases) or any(set(run) != set(cells) for run in runs):
        return [dict.fromkeys(cells, Found(unknown="an observation of other cells"))] * len(cases)
    return runs


def verdict(found: Mapping[str, Found], right: Callable[[Found], bool], same: Same) -> Verdict:
    """Whether a cell has the expected value.

    Yes by two engines and a majority. No if all engines deny it, unless two differ and there is no third opinion, or
    LibreOffice's 1 or 0 may be it.
    """
    known = [one for one in found.values() if not one.unknown]
    gives = sum(right(one) for one in known)
    denies = len(known) - gives
    if gives >= 2 and denies < gives:
        return "yes"
    torn = len(known) == 2 and not same(*known)
    untyped = [one.value for one in found.values() if one.unknown and one.value is not None]
    if any(right(Found(of_type)) for value in untyped for of_type in (value, bool(value))):
        return "unknown"
    return "no" if not gives and denies and not torn else "unknown"


def agreed(found: Mapping[str, Found], same: Same) -> Found | None:
    """The value that at least two engines give; None if there isn't one."""
    known = [one for one in found.values() if not one.unknown]
    return next((one for one in known if sum(same(one, other) for other in known) >= 2), None)


def told(found: Mapping[str, Found]) -> str:
    """The values of all engines, for a reason."""
    return ", ".join(f"{engine}: {one}" for engine, one in found.items())
