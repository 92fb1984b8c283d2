"""The files of a workspace, opened when a judge requests them."""

from __future__ import annotations

from collections.abc import Iterator

from verikit.errors import AgentFault
from verikit.judges.evidence.drawn import DrawnPage, drawn_page
from verikit.judges.evidence.file_text import file_text
from verikit.judges.evidence.left import listing
from verikit.judges.evidence.shown import NotShown
from verikit.workspaces.manifest import FileEntry
from verikit.workspaces.names import shown
from verikit.workspaces.workspace import Workspace

SEARCHED = 1 << 20
"""Maximum bytes of a file that is searched."""
SEARCHED_IN_ALL = 16 << 20


class OpenFiles:
    """The files that an agent left, by the paths that a judge sees."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._entries: dict[str, FileEntry] = {
            shown(path): entry for path, entry in workspace.after.manifest.items() if entry.kind == "file"
        }
        self._texts: dict[str, str] = {}
        self._pages: dict[tuple[str, int, int], DrawnPage] = {}

    def listing(self) -> str:
        """One line per file."""
        return "\n".join(listing(self._workspace))

    def open(self, path: str) -> str | None:
        """A file's text. None if the file does not exist.

        Raises:
            VerikitError: The file can't be read, and the agent did not cause this.
        """
        entry = self._entries.get(path)
        if entry is not None and path not in self._texts:
            self._texts[path] = _read(self._workspace, entry)
        return self._texts.get(path)

    def page(self, path: str, number: int, at_most: int) -> DrawnPage | None:
        """A page of a file as a picture with at most `at_most` pixels on its longer side. None if there is no file.

        Raises:
            VerikitError: The page can't be rendered, and the agent did not cause this.
        """
        entry = self._entries.get(path)
        if entry is None:
            return None
        key = path, number, at_most
        if key not in self._pages:
            self._pages[key] = drawn_page(self._workspace, entry, number, at_most)
        return self._pages[key]

    def texts(self) -> Iterator[tuple[str, str]]:
        """Path and text of the files that are searched: small text files, and all opened files.

        Raises:
            WorkspaceError: A file can't be read, and the agent did not cause this.
        """
        left = SEARCHED_IN_ALL
        for path, entry in self._entries.items():
            left -= entry.size
            if path in self._texts:
                yield path, self._texts[path]
            elif entry.size <= SEARCHED and left >= 0:
                yield path, _plain(self._workspace, entry)


def _read(workspace: Workspace, entry: FileEntry) -> str:
    try:
        return file_text(workspace, entry)
    except NotShown as problem:
        return f"⟨{problem}⟩"


def _plain(workspace: Workspace, entry: FileEntry) -> str:
    """A file's text. "" if it is not text."""
    try:
        return workspace.blob(entry).data().decode()
    except (UnicodeDecodeError, AgentFault):
        return ""
