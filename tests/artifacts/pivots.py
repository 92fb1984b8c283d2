"""Pivot tables in the form of Excel, added to workbooks of tests by hand: openpyxl has no function that makes them."""

import io
import zipfile
from xml.sax.saxutils import quoteattr

HEAD = "http://schemas.openxmlformats.org/"
MAIN = f'xmlns="{HEAD}spreadsheetml/2006/main" xmlns:r="{HEAD}officeDocument/2006/relationships"'
OFFICE = f"{HEAD}officeDocument/2006/relationships/"
TYPE = "application/vnd.openxmlformats-officedocument.spreadsheetml.pivot"
ROWS = [
    ["item", "year", "n", "price"],
    ["tea", 2023, 4, 50], ["milk", 2023, 2, 61], ["tea", 2024, 1, 55], ["rice", 2024, 10, 10], ["milk", 2024, 3, 59],
    ["tea", 2024, 2, 57],
]  # fmt: skip
LAYOUTS = {
    "compact": {}, "outline": {"compact": "0"}, "tabular": {"compact": "0", "outline": "0"},
}  # fmt: skip


def relations(*targets):
    """A part of relationships: pairs of a kind and a target."""
    listed = "".join(
        f'<Relationship Id="rId{number}" Type="{OFFICE}{kind}" Target="{target}"/>'
        for number, (kind, target) in enumerate(targets, 1)
    )
    return f'<Relationships xmlns="{HEAD}package/2006/relationships">{listed}</Relationships>'


def attributes(given):
    """Attributes of an element."""
    return "".join(f" {name}={quoteattr(str(value))}" for name, value in given.items())


def items(records, field):
    """The distinct values of a field, in order."""
    return sorted({record[field] for record in records}, key=lambda value: (isinstance(value, str), value))


def cache(rows, source, **options):
    """The definition of a cache, without records. `source` are the attributes of its place."""
    fields = ""
    for field, name in enumerate(rows[0]):
        shared = "".join(
            f'<s v="{value}"/>' if isinstance(value, str) else f'<n v="{value}"/>' for value in items(rows[1:], field)
        )
        inner = f"<sharedItems>{shared}</sharedItems>" if field < 2 else '<sharedItems containsNumber="1"/>'
        fields += f'<cacheField name={quoteattr(str(name))} numFmtId="0">{inner}</cacheField>'
    return (
        f'<pivotCacheDefinition {MAIN} refreshedBy="x" createdVersion="6"{attributes(options)}><cacheSource '
        f'type="worksheet"><worksheetSource{attributes(source)}/></cacheSource><cacheFields count="{len(rows[0])}">'
        f"{fields}</cacheFields></pivotCacheDefinition>"
    )


def axis(tag, fields):
    """The fields of an axis by their numbers."""
    inner = "".join(f'<field x="{field}"/>' for field in fields)
    return f'<{tag} count="{len(fields)}">{inner}</{tag}>' if fields else ""


def table(rows, place, rows_of, columns_of, values, layout="compact", pages=(), first=(1, 1, 1), **options):
    """The definition of a pivot table. `values` are tuples of a field, a function and a caption."""
    found = [rows[0].index(name) for name in rows_of], [rows[0].index(name) for name in columns_of]
    data = [rows[0].index(name) for name, _, _ in values]
    if len(values) > 1:
        found[1].append(-2)
    fields = "".join(_field(rows, field, found, data, LAYOUTS[layout], pages) for field in range(len(rows[0])))
    listed = "".join(
        f'<dataField name={quoteattr(caption)} fld="{rows[0].index(name)}"'
        f"{attributes({} if function == 'sum' else {'subtotal': function})}/>"
        for name, function, caption in values
    )
    header, row, column = first
    return (
        f'<pivotTableDefinition {MAIN} name="P" cacheId="7" dataCaption="Values"{attributes(options)}>'
        f'<location ref="{place}" firstHeaderRow="{header}" firstDataRow="{row}" firstDataCol="{column}"'
        f"{attributes({'rowPageCount': len(pages), 'colPageCount': 1} if pages else {})}/>"
        f'<pivotFields count="{len(rows[0])}">{fields}</pivotFields>{axis("rowFields", found[0])}'
        f"{axis('colFields', found[1])}"
        + axis("pageFields", [rows[0].index(name) for name in pages])
        .replace("<field x=", '<pageField hier="-1" fld=')
        .replace("</field>", "</pageField>")
        + f'<dataFields count="{len(values)}">{listed}</dataFields><pivotTableStyleInfo name="PivotStyleLight16"/>'
        "</pivotTableDefinition>"
    )


def _field(rows, field, axes, data, layout, pages):
    kind = next((name for name, side in zip(("axisRow", "axisCol"), axes, strict=True) if field in side), "")
    kind = "axisPage" if rows[0][field] in pages else kind
    given = {"dataField": "1"} if field in data else {}
    if not kind:
        return f"<pivotField{attributes({**given, **layout, 'showAll': '0'})}></pivotField>"
    count = len(items(rows[1:], field))
    listed = "".join(f'<item x="{number}"/>' for number in range(count)) + '<item t="default"/>'
    inner = f'<items count="{count + 1}">{listed}</items>'
    return f"<pivotField{attributes({'axis': kind, **layout, 'showAll': '0'})}>{inner}</pivotField>"


def book(rows, shown, corner="A3"):
    """A workbook with records on the sheet `Data` and what a pivot table shows on the sheet `Pivot`."""
    from openpyxl import Workbook
    from openpyxl.utils.cell import coordinate_from_string

    made = Workbook()
    data = made.active
    data.title = "Data"
    for row in rows:
        data.append(row)
    pivot = made.create_sheet("Pivot")
    from openpyxl.utils import column_index_from_string

    letter, top = coordinate_from_string(corner)
    for down, row in enumerate(shown):
        for across, value in enumerate(row):
            pivot.cell(top + down, column_index_from_string(letter) + across, value)
    out = io.BytesIO()
    made.save(out)
    return out.getvalue()


def with_pivot(data, definition, cached, sheet="xl/worksheets/sheet2.xml"):
    """The workbook with a pivot table on a sheet and its cache."""
    parts = {"xl/pivotTables/pivotTable1.xml": definition,
             "xl/pivotTables/_rels/pivotTable1.xml.rels": relations(
                 ("pivotCacheDefinition", "../pivotCache/pivotCacheDefinition1.xml")),
             "xl/pivotCache/pivotCacheDefinition1.xml": cached}  # fmt: skip
    name = sheet.rpartition("/")[2]
    parts[f"xl/worksheets/_rels/{name}.rels"] = relations(("pivotTable", "../pivotTables/pivotTable1.xml"))
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as new:
        for info in old.infolist():
            new.writestr(info.filename, _changed(info.filename, old.read(info).decode()))
        for name, content in parts.items():
            new.writestr(name, content)
    return out.getvalue()


def _changed(name, content):
    caches = f'<pivotCaches><pivotCache cacheId="7" r:id="rId99" xmlns:r="{OFFICE[:-1]}"/></pivotCaches>'
    related = (
        f'<Relationship Id="rId99" Type="{OFFICE}pivotCacheDefinition" '
        'Target="/xl/pivotCache/pivotCacheDefinition1.xml"/>'
    )
    typed = (
        f'<Override PartName="/xl/pivotCache/pivotCacheDefinition1.xml" ContentType="{TYPE}CacheDefinition+xml"/>'
        f'<Override PartName="/xl/pivotTables/pivotTable1.xml" ContentType="{TYPE}Table+xml"/>'
    )
    ends = {"xl/workbook.xml": ("</workbook>", caches), "xl/_rels/workbook.xml.rels": ("</Relationships>", related),
            "[Content_Types].xml": ("</Types>", typed)}  # fmt: skip
    end, more = ends.get(name, ("", ""))
    return content.replace(end, more + end) if end else content
