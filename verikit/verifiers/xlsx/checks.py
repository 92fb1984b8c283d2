"""The checks of a workbook, one function each: the workbook's content against the row's expectations."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from verikit.artifacts.readers.references import rewritten
from verikit.errors import AgentFault, WorkspaceError
from verikit.types import Score
from verikit.verifiers.xlsx import engines, mutations, number_formats
from verikit.verifiers.xlsx.engines import Case, Found
from verikit.verifiers.xlsx.mutations import areas_of
from verikit.verifiers.xlsx.observed import SeenCell, SeenWorkbook
from verikit.verifiers.xlsx.recalculated import Recalculated
from verikit.verifiers.xlsx.verdicts import YES, alike, at_moment, matches, no, together, undecided

Inputs = Mapping[str, Found]
Expected = Callable[[Sequence[Inputs]], Sequence[Found | None]]
"""Computes the values of a row's formula for some inputs."""
_OF_FORMULAS = {"ISFORMULA", "FORMULATEXT"}
"""Functions that tell a formula from its value."""


def expected_of(expected: Any, cell: SeenCell) -> Any:
    """A date of the row as the number of a cell that shows dates."""
    if not isinstance(expected, str) or not number_formats.is_date(1.0, cell.format):
        return expected
    try:
        moment = datetime.datetime.fromisoformat(expected)
    except ValueError:
        return expected
    start = datetime.datetime(1904, 1, 1) if cell.epoch_1904 else datetime.datetime(1899, 12, 30)
    return (moment.replace(tzinfo=None) - start) / datetime.timedelta(days=1)


class Checks:
    """Checks of one workbook.

    Args:
        book: The workbook.
        tolerance: The tolerance of numbers.
        seed: The seed of hidden inputs.
        mutations: The number of sets of hidden inputs per check.
        decimals: The decimals that expected values are compared by. None: all.
        exact: Cells whose numbers are dates and times, and whose expected strings are not dates.
    """

    def __init__(
        self, book: SeenWorkbook, tolerance: float, seed: str, mutations: int, decimals: int | None = None,
        exact: Sequence[str] = (),
    ) -> None:  # fmt: skip
        self._book, self._tolerance, self._seed, self._mutations = book, tolerance, seed, mutations
        self._same: engines.Same = partial(alike, tolerance)
        self._decimals, self._exact = decimals, frozenset(exact)
        self._model = Recalculated(book, self._same)

    def values(self, expected: Mapping[str, Any], case: Case | None = None) -> Score:
        """Whether cells have their values, recalculated, with some inputs changed or unchanged."""
        cells = {name: self._book.one(name) for name in expected}
        formulas = [cell.key for cell in cells.values() if cell.formula]
        runs = self._model.runs(formulas, [case or {}]) if formulas else None
        scores = []
        for name, cell in cells.items():
            exact = name in self._exact
            wanted = expected[name] if exact else expected_of(expected[name], cell)
            right = partial(at_moment, expected=wanted) if exact else partial(
                matches, expected=wanted, tolerance=self._tolerance, decimals=self._decimals)  # fmt: skip
            if not cell.formula:
                scores.append(self._typed(name, cell, right, changed=bool(case)))
            elif faulty := self._model.unfit(cell.cell, [cell.key]):
                scores.append(faulty)
            else:
                assert runs is not None
                scores.append(self._of_verdict(name, runs.of(cell.key, 0), right))
            if scores[-1].value == 1.0 and isinstance(wanted, int | float) and not isinstance(wanted, bool):
                lie = number_formats.lies(float(wanted), cell.format)
                scores[-1] = no(f"{name}: {lie}") if lie else YES
        return together(scores)

    def _typed(self, name: str, cell: SeenCell, right: Callable[[Found], bool], *, changed: bool) -> Score:
        if changed:
            return no(f"{name} is typed in, a formula would follow its inputs")
        found = Found(cell.value, cell.error)
        return YES if right(found) else no(f"{name} holds {found}")

    def _of_verdict(self, name: str, found: Mapping[str, Found], right: Callable[[Found], bool]) -> Score:
        said = engines.verdict(found, right, self._same)
        if said == "yes":
            return YES
        reason = f"{name}: {engines.told(found)}"
        return no(reason) if said == "no" else undecided(f"the engines do not decide {reason}")

    def formula(self, asked: Mapping[str, Sequence[str]]) -> Score:
        """Whether cells are formulas that use certain functions, and whose values follow their inputs."""
        return together([self._formula(cell, functions) for name, functions in asked.items()
                         for cell in self._book.asked(name)])  # fmt: skip

    def _formula(self, cell: SeenCell, functions: Sequence[str]) -> Score:
        if not cell.formula:
            return no(f"{cell.cell} is typed in, no formula")
        reached = self._book.reached(cell.key)
        if missing := {name.upper() for name in functions} - self._book.functions(reached):
            return no(f"{cell.cell} does not use {', '.join(sorted(missing))}")
        if self._book.volatile(reached) & {name.upper() for name in functions}:
            return YES
        inputs = {
            key: value for key, value in self._book.model["values"].items() if key in reached and value is not None
        }
        if not inputs and not self._book.told_of(reached, "problems") and not self._book.problem:
            return no(f"{cell.cell} is a formula of constants")
        if unfit := self._model.unfit(cell.cell, [cell.key]):
            return unfit
        random = mutations.generator(self._seed, cell.cell)
        cases = [*mutations.drawn(inputs, random, self._mutations), *mutations.blanked(inputs, random)]
        runs = self._model.runs([cell.key], [{}, *cases])
        return self._moves(cell, runs, len(cases))

    def _moves(self, cell: SeenCell, runs: engines.Runs, cases: int) -> Score:
        """Whether an engine gives another value in some case. The third is asked only if the others see no change."""
        decided = False
        for of in (runs.of_two, runs.of):
            before = of(cell.key, 0)
            for case in range(1, cases + 1):
                for engine, one in of(cell.key, case).items():
                    if not (one.unknown or before[engine].unknown):
                        decided = True
                        if not self._same(before[engine], one):
                            return YES
        if not decided:
            return undecided(f"{cell.cell}: {engines.told(runs.of(cell.key, 0))}")
        return no(f"{cell.cell} gives the same result for all inputs")

    def follows(self, references: Mapping[str, str]) -> Score:
        """Whether cells follow their inputs as the row's own formulas do, on unseen inputs."""
        return together([self._follows(name, formula) for name, formula in references.items()])

    def _follows(self, name: str, formula: str) -> Score:
        cell = self._book.one(name)
        if not cell.formula:
            return no(f"{name} is typed in, no formula")
        inputs = {one.key: one for area in areas_of(formula, name) for one in self._book.asked(area)}
        computed = [key for key, one in inputs.items() if one.formula]
        if unfit := self._first_unfit([cell, *(inputs[key] for key in computed)]):
            return unfit
        if computed and (seen := self._book.functions(self._book.reached(cell.key)) & _OF_FORMULAS):
            return no(f"{name} uses {', '.join(sorted(seen))}, so a typed input would change it")
        given = self._inputs(inputs, {}, self._model.runs(computed, [{}]) if computed else None, 0)
        if given is None:
            return undecided(f"the engines do not decide the inputs of {name}")
        expected = partial(engines.results, self._written(formula, cell), self._same)
        others = self._other_inputs(name, formula, given, expected)
        if not others:
            return no(f"the inputs of {name} {_why_unchanged(given)}")
        cases = [given, *others]
        right = expected(cases)
        if _has_error(given) and not _changes([one for one in right if one is not None], self._same):
            return undecided(f"errors in the inputs of {name} keep its value the same, as a constant would")
        runs = self._model.runs([cell.key], [engines.values_of(case) for case in cases])
        score = self._compared(name, cell, right, runs)
        return self._follows_sources(name, cell, inputs, expected, score) if computed else score

    def _first_unfit(self, cells: Sequence[SeenCell]) -> Score | None:
        return next(filter(None, (self._model.unfit(cell.cell, [cell.key]) for cell in cells)), None)

    def _inputs(
        self, inputs: Mapping[str, SeenCell], case: Case, computed: engines.Runs | None, number: int
    ) -> Inputs | None:
        """The inputs in a case, of which some may be computed. None if the engines differ on one."""
        found: dict[str, Found] = {}
        for key, one in inputs.items():
            value: Found | None = Found(case[key]) if key in case else Found(one.value, one.error)
            if one.formula and computed is not None:
                value = engines.agreed(computed.of(key, number), self._same)
            if value is None:
                return None
            found[key] = value
        return found

    def _other_inputs(self, name: str, formula: str, given: Inputs, expected: Expected) -> list[Inputs]:
        """Sets of hidden inputs for a formula of the row, beside the given ones."""

        def shown() -> str:
            [found] = expected([given])
            return found.value if found is not None and isinstance(found.value, str) else ""

        areas = [[(one.key, given[one.key].value) for one in self._book.asked(area)]
                 for area in areas_of(formula, name)]  # fmt: skip
        cases = mutations.other_inputs(areas, shown, mutations.generator(self._seed, name), self._mutations)
        return [{**given, **{key: Found(value) for key, value in case.items()}} for case in cases if case]

    def _compared(self, name: str, cell: SeenCell, right: Sequence[Found | None], runs: engines.Runs) -> Score:
        """Whether a cell has the right value in each case that the engines decide."""
        scores = []
        for case, wanted in enumerate(right):
            if wanted is not None:
                shown = name if not case else f"{name}, with other inputs"
                scores.append(self._of_verdict(shown, runs.of(cell.key, case), partial(self._same, wanted)))
        if len(scores) < 2:
            return undecided(f"the engines differ on the row's own formula for {name}")
        return together(scores)

    def _follows_sources(
        self, name: str, cell: SeenCell, inputs: Mapping[str, SeenCell], expected: Expected, direct: Score
    ) -> Score:
        """The score of a cell with computed inputs, from changes of what these depend on.

        It must not be wrong then, as if it could tell changed inputs from computed ones. If it is right, it may use
        these sources instead of the inputs. But all computed inputs and the right value must change, without errors,
        or a constant could replace it.
        """
        computed = [key for key, one in inputs.items() if one.formula]
        reached = self._book.reached(*computed) | set(inputs)
        sources = {key: value for key, value in self._book.model["values"].items() if key in reached}
        cases = [{}, *mutations.drawn(sources, mutations.generator(self._seed, name, "sources"), self._mutations)]
        runs = self._model.runs([cell.key, *computed], cases)
        found = [self._inputs(inputs, case, runs, number) for number, case in enumerate(cases)]
        decided = [(number, case) for number, case in enumerate(found) if case is not None]
        right: list[Found | None] = [None] * len(cases)
        for (number, _), value in zip(decided, expected([case for _, case in decided]), strict=True):
            right[number] = value
        for number in (number for number, case in decided if _has_error(case)):
            right[number] = None  # a hidden zero makes #DIV/0!, which typed inputs never do
        score = self._compared(name, cell, right, runs)
        if score.value != 1.0 or direct.value != 0.0:
            return score if score.value == 0.0 else direct
        return score if _all_change(found, computed, right, self._same) else direct

    def _written(self, formula: str, cell: SeenCell) -> str:
        """A formula of the row in the names of the model."""
        own = cell.key.partition("!")[0]

        def change(piece: Any) -> str:
            if piece.kind != "area":
                return str(piece.text)
            sheet = self._book.sheet_key(piece.area.sheet) if piece.area.sheet else own
            if not sheet:
                raise AgentFault(f"the workbook has no sheet {piece.area.sheet!r}")
            return f"{sheet}!{piece.text.rpartition('!')[2].replace('$', '')}"

        return rewritten(formula, change)

    def then(self, cases: Sequence[Mapping[str, Any]]) -> Score:
        """Whether cells have their values once inputs are set."""
        scores = []
        for case in cases:
            given = {self._book.one(name).key: float(value) if isinstance(value, int) and not isinstance(value, bool)
                     else value for name, value in case["set"].items()}  # fmt: skip
            scores.append(self.values(case["values"], given))
        return together(scores)

    def shows(self, expected: Mapping[str, str], locale: number_formats.Locale) -> Score:
        """Whether cells show these strings."""
        scores = []
        for name, wanted in expected.items():
            cell = self._book.one(name)
            value: Found | None = Found(cell.value, cell.error)
            if cell.formula:
                if unfit := self._model.unfit(cell.cell, [cell.key]):
                    scores.append(unfit)
                    continue
                found = self._model.runs([cell.key], [{}]).of(cell.key, 0)
                value = engines.agreed(found, self._same)
                if value is None:
                    scores.append(undecided(f"{name}: {engines.told(found)}"))
                    continue
            scores.append(_shown(name, cell, value or Found(), wanted, locale))
        return together(scores)

    def format(self, expected: Mapping[str, str]) -> Score:
        """Whether cells have these number formats."""
        wrong = [f"{cell.cell} has the number format {cell.format!r}" for name, code in expected.items()
                 for cell in self._book.asked(name) if cell.format != code]  # fmt: skip
        return no(wrong[0]) if wrong else YES

    def visible(self, names: Sequence[str]) -> Score:
        """Whether a person sees these cells."""
        for name in names:
            for cell in self._book.asked(name):
                number = cell.value if isinstance(cell.value, float) else 1.0
                lie = number_formats.lies(number, cell.format) if not isinstance(cell.value, str) else ""
                shows_nothing = isinstance(cell.value, str) and not (
                    number_formats.shown(cell.value, cell.format) or "x"
                )
                if reason := cell.hidden or lie or ("the number format hides the text" if shows_nothing else ""):
                    return no(f"{cell.cell} is not visible: {reason}")
        return YES

    def sheets(self, names: Sequence[str]) -> Score:
        """Whether sheets of these titles are there."""
        titles = {sheet["title"] for sheet in self._book.sheets}
        missing = [name for name in names if name not in titles]
        return no(f"no sheet {missing[0]!r}") if missing else YES

    def unchanged(self, names: Sequence[str], before: SeenWorkbook) -> Score:
        """Whether cells contain the same as before."""
        for name in names:
            old = before.cells.get(name) or ()
            if not old:
                raise WorkspaceError(f"{name} is not in the workbook that the agent was given")
            new = {cell.cell: cell for cell in self._book.cells.get(name) or ()}
            for cell in old:
                other = new.pop(cell.cell, None)
                if other is None or (other.formula, other.value, other.error) != (cell.formula, cell.value, cell.error):
                    return no(f"{cell.cell} was changed")
            if any(cell.formula or cell.error or cell.value is not None for cell in new.values()):
                return no(f"{name} was added to")
        return YES


def _shown(name: str, cell: SeenCell, found: Found, wanted: str, locale: number_formats.Locale) -> Score:
    text = found.error or number_formats.shown(found.value, cell.format, epoch_1904=cell.epoch_1904, locale=locale)
    if text is None:
        return undecided(f"{name} has a number format that is not read: {cell.format[:60]!r}")
    return YES if text.strip() == wanted.strip() else no(f"{name} shows {text!r:.80}")


def _all_change(
    cases: Sequence[Inputs | None], computed: Sequence[str], right: Sequence[Found | None], same: engines.Same
) -> bool:
    """Whether each computed input and the right value change, and no input is an error or undecided."""
    known = [case for case in cases if case is not None]
    if len(known) < len(cases) or any(map(_has_error, known)):
        return False
    values = [[case[key] for case in known] for key in computed] + [[one for one in right if one is not None]]
    return all(_changes(found, same) for found in values)


def _why_unchanged(inputs: Inputs) -> str:
    are_errors = all(one.error for one in inputs.values())
    return "are errors" if are_errors else "hold no numbers, no truth values and no strings that its value shows"


def _has_error(inputs: Inputs) -> bool:
    return any(one.error for one in inputs.values())


def _changes(found: Sequence[Found], same: engines.Same) -> bool:
    return bool(found) and any(not same(one, found[0]) for one in found)
