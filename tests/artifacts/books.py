"""Workbooks made for tests, as bytes."""

import io

from verikit.types import Sample
from verikit.workspaces import Workspace
from verikit.workspaces.tarball import TarSource


def packed(**files):
    """A tar of files by name, `_` for the dot."""
    import tarfile

    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for name, data in files.items():
            info = tarfile.TarInfo(name.replace("_", "."))
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return TarSource(held=out.getvalue())


def left(data, name="sales_xlsx", before=None, **row):
    """A sample whose agent left one file."""
    after = packed(**{name: data})
    given = packed(**{name: before}) if before else None
    return Sample("Fill in D6.", "", id="t1", workspace=Workspace(after, given), meta=row)


def sales(fill=None, rows=(("tea", 4, 50), ("milk", 2, 61), ("rice", 10, 10))):
    """A small table of sales, `fill(book, sheet)` adds to it."""
    from openpyxl import Workbook

    book = Workbook()
    sheet = book.active
    sheet.title = "Sales"
    sheet.append(["item", "n", "price", "total"])
    for row in rows:
        sheet.append(row)
    if fill:
        fill(book, sheet)
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()


def cells(**contents):
    """A `fill` that sets cells."""

    def fill(book, sheet):
        for name, value in contents.items():
            sheet[name] = value

    return fill


def parts_changed(data, change):
    """The file with its zip parts changed by `change(name, content)`; None drops a part."""
    import zipfile

    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as new:
        for info in old.infolist():
            content = change(info.filename, old.read(info))
            if content is not None:
                new.writestr(info.filename, content)
    return out.getvalue()
