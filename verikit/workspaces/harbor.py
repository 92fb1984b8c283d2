"""Harbor's folders as workspaces (formats 0.20 to 0.26, schema 1.4): a trial's artifacts, a task's environment.

A trial's `artifacts/` contains the files that the agent left. Its `manifest.json` lists the paths that were collected
and those that could not be. An undeclared path was never collected, so it is unscored and not a 0.0. Rewards stored
in a trial are claims. Verifiers of files don't read them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from verikit.errors import WorkspaceError
from verikit.workspaces.atif import read_file, read_trajectory
from verikit.workspaces.config import parse_config
from verikit.workspaces.folder import FolderSource
from verikit.workspaces.limits import Limits
from verikit.workspaces.manifest import FileEntry, Manifest
from verikit.workspaces.names import has_wildcards, matches, parts
from verikit.workspaces.tree import Tree, TreeSource, with_folders
from verikit.workspaces.workspace import Workspace

ARTIFACTS, RECORD = "artifacts", "manifest.json"
HARMLESS = ("mkdir", "touch", "echo", "true", ":")
"""Programs of a `RUN` line that don't change the copied files."""


def trial_workspace(root: str, trial: Sequence[str], task: Sequence[str] | None = None) -> Workspace:
    """The workspace of a trial. If the task is known, its environment is `before`.

    Raises:
        WorkspaceError: The trial's record of collected paths, or the task, can't be read.
    """
    outputs, uncollected = _collected(root, trial)
    declared = () if task is None else _declared(root, task)
    known = {*outputs, *uncollected}
    for path in declared:
        if not any((one != "**" and matches(one, path)) or one == f"{path}/**" for one in known):
            uncollected[path] = "the task declares it, and the trial's record has nothing of it"
    return Workspace(
        FolderSource(root, (*trial, ARTIFACTS), frozenset((RECORD,))),
        None if task is None else CopiedSource(root, tuple(task)),
        outputs=outputs,
        trajectory=partial(read_trajectory, root, (*trial, "agent", "trajectory.json")),
        uncollected=uncollected,
        task=None if task is None else (root, tuple(task)),
    )


def _collected(root: str, trial: Sequence[str]) -> tuple[list[str], dict[str, str]]:
    """The patterns that Harbor collected, and the paths that it could not collect."""
    try:
        record = json.loads(read_file(root, (*trial, ARTIFACTS, RECORD)))
    except (ValueError, RecursionError):
        raise WorkspaceError("the trial's record of its artifacts is not JSON") from None
    if not isinstance(record, list) or not all(isinstance(entry, Mapping) for entry in record):
        raise WorkspaceError("the trial's record of its artifacts is not a list of entries")
    outputs: list[str] = []
    uncollected: dict[str, str] = {}
    for entry in record:
        names = parts(str(entry.get("destination", "")))
        if not names or names[0] != ARTIFACTS:
            raise WorkspaceError("the trial's record of its artifacts names a place outside of them")
        path = "/".join(names[1:])
        pattern = f"{path}/**".lstrip("/") if entry.get("type") == "directory" else path
        if entry.get("status") in ("ok", "empty"):
            outputs.append(pattern)
        else:
            uncollected[pattern] = f"Harbor's collection has the status {entry.get('status')!r}"
    return outputs, uncollected


def task_config(root: str, task: Sequence[str]) -> Mapping[str, Any]:
    """A task's `task.toml`.

    Raises:
        WorkspaceError: It is not there, or no TOML.
    """
    try:
        return parse_config(read_file(root, (*task, "task.toml")))
    except ValueError as error:
        raise WorkspaceError(f"the task's task.toml can't be read: {error}"[:200]) from None


def _declared(root: str, task: Sequence[str]) -> list[str]:
    """The paths that a task and its steps declare as outputs, as they appear in a trial."""
    config = task_config(root, task)
    holders = [config, *(step for step in config.get("steps") or () if isinstance(step, Mapping))]
    told = [one for holder in holders for one in holder.get("artifacts") or ()]
    found = []
    for one in told:
        source = one if isinstance(one, str) else one.get("destination") or one.get("source")
        names = parts(str(source).lstrip("/"))
        if names is None:
            raise WorkspaceError(f"the task declares the artifact {source!r}, which leaves its folder")
        found.append("/".join(names))
    return found


@dataclass(frozen=True, slots=True)
class CopiedSource(TreeSource):
    """The files of a task's `environment/`, at the paths that its Dockerfile copies them to."""

    root: str
    task: tuple[str, ...]

    def open(self, limits: Limits) -> Tree:
        """Read them.

        Raises:
            WorkspaceError: There is no Dockerfile, a line of it can't be read, or files can't be.
        """
        environment = (*self.task, "environment")
        tree = FolderSource(self.root, environment).open(limits)
        text = read_file(self.root, (*environment, "Dockerfile")).decode(errors="replace")
        return MovedTree(tree, *placed_files(tree.manifest, text))


class MovedTree(Tree):
    """A tree whose files have other paths."""

    def __init__(self, tree: Tree, places: Mapping[str, str], unknown: str) -> None:
        moved = [replace(tree.manifest[origin], path=path) for path, origin in places.items()]
        super().__init__(Manifest(with_folders(moved)))
        self.unknown = unknown
        self._tree, self._places = tree, places

    def read(self, entry: FileEntry) -> bytes:
        """The bytes of a file.

        Raises:
            OSError: They can't be read.
        """
        return self._tree.read(self._tree.manifest[self._places[entry.path]])


def placed_files(manifest: Mapping[str, FileEntry], dockerfile: str) -> tuple[dict[str, str], str]:
    """The destinations of files that the `COPY` lines of a Dockerfile copy from its folder.

    Returns:
        A mapping of paths in the image to paths in the Dockerfile's folder, and why the image has other files ("" if it
        has none).
    """
    places: dict[str, str] = {}
    copies, unknown = _copies(dockerfile)
    for sources, target in copies:
        for source in sources:
            places.update(_placed(manifest, source, target, several=len(sources) > 1))
    return places, unknown


def _placed(manifest: Mapping[str, FileEntry], source: str, target: str, *, several: bool) -> Iterator[tuple[str, str]]:
    """The files that a `COPY` copies from one of its sources, each as its new path and its current path."""
    names = parts(source.lstrip("/")) or []
    path = "/".join(names)
    inside = parts(target.lstrip("/")) or []
    entry = manifest.get(path)
    if path and entry is not None and entry.kind != "folder":
        into = [*inside, names[-1]] if several or target.endswith("/") else inside
        yield "/".join(into), path
        return
    for below, found in manifest.items():
        if found.kind != "folder" and (not path or below.startswith(f"{path}/")):
            yield "/".join([*inside, below[len(path) + 1 if path else 0 :]]), below


def _copies(text: str) -> tuple[list[tuple[list[str], str]], str]:
    """The `COPY` lines of a Dockerfile as (sources, target), and why they don't list all files of the image."""
    copies: list[tuple[list[str], str]] = []
    workdir, unknown = "/", ""
    for line in text.replace("\\\n", " ").splitlines():
        word, _, rest = line.strip().partition(" ")
        rest = rest.strip()
        if word.upper() == "WORKDIR":
            workdir = _from(workdir, rest)
        elif word.upper() == "COPY":
            copied = _copied(rest)
            if copied:
                copies.append((copied[0], _target(workdir, copied[1])))
            else:
                unknown = unknown or f"its Dockerfile has {line.strip()[:80]!r}"
        elif word.upper() == "ADD" or (word.upper() == "RUN" and not _harmless(rest)):
            unknown = unknown or f"its Dockerfile has {line.strip()[:80]!r}"
    return copies, unknown


def _target(workdir: str, path: str) -> str:
    """The destination of a `COPY`, ending in `/` if it is the working directory, which is a folder."""
    target = _from(workdir, path)
    is_folder = parts(target.lstrip("/")) == parts(workdir.lstrip("/"))
    return f"{target}/" if is_folder and not target.endswith("/") else target


def _from(workdir: str, path: str) -> str:
    return path if path.startswith("/") else f"{workdir.rstrip('/')}/{path}"


def _copied(rest: str) -> tuple[list[str], str] | None:
    """The sources and the target of a `COPY`; None if it copies from another image or can't be parsed."""
    try:
        told = json.loads(rest) if rest.startswith("[") else rest.split()
    except ValueError:
        return None
    named = [str(one) for one in told if not str(one).startswith("--")]
    from_image = any(str(one).startswith("--from") for one in told)
    if from_image or any(has_wildcards(one) or "$" in one for one in named) or len(named) < 2:
        return None
    return named[:-1], named[-1]


def _harmless(command: str) -> bool:
    """Whether a `RUN` line changes no file that was copied."""
    if any(mark in command for mark in "$`<>|(){}\n"):
        return False
    runs = [run.split() for run in command.replace("&&", ";").split(";")]
    return all(run[0] in HARMLESS for run in runs if run)
