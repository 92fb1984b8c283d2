"""One side of a workspace with extra files in it: the result of an agent that did nothing, or almost nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from verikit.workspaces.limits import Limits
from verikit.workspaces.manifest import FileEntry, Manifest
from verikit.workspaces.mapping import TextsSource
from verikit.workspaces.tree import Tree, TreeSource, with_folders


@dataclass(frozen=True, slots=True)
class OverlaySource(TreeSource):
    """The files of another source, some of them replaced, and others added."""

    base: TreeSource | None
    """None: nothing but the further files is there."""
    files: Mapping[str, bytes]

    def open(self, limits: Limits) -> Tree:
        """Read both.

        Raises:
            WorkspaceError: As the base, or a name that no file can have.
        """
        added = TextsSource(self.files).open(limits)
        return added if self.base is None else OverlaidTree(self.base.open(limits), added)


class OverlaidTree(Tree):
    """A tree above another one."""

    def __init__(self, below: Tree, above: Tree) -> None:
        kept = {path: entry for path, entry in below.manifest.items() if not _hidden(path, entry, above.manifest)}
        super().__init__(Manifest(with_folders((kept | dict(above.manifest)).values()), below.manifest.notes))
        self.unknown = below.unknown
        self._below, self._above = below, above

    def read(self, entry: FileEntry) -> bytes:
        """The bytes of a file.

        Raises:
            OSError: They can't be read.
        """
        return (self._above if entry.path in self._above.manifest else self._below).read(entry)


def _hidden(path: str, entry: FileEntry, above: Manifest) -> bool:
    """Whether an entry is replaced: by an entry with its path, by a file at the path of its folder, or by a folder."""
    if path in above:
        return True
    folders = path.split("/")[:-1]
    return any(
        (other := above.get("/".join(folders[:end]))) is not None and other.kind == "file"
        for end in range(1, len(folders) + 1)
    )
