"""Text of office documents on their rendered pages: LibreOffice draws them, and the reader of PDFs looks at the ink."""

from __future__ import annotations

from collections.abc import Iterable

from verikit.artifacts.box import observe
from verikit.artifacts.office.convert import Kind, NoOffice, version
from verikit.artifacts.office.pages import as_pdf
from verikit.types import Score
from verikit.verifiers.pdf.pages import READER, found


def rendered_part(blob: bytes, kind: Kind, texts: Iterable[str]) -> Score:
    """Whether the rendered pages of a document show strings, in any case: styles may change it.

    Without LibreOffice the score is 1.0, so that the other checks decide. The reason names the renderer.

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
    for text in texts:
        if all(found(pages, form) == "no" for form in (text, text.upper())):
            return Score(0.0, reason=f"{text[:100]!r} is not on the pages that {version()} renders")
    return Score(1.0, reason=f"rendered by {version()}")
