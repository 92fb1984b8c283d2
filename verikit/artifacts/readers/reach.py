"""The cells that formulas reach, as a small model of plain cells and plain formulas that engines evaluate.

Names, tables, array formulas and whole columns are expanded, and engines see only plain references. References that
can't be expanded (another workbook, a computed reference) are reported instead, and are never evaluated.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from verikit.artifacts.readers.references import CellArea, Piece, letters, reference, rewritten

MOST_MODEL = 60_000
"""Cells of a model."""
MOST_SPANNED = 2_000_000
"""Cells of all distinct areas that formulas name."""
_COMPUTED = {"OFFSET", "INDIRECT"}
_WHOLE_COUNTS = {"ROWS", "COLUMNS", "COUNTBLANK"}
_OUTSIDE = {"WEBSERVICE", "RTD", "DDE", "CALL", "REGISTER.ID", "CUBEVALUE", "IMAGE"}
VOLATILE = {"RAND", "RANDBETWEEN", "RANDARRAY", "NOW", "TODAY", "INFO", "CELL"}
NEWER = {
    "ACOT", "ACOTH", "AGGREGATE", "ARABIC", "ARRAYTOTEXT", "AVERAGEIF", "AVERAGEIFS", "BASE", "BETA.DIST",
    "BETA.INV", "BINOM.DIST", "BINOM.DIST.RANGE", "BINOM.INV", "BITAND", "BITLSHIFT", "BITOR", "BITRSHIFT",
    "BITXOR", "BYCOL", "BYROW", "CEILING.MATH", "CEILING.PRECISE", "CHISQ.DIST", "CHISQ.DIST.RT", "CHISQ.INV",
    "CHISQ.INV.RT", "CHISQ.TEST", "CHOOSECOLS", "CHOOSEROWS", "COMBINA", "CONCAT", "CONFIDENCE.NORM",
    "CONFIDENCE.T", "COT", "COTH", "COUNTIFS", "COVARIANCE.P", "COVARIANCE.S", "CSC", "CSCH", "DAYS", "DECIMAL",
    "DROP", "ENCODEURL", "ERF.PRECISE", "ERFC.PRECISE", "EXPAND", "EXPON.DIST", "F.DIST", "F.DIST.RT", "F.INV",
    "F.INV.RT", "F.TEST", "FILTER", "FILTERXML", "FLOOR.MATH", "FLOOR.PRECISE", "FORECAST.ETS",
    "FORECAST.ETS.CONFINT", "FORECAST.ETS.SEASONALITY", "FORECAST.ETS.STAT", "FORECAST.LINEAR", "FORMULATEXT",
    "GAMMA", "GAMMA.DIST", "GAMMA.INV", "GAMMALN.PRECISE", "GAUSS", "GROUPBY", "HSTACK", "HYPGEOM.DIST", "IFERROR",
    "IFNA", "IFS", "IMAGE", "ISFORMULA", "ISO.CEILING", "ISOMITTED", "ISOWEEKNUM", "LAMBDA", "LET", "LOGNORM.DIST",
    "LOGNORM.INV", "MAKEARRAY", "MAP", "MAXIFS", "MINIFS", "MODE.MULT", "MODE.SNGL", "MUNIT", "NEGBINOM.DIST",
    "NETWORKDAYS.INTL", "NORM.DIST", "NORM.INV", "NORM.S.DIST", "NORM.S.INV", "NUMBERVALUE", "PDURATION",
    "PERCENTILE.EXC", "PERCENTILE.INC", "PERCENTOF", "PERCENTRANK.EXC", "PERCENTRANK.INC", "PERMUTATIONA", "PHI",
    "PIVOTBY", "POISSON.DIST", "QUARTILE.EXC", "QUARTILE.INC", "RANDARRAY", "RANK.AVG", "RANK.EQ", "REDUCE",
    "REGEXEXTRACT", "REGEXREPLACE", "REGEXTEST", "RRI", "SCAN", "SEC", "SECH", "SEQUENCE", "SHEET", "SHEETS",
    "SINGLE", "SKEW.P", "SORT", "SORTBY", "STDEV.P", "STDEV.S", "SUMIFS", "SWITCH", "T.DIST", "T.DIST.2T",
    "T.DIST.RT", "T.INV", "T.INV.2T", "T.TEST", "TAKE", "TEXTAFTER", "TEXTBEFORE", "TEXTJOIN", "TEXTSPLIT", "TOCOL",
    "TOROW", "TRIMRANGE", "UNICHAR", "UNICODE", "UNIQUE", "VALUETOTEXT", "VAR.P", "VAR.S", "VSTACK", "WEBSERVICE",
    "WEIBULL.DIST", "WORKDAY.INTL", "WRAPCOLS", "WRAPROWS", "XLOOKUP", "XMATCH", "XOR", "Z.TEST",
}  # fmt: skip
"""Functions that openpyxl doesn't list."""
_OWN_ROW = ("[@", "[#this row]", "[[#this row]")
"""Beginnings of references to the formula's own row of its table, without the table's name."""
_PREFIXES = ("_XLFN.", "_XLWS.", "_XLUDF.")


class TooFar(Exception):
    """The formulas reach more cells than are followed."""


@dataclass(frozen=True, slots=True)
class Content:
    """A cell: a formula, an error that was typed, or a value."""

    formula: str = ""
    value: str | bool | float | None = None
    error: str = ""
    problem: str = ""
    """Why its formula can't be followed."""


def by_lower_case(titles: Iterable[str]) -> dict[str, str | None]:
    """Titles by their lower case. None if several have the same, as a long s and an s do."""
    found: dict[str, str | None] = {}
    for title in titles:
        low = title.casefold()
        found[low] = None if low in found else title
    return found


class OpenWorkbook:
    """A workbook as openpyxl has read it, by titles, rows and columns."""

    def __init__(self, book: Any, sheets: list[Any]) -> None:
        self.epoch: datetime.datetime = book.epoch
        self.sheets: dict[str, Any] = {sheet.title: sheet for sheet in sheets}
        shown = [sheet.title for sheet in sheets if sheet.sheet_state == "visible"]
        self.first: str | None = (shown or list(self.sheets) or [None])[0]
        self.names = book.defined_names
        self._by_case = by_lower_case(self.sheets)
        self._numbers = {title: number for number, title in enumerate(self.sheets, 1)}
        self.tables: dict[str, tuple[str, Any]] = {}
        self._arrays: dict[str, list[tuple[CellArea, str, int, int]]] = {}
        self._used: dict[str, tuple[int, int]] = {}
        for sheet in sheets:
            self.tables.update({table.displayName.casefold(): (sheet.title, table) for table in sheet.tables.values()})
            self._scan(sheet)

    def _scan(self, sheet: Any) -> None:
        from openpyxl.worksheet.formula import ArrayFormula

        arrays, low, right = [], 1, 1
        for (row, column), cell in sheet._cells.items():
            value = cell._value
            if value is None:
                continue
            low, right = max(low, row), max(right, column)
            if isinstance(value, ArrayFormula) and (area := reference(str(value.ref or ""))):
                arrays.append((area, _equals(str(value.text or "")), row, column))
        self._arrays[sheet.title], self._used[sheet.title] = arrays, (low, right)

    def title_of(self, name: str) -> str | None:
        """A sheet by its exact title, or else in any case. None: no sheet, or several in other case."""
        return name if name in self.sheets else self._by_case.get(name.casefold())

    def cell(self, title: str, row: int, column: int) -> Any:
        """A cell of openpyxl; None if it doesn't exist."""
        return self.sheets[title]._cells.get((row, column))

    def key(self, title: str, row: int, column: int) -> str:
        """The name of a cell in the model."""
        return f"S{self._numbers[title]}!{letters(column)}{row}"

    def sheet_key(self, title: str) -> str:
        """The name of a sheet in the model; "" for a sheet of charts."""
        return f"S{self._numbers[title]}" if title in self._numbers else ""

    def named(self, area: CellArea) -> str:
        """The name of an area in the model."""
        first = self.key(area.sheet, area.top, area.left)
        return first if area.size == 1 else f"{first}:{letters(area.right)}{area.bottom}"

    def clipped(self, area: CellArea) -> CellArea:
        """The used part of whole rows or columns, or the first cell. Other areas are returned unchanged."""
        if not area.open_ended:
            return area
        low, right = self._used[area.sheet]
        bottom = max(min(area.bottom, low), area.top)
        return CellArea(area.sheet, area.top, area.left, bottom, max(min(area.right, right), area.left))

    def content(self, title: str, row: int, column: int) -> Content:
        """The content of a cell."""
        for area, text, top, left in self._arrays[title]:
            if area.top <= row <= area.bottom and area.left <= column <= area.right:
                inner = text if area.size == 1 else f"=INDEX({text[1:]},{row - top + 1},{column - left + 1})"
                return Content(formula=inner)
        cell = self.cell(title, row, column)
        return Content() if cell is None or cell._value is None else self._content(cell)

    def _content(self, cell: Any) -> Content:
        from openpyxl.utils.datetime import to_excel
        from openpyxl.worksheet.formula import DataTableFormula

        value, kind = cell._value, cell.data_type
        if isinstance(value, DataTableFormula):
            return Content(formula="=TABLE()", problem="a table of operations")
        if kind == "f":
            return Content(formula=_equals(str(value)))
        if kind == "e":
            return Content(error=str(value))
        if isinstance(value, bool):
            return Content(value=value)
        if isinstance(value, int | float):
            return Content(value=float(value))
        if isinstance(value, datetime.datetime | datetime.date | datetime.time | datetime.timedelta):
            return Content(value=float(to_excel(value, self.epoch)))
        return Content(value=str(value))


class Reach:
    """Follows formulas to their inputs."""

    def __init__(self, book: OpenWorkbook) -> None:
        self._book = book
        self._areas: set[CellArea] = set()
        self._spanned = 0
        self._values: dict[str, str | bool | float | None] = {}
        self._formulas: dict[str, str] = {}
        self._errors: dict[str, str] = {}
        self._needs: dict[str, list[str]] = {}
        self._problems: dict[str, str] = {}
        self._faults: dict[str, str] = {}
        self._functions: dict[str, list[str]] = {}
        self.problem = ""

    def model(self) -> dict[str, Any]:
        """Plain data of all that was reached."""
        return {
            "values": self._values, "formulas": self._formulas, "errors": self._errors, "needs": self._needs,
            "problems": self._problems, "faults": self._faults, "functions": self._functions,
        }  # fmt: skip

    def follow(self, title: str, row: int, column: int) -> None:
        """Add a cell and all cells that it depends on to the model."""
        pending = [(title, row, column)]
        while pending:
            where = pending.pop()
            key = self._book.key(*where)
            if key in self._values or key in self._formulas or key in self._errors:
                continue
            if len(self._values) + len(self._formulas) > MOST_MODEL:
                raise TooFar(f"the formulas reach more than {MOST_MODEL} cells")
            content = self._book.content(*where)
            if content.error:
                self._errors[key] = content.error
            elif not content.formula:
                self._values[key] = content.value
            else:
                pending += self._take(key, where, content)

    def _take(self, key: str, where: tuple[str, int, int], content: Content) -> list[tuple[str, int, int]]:
        one = WrittenFormula(self._book, where, content.problem)
        self._formulas[key] = one.written(content.formula)
        self._functions[key] = sorted(one.functions)
        for told, problem in ((self._problems, one.problem), (self._faults, one.fault)):
            if problem:
                told[key] = problem
        cells = []
        for area in set(one.areas) - self._areas:
            self._areas.add(area)
            self._spanned += area.size
            if area.size > MOST_MODEL or self._spanned > MOST_SPANNED:
                raise TooFar(f"the formulas reach more than {MOST_MODEL} cells")
            cells += [(area.sheet, row, column) for row in range(area.top, area.bottom + 1)
                      for column in range(area.left, area.right + 1)]  # fmt: skip
        self._needs[key] = [self._book.named(area) for area in one.areas]
        return cells


class WrittenFormula:
    """One formula, written out."""

    def __init__(self, book: OpenWorkbook, where: tuple[str, int, int], problem: str) -> None:
        self._book, (self._title, self._row, self._column), self.problem = book, where, problem
        self.fault = ""
        """Why it can't have a value in any program, which is the agent's failure."""
        self.areas: list[CellArea] = []
        self.functions: set[str] = set()
        self._deep = 0

    def written(self, formula: str) -> str:
        """The formula with plain references of the model."""
        if len(formula) > 8192:
            self.problem = "a formula of more than 8192 characters"
            return "=NA()"
        if self._deep > 20:
            self.problem = "names that refer to each other without end"
            return "=NA()"
        return rewritten(formula, self._changed)

    def _changed(self, piece: Piece) -> str:
        if piece.kind == "area" and piece.area is not None:
            return self._area(piece.area, piece.text)
        if piece.kind == "function":
            return self._function(piece.text)
        if piece.kind == "table":
            return self._table(piece.text)
        if piece.kind == "name":
            return self._name(piece)
        if piece.text.casefold().startswith(_OWN_ROW) or self._is_own_column(piece.text):
            return self._table(piece.text)
        if "[" in piece.text:
            self.fault = "it refers to another workbook"
        else:
            self.problem = f"a reference that is computed: {piece.text[:40]}"
        return piece.text

    def _area(self, area: CellArea, text: str) -> str:
        title = self._book.title_of(area.sheet) if area.sheet else self._title
        if title is None:
            self.fault = f"no sheet for {text[:60]}"
            return "#REF!"
        whole = CellArea(title, area.top, area.left, area.bottom, area.right)
        clipped = self._book.clipped(whole)
        if clipped != whole and self.functions & _WHOLE_COUNTS:
            self.problem = "it counts whole columns"
        self.areas.append(clipped)
        return self._book.named(clipped)

    def _function(self, text: str) -> str:
        name = text.upper()
        for prefix in _PREFIXES * 2:
            name = name.removeprefix(prefix)
        self.functions.add(name)
        if name not in _known() and not self.functions & {"LET", "LAMBDA"}:
            self.fault = f"no spreadsheet has the function {name[:40]}"
        if name in _COMPUTED:
            self.problem = f"{name} computes its reference"
        if name in _OUTSIDE:
            self.fault = f"{name} refers to something outside the workbook"
        return name

    def _name(self, piece: Piece) -> str:
        word = piece.text.rpartition("!")[2]
        local = self._book.sheets[self._title].defined_names
        for names in (local, self._book.names):
            for name, item in names.items():
                if str(name).casefold() == word.casefold():
                    self._deep += 1
                    inner = self.written(_equals(str(item.attr_text or "")))
                    self._deep -= 1
                    return inner[1:] if reference(inner[1:]) else f"({inner[1:]})"
        if self.functions & {"LET", "LAMBDA"}:
            return piece.text
        self.fault = f"a name that the workbook does not define: {word[:40]}"
        return "NA()"

    def _around(self) -> tuple[str, Any] | None:
        """The table that contains the formula."""
        for title, table in self._book.tables.values():
            area = reference(str(table.ref)) if title == self._title else None
            if area and area.top <= self._row <= area.bottom and area.left <= self._column <= area.right:
                return title, table
        return None

    def _is_own_column(self, text: str) -> bool:
        """Whether brackets name a column of the table around the formula. Numbers and files are other workbooks."""
        around = self._around() if text.startswith("[") and not text[1:-1].isdecimal() and "." not in text else None
        return around is not None and _column_of(around[1], text, self._row) is not None

    def _table(self, text: str) -> str:
        name, _, inside = text.partition("[")
        found = self._book.tables.get(name.casefold()) if name else self._around()
        area = _column_of(found[1], "[" + inside, self._row) if found else None
        if found is None and not name:
            self.fault = f"no table is around {text[:60]}"
        elif found is None or area is None:
            self.problem = f"a reference to a table that is not read: {text[:60]}"
        if found is None or area is None:
            return "NA()"
        return self._area(CellArea(found[0], area.top, area.left, area.bottom, area.right), text)


def _column_of(table: Any, inside: str, row: int) -> CellArea | None:
    """`[Column]`, `[@Column]`, `[#All]`, `[[#This Row],[A]:[B]]` of a table; None for other forms.

    Args:
        table: The table as openpyxl has it.
        inside: The brackets.
        row: The row of the formula.
    """
    whole = reference(str(table.ref))
    if whole is None:
        return None
    names = [str(column.name).casefold() for column in table.tableColumns]
    parts, words = _in_brackets(inside)
    lines = _lines_of(table, whole, parts or ["#data"], row)
    columns = [names.index(word) if word in names else -1
               for word in (word if word in names else word.strip(" ,") for word in words)]  # fmt: skip
    if lines is None or len(columns) > 2 or -1 in columns:
        return None
    left, right = (whole.left + columns[0], whole.left + columns[-1]) if columns else (whole.left, whole.right)
    return CellArea("", lines[0], left, lines[1], right)


def _in_brackets(inside: str) -> tuple[list[str], list[str]]:
    """The parts of a table (`#data`) and the columns that a reference names, in lower case."""
    pieces, escaped = [""], False
    for letter in inside:
        if letter in "[]" and not escaped:
            pieces.append("")
        else:
            pieces[-1] += letter
        escaped = letter == "'" and not escaped
    parts, columns = [], []
    for piece in pieces:
        word = piece.strip(" ,")
        if word.startswith("@"):
            parts.append("#this row")
            piece = word = word[1:]
        if word.startswith("#"):
            parts.append(word.casefold())
        elif word not in ("", ":"):
            columns.append(_unescaped(piece).casefold())
    return parts, columns


def _unescaped(name: str) -> str:
    """A column's name without the quotes that make the next character plain."""
    return name.replace("''", "\0").replace("'", "").replace("\0", "'")


def _lines_of(table: Any, whole: CellArea, parts: Sequence[str], row: int) -> tuple[int, int] | None:
    """The first and the last row of parts of a table (`#data`, `#this row`). None if it does not have them."""
    head, foot = table.headerRowCount if table.headerRowCount is not None else 1, table.totalsRowCount or 0
    top, bottom = whole.top + head, whole.bottom - foot
    rows = {"#all": (whole.top, whole.bottom), "#data": (top, bottom), "#headers": (whole.top, top - 1),
            "#totals": (bottom + 1, whole.bottom)}  # fmt: skip
    if top <= row <= bottom:
        rows["#this row"] = (row, row)
    if not set(parts) <= set(rows):
        return None
    low, high = min(rows[part][0] for part in parts), max(rows[part][1] for part in parts)
    return (low, high) if low <= high else None


def _known() -> frozenset[str]:
    """The functions of spreadsheets."""
    from openpyxl.utils import FORMULAE

    return frozenset(FORMULAE) | NEWER | _OUTSIDE


def _equals(text: str) -> str:
    return text if text.startswith("=") else "=" + text
