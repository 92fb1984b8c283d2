"""A Harbor task folder as the audit reads it: a manifest, contents by path, the configuration and its steps.

Files of the folder are never imported or run. Links are not followed, and fifos and devices are not opened.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import PurePosixPath
from typing import Any

from verikit.errors import WorkspaceError
from verikit.workspaces.config import MAX_CONFIG, parse_config
from verikit.workspaces.folder import FolderSource
from verikit.workspaces.limits import Limits
from verikit.workspaces.names import shown
from verikit.workspaces.tree import Tree

CONFIG = "task.toml"
LIMITS = Limits(mb=64, total_mb=4096, entries=100_000)
"""Longer files are listed and not read. A task beyond the other limits is an error."""
MAX_TEXT = 2**21
"""Bytes of any other file that are read as text."""
MAX_DEPTH = 6
"""Folders between the audited folder and a task."""


@dataclass(frozen=True, slots=True)
class TaskPart:
    """A task's only step, or one of its `[[steps]]`."""

    name: str
    """The step's name; "" for a task without steps."""
    instruction: str
    """The path of the instruction."""
    tests: tuple[str, ...]
    """Folders that are copied to /tests, in this order."""
    solutions: tuple[str, ...]
    verifier: Mapping[str, Any]
    """The step's `[verifier]`, above the task's."""
    separate: bool
    """Whether it is graded in a separate box."""
    artifacts: tuple[Any, ...]
    """Declared artifacts of the task and of the step."""


@dataclass(eq=False)
class AuditedTask:
    """A task folder."""

    root: str
    within: tuple[str, ...]
    tree: Tree
    _texts: dict[str, str | None] = field(default_factory=dict)

    @classmethod
    def open(cls, root: str, within: tuple[str, ...]) -> AuditedTask:
        """List and hash a task's files.

        Raises:
            WorkspaceError: The folder can't be read, changes meanwhile or is over a limit.
        """
        return cls(root, within, FolderSource(root, within).open(LIMITS))

    @property
    def name(self) -> str:
        """The task's path within the audited folder."""
        return shown("/".join(self.within)) if self.within else "."

    def text(self, path: str) -> str | None:
        """The text of a file; None if there is no such file or it can't be read as one."""
        if path not in self._texts:
            self._texts[path] = self._read(path)
        return self._texts[path]

    def _read(self, path: str) -> str | None:
        data = self.data(path)
        return None if data is None or b"\0" in data[:4096] else data.decode("utf-8", "replace")

    def data(self, path: str) -> bytes | None:
        """The first `MAX_TEXT` bytes of a file; None if it doesn't exist or was too large to be hashed.

        Raises:
            WorkspaceError: The file changed since it was hashed.
        """
        entry = self.tree.manifest.get(path)
        if entry is None or entry.kind != "file" or not entry.sha256:
            return None
        return self.tree.content(entry)[:MAX_TEXT]

    def files(self, folder: str = "") -> Iterator[str]:
        """Paths of files below a folder of the task."""
        for path, entry in self.tree.manifest.items():
            if entry.kind == "file" and (not folder or path.startswith(f"{folder}/")):
                yield path

    def unread(self, folder: str) -> list[str]:
        """Files below a folder that are too large to be read, or that can't be."""
        return [
            path
            for path in self.files(folder)
            if not self.tree.manifest[path].sha256 or self.tree.manifest[path].size > MAX_TEXT
        ]

    @cached_property
    def config(self) -> Mapping[str, Any]:
        """The content of `task.toml`.

        Raises:
            WorkspaceError: It can't be read.
        """
        entry = self.tree.manifest.get(CONFIG)
        if entry is None or entry.kind != "file":
            raise WorkspaceError(f"{CONFIG} is not a file")
        if entry.size > MAX_CONFIG:
            raise WorkspaceError(f"{CONFIG} is larger than {MAX_CONFIG >> 10} KiB")
        try:
            return parse_config(self.data(CONFIG) or b"")
        except ValueError as error:
            raise WorkspaceError(f"{CONFIG} can't be read: {error}"[:200]) from None

    @cached_property
    def parts(self) -> list[TaskPart]:
        """The steps of the task."""
        own = table(self.config, "verifier")
        shared = tuple(_list(self.config.get("artifacts")))
        steps = [step for step in _list(self.config.get("steps")) if isinstance(step, Mapping)]
        if not steps:
            return [TaskPart("", "instruction.md", ("tests",), ("solution",), own, _is_separate(own), shared)]
        found = []
        for step in steps:
            name = str(step.get("name", ""))
            at, verifier = f"steps/{name}", table(step, "verifier")
            found.append(
                TaskPart(
                    name,
                    f"{at}/instruction.md",
                    ("tests", f"{at}/tests"),
                    (f"{at}/solution", "solution"),
                    {**own, **verifier},
                    _is_separate(verifier) if _names_box(verifier) else _is_separate(own),
                    (*shared, *_list(step.get("artifacts"))),
                )
            )
        return found

    def script(self, folders: Sequence[str], name: str = "test.sh") -> str | None:
        """The path of the script that Harbor runs: the last folder's, otherwise an earlier one's."""
        paths = [f"{folder}/{name}" for folder in reversed(folders)]
        return next((path for path in paths if self.text(path) is not None), None)

    def verifier_image(self, part: TaskPart) -> str | None:
        """The Dockerfile of the box that grades; None for a prebuilt image, or one of several services."""
        environment = part.verifier.get("environment")
        if isinstance(environment, Mapping) and environment.get("docker_image"):
            return None
        for folder in reversed(part.tests):
            if self.text(f"{folder}/docker-compose.yaml") is not None:
                return None
            if self.text(f"{folder}/Dockerfile") is not None:
                return f"{folder}/Dockerfile"
        own = table(self.config, "environment")
        if own.get("docker_image") or self.text("environment/docker-compose.yaml") is not None:
            return None
        return "environment/Dockerfile" if self.text("environment/Dockerfile") is not None else None


def table(holder: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """A table of a table, or an empty one if the value is not a table."""
    found = holder.get(name)
    return found if isinstance(found, Mapping) else {}


def _names_box(verifier: Mapping[str, Any]) -> bool:
    return verifier.get("environment_mode") is not None or verifier.get("environment") is not None


def _is_separate(verifier: Mapping[str, Any]) -> bool:
    mode = verifier.get("environment_mode")
    return mode == "separate" if mode is not None else verifier.get("environment") is not None


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def task_folders(root: str) -> Iterator[tuple[str, ...]]:
    """The task folders below a folder, in the order of their names. Links are not followed.

    A task contains no tasks: the search doesn't descend below a `task.toml`.

    Raises:
        OSError: The folder can't be listed.
    """
    waiting: list[tuple[str, ...]] = [()]
    while waiting:
        within = waiting.pop()
        at = os.path.join(root, *within)
        try:
            with os.scandir(at) as listing:
                entries = sorted(listing, key=lambda entry: os.fsencode(entry.name))
        except OSError:
            if not within:
                raise
            continue
        if any(entry.name == CONFIG and not entry.is_dir(follow_symlinks=False) for entry in entries):
            yield within
        elif len(within) < MAX_DEPTH:
            folders = [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]
            waiting += [(*within, name) for name in reversed(folders) if name != ".git"]


def joined(workdir: str, path: str) -> str:
    """An absolute path in an image, without `.` and `..`."""
    names: list[str] = []
    for name in PurePosixPath(path if path.startswith("/") else f"{workdir}/{path}").parts:
        if name == "..":
            names = names[:-1]
        elif name not in ("/", "//", "."):
            names.append(name)
    return "/" + "/".join(names)
