"""Pages of files as pictures: PDFs, HTML pages, office files and picture files, all rendered in boxes.

Only pixels leave the sandbox, and they are encoded here. If a file can't be rendered, the reason is shown as evidence.
Failures on verikit's side raise, and the row is unscored.
"""

from __future__ import annotations

from typing import NamedTuple

from verikit.artifacts.box import observe
from verikit.artifacts.browser.sight import lines as html_lines
from verikit.artifacts.office.convert import NoOffice
from verikit.artifacts.office.pages import KINDS, as_pdf
from verikit.artifacts.readers.container import BadContainer, signed
from verikit.errors import AgentFault
from verikit.judges.evidence.attached import MOST_BYTES
from verikit.judges.evidence.pictures import embedded, with_room
from verikit.verifiers.html.visits import photographed
from verikit.verifiers.image.verifier import READER as PICTURES
from verikit.verifiers.pdf.pages import PAGE_READER
from verikit.verifiers.pdf.pages import lines as pdf_lines
from verikit.workspaces.manifest import FileEntry
from verikit.workspaces.names import shown
from verikit.workspaces.workspace import Workspace


class DrawnPage(NamedTuple):
    """A page as a judge may see it."""

    told: str
    """A description, or why it can't be shown."""
    picture: str = ""
    """The `data:` URL of its picture. "" if there is no picture."""
    text: str = ""
    """The visible text on it."""


def drawn_page(workspace: Workspace, entry: FileEntry, number: int, at_most: int) -> DrawnPage:
    """A page of a file that an agent left.

    Args:
        workspace: The files that the agent left.
        entry: The file.
        number: Number of the page, from 1. Pages of HTML are screens, from the top.
        at_most: Maximum pixels of the picture's longer side.

    Raises:
        VerikitError: The page can't be rendered, and the agent did not cause this.
    """
    try:
        return _drawn(workspace, entry, number, at_most)
    except NoOffice:
        return DrawnPage("office files are not shown as pictures here: open shows their text")
    except AgentFault as fault:
        return DrawnPage(f"page {number} cannot be rendered: {fault}")


def _drawn(workspace: Workspace, entry: FileEntry, number: int, at_most: int) -> DrawnPage:
    blob = workspace.blob(entry)
    if blob.size > MOST_BYTES:
        raise AgentFault(f"the file has more than {MOST_BYTES >> 20} MB")
    data, ending = blob.data(), entry.path.rpartition(".")[2].lower()
    if ending in KINDS:
        data, ending = as_pdf(data, KINDS[ending]), "pdf"
    if data.startswith(b"%PDF-") or ending == "pdf":
        seen = observe(with_room(PAGE_READER, at_most), [data], {"page": number, "at_most": at_most})
        return DrawnPage(f"page {number} of {seen['pages']}", embedded(seen), pdf_lines([seen["page"]]))
    if ending in ("html", "htm"):
        return _screen(workspace, entry.path, number, at_most)
    if _is_picture(data):
        return _picture(data, number, at_most)
    return DrawnPage(f"{shown(entry.path)} is not a PDF, HTML page, office file or picture: open shows its text")


def _screen(workspace: Workspace, path: str, number: int, at_most: int) -> DrawnPage:
    page = photographed(workspace, path, number)
    text = "\n".join(html_lines(page.runs))
    if not page.picture:
        raise AgentFault(f"the page has {page.screens} screens")
    seen = observe(with_room(PICTURES, at_most), [page.picture], {"at_most": at_most})
    return DrawnPage(f"screen {number} of {page.screens}", embedded(seen), text)


def _is_picture(data: bytes) -> bool:
    try:
        signed(data, "picture")
    except BadContainer:
        return False
    return True


def _picture(data: bytes, number: int, at_most: int) -> DrawnPage:
    seen = observe(with_room(PICTURES, at_most), [data], {"at_most": at_most})
    if number != 1:
        raise AgentFault("a picture has one page")
    told = f"{seen['format']}, {seen['width']} by {seen['height']} pixels"
    return DrawnPage(told + (f", the first of {seen['frames']} frames" if seen["frames"] > 1 else ""), embedded(seen))
