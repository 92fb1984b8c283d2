"""Office documents as PDFs, made by LibreOffice in its box."""

from __future__ import annotations

from functools import lru_cache

from verikit.artifacts.box import BoxReader, observe
from verikit.artifacts.office.convert import Kind, OverLimit, converted
from verikit.artifacts.shape import record
from verikit.errors import AgentFault

KINDS: dict[str, Kind] = {"docx": "docx", "pptx": "pptx", "xlsx": "xlsx", "xlsm": "xlsx"}
"""The format of a file by the end of its name."""
_CONTAINER = BoxReader("verikit.artifacts.readers.container", {}, "office", record({}))


@lru_cache(maxsize=4)
def as_pdf(blob: bytes, kind: Kind) -> bytes:
    """A document as a PDF, as it would be printed. Formulas are recalculated, and macros and links are off.

    The result is hostile, as all data that LibreOffice made of a file.

    Raises:
        AgentFault: It is not a document of its kind, or LibreOffice can't read it within its limits.
        NoOffice: LibreOffice is not installed.
        WorkspaceError: LibreOffice died or took too long.
        SandboxError: The machine can't isolate it.
    """
    observe(_CONTAINER, [blob], {"kind": kind})
    try:
        [made] = converted([blob], kind, "pdf")
    except OverLimit as problem:
        raise AgentFault(str(problem)) from None
    if made is None:
        raise AgentFault(f"LibreOffice does not read the {kind} file")
    return made
