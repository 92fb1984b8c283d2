"""Cells of a workbook, recalculated by the engines, and why some can't be."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from verikit.types import Score
from verikit.verifiers.xlsx import engines
from verikit.verifiers.xlsx.engines import Case, Found
from verikit.verifiers.xlsx.observed import SeenWorkbook
from verikit.verifiers.xlsx.verdicts import no, undecided


class Unfound(NamedTuple):
    """Why cells have no values."""

    score: Score
    keys: Sequence[str]
    """The cells whose formulas are the cause."""


class Recalculated:
    """The formulas of a workbook.

    Args:
        book: The workbook.
        same: Whether two values are the same.
    """

    def __init__(self, book: SeenWorkbook, same: engines.Same) -> None:
        self._book, self.same = book, same

    def unfit(self, name: str, keys: Sequence[str]) -> Score | None:
        """Why formulas can't be recalculated at all; None if they can. `name` is for the reason."""
        if self._book.problem:
            return undecided(self._book.problem)
        return self._unfit(name, self._book.reached(*keys))

    def _unfit(self, name: str, reached: set[str]) -> Score | None:
        if fault := self._book.told_of(reached, "faults"):
            return no(f"{name} has no value: {fault}")
        if problem := self._book.told_of(reached, "problems"):
            return undecided(f"{name} is not recalculated: {problem}")
        if volatile := self._book.volatile(reached):
            return undecided(
                f"{name} uses {', '.join(sorted(volatile))}, whose value can differ each time the workbook is "
                "opened, so it can't be compared"
            )
        return None

    def runs(self, keys: Sequence[str], cases: Sequence[Case]) -> engines.Runs:
        """Recalculate what some cells reach, and no more."""
        return self._runs(keys, cases, self._book.reached(*keys))

    def _runs(self, keys: Sequence[str], cases: Sequence[Case], reached: set[str]) -> engines.Runs:
        wanted = reached.union(*cases)
        model = {kind: {key: value for key, value in self._book.model[kind].items() if key in wanted}
                 for kind in ("values", "formulas", "errors")}  # fmt: skip
        return engines.calculate(model, keys, cases, self.same)

    def found(self, name: str, keys: Sequence[str]) -> Mapping[str, Found] | Unfound:
        """The values of cells of the model, or why the engines do not decide all. `name` is for the reason."""
        model = self._book.model
        formulas = [key for key in keys if key in model["formulas"]]
        if self._book.problem:
            return Unfound(undecided(self._book.problem), formulas)
        reached = self._book.reached(*formulas)
        if unfit := self._unfit(name, reached):
            return Unfound(unfit, [self._first_unfit(formulas)])
        values = {key: Found(model["values"].get(key), model["errors"].get(key, "")) for key in keys}
        if not formulas:
            return values
        runs = self._runs(formulas, [{}], reached)
        for key in formulas:
            agreed = engines.agreed(runs.of(key, 0), self.same)
            if agreed is None:
                return Unfound(undecided(f"{name}: {engines.told(runs.of(key, 0))}"), [key])
            values[key] = agreed
        return values

    def _first_unfit(self, formulas: Sequence[str]) -> str:
        """The first of some formulas that can't be recalculated."""
        return formulas[bisect_left(range(len(formulas)), True, key=lambda last: bool(
            self._unfit("", self._book.reached(*formulas[: last + 1]))))]  # fmt: skip
