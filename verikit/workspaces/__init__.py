"""Workspaces: the files that an agent left behind, collected from outside and read by their hashes.

    Workspace(after, before, outputs=["sales.xlsx", "src/**"])   folders, tars, or mappings of names to texts
    workspace.one("sales.xlsx")                                  a `Blob`: path, sha256, size, data()
    workspace.after.manifest, workspace.changes()                what lies there, and what the agent changed

Nothing is unpacked or followed, and only files are opened. `AgentFault` is raised for what the agent did wrong, and
becomes a 0.0. `WorkspaceError` is for what we or the row did, and leaves the sample without a value.
"""

from verikit.workspaces.limits import Limits
from verikit.workspaces.manifest import Changes, Entry, Manifest
from verikit.workspaces.row import TaskWorkspace
from verikit.workspaces.tree import Blob, Tree
from verikit.workspaces.workspace import Workspace

__all__ = ["Blob", "Changes", "Entry", "Limits", "Manifest", "TaskWorkspace", "Tree", "Workspace"]
