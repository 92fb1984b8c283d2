"""A workspace: the files given to an agent, the files it left behind, and the outputs that the task requires.

Everything is read lazily. Callers get content by its hash, or one of two errors. `AgentFault` scores 0.0.
`WorkspaceError` leaves the sample unscored.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Literal, get_args

from verikit.errors import AgentFault, WorkspaceError
from verikit.messages import CompletionMessage, messages_of
from verikit.workspaces.atif import read_trajectory
from verikit.workspaces.folder import FolderSource
from verikit.workspaces.limits import Limits
from verikit.workspaces.manifest import Changes, FileEntry, Manifest, leaves
from verikit.workspaces.mapping import TextsSource
from verikit.workspaces.names import covers, has_wildcards, joined, matches, parts, shown
from verikit.workspaces.overlay import OverlaySource
from verikit.workspaces.readings import CheckedFiles
from verikit.workspaces.tarball import PackedBy, TarSource
from verikit.workspaces.tree import Blob, Tree, TreeSource, texts_of

Side = Literal["after", "before"]
Links = Literal["refused", "inside"]
"""How to treat a link among the outputs: as an error, or as the file in the workspace that it points to in one step."""
Given = str | os.PathLike[str] | bytes | Mapping[str, Any] | TreeSource | None
"""A folder, a tar (a file or its bytes), or a mapping of names to contents."""


Steps = Callable[[], list[CompletionMessage]]
"""Reads the agent's steps as messages."""
Trajectory = str | os.PathLike[str] | Sequence[CompletionMessage] | Steps | None
"""A file with the agent's steps (ATIF, or messages), the messages, or what reads them."""


class Workspace:
    """The files that an agent left behind, and the files that it started with.

    Args:
        after: The files that it left.
        before: The files that it was given. Without them there is nothing to compare `after` with.
        outputs: Patterns of the files that the task requires. None: all of `after`.
        trajectory: Its steps.
        limits: How much is read.
        links: How to treat a link among the outputs.
        packed_by: Who packed `after` if it is a tar.
        uncollected: Paths that could not be collected, each with the reason.
        task: The Harbor task: a folder, and the names from there.
    """

    def __init__(
        self,
        after: Given = None,
        before: Given = None,
        *,
        outputs: Sequence[str] | None = None,
        trajectory: Trajectory = None,
        limits: Limits | Mapping[str, float] | None = None,
        links: Links = "refused",
        packed_by: PackedBy = "",
        uncollected: Mapping[str, str] | None = None,
        task: tuple[str, tuple[str, ...]] | None = None,
    ) -> None:
        self._sources: dict[Side, TreeSource | None] = {
            "after": _source(after, packed_by),
            "before": _source(before, "collector"),
        }
        self._trees: dict[Side, Tree] = {}
        self._steps = _steps(trajectory)
        self.outputs: tuple[str, ...] | None = None if outputs is None else tuple(outputs)
        self.limits: Limits = limits if isinstance(limits, Limits) else Limits.of(limits)
        self.links: Links = links
        self.uncollected: Mapping[str, str] = uncollected or {}
        self.task: tuple[str, tuple[str, ...]] | None = task
        self.seen: set[tuple[Side, str]] = set()
        """Files that were read, for display."""
        self.readings: dict[CheckedFiles, None] = {}
        """The files and the result of each check, in order, for display."""

    @property
    def after(self) -> Tree:
        """The files that the agent left, collected on first access.

        Raises:
            AgentFault: They exceed a limit of the task, or are a tar with names that no file tree can have.
            WorkspaceError: They don't exist, can't be read or exceed one of verikit's limits.
        """
        return self._tree("after")

    @property
    def before(self) -> Tree:
        """The files that the agent was given.

        Raises:
            WorkspaceError: They are unknown, can't be read or exceed a limit.
        """
        return self._tree("before")

    @property
    def knows_before(self) -> bool:
        """Whether there is a `before`."""
        return self._sources["before"] is not None

    def untouched(self, files: Mapping[str, bytes], *, empty: bool = False) -> Workspace:
        """The workspace left by an agent that only wrote a few files: no steps, and the same `before`.

        Args:
            files: The files it wrote, by path.
            empty: Whether the files it was given were deleted.
        """
        base = None if empty else self._sources["before"]
        return Workspace(
            OverlaySource(base, files),
            self._sources["before"],
            outputs=self.outputs,
            trajectory=None if self._steps is None else [],
            limits=self.limits,
            links=self.links,
            task=self.task,
        )

    def _tree(self, side: Side) -> Tree:
        source = self._sources[side]
        if source is None:
            raise WorkspaceError(f"the workspace has no {side!r}", hint=f'a folder, a tar or strings: "{side}": …')
        if side not in self._trees:
            self._trees[side] = source.open(self.limits if side == "after" else self.limits.for_before())
        return self._trees[side]

    @property
    def collected(self) -> bool:
        """Whether the files that the agent left were collected."""
        return "after" in self._trees

    def known_before(self) -> Manifest | None:
        """The files that the agent was given, for display.

        None if they are unknown or incomplete, or are large and no check has opened them.
        """
        tree, source = self._trees.get("before"), self._sources["before"]
        if tree is None and source is not None:
            try:
                tree = source.open(self.limits.for_display())  # not kept: its limits are not those of a check
            except (AgentFault, WorkspaceError):
                return None
        return None if tree is None or tree.unknown else tree.manifest

    def known_changes(self, before: Manifest) -> Changes:
        """The changes, for display. Without paths that may not have been collected."""
        found = Changes.between(before, self.after.manifest)
        return replace(found, removed=tuple(filter(self._is_removed, found.removed)))

    def _is_removed(self, path: str) -> bool:
        """Whether a path that is not there would have been collected."""
        try:
            self._check_collected(path)
            if not self.declares(path):
                self._check_whole(path)
        except (AgentFault, WorkspaceError):
            return False
        return True

    @property
    def digest(self) -> str:
        """SHA-256 of the manifest of the files that the agent left.

        Raises:
            AgentFault: As `after`.
            WorkspaceError: As `after`.
        """
        return self.after.manifest.digest

    def changes(self, concerns: Callable[[str], bool] = lambda path: True) -> Changes:
        """The files that the agent added, removed and changed, limited to paths that `concerns` accepts.

        Raises:
            AgentFault: An entry that it left has no content to compare.
            WorkspaceError: There is no `before`, or an entry was not read or may not have been collected.
        """
        before, after = self.before.manifest.limited(concerns), self.after.manifest.limited(concerns)
        for entry in before.values():
            self._check_read(entry, "before")
        for entry in after.values():
            self._check_read(entry, "after")
        found = Changes.between(before, after)
        if found.all and self.before.unknown:
            raise WorkspaceError(f"some of the files that the agent started with are unknown: {self.before.unknown}")
        for path in found.removed:
            self._check_collected(path)
        if lost := next((path for path in found.removed if not self.declares(path)), None):
            self._check_whole(lost)
        return found

    def compared(self, concerns: Callable[[str], bool]) -> tuple[str, ...]:
        """The paths that differ, of those that `concerns` accepts. All of these count as read.

        Raises:
            AgentFault: As `changes`.
            WorkspaceError: As `changes`.
        """
        found = self.changes(concerns).all
        self.seen.update(("after", path) for path in leaves(self.after.manifest) if concerns(path))
        return found

    def _check_whole(self, lost: str) -> None:
        """Check that a missing path was really removed. Undeclared paths may not have been collected.

        Raises:
            WorkspaceError: It may not have been collected.
        """
        if all(entry.kind == "folder" or self.declares(path) for path, entry in self.after.manifest.items()):
            raise WorkspaceError(f"{shown(lost)} is in no output, and may not have been collected")

    def find(self, pattern: str, side: Side = "after") -> list[FileEntry]:
        """The entries that match a pattern, including folders. Empty if nothing matches and collection is complete.

        Raises:
            AgentFault: As `after`.
            WorkspaceError: The pattern is invalid, or a file that it matches was not collected.
        """
        names = parts(pattern.lstrip("/"))
        if not names:
            raise WorkspaceError(f"{shown(pattern)!r} names no file of a workspace")
        path = "/".join(names)
        manifest = self._tree(side).manifest
        if has_wildcards(pattern):
            found = [entry for name, entry in manifest.items() if matches(path, name)]
        else:
            found = [manifest[path]] if path in manifest else []
        if side == "after" and not found:
            self._check_collected(path)
            self._check_declared(path)
        return found

    def many(self, pattern: str, side: Side = "after") -> list[Blob]:
        """The files that match a path or pattern, at least one. Folders that match a pattern are skipped.

        Raises:
            AgentFault: Nothing matches, or a match is not a file or exceeds a limit of the task.
            WorkspaceError: The files were not collected, or one exceeds one of verikit's limits.
        """
        found = self.find(pattern, side)
        if has_wildcards(pattern):
            found = [entry for entry in found if entry.kind != "folder"]
        if not found:
            raise self._fault(side)(f"{shown(pattern)} is not there{self._on_the_way(pattern, side)}")
        return [self.blob(entry, side) for entry in found]

    def one(self, pattern: str, side: Side = "after") -> Blob:
        """The single file that matches a path or pattern.

        Raises:
            AgentFault: Nothing matches, several files match, or the match is a link or a fifo or exceeds a limit of the
                task.
            WorkspaceError: It was not collected, exceeds one of verikit's limits, or the row's pattern always matches
                several.
        """
        found = self.find(pattern, side)
        if has_wildcards(pattern):
            found = [entry for entry in found if entry.kind != "folder"]
        if len(found) > 1:
            names = ", ".join(shown(entry.path) for entry in found[:3])
            if side == "before" or self._names_several(pattern):
                raise WorkspaceError(f"{pattern!r} names several files: {names}", hint="name one file in the row")
            raise AgentFault(f"{len(found)} files are {pattern!r}, one is asked for: {names}")
        if not found:
            raise self._fault(side)(f"{shown(pattern)} is not there{self._on_the_way(pattern, side)}")
        return self.blob(found[0], side)

    def blob(self, entry: FileEntry, side: Side = "after") -> Blob:
        """The content of an entry.

        Raises:
            AgentFault: It is not a file, or exceeds a limit of the task.
            WorkspaceError: It could not be read, or exceeds one of verikit's limits.
        """
        tree = self._tree(side)
        if entry.kind == "link" and self.links == "inside":
            entry = self._followed(entry, tree)
        if entry.kind != "file":
            raise self._fault(side)(f"{shown(entry.path)} is a {entry.kind}, a file is asked for")
        self._check_read(entry, side)
        self.seen.add((side, entry.path))
        return Blob(entry.path, entry.sha256, entry.size, tree)

    def messages(self) -> list[CompletionMessage] | None:
        """The agent's steps as messages, or None if the workspace has no steps.

        Raises:
            WorkspaceError: They can't be read.
        """
        return None if self._steps is None else self._steps()

    def _check_read(self, entry: FileEntry, side: Side) -> None:
        if entry.kind == "file" and not entry.sha256 and not entry.problem:
            limits = self.limits if side == "after" else self.limits.for_before()
            raise limits.over("mb", f"{shown(entry.path)} has {entry.size / 2**20:,.1f} MB")
        if entry.problem:
            error = AgentFault if entry.fault == "agent" and side == "after" else WorkspaceError
            raise error(f"{shown(entry.path)} was not collected: {entry.problem}")

    def _check_collected(self, path: str) -> None:
        """Check that a missing path could have been collected.

        Raises:
            AgentFault: It is in a folder that the agent made unreadable.
            WorkspaceError: It could not be collected.
        """
        for wanted, problem in self.uncollected.items():
            if matches(wanted, path) or matches(path, wanted):
                raise WorkspaceError(f"{shown(path)} was not collected: {problem}")
        for entry in self.after.manifest.unread_folders:
            if matches(f"{entry.path}/**", path) or has_wildcards(path):
                self._check_read(entry, "after")

    def _check_declared(self, path: str) -> None:
        """Whether something that is not there would have been collected.

        Raises:
            WorkspaceError: Nothing declares it.
        """
        if self.declares(path):
            return
        raise WorkspaceError(
            f"{shown(path)} is in no output that the task declares, and was not collected",
            hint=f"outputs are {', '.join(self.outputs or ()) or 'none'}",
        )

    def declares(self, path: str) -> bool:
        """Whether the task requires a path. Without outputs it requires all paths."""
        return self.outputs is None or any(covers(output, path) for output in self.outputs)

    def _names_several(self, pattern: str) -> bool:
        """Whether a pattern always matches several files, because of the given files or the outputs."""
        named = {o for o in self.outputs or () if not has_wildcards(o) and matches(pattern.lstrip("/"), o.lstrip("/"))}
        if len(named) > 1:
            return True
        given = self.find(pattern, "before") if self.knows_before else []
        return sum(entry.kind != "folder" for entry in given) > 1

    def _on_the_way(self, pattern: str, side: Side) -> str:
        """Why a path can't exist: a link that replaced a folder."""
        names = parts(pattern.lstrip("/")) or []
        manifest = self._tree(side).manifest
        paths = ["/".join(names[:end]) for end in range(1, len(names))]
        above = next((manifest[path] for path in paths if path in manifest and manifest[path].kind != "folder"), None)
        return f": {shown(above.path)} is a {above.kind}" if above else ""

    def _followed(self, link: FileEntry, tree: Tree) -> FileEntry:
        """The file that a link leads to within the workspace, in one step."""
        folder = link.path.rpartition("/")[0]
        names = [] if link.target.startswith("/") else joined(folder, link.target)
        target = tree.manifest.get("/".join(names)) if names else None
        if target is None or target.kind != "file":
            raise AgentFault(f"{shown(link.path)} is a link that leads to no file of the workspace")
        return target

    @staticmethod
    def _fault(side: Side) -> type[AgentFault | WorkspaceError]:
        return AgentFault if side == "after" else WorkspaceError

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_trees": {}}

    def __repr__(self) -> str:
        """Its sources and the outputs of the task."""
        return (
            f"Workspace(after={self._sources['after']!r}, before={self._sources['before']!r}, outputs={self.outputs!r})"
        )


def _source(given: Given, packed_by: PackedBy) -> TreeSource | None:
    if given is None or isinstance(given, TreeSource):
        return given
    if packed_by not in get_args(PackedBy):
        raise WorkspaceError(f"packed_by must be agent or collector, got {packed_by!r}")
    if isinstance(given, bytes):
        return TarSource(held=given, packed_by=packed_by)
    if isinstance(given, Mapping):
        return TextsSource(texts_of(given))
    path = Path(given)
    if path.is_dir():
        return FolderSource(str(path))
    return TarSource(str(path.parent), (path.name,), packed_by=packed_by)


def _steps(given: Trajectory) -> Steps | None:
    if given is None or callable(given):
        return given
    if isinstance(given, str | os.PathLike):
        path = Path(given)
        return partial(read_trajectory, str(path.parent), (path.name,))
    return partial(list, messages_of(given))
