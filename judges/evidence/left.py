"""The files that an agent left, as entries of its run: a list of all files, then each changed or requested file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from verikit.errors import AgentFault, MissingExtra, WorkspaceError
from verikit.judges.evidence.entries import RunEntry
from verikit.judges.evidence.file_text import file_text
from verikit.judges.evidence.linediff import line_diff
from verikit.workspaces.manifest import Changes, FileEntry
from verikit.workspaces.names import as_bytes, has_wildcards, matches, shown
from verikit.workspaces.workspace import Workspace

MOST_LISTED = 200
"""Maximum files that are listed individually.

Beyond it, unchanged files that were not requested are counted by folder.
"""
_NAMED = 10


@dataclass(frozen=True)
class FilesShown:
    """The part of a workspace that a judge sees."""

    entries: tuple[RunEntry, ...]
    paths: tuple[str, ...]
    """All paths of both sides, as shown to a judge."""


@dataclass(frozen=True)
class _Compared:
    """A workspace and its known changes."""

    workspace: Workspace
    changes: Changes
    problem: str = ""
    """Why some changes are unknown."""

    def state(self, path: str) -> str:
        """The state of a file, in one word."""
        if not self.workspace.knows_before:
            return "file"
        if path in self.changed:
            return "changed"
        return "new" if path in self.added else "same"

    @cached_property
    def changed(self) -> frozenset[str]:
        """Paths whose content, kind or mode changed."""
        return frozenset(self.changes.changed)

    @cached_property
    def added(self) -> frozenset[str]:
        """Paths that did not exist before."""
        return frozenset(self.changes.added)


def left_files(workspace: Workspace, scope: Sequence[str] = ()) -> FilesShown:
    """The entries of the files that an agent left.

    Args:
        workspace: The files that the agent left, and those that it was given.
        scope: Paths and patterns of the files whose content is shown. Empty: all changed files and the outputs.

    Raises:
        AgentFault: No file matches the scope, or the agent's files are not a workspace.
        NotShown: A file exceeds the limit for shown files.
        WorkspaceError: Something was not collected, or the workspace can't be read.
        MissingExtra: A file requires a package that is not installed.
    """
    compared = _compared(workspace)
    gone = [path for path in compared.changes.removed if not scope or _in(path, scope)]
    chosen = _asked_for(workspace, scope, gone) if scope else _usual(compared)
    listing = RunEntry("manifest", "\n".join(_listing(compared, chosen)))
    files = [_removed(workspace, path) for path in gone]
    for entry in chosen.values():
        asked = bool(scope) or workspace.outputs is None or _in(entry.path, workspace.outputs)
        files.append(_file(compared, entry) if asked else _beside(compared, entry))
    return FilesShown((listing, *files), tuple(map(shown, _all_paths(workspace))))


def _all_paths(workspace: Workspace) -> Iterable[str]:
    """The paths of all files that were left, and of the given files if they are known."""
    before = workspace.before.manifest if workspace.knows_before else {}
    return dict.fromkeys((*workspace.after.manifest, *before))


def listing(workspace: Workspace) -> Iterator[str]:
    """One line per file that was left, and one per file that was deleted.

    Raises:
        AgentFault: The agent's files are not a workspace.
        WorkspaceError: The workspace can't be read.
    """
    return _listing(_compared(workspace), workspace.after.manifest)


def _compared(workspace: Workspace) -> _Compared:
    if not workspace.knows_before:
        return _Compared(workspace, Changes((), (), ()))
    try:
        return _Compared(workspace, workspace.changes())
    except AgentFault as fault:
        return _Compared(workspace, Changes.between(workspace.before.manifest, workspace.after.manifest), str(fault))
    except WorkspaceError as error:
        found = Changes.between(workspace.before.manifest, workspace.after.manifest)
        return _Compared(workspace, replace(found, removed=()), f"it is not known whether files were removed: {error}")


def _asked_for(workspace: Workspace, scope: Sequence[str], gone: Sequence[str]) -> dict[str, FileEntry]:
    """The files that match the scope.

    Raises:
        AgentFault: No file matches, and none was removed.
        WorkspaceError: No file matches, and some may not have been collected.
    """
    try:
        found = [entry for pattern in scope for entry in _under(workspace, pattern)]
    except WorkspaceError as error:
        raise WorkspaceError(f"{error}. {_exists(workspace)}", hint=error.hint) from None
    if not found and not gone:
        raise AgentFault(f"no file is {' or '.join(map(shown, scope))}; {_exists(workspace)}")
    return {entry.path: entry for entry in sorted(found, key=lambda entry: as_bytes(entry.path))}


def _under(workspace: Workspace, pattern: str) -> Iterator[FileEntry]:
    """The files that match a pattern, or that are in a folder that it names."""
    for entry in workspace.find(pattern):
        if entry.kind != "folder":
            yield entry
        elif not has_wildcards(pattern):
            yield from (each for each in workspace.find(f"{pattern.rstrip('/')}/**") if each.kind != "folder")


def _exists(workspace: Workspace) -> str:
    names = [shown(path) for path, entry in workspace.after.manifest.items() if entry.kind != "folder"]
    more = f" and {len(names) - _NAMED:,} more" if len(names) > _NAMED else ""
    return f"the workspace has {', '.join(names[:_NAMED]) or 'no file'}{more}"


def _usual(compared: _Compared) -> dict[str, FileEntry]:
    """The changed files and the outputs, or all files if neither is known."""
    workspace = compared.workspace
    outputs = workspace.outputs
    if outputs is None and not workspace.knows_before:
        outputs = ("**",)
    return {
        path: entry
        for path, entry in workspace.after.manifest.items()
        if entry.kind != "folder" and (compared.state(path) in ("new", "changed") or _in(path, outputs or ()))
    }


def _in(path: str, patterns: Sequence[str]) -> bool:
    """Whether a pattern matches a path or a folder above it."""
    return any(matches(one.lstrip("/"), path) or matches(f"{one.strip('/')}/**", path) for one in patterns)


def _listing(compared: _Compared, chosen: Container[str]) -> Iterator[str]:
    """One line per file. If there are many, files that are neither changed nor shown are counted by folder."""
    manifest = compared.workspace.after.manifest
    entries = [entry for entry in manifest.values() if entry.kind != "folder"]
    many = len(entries) > MOST_LISTED
    others: Counter[str] = Counter()
    yield f"{len(entries):,} files were left:" if entries else "no file was left"
    for entry in entries:
        state = compared.state(entry.path)
        if many and entry.path not in chosen and state not in ("new", "changed"):
            others[_top_folder(entry.path)] += 1
        else:
            yield f"{state:8}{_described(entry)}"
    for folder in sorted(others):
        yield f"{others[folder]:,} more files in {shown(folder)}"
    for path in compared.changes.removed:
        yield f"deleted {shown(path)}"
    yield from manifest.notes
    if compared.problem:
        yield compared.problem


def _top_folder(path: str) -> str:
    """The top-level folder of a file."""
    return path.partition("/")[0] + "/" if "/" in path else "(top)"


def _described(entry: FileEntry) -> str:
    if entry.kind == "link":
        return f"{shown(entry.path)}  link to {shown(entry.target)}"
    if entry.kind != "file":
        return f"{shown(entry.path)}  {entry.kind}"
    run = "  executable" if entry.executable else ""
    told = f"sha256 {entry.sha256[:12]}" if entry.sha256 else f"not read {entry.problem}".rstrip()
    return f"{shown(entry.path)}  {entry.size:,} bytes  {told}{run}"


def _removed(workspace: Workspace, path: str) -> RunEntry:
    entry = workspace.before.manifest[path]
    text = file_text(workspace, entry, "before") if entry.kind == "file" else ""
    lines = "".join(f"\n-{line}" for line in text.splitlines())
    return RunEntry("file", f"deleted {shown(path)}{lines}", path=shown(path), sources=(text,))


def _beside(compared: _Compared, entry: FileEntry) -> RunEntry:
    """A file that was not requested.

    A failure to read it is reported: an agent could otherwise avoid its score this way.
    """
    try:
        return _file(compared, entry)
    except (WorkspaceError, MissingExtra) as error:
        name = shown(entry.path)
        return RunEntry("file", f"{compared.state(entry.path)} {name}\n⟨not readable: {error}⟩", path=name)


def _file(compared: _Compared, entry: FileEntry) -> RunEntry:
    """A file: its changes if it existed before, otherwise its whole content."""
    name, workspace = shown(entry.path), compared.workspace
    if entry.kind != "file":
        return RunEntry("file", _described(entry), path=name)
    text = file_text(workspace, entry)
    state = compared.state(entry.path)
    if state == "changed" and (old := workspace.before.manifest[entry.path]).kind == "file":
        before = file_text(workspace, old, "before")
        modes = "" if old.executable == entry.executable else f"executable: {entry.executable}".lower()
        told = "\n".join(filter(None, (f"changed {name}", modes, line_diff(before, text))))
        return RunEntry("file", told, path=name, sources=(text, before))
    return RunEntry("file", f"{state} {name}, whole:\n{text}", path=name, sources=(text,))
