"""A row's `workspace`. Paths are relative to the file that contains the row, and can't leave its folder."""

from __future__ import annotations

import binascii
import errno
import os
import stat
from base64 import b64decode
from collections.abc import Mapping
from functools import partial
from typing import Any, get_args

from verikit.errors import WorkspaceError, nearest
from verikit.workspaces.atif import read_trajectory
from verikit.workspaces.beneath import open_within
from verikit.workspaces.folder import FolderSource
from verikit.workspaces.harbor import CopiedSource, trial_workspace
from verikit.workspaces.limits import Limits
from verikit.workspaces.mapping import TextsSource
from verikit.workspaces.names import parts, shown
from verikit.workspaces.tarball import PackedBy, TarSource
from verikit.workspaces.tree import TreeSource, texts_of
from verikit.workspaces.workspace import Links, Workspace

KEYS = ("before", "after", "before_tar", "after_tar", "outputs", "trajectory", "limits", "links", "packed_by", "task")
"""Keys of a row's `workspace`. `trial` replaces all of them except `task`."""
_MISSING = "paths start at the folder of the row's file. Use an empty folder if no files were left"


class TaskWorkspace:
    """A workspace that a row describes, built on first access.

    Args:
        told: The row's `workspace`.
        folder: The folder that its paths start from. None: it may not name paths, because its author is not trusted.
    """

    def __init__(self, told: object, folder: str | None) -> None:
        self._told, self._folder = told, folder
        self.made: Workspace | None = None
        """The workspace, once it is built."""

    def make(self) -> Workspace:
        """The workspace.

        Raises:
            WorkspaceError: The row's `workspace` is invalid.
        """
        if self.made is None:
            self.made = workspace_of_row(self._told, self._folder)
        return self.made

    def beside(self, told: object) -> TaskWorkspace:
        """Another workspace of the same row, whose paths start from the same folder."""
        return TaskWorkspace(told, self._folder)

    def __getstate__(self) -> dict[str, Any]:
        return {"_told": self._told, "_folder": self._folder, "made": None}

    def __repr__(self) -> str:
        """As the row has it."""
        return f"TaskWorkspace({self._told!r}, {self._folder!r})"


def workspace_of_row(told: object, folder: str | None) -> Workspace:
    """The workspace that a row's object describes.

    Raises:
        WorkspaceError: The object is invalid, or a path leads out of the folder.
    """
    if isinstance(told, Workspace):
        return told
    if not isinstance(told, Mapping):
        raise WorkspaceError("a row's workspace is an object", hint='{"before": …, "after": …, "outputs": […]}')
    told = {key: _plain(value) for key, value in told.items() if value is not None}
    if "trial" in told:
        return _of_trial(told, folder)
    if unknown := next((key for key in told if key not in KEYS), None):
        hint = nearest(str(unknown), KEYS)
        raise WorkspaceError(f"a row's workspace has no {shown(str(unknown))!r}", hint=hint, kind="unknown")
    links, packed_by = told.get("links", "refused"), told.get("packed_by", "")
    if links not in get_args(Links):
        raise WorkspaceError(f"links must be one of {', '.join(get_args(Links))}, got {links!r}")
    if packed_by not in get_args(PackedBy):
        raise WorkspaceError(f"packed_by must be agent or collector, got {packed_by!r}")
    steps = told.get("trajectory")
    if isinstance(steps, str):
        steps = partial(read_trajectory, *_place(steps, folder))
    elif steps is not None and not (isinstance(steps, list) and all(isinstance(step, Mapping) for step in steps)):
        raise WorkspaceError("trajectory is a file, or a list of messages")
    task = _place(told["task"], folder) if "task" in told else None
    before = _side(told, "before", folder, "collector")
    return Workspace(
        _side(told, "after", folder, packed_by),
        before if before is not None or task is None else CopiedSource(*task),
        outputs=_outputs(told.get("outputs")),
        trajectory=steps,
        limits=Limits.of(told.get("limits")),
        links=links,
        task=task,
    )


def _plain(value: Any) -> Any:
    """A row's value, as a list if a table made it an array."""
    return value.tolist() if hasattr(value, "tolist") else value


def _of_trial(told: Mapping[str, Any], folder: str | None) -> Workspace:
    if unknown := next((key for key in told if key not in ("trial", "task")), None):
        raise WorkspaceError(f"a trial allows only the key task, got {shown(str(unknown))!r}")
    root, trial = _place(told["trial"], folder)
    task = _place(told["task"], folder)[1] if "task" in told else None
    return trial_workspace(root, trial, task)


def _outputs(told: Any) -> list[str] | None:
    if told is None:
        return None
    if not isinstance(told, list) or not all(isinstance(output, str) for output in told):
        raise WorkspaceError("outputs must be a list of paths and patterns")
    return told


def _side(told: Mapping[str, Any], side: str, folder: str | None, packed_by: PackedBy) -> TreeSource | None:
    """The source of one side: a tar in the row, a mapping of names to contents, a folder or a tar file."""
    if (held := told.get(f"{side}_tar")) is not None:
        return TarSource(held=_decoded(held, f"{side}_tar"), packed_by=packed_by)
    given = told.get(side)
    if given is None:
        return None
    if isinstance(given, Mapping):
        return TextsSource(texts_of(given))
    root, within = _place(given, folder)
    return FolderSource(root, within) if _is_folder(root, within) else TarSource(root, within, packed_by=packed_by)


def _decoded(text: Any, key: str) -> bytes:
    try:
        return b64decode(text, validate=True)
    except (TypeError, ValueError, binascii.Error):
        raise WorkspaceError(f"{key} is a tar in base64") from None


def _place(path: Any, folder: str | None) -> tuple[str, tuple[str, ...]]:
    """The folder that paths start from, and the names from there."""
    if folder is None:
        hint = "the row may contain strings or a tar in base64"
        raise WorkspaceError("a row in memory can't name paths in its workspace", hint=hint)
    names = parts(path) if isinstance(path, str) else None
    if names is None:
        told = shown(str(path))
        raise WorkspaceError(
            f"paths of a row's workspace must be in the folder of the row's file, {told} is not", kind="outside"
        )
    return folder, tuple(names)


def _is_folder(root: str, within: tuple[str, ...]) -> bool:
    try:
        found = open_within(root, within)
    except OSError as error:
        name = shown("/".join((root, *within)))
        hint = _MISSING if error.errno == errno.ENOENT else ""
        raise WorkspaceError(f"{name} can't be collected: {error.strerror}", hint=hint, kind="missing") from None
    try:
        return stat.S_ISDIR(os.fstat(found).st_mode)
    finally:
        os.close(found)
