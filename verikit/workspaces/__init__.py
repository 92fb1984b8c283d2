"""Workspaces: the files that an agent left behind, collected from outside and read by their hashes.

    Workspace(after, before, outputs=["sales.xlsx", "src/**"])   folders, tars, or mappings of names to contents
    workspace.one("sales.xlsx")                                  a `Blob`: path, sha256, size, data()
    workspace.after.manifest, workspace.changes()                the files left behind, and the agent's changes

Nothing is unpacked or followed, and only files are opened. `AgentFault` marks an agent's failure and becomes a 0.0.
`WorkspaceError` marks a failure of verikit or the row, and leaves the sample unscored.
"""

from verikit.workspaces.limits import Limits
from verikit.workspaces.manifest import Changes, FileEntry, Manifest
from verikit.workspaces.row import TaskWorkspace
from verikit.workspaces.tree import Blob, Tree
from verikit.workspaces.workspace import Workspace

__all__ = ["Blob", "Changes", "FileEntry", "Limits", "Manifest", "TaskWorkspace", "Tree", "Workspace"]
