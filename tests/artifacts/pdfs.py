"""PDFs made for tests, as bytes: pages by their content streams, fonts that lie, forms."""

HELVETICA = "/Type /Font /Subtype /Type1 /BaseFont /{} /Encoding /WinAnsiEncoding"


def pdf(*contents, objects=(), font="Helvetica", to_unicode="", page="", catalog="", media="0 0 595 842", annots=()):
    """A PDF with a page for each content stream, whose font is /F1.

    Args:
        contents: Content streams.
        objects: Further objects; the first is number 10.
        font: A standard font's name.
        to_unicode: A mapping of characters for the font, as lines of `bfchar`.
        page: Further entries of each page.
        catalog: Further entries of the catalog.
        media: The box of each page.
        annots: Numbers of objects that are annotations of the first page.
    """
    body = {1: f"<< /Type /Catalog /Pages 2 0 R {catalog} >>"}
    kids = []
    mapped = " /ToUnicode 4 0 R" if to_unicode else ""
    body[3] = f"<< {HELVETICA.format(font)}{mapped} >>"
    body[4] = stream(CMAP.format(to_unicode))
    body |= dict(enumerate(objects, 10))
    for content in contents:
        number = max(body) + 1
        body[number] = stream(content)
        notes = f"/Annots [{' '.join(f'{one} 0 R' for one in annots)}]" if annots and not kids else ""
        body[number + 1] = (
            f"<< /Type /Page /Parent 2 0 R /MediaBox [{media}] /Resources << /Font << /F1 3 0 R >> >> "
            f"/Contents {number} 0 R {notes} {page} >>"
        )
        kids.append(f"{number + 1} 0 R")
    body[2] = f"<< /Type /Pages /Kids [{' '.join(kids)}] /Count {len(kids)} >>"
    return written(body)


CMAP = """/CIDInit /ProcSet findresource begin 12 dict begin begincmap /CMapName /X def
1 begincodespacerange <00> <FF> endcodespacerange 2 beginbfchar {} endbfchar endcmap end end"""


def stream(content, head=""):
    """A stream object."""
    data = content if isinstance(content, bytes) else content.encode("cp1252")
    return f"<< /Length {len(data)} {head} >>\nstream\n".encode() + data + b"\nendstream"


def written(body):
    """The file of numbered objects."""
    out, offsets = bytearray(b"%PDF-1.7\n"), {}
    for number, one in sorted(body.items()):
        offsets[number] = len(out)
        out += b"%d 0 obj\n" % number + (one if isinstance(one, bytes) else one.encode("cp1252")) + b"\nendobj\n"
    start = len(out)
    out += b"xref\n0 1\n0000000000 65535 f \n"
    for number, offset in offsets.items():
        out += b"%d 1\n%010d 00000 n \n" % (number, offset)
    return bytes(out + b"trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF" % (max(body) + 1, start))


def shown(text, x=72, y=720, size=12, before=""):
    """Content that shows a text."""
    escaped = text.replace("\\", r"\\").replace("(", r"\(").replace(")", r"\)")
    return f"BT {before} /F1 {size} Tf {x} {y} Td ({escaped}) Tj ET\n"


def form(value, drawn, ticked=False, tick=""):
    """A form with a text field `name` and a box `agree`: values, and what is drawn for them."""
    appearance = stream(shown(drawn, 2, 4), "/Type /XObject /Subtype /Form /BBox [0 0 200 20] "
                        "/Resources << /Font << /F1 3 0 R >> >>")  # fmt: skip
    box = stream(tick, "/Type /XObject /Subtype /Form /BBox [0 0 20 20]")
    empty = stream("", "/Type /XObject /Subtype /Form /BBox [0 0 20 20]")
    state = "/Yes" if ticked else "/Off"
    return pdf(
        shown("Name:", 20, 704), annots=(10, 12), catalog="/AcroForm << /Fields [10 0 R 12 0 R] >>",
        objects=(
            f"<< /Type /Annot /Subtype /Widget /FT /Tx /T (name) /V ({value}) /Rect [72 700 272 720] /F 4 "
            "/AP << /N 11 0 R >> /DA (/F1 12 Tf 0 g) >>",
            appearance,
            f"<< /Type /Annot /Subtype /Widget /FT /Btn /T (agree) /V {state} /AS {state} /Rect [72 660 92 680] /F 4 "
            "/AP << /N << /Yes 13 0 R /Off 14 0 R >> >> >>",
            box, empty,
        ),
    )  # fmt: skip
