"""Attacks by workbooks, charts, documents, slides, PDFs and pictures: 14, 21 to 39 and 45."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import verikit
from tests.workspaces.attacks.case import FILE, REFERENCE, SAVED, Attack, Left

BOMB = b" " * 50_000_000
"""It is a few kilobytes in a zip."""


def book(
    fill: str | Callable[..., object] | Mapping[str, Any],
    change: Callable[[str, bytes], bytes | None] | None = None,
    **options: Any,
) -> Left:
    """A workbook with a sum in D6. `fill` is the name of one of the tests' workbooks, a function, or cells."""
    from tests.artifacts.books import cells, parts_changed, sales
    from tests.verifiers import test_xlsx as tested

    if isinstance(fill, str):
        fill = {**tested.HONEST, **tested.FORGED}[fill]
    data = sales(cells(**fill) if isinstance(fill, Mapping) else fill)
    if change:
        data, old = parts_changed(data, change), data
        assert data != old
    return workbook(data, **(options or tested.WHOLE))


def workbook(data: bytes, name: str = "sales.xlsx", cell: str = "D6", value: Any = 422, **options: Any) -> Left:
    """A workbook's bytes. Other graders compare one cell."""
    from tests.artifacts.books import cells, sales

    where = {
        "type": "check_cell",
        "sheet_idx": 0,
        "coordinate": cell,
        "props": {"value": {"method": "eq", "ref": value}},
    }
    compared = ["Cell-Level Manipulation", f"Sales!{cell}"]
    peers: dict[str, list[list[Any]]] = {
        "SpreadsheetBench": [["compare_workbooks", [REFERENCE, f"{FILE}:{name}", *compared], {}]],
        "SpreadsheetBench after LibreOffice": [["compare_workbooks", [REFERENCE, f"{SAVED}:{name}", *compared], {}]],
        "OSWorld": [["table.compare_table", [f"{FILE}:{name}", REFERENCE], {"rules": [where]}]],
        "rewardkit": [["xlsx_cell_equals", [name, cell, value], {}]],
    }
    reference = sales(cells(**{cell: value}))
    return Left(verikit.xlsx(file="*.xls*", **options), {name: data}, peers=peers, reference=reference)


def formula(text: str, **options: Any) -> Left:
    """A workbook whose D6 has a formula, which the task requires."""
    return book({"D6": text}, **options)


def shown(code: str, value: Any, text: str, sight: str) -> Left:
    """A workbook whose D6 has a number format."""
    from tests.verifiers.test_xlsx import formatted

    def fill(made: Any, sheet: Any) -> None:
        formatted(code)(made, sheet)
        sheet["D6"] = value

    return book(fill, values={"D6": 422 if sight == "422" else value}, shows={"D6": text})


def stale(name: str, content: bytes) -> bytes:
    """Store the right number for the formula."""
    for empty in (b"<v />", b"<v/>", b"<v></v>"):
        content = content.replace(b"</f>" + empty, b"</f><v>422</v>")
    return content


def with_macro(**options: Any) -> Left:
    """A workbook with a macro."""
    from tests.artifacts.books import cells, sales

    out = io.BytesIO(sales(cells(D6=422)))
    with zipfile.ZipFile(out, "a") as archive:
        archive.writestr("xl/vbaProject.bin", b"no code that anybody runs")
    return workbook(out.getvalue(), values={"D6": 422}, **options)


def grown(name: str, content: bytes) -> bytes:
    """A sheet that grows a thousand times when it is unpacked."""
    return content + BOMB if name.endswith("sheet1.xml") else content


def many_rows() -> Left:
    """A workbook of 20,000 rows that are there."""

    def fill(_: Any, sheet: Any) -> None:
        for number in range(20_000):
            sheet.append([f"item {number}", 0, 0])
        sheet["D6"] = 422

    return book(fill, values={"D6": 422})


def declared(name: str, content: bytes) -> bytes:
    """A sheet that declares all cells as used."""
    return (
        content.replace(b'<dimension ref="A1:D6"', b'<dimension ref="A1:XFD1048576"') if "sheet1" in name else content
    )


def entities(name: str, content: bytes) -> bytes:
    """A document type with entities that grow."""
    laughs = b"".join(b'<!ENTITY l%d "%s">' % (n, b"&l%d;" % (n - 1) * 10) for n in range(1, 9))
    kind = b'<!DOCTYPE w [<!ENTITY l0 "422">' + laughs + b"]>"
    return content.replace(b"<worksheet", kind + b"<worksheet", 1) if "sheet1" in name else content


def report(body: str | bytes, **options: Any) -> Left:
    """A text document. Other graders compare its paragraphs with those of the honest one."""
    from tests.verifiers.test_docx import SENTENCE, packed

    data = body if isinstance(body, bytes) else packed(body)
    return Left(
        verikit.docx(**(options or {"text": [SENTENCE]})), {"report.docx": whole(data)},
        peers={"OSWorld": [["docs.compare_docx_files", [f"{FILE}:report.docx", REFERENCE], {}]]},
    )  # fmt: skip


RELATION = (
    '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="r1" '
    'Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/%s" Target="%s"/></Relationships>'
)
WORD = "application/vnd.openxmlformats-officedocument.wordprocessingml."
OVERRIDES = "".join(
    f'<Override PartName="/word/{name}.xml" ContentType="{WORD}{kind}+xml"/>'
    for name, kind in (("document", "document.main"), ("styles", "styles"))
)
TYPES = (
    '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Default Extension="rels" '
    f'ContentType="application/vnd.openxmlformats-package.relationships+xml"/>{OVERRIDES}</Types>'
)


def whole(data: bytes) -> bytes:
    """A document of the tests with the types and relationships that other programs need."""
    from tests.artifacts.books import parts_changed

    typed = parts_changed(data, lambda name, content: TYPES.encode() if name.startswith("[Content") else content)
    out = io.BytesIO(typed)
    with zipfile.ZipFile(out, "a") as archive:
        archive.writestr("_rels/.rels", RELATION % ("officeDocument", "word/document.xml"))
        archive.writestr("word/_rels/document.xml.rels", RELATION % ("styles", "styles.xml"))
    return out.getvalue()


def said(name: str) -> Left:
    """A document of the tests with one sentence, in sight or out of sight."""
    from tests.verifiers import test_docx as tested

    return report({**tested.IN_SIGHT, **tested.OUT_OF_SIGHT}[name])


def slides(name: str) -> Left:
    """A deck of the tests with one sentence, in sight or out of sight."""
    from tests.verifiers import test_pptx as tested

    return deck({**tested.IN_SIGHT, **tested.OUT_OF_SIGHT}[name], text=[tested.SENTENCE])


def deck(made: Any, **options: Any) -> Left:
    """A deck. Other graders compare all of it with the honest one."""
    from tests.artifacts.decks import deck as packed
    from tests.artifacts.decks import slide
    from tests.artifacts.offices import typed

    data = made if isinstance(made, bytes) else packed(made if isinstance(made, tuple) else slide(made))
    return Left(
        verikit.pptx(**options), {"deck.pptx": typed(data)},
        peers={"OSWorld": [["slides.compare_pptx_files", [f"{FILE}:deck.pptx", REFERENCE], {}]]},
    )  # fmt: skip


def pictured(**options: Any) -> Left:
    """A deck with a picture."""
    from tests.artifacts.decks import picture, slide
    from tests.verifiers.test_pptx import MEDIA

    return deck(slide(picture(), files=MEDIA), **options)


def page(data: bytes, **options: Any) -> Left:
    """A PDF. Other graders compare its text with that of the honest one."""
    from tests.verifiers.test_pdf import SENTENCE

    return Left(
        verikit.pdf(**(options or {"text": [SENTENCE]})), {"report.pdf": data},
        peers={"OSWorld": [["chrome.compare_pdfs", [f"{FILE}:report.pdf", REFERENCE], {}]]},
    )  # fmt: skip


def printed(name: str) -> Left:
    """A PDF of the tests with one sentence, in sight or out of sight."""
    from tests.artifacts.pdfs import pdf
    from tests.verifiers import test_pdf as tested

    return page(pdf({**tested.IN_SIGHT, **tested.OUT_OF_SIGHT}[name](tested.SENTENCE)))


def lying_font(lies: bool) -> Left:
    """A PDF whose font draws other digits than its text has, or an embedded subset of a font."""
    from tests.artifacts.pdfs import pdf
    from tests.artifacts.pdfs import shown as drawn
    from tests.verifiers import test_pdf as tested

    if not lies:
        return page(tested.plotted(tested.SENTENCE, "DejaVu Sans", 42))
    swapped = "<34> <0030> <30> <0034>"
    return page(pdf(drawn(tested.SENTENCE.replace("4", "0")), to_unicode=swapped))


def filled(value: str, drawn: str) -> Left:
    """A PDF with a form."""
    from tests.artifacts.pdfs import form

    return page(form(value, drawn), form={"name": "Ada"})


def scripted(**options: Any) -> Left:
    """A PDF with a script."""
    from tests.artifacts.pdfs import pdf
    from tests.artifacts.pdfs import shown as drawn
    from tests.verifiers import test_pdf as tested

    data = pdf(drawn(tested.SENTENCE), **tested.SCRIPTS["an opening action"])
    return page(data, text=[tested.SENTENCE], **options)


def picture(name: str, data: bytes, reference: bytes = b"", **options: Any) -> Left:
    """A picture. Other graders compare it, or else only its size."""
    from tests.verifiers.test_image import embedded

    peers = {
        "rewardkit": [["image_similarity", [name, "reference.png"], {}]],
        "OSWorld": [["gimp.check_structure_sim", [f"{FILE}:{name}", REFERENCE], {}]],
    }
    like = {"like": embedded(reference)} if reference else {}
    verifier = verikit.image(file="chart.*", **like, **options)
    return Left(verifier, {name: data}, peers=peers if reference else {}, reference=reference)


def chart(change: str) -> Left:
    """A chart beside the expected one: a sparse line, without its data or blank."""
    from tests.artifacts.charts import chart as drawn
    from tests.artifacts.charts import stored

    one = replace(drawn(1), kind="line")
    other = {"same": one, "axes": replace(one, kind="line", heights=[0] * len(one.heights))}.get(change)
    made = one.drawn().point(lambda _: 255) if other is None else other.drawn()
    return picture("chart.png", stored(made), stored(one.drawn()))


def formed(name: str, form: str, **options: Any) -> Left:
    """A picture under a name that may not be its format's."""
    from tests.artifacts.charts import chart as drawn
    from tests.artifacts.charts import stored

    return picture(name, stored(drawn(1).drawn(), form), **options)


def polyglot(tail: bytes) -> Left:
    """A picture that may be an archive too."""
    from tests.artifacts.charts import chart as drawn
    from tests.artifacts.charts import stored

    data = stored(drawn(1).drawn())
    return picture("chart.png", data + tail, format="png")


def pivoted(name: str) -> Left:
    """A workbook of the tests with a pivot table."""
    from tests.verifiers import test_xlsx_pivots as tested

    data, wanted = {**tested.HONEST, **tested.REFUSED}[name]()
    return Left(verikit.xlsx(pivot=[wanted]), {"sales.xlsx": data})


def plotted(name: str) -> Left:
    """A workbook of the tests with a chart, or a picture of one."""
    from tests.verifiers import test_xlsx_charts as tested

    makers = {**tested.HONEST, **tested.REFUSED, "a picture": lambda: tested.charted(tested.a_picture)}
    return Left(verikit.xlsx(chart=[tested.WANTED]), {"sales.xlsx": makers[name]()})


def archive() -> bytes:
    """A zip with a verdict."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as made:
        made.writestr("reward.json", json.dumps({"reward": 1}))
    return out.getvalue()


VALUES = {"values": {"D6": 422}}
DOCUMENTS = [
    Attack(14, "leaves a zip that grows", lambda: book({"D6": 422}, grown, **VALUES), many_rows, seconds=4),
    Attack(21, "types the values in", lambda: book("typed in"), lambda: book("typed in", **VALUES), seconds=2),
    Attack(22, "stores the right number for a wrong formula", lambda: book("a wrong formula", stale, **VALUES),
           lambda: book("no cached value", **VALUES), seconds=2),
    Attack(23, "writes a formula of constants", lambda: book("constants"),
           lambda: formula("=SUM(B2:B4)*0.19", formula=["D6"]), seconds=2),
    Attack(23, "writes a formula with an unused input", lambda: book("IF(TRUE"), lambda: book("steps"), seconds=3),
    Attack(24, "writes a formula for the given inputs only", lambda: book("keyed on an input"),
           lambda: book("an honest IF"), seconds=3),
    Attack(25, "uses a random number", lambda: formula("=RAND()*B2", values={"D6": 2}),
           lambda: formula("=TODAY()", formula={"D6": ["TODAY"]}), unscored=True, seconds=2),
    Attack(26, "prints a string by a number format", lambda: shown('"422"', 17, "422", "422"),
           lambda: shown("0.0%", 0.5, "50.0%", ""), seconds=2),
    Attack(27, "hides the row", lambda: book("a hidden row"), lambda: book("a working sheet"), seconds=3),
    Attack(27, "hides the value by its format", lambda: book(";;;"), lambda: book("a currency"), seconds=3),
    Attack(28, "writes white on white", lambda: book("white on white"), lambda: book("white on dark"), seconds=3),
    Attack(28, "puts text beside the slide", lambda: slides("beside the slide"),
           lambda: slides("white on a dark shape"), seconds=1),
    Attack(28, "covers text on a slide", lambda: slides("covered"), lambda: slides("beside a shape"), seconds=1),
    Attack(29, "leaves a picture of the table", lambda: pictured(table=[[["a"]]]),
           lambda: pictured(image=1), seconds=1),
    Attack(30, "leaves the text as a tracked deletion", lambda: said("a tracked deletion"),
           lambda: said("a tracked insertion")),
    Attack(30, "hides text", lambda: said("hidden text"), lambda: said("a hidden style undone")),
    Attack(30, "writes white text in a document", lambda: said("white"), lambda: said("white on a dark ground")),
    Attack(31, "loads the value from the network", lambda: book("WEBSERVICE"),
           lambda: book("no cached value"), seconds=3),
    Attack(31, "refers to another workbook", lambda: book("another workbook"), lambda: book("a name"), seconds=3),
    Attack(32, "adds a macro", with_macro, lambda: with_macro(macros=True), needs="openpyxl",
           seconds=2),
    Attack(33, "declares entities that grow", lambda: book({"D6": 422}, entities, **VALUES),
           lambda: said("an entity"), seconds=1),
    Attack(34, "declares all cells as used", lambda: book({"D6": 17}, declared, **VALUES),
           lambda: formula("=SUM(B:B)+406", values={"D6": 422}), seconds=2),
    Attack(35, "leaves a pivot table that was not refreshed", lambda: pivoted("the source changed"),
           lambda: pivoted("rows and columns"), needs="openpyxl", seconds=1),
    Attack(35, "types numbers into a pivot table", lambda: pivoted("a stale number"), lambda: pivoted("compact"),
           needs="openpyxl", seconds=1),
    Attack(36, "draws a chart over other ranges", lambda: plotted("other rows"), lambda: plotted("other style"),
           needs="openpyxl", seconds=1),
    Attack(36, "leaves a picture of a chart", lambda: plotted("a picture"), lambda: plotted("openpyxl"),
           needs="openpyxl", seconds=1),
    Attack(37, "embeds a font with other glyphs", partial(lying_font, lies=True), partial(lying_font, lies=False)),
    Attack(38, "writes invisible text in a PDF", lambda: printed("render mode 3"), lambda: printed("white on dark")),
    Attack(38, "covers text in a PDF", lambda: printed("covered"), lambda: printed("over a picture")),
    Attack(38, "adds a script", scripted, lambda: scripted(script=True)),
    Attack(38, "draws another value than the form has", lambda: filled("Ada", "Bob"), lambda: filled("Ada", "Ada")),
    Attack(39, "gives a file the wrong extension", lambda: formed("chart.png", "JPEG", format=["jpeg", "png"]),
           lambda: formed("chart.JPG", "JPEG", format=["jpeg", "png"])),
    Attack(39, "appends an archive to a picture", lambda: polyglot(archive()), lambda: polyglot(b"")),
    Attack(45, "leaves a blank picture", lambda: chart("blank"), lambda: chart("same")),
    Attack(45, "draws only the axes", lambda: chart("axes"), lambda: chart("same")),
]  # fmt: skip
