"""Engines that recalculate, each in its own sandboxed child, and the verdict from their values together."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from verikit.artifacts.box import BoxReader, observe
from verikit.artifacts.shape import Shape, each, mapping, record, scalar, text
from verikit.errors import WorkspaceError
from verikit.sandbox import RunLimits

ENGINES = ("formulas", "formualizer")
Model = Mapping[str, Mapping[str, Any]]
Case = Mapping[str, "str | bool | float | None"]
"""Cells with other values than the model's."""
Verdict = Literal["yes", "no", "unknown"]


@dataclass(frozen=True, slots=True)
class Found:
    """The content of a cell as an engine has it."""

    value: str | bool | float | None = None
    error: str = ""
    unknown: str = ""
    """Why the engine doesn't have a value."""

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


@dataclass(frozen=True, slots=True)
class Runs:
    """The values of cells for each case, by each engine."""

    by_engine: Mapping[str, Sequence[Mapping[str, Found]]]

    def of(self, key: str, case: int) -> dict[str, Found]:
        """A cell's value in a case, by engine."""
        return {engine: runs[case][key] for engine, runs in self.by_engine.items()}


def calculate(model: Model, cells: Sequence[str], cases: Sequence[Case]) -> Runs:
    """Evaluate cells of a model once for each case.

    Raises:
        MissingExtra: An engine is not installed.
        SandboxError: The sandbox failed.
    """
    request: dict[str, Any] = {name: dict(model[name]) for name in ("values", "formulas", "errors")}
    request |= {"cells": list(cells), "cases": [dict(case) for case in cases]}
    return Runs({engine: _run(engine, request, cells, cases) for engine in ENGINES})


def _run(
    engine: str, request: Mapping[str, Any], cells: Sequence[str], cases: Sequence[Case]
) -> Sequence[Mapping[str, Found]]:
    try:
        runs: list[dict[str, Found]] = observe(CALCULATOR, [], {**request, "engine": engine})["runs"]
    except WorkspaceError as problem:
        return [dict.fromkeys(cells, Found(unknown=str(problem)))] * len(cases)
    if len(runs) != len(cases) or any(set(run) != set(cells) for run in runs):
        return [dict.fromkeys(cells, Found(unknown="an observation of other cells"))] * len(cases)
    return runs


def verdict(found: Mapping[str, Found], right: Callable[[Found], bool]) -> Verdict:
    """Whether a cell has the expected value: yes by two engines and a majority, no if all engines deny it."""
    known = [one for one in found.values() if not one.unknown]
    gives = sum(right(one) for one in known)
    denies = len(known) - gives
    if gives >= 2 and denies < gives:
        return "yes"
    return "no" if not gives and denies else "unknown"


def agreed(found: Mapping[str, Found], same: Callable[[Found, Found], bool]) -> Found | None:
    """The value that at least two engines give and no other contradicts; None if there isn't one."""
    known = [one for one in found.values() if not one.unknown]
    if len(known) >= 2 and all(same(known[0], one) for one in known[1:]):
        return known[0]
    return None


def told(found: Mapping[str, Found]) -> str:
    """The values of all engines, for a reason."""
    return ", ".join(f"{engine}: {one}" for engine, one in found.items())
