"""Charts and names in workbooks of XlsxWriter, openpyxl and LibreOffice: `python benchmarks/workbook_programs.py`.

XlsxWriter and openpyxl each write the same charts and names, and LibreOffice saves these files again. Each workbook is
graded twice: by what it has, and by another range or value. It needs `pip install xlsxwriter` and LibreOffice.
"""

from __future__ import annotations

import argparse
import io
import json
from collections import Counter
from collections.abc import Callable
from typing import Any

import verikit
from verikit.artifacts.office import convert
from verikit.types import Sample
from verikit.workspaces import Workspace

ROWS = [["item", "n", "price", "rate"], ["tea", 4, 50, 0.5], ["milk", 2, 61, 0.25], ["rice", 10, 10, 0.75],
        ["salt", 7, 33, 0.5]]  # fmt: skip
ITEMS, COUNTS, PRICES, RATES = (f"Sales!${column}$2:${column}$5" for column in "ABCD")
CHARTS: dict[str, dict[str, Any]] = {
    kind: {"type": kind, "categories": ITEMS, "series": [PRICES]}
    for kind in ("column", "bar", "line", "pie", "doughnut", "area", "radar")
}
CHARTS |= {
    "column, stacked": {"type": "column", "categories": ITEMS, "series": [PRICES, COUNTS]},
    "scatter": {"type": "scatter", "categories": COUNTS, "series": [PRICES]},
    "stock": {"type": "stock", "categories": ITEMS, "series": [COUNTS, PRICES, RATES]},
    "column and line": {"series": [{"values": PRICES, "type": "column"}, {"values": COUNTS, "type": "line"}]},
    "column on another sheet": {"sheet": "Charts", "type": "column", "series": [PRICES]},
}
"""Charts by their name, as `xlsx` describes them."""
NAMES = {
    "a name": ("=SUM(Prices)", 154), "a name of one sheet": ("=SUM(Sales!Local)", 23),
    "a constant": ("=Rate*100", 19), "a formula": ("=Total+1", 155), "a name in a name": ("=MAX(Again)", 61),
}  # fmt: skip
"""Formulas of cell F1 that use names, and their values."""
DEFINED = {"Prices": PRICES, "Sales!Local": COUNTS, "Rate": "0.19", "Total": f"SUM({PRICES})", "Again": "Prices"}


def ranges(wanted: dict[str, Any]) -> list[tuple[str, str]]:
    """The series of a chart: their type and range."""
    return [(one.get("type", ""), one["values"]) if isinstance(one, dict) else (wanted["type"], one)
            for one in wanted["series"]]  # fmt: skip


def xlsxwriter(name: str) -> bytes:
    """A workbook that XlsxWriter wrote."""
    import xlsxwriter

    out = io.BytesIO()
    book = xlsxwriter.Workbook(out, {"in_memory": True})
    sheet = book.add_worksheet("Sales")
    for number, row in enumerate(ROWS):
        sheet.write_row(number, 0, row)
    if name in NAMES:
        for own, meaning in DEFINED.items():
            book.define_name(own, f"={meaning}")
        sheet.write_formula("F1", NAMES[name][0])
    else:
        wanted = CHARTS[name]
        charts: dict[str, Any] = {}
        for kind, values in ranges(wanted):
            kinds = {"type": kind, "subtype": "stacked"} if "stacked" in name else {"type": kind}
            charts.setdefault(kind, book.add_chart(kinds) if kind not in charts else None)
            charts[kind].add_series({"values": f"={values}", "categories": f"={wanted.get('categories', ITEMS)}"})
        first, *others = charts.values()
        for other in others:
            first.combine(other)
        (book.add_worksheet("Charts") if "sheet" in wanted else sheet).insert_chart("F2", first)
    book.close()
    return out.getvalue()


def openpyxl(name: str) -> bytes:
    """A workbook that openpyxl wrote."""
    from openpyxl import Workbook
    from openpyxl.workbook.defined_name import DefinedName

    book = Workbook()
    sheet: Any = book.active
    sheet.title = "Sales"
    for row in ROWS:
        sheet.append(row)
    if name in NAMES:
        for own, meaning in DEFINED.items():
            place, _, short = own.rpartition("!")
            (book[place] if place else book).defined_names[short] = DefinedName(short, attr_text=meaning)
        sheet["F1"] = NAMES[name][0]
    else:
        place = book.create_sheet("Charts") if "sheet" in CHARTS[name] else sheet
        place.add_chart(_openpyxl_chart(name), "F2")
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()


def _openpyxl_chart(name: str) -> Any:
    from openpyxl import chart as made
    from openpyxl.chart import Series
    from openpyxl.chart.axis import ChartLines

    wanted = CHARTS[name]
    kinds = {"column": "BarChart", "bar": "BarChart"}
    charts: dict[str, Any] = {}
    for kind, values in ranges(wanted):
        if kind not in charts:
            charts[kind] = getattr(made, kinds.get(kind, f"{kind.title()}Chart"))()
        xs = wanted.get("categories", ITEMS)
        charts[kind].series.append(Series(values, xs) if kind == "scatter" else Series(values))
        if kind != "scatter":
            charts[kind].set_categories(xs)
    first, *others = charts.values()
    if "bar" in charts:
        first.type = "bar"
    if "stacked" in name:
        first.grouping, first.overlap = "stacked", 100
    if "stock" in charts:
        first.hiLowLines = ChartLines()
    for other in others:
        first += other
    return first


def checks(name: str) -> list[dict[str, Any]]:
    """Options of `xlsx` for what a workbook has, and for something else."""
    if name in NAMES:
        value = NAMES[name][1]
        return [
            {"values": {"F1": value}, "formula": [] if name == "a constant" else ["F1"]},
            {"values": {"F1": value + 1}},
        ]
    wanted = CHARTS[name]
    other = json.loads(json.dumps(wanted).replace(PRICES, "Sales!$C$2:$C$4"))
    return [{"chart": [wanted]}, {"chart": [other]}]


def values(data: bytes | None, name: str) -> list[float | None]:
    """The scores of a workbook by both checks."""
    workspace = Workspace({"a.xlsx": data or b""})
    return [verikit.xlsx("a.xlsx", **options).score([Sample("", "", workspace=workspace)])[0].value
            for options in checks(name)]  # fmt: skip


def main() -> None:
    """Print the counts by program."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.parse_args()
    programs: dict[str, Callable[[str], bytes]] = {"XlsxWriter": xlsxwriter, "openpyxl": openpyxl}
    made = {(program, name): write(name) for program, write in programs.items() for name in (*CHARTS, *NAMES)}
    saved = convert.converted(list(made.values()), "xlsx", "xlsx")
    files: dict[tuple[str, str], bytes | None] = dict(made)
    files |= {(f"LibreOffice, from {program}", name): data for (program, name), data in zip(made, saved, strict=True)}
    counts: dict[str, Counter[str]] = {}
    for (program, name), data in files.items():
        found = values(data, name)
        counts.setdefault(program, Counter())["right" if found == [1.0, 0.0] else f"{name}: {found}"] += 1
    for program, of in counts.items():
        print(json.dumps({program: dict(of)}), flush=True)


if __name__ == "__main__":
    main()
