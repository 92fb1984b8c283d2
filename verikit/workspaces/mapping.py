"""A mapping of names to contents as one side of a workspace."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256

from verikit.errors import WorkspaceError
from verikit.workspaces.limits import Limits
from verikit.workspaces.manifest import FileEntry, Manifest
from verikit.workspaces.names import parts, shown
from verikit.workspaces.tree import CollectedSize, Tree, TreeSource, with_folders


@dataclass(frozen=True, slots=True)
class TextsSource(TreeSource):
    """Names and contents, as given in a row."""

    texts: Mapping[str, bytes]

    def open(self, limits: Limits) -> Tree:
        """Read them.

        Raises:
            AgentFault: They exceed a limit of the task.
            WorkspaceError: A name is impossible for a file or is below a file, or one of verikit's limits is exceeded.
        """
        tally, found = CollectedSize(limits), dict[str, FileEntry]()
        contents: dict[str, bytes] = {}
        for name, data in self.texts.items():
            names = parts(name)
            path = "/".join(names or ())
            if not names or name.endswith("/") or path in found:
                raise WorkspaceError(f"the row's workspace has an invalid or duplicate name: {shown(name)}")
            digest = sha256(data).hexdigest() if len(data) <= limits.file_bytes else ""
            tally.add(path, len(data) if digest else 0)
            found[path] = FileEntry(path, size=len(data), allocated=len(data), sha256=digest)
            contents[path] = data
        entries = list(with_folders(found.values()))
        for path in found:
            if path.rpartition("/")[0] in found:
                raise WorkspaceError(f"the row's workspace has {shown(path)} below a file")
        return TextsTree(Manifest(entries), contents)


class TextsTree(Tree):
    """Contents in memory."""

    def __init__(self, manifest: Manifest, contents: Mapping[str, bytes]) -> None:
        super().__init__(manifest)
        self._contents = contents

    def read(self, entry: FileEntry) -> bytes:
        """The bytes of a file."""
        return self._contents[entry.path]
