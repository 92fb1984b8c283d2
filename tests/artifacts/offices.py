"""LibreOffice on this machine, or a skip with the reason; and documents that it reads."""

import io
import zipfile
from functools import cache

import pytest

from tests.artifacts.decks import packed

HEAD = "http://schemas.openxmlformats.org/"
W = f'xmlns:w="{HEAD}wordprocessingml/2006/main" xmlns:r="{HEAD}officeDocument/2006/relationships"'


@cache
def refusal():
    """Why LibreOffice can't be used here; empty if it can."""
    from verikit.artifacts.office.report import office_told

    told = office_told()
    return told if told.startswith("missing") or "not installed" in told else ""


def need_office():
    """Skip where LibreOffice does not work, with the reason."""
    if refusal():
        pytest.skip(refusal())


def document(*texts, body="", targets="", files=()):
    """A text document that other programs read too: paragraphs, more of its body, relationships and files."""
    paragraphs = "".join(f"<w:p><w:r><w:t>{text}</w:t></w:r></w:p>" for text in texts)
    parts = {
        "[Content_Types].xml": f'<Types xmlns="{HEAD}package/2006/content-types"><Default Extension="rels" '
        'ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Override '
        'PartName="/word/document.xml" ContentType="application/vnd.openxmlformats-officedocument.'
        'wordprocessingml.document.main+xml"/></Types>',
        "_rels/.rels": f'<Relationships xmlns="{HEAD}package/2006/relationships"><Relationship Id="r1" '
        f'Type="{HEAD}officeDocument/2006/relationships/officeDocument" Target="word/document.xml"/></Relationships>',
        "word/document.xml": f"<w:document {W}><w:body>{paragraphs}{body}</w:body></w:document>",
        "word/_rels/document.xml.rels": f'<Relationships xmlns="{HEAD}package/2006/relationships">{targets}'
        "</Relationships>",
        **dict(files),
    }
    return packed(parts)


def typed(deck):
    """A deck of tests with the types of its parts, without which LibreOffice does not read it."""
    kind = "application/vnd.openxmlformats-officedocument.presentationml."
    known = {"ppt/presentation.xml": "presentation.main", "ppt/slideMasters/": "slideMaster",
             "ppt/slideLayouts/": "slideLayout", "ppt/slides/": "slide"}  # fmt: skip
    with zipfile.ZipFile(io.BytesIO(deck)) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    told = "".join(
        f'<Override PartName="/{name}" ContentType="{kind}{word}+xml"/>'
        for name in parts for start, word in known.items() if name.startswith(start) and name.endswith(".xml")
    )  # fmt: skip
    defaults = '<Default Extension="xml" ContentType="application/xml"/><Default Extension="rels" ContentType=' + (
        '"application/vnd.openxmlformats-package.relationships+xml"/>'
    )
    types = f'<Types xmlns="{HEAD}package/2006/content-types">{defaults}{told}</Types>'
    return packed({**parts, "[Content_Types].xml": types})
