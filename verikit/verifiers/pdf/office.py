"""Text of office documents on their rendered pages: LibreOffice draws them, and the reader of PDFs looks at the ink."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from verikit.artifacts.box import observe
from verikit.artifacts.office.convert import Kind, NoOffice, version
from verikit.artifacts.office.pages import as_pdf
from verikit.types import Score
from verikit.verifiers.pdf.pages import APART, READER, Page, flowing, found_in


def rendered_part(blob: bytes, kind: Kind, texts: Iterable[str]) -> Score:
    """Whether the rendered pages of a document show strings, in any case: styles may change it.

    Without LibreOffice the score is 1.0, so that the other checks decide. The reason names the renderer. A string with
    Latin characters of unknown shape leaves the part unscored.

    Raises:
        AgentFault: LibreOffice can't read the document.
        MissingExtra: A package is not installed.
        WorkspaceError: LibreOffice failed.
        SandboxError: The machine can't isolate it.
    """
    READER.check_packages()
    try:
        pages = observe(READER, [as_pdf(blob, kind)], {})["pages"]
    except NoOffice as problem:
        return Score(1.0, reason=f"not rendered: {problem}")
    shown = [_folded(pages, number, joined=kind == "docx") for number in range(2)]
    doubtful = ""
    for text in texts:
        result = found_in(shown, _units("".join(text.split())))
        if result == "no":
            return Score(0.0, reason=f"{text[:100]!r} is not on the pages that {version()} renders")
        if result == "doubtful":
            doubtful = doubtful or text
    if doubtful:
        return Score.error(f"{doubtful[:100]!r} has characters whose shape on the rendered pages can't be identified")
    return Score(1.0, reason=f"rendered by {version()}")


def _folded(pages: Sequence[Page], number: int, *, joined: bool) -> tuple[str, set[int]]:
    """One form of the text of all pages, in small letters without blanks, with its doubtful positions.

    Paragraphs may be cut by the end of a page, and a heading's letters may be apart. Characters that are not Latin
    have no reference shape. They are not doubtful, or all documents in Greek would be without a value.
    """
    parts: list[str] = []
    doubtful: set[int] = set()
    for page in pages:
        whole, doubts = list(flowing(page))[number]
        for place, letter in enumerate(whole):
            units = _units(letter) if letter == APART or not letter.isspace() else ""
            if place in doubts and ord(letter) < 256:
                doubtful |= set(range(len(parts), len(parts) + len(units)))
            parts += units
        parts += [] if joined else [APART]
    return "".join(parts), doubtful


def _units(text: str) -> str:
    """The text in small letters. Characters beyond 16 bits become two, as on the pages."""
    coded = text.casefold().encode("utf-16-le", "surrogatepass")
    return "".join(coded[at : at + 2].decode("utf-16-le", "surrogatepass") for at in range(0, len(coded), 2))
