"""Is the workbook right? Its cells are recalculated, and its formulas are tried on hidden inputs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, get_args

from verikit.artifacts.box import ReaderFailed
from verikit.artifacts.options import of_row
from verikit.artifacts.readers.references import area_of, pieces, reference
from verikit.errors import AgentFault, UsageError, WorkspaceError
from verikit.types import Sample, Score
from verikit.verifiers.xlsx.cases import CountedCases, score_of_cases
from verikit.verifiers.xlsx.charts import charts, check_charts
from verikit.verifiers.xlsx.checks import Checks
from verikit.verifiers.xlsx.mutations import areas_of
from verikit.verifiers.xlsx.number_formats import Locale
from verikit.verifiers.xlsx.observed import SeenWorkbook
from verikit.verifiers.xlsx.pivots import check_pivots, pivots, wanted_sources
from verikit.verifiers.xlsx.verdicts import alike, together
from verikit.verifiers.xlsx.wanted import check_cases, check_list, check_strings, check_values
from verikit.workspaces import Blob, Workspace
from verikit.workspaces.grading import WorkspaceVerifier, part_of
from verikit.workspaces.names import shown

_MOST_GIVEN = 5
"""Given workbooks in which cells are looked up."""


@dataclass(frozen=True, eq=False)
class Xlsx(WorkspaceVerifier):
    """1.0 if a workbook that an agent left passes every requested check.

    Cells are `B2`, `Sheet1!B2` or `Sheet1!B2:C5`. Without a sheet the first visible one is used. Two engines
    recalculate the values, and LibreOffice does if they differ. Values stored in the file are ignored. A row's own
    options are under its key `xlsx`, and a list of options there checks one workbook for each.
    """

    file: str = "*.xlsx"
    """Path or pattern of the workbook. It must match one file."""
    values: Mapping[str, Any] = field(default_factory=dict)
    """Cells and their values: numbers, strings, truth values, or dates as `2024-01-31` in cells that show dates."""
    formula: Sequence[str] | Mapping[str, Sequence[str]] = ()
    """Cells that must be formulas which follow their inputs, or cells and their required functions."""
    follows: Mapping[str, str] = field(default_factory=dict)
    """Cells and right formulas for them, as `{"D6": "=SUM(D2:D5)"}`. Both are compared on hidden inputs."""
    then: Sequence[Mapping[str, Any]] = ()
    """Your own cases: `{"set": {"B2": 7}, "values": {"D6": 442}}`."""
    shows: Mapping[str, str] = field(default_factory=dict)
    """Cells and their displayed text."""
    format: Mapping[str, str] = field(default_factory=dict)
    """Cells and their number formats."""
    sheet: Sequence[str] = ()
    """Titles of sheets that must exist."""
    chart: Sequence[Mapping[str, Any]] = ()
    """Charts, as `{"sheet": "Sales", "type": "column", "categories": "A2:A4", "series": ["D2:D4"]}`. Only `series` is
    required. A series can be `{"values": "D2:D4", "name": "D1", "type": "line"}`, and `"base": true` is a waterfall's
    series without ink. A chart must not have others."""
    pivot: Sequence[Mapping[str, Any]] = ()
    """Pivot tables, as `{"source": "Data!A1:D9", "rows": ["item"], "columns": ["year"], "values": {"price": "sum"}}`,
    and `sheet` and `filters`. Functions are `sum`, `count`, `average`, `min` and `max`. They must show what the source
    gives."""
    visible: Sequence[str] | bool = False
    """Cells that must be visible. True: all cells of the other checks."""
    unchanged: Sequence[str] = ()
    """Cells that must equal those in the workbook of this path that the agent received."""
    macros: bool = False
    """Whether macros are allowed. They never run."""
    tolerance: float = 1e-9
    """Allowed difference of numbers, absolute or relative. Up to 1e-8 it only covers rounding errors, and different
    integers of up to 15 digits are not equal."""
    decimals: int | None = None
    """Decimals by which numbers of `values` and `then` are compared. A tolerance of up to 1e-8 then allows at most half
    a unit of the last decimal."""
    exact: Sequence[str] = ()
    """Cells of `values` whose numbers are dates and times, compared by the second. A string like `2024-01-31` means
    text there, not a date."""
    mutations: int = 4
    """Number of sets of hidden inputs for `formula` and `follows`, at least 3."""
    locale: Locale = "en"
    """The separators of `shows`: `en` or `de`."""
    undecided: float | None = None
    """The value if the engines do not decide a formula's result (`RAND`, `OFFSET`), or if the reader fails on the
    workbook. None: unscored. An agent chooses its workbook, so set 0.0 for training rewards."""
    cases: CountedCases = "all"
    """The value of a row with a list of workbooks: 1.0 if all of them pass (`all`), or the fraction that passes
    (`share`)."""
    seed: str = ""
    """Additional text for the seed of hidden inputs, which is derived from the row's id and prompt."""
    name = "xlsx"

    def __post_init__(self) -> None:
        self._check_types()
        check_charts(self.chart)
        check_pivots(self.pivot)
        if self.undecided is not None and not 0 <= self.undecided <= 1:
            raise UsageError(f"undecided must be a value from 0 to 1, got {self.undecided!r}")
        if self.mutations < 3:
            raise UsageError(f"mutations must be at least 3, got {self.mutations!r}")
        if self.cases not in get_args(CountedCases):
            raise UsageError(f"cases must be one of {', '.join(get_args(CountedCases))}, got {self.cases!r}")
        if self.decimals is not None and (type(self.decimals) is not int or self.decimals < 0):
            raise UsageError(f"decimals must be an integer of at least 0, got {self.decimals!r}")
        if other := next((name for name in self.exact if name not in self.values), None):
            raise UsageError(f"exact has the cell {other!r}, which is not in values")
        if not 0 <= self.tolerance < 1:
            raise UsageError(f"tolerance must be at least 0 and less than 1, got {self.tolerance!r}")
        for name in self._asked():
            if reference(name) is None:
                raise UsageError(f"{name!r} is not a cell reference", hint="B2, Sheet1!B2 or 'My sheet'!B2:C5")
        for name, formula in self.follows.items():
            self._check_own(name, formula)

    def _check_types(self) -> None:
        for option in ("sheet", "unchanged", "chart", "exact", "pivot"):
            check_list(option, getattr(self, option))
        if not isinstance(self.formula, Mapping):
            check_list("formula", self.formula)
        if not isinstance(self.visible, bool):
            check_list("visible", self.visible)
        check_values("values", self.values)
        for option in ("follows", "shows", "format"):
            check_strings(option, getattr(self, option))
        check_cases(self.then)

    def _check_own(self, name: str, formula: str) -> None:
        if not formula.startswith("=") or not areas_of(formula, name):
            raise UsageError(f"the formula of follows[{name!r}] refers to no cells", hint='"=SUM(D2:D5)"')
        for piece in pieces(formula):
            whole = piece.area is not None and piece.area.open_ended
            if piece.kind in ("name", "table", "unknown") or whole:
                raise UsageError(f"{piece.text!r} of follows[{name!r}] is not a plain reference", hint="A2:A100")

    def _asked(self) -> list[str]:
        """All references, except for references in right formulas."""
        cases = [name for case in self.then for key in ("set", "values") for name in case.get(key, ())]
        seen = [] if isinstance(self.visible, bool) else self.visible
        return [*self.values, *self.formula, *self.follows, *self.shows, *self.format, *seen, *self.unchanged, *cases]

    def check(self, workspace: Workspace, sample: Sample) -> Score:
        """Read the workbook in the sandbox and run the checks."""
        told = sample.meta.get("xlsx")
        if not isinstance(told, list):
            return of_row(self, sample, "xlsx").checked(workspace, sample)
        one = partial(self._checked_case, workspace, sample)
        checks = [
            partial(part_of, workspace, f"xlsx case {number}", partial(one, case))
            for number, case in enumerate(told, 1)
        ]
        return score_of_cases(checks, self.cases)

    def _checked_case(self, workspace: Workspace, sample: Sample, options: Any) -> Score:
        case = replace(sample, meta={**sample.meta, "xlsx": options or None})
        return of_row(self, case, "xlsx").checked(workspace, case)

    def checked(self, workspace: Workspace, sample: Sample) -> Score:
        """Check one workbook by these options."""
        blob = workspace.one(self.file)
        inputs = [area for name, formula in self.follows.items() for area in areas_of(formula, name)]
        cases = [name for case in self.then for key in ("set", "values") for name in case[key]]
        followed = [*self.values, *self.formula, *self.follows, *self.shows, *cases, *inputs]
        asked = [*self._asked(), *inputs]
        try:
            book = SeenWorkbook.read(blob.data(), asked, followed, charts=bool(self.chart),
                                     pivots=wanted_sources(self.pivot))  # fmt: skip
        except ReaderFailed as error:
            if self.undecided is None:
                raise
            return Score(self.undecided, reason=str(error))
        prompt = sample.prompt if isinstance(sample.prompt, str) else repr(sample.prompt)
        seed = f"{self.seed}\0{sample.id}\0{prompt}"
        checks = Checks(book, self.tolerance, seed, self.mutations, self.decimals, self.exact)
        parts = {name: part() for name, part in self._parts(checks, book, workspace, blob.path).items()}
        if not parts:
            raise WorkspaceError("the xlsx verifier has nothing to check", hint='values={"D6": 422}')
        score = together(list(parts.values()))
        if score.value is None and self.undecided is not None:
            return Score(self.undecided, reason=score.reason, parts=parts)
        return Score(score.value, score.status, reason=score.reason or "all checks pass", parts=parts)

    def _parts(
        self, checks: Checks, book: SeenWorkbook, workspace: Workspace, path: str
    ) -> dict[str, Callable[[], Score]]:
        functions = self.formula if isinstance(self.formula, Mapping) else dict.fromkeys(self.formula, ())
        seen = self.visible
        if isinstance(seen, bool):
            seen = [*self.values, *self.formula, *self.follows, *self.shows] if seen else []
        offered: dict[str, tuple[object, Callable[[], Score]]] = {
            "macros": (book.macros and not self.macros, lambda: Score(0.0, reason="the workbook contains macros")),
            "sheet": (self.sheet, lambda: checks.sheets(self.sheet)),
            "values": (self.values, lambda: checks.values(self.values)),
            "formula": (functions, lambda: checks.formula(functions)),
            "follows": (self.follows, lambda: checks.follows(self.follows)),
            "then": (self.then, lambda: checks.then(self.then)),
            "shows": (self.shows, lambda: checks.shows(self.shows, self.locale)),
            "format": (self.format, lambda: checks.format(self.format)),
            "chart": (self.chart, lambda: charts(book, self.chart)),
            "pivot": (self.pivot, lambda: pivots(book, partial(alike, self.tolerance), self.pivot,
                                                partial(self._given, workspace, path))),
            "visible": (seen, lambda: checks.visible(seen)),
            "unchanged": (self.unchanged, lambda: checks.unchanged(self.unchanged, self._before(workspace, path))),
        }  # fmt: skip
        return {name: part for name, (asked, part) in offered.items() if asked}

    def _given(
        self, workspace: Workspace, path: str, cells: Sequence[str], model: Sequence[str]
    ) -> Iterator[SeenWorkbook]:
        """Workbooks that the agent was given, with some cells: the one of this path first."""
        found = workspace.find("**/*.xlsx", "before") if workspace.knows_before else []
        for entry in sorted(found, key=lambda entry: entry.path != path)[:_MOST_GIVEN]:
            yield self._read_given(workspace.blob(entry, "before"), cells, model)

    def _before(self, workspace: Workspace, path: str) -> SeenWorkbook:
        return self._read_given(workspace.one(path, "before"), self.unchanged)

    def _read_given(self, blob: Blob, cells: Sequence[str], model: Sequence[str] = ()) -> SeenWorkbook:
        try:
            return SeenWorkbook.read(blob.data(), cells, model)
        except AgentFault as problem:  # the agent did not write this file
            raise WorkspaceError(f"{shown(blob.path)}, as it was given, can't be read: {problem}") from None


__all__ = ["Xlsx", "area_of"]
