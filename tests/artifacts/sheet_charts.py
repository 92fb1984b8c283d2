"""Workbooks with charts, made by openpyxl and changed by hand to the forms that other programs write."""

import io

from tests.artifacts.books import parts_changed

ROWS = [["item", "n", "price"], ["tea", 4, 50], ["milk", 2, 61], ["rice", 10, 10]]


def charted(make=None, change=None, title="Sales", column=3):
    """A workbook with a table and a column chart of its prices.

    Args:
        make: Changes the workbook: `make(book, sheet, chart)`.
        change: Changes a part of the file: `change(name, text)`.
        title: The title of the sheet.
        column: The column that the chart draws.
    """
    from openpyxl import Workbook
    from openpyxl.chart import BarChart

    book = Workbook()
    sheet = book.active
    sheet.title = title
    for row in ROWS:
        sheet.append(row)
    chart = drawn(BarChart(), sheet, column)
    sheet.add_chart(chart, "F2")
    if make:
        make(book, sheet, chart)
    out = io.BytesIO()
    book.save(out)
    data = out.getvalue()
    if change is None:
        return data
    changed = parts_changed(data, lambda name, content: change(name, content.decode()) if xml(name) else content)
    assert changed != parts_changed(data, lambda _, content: content), "nothing was changed"
    return changed


def xml(name):
    """Whether a part has text."""
    return name.endswith((".xml", ".rels"))


def drawn(chart, sheet, column=3, categories=True):
    """A chart of a column of the table."""
    from openpyxl.chart import Reference

    chart.add_data(Reference(sheet, min_col=column, min_row=1, max_row=4), titles_from_data=True)
    if categories:
        chart.set_categories(Reference(sheet, min_col=1, min_row=2, max_row=4))
    return chart


def within(part, *changes):
    """A change of parts whose names contain a word: pairs of old and new text."""

    def change(name, text):
        if part in name:
            for old, new in changes:
                assert old in text, (name, old, text[:3000])
                text = text.replace(old, new)
        return text

    return change
