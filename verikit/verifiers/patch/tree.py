"""Repositories as trees of files: read from a folder, an archive or a mapping, and written to in memory."""

from __future__ import annotations

import os
import tarfile
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

MOST_FILES = 50_000
MOST_BYTES = 256 << 20
MOST_WRITTEN = 4 << 20
"""Of a candidate, in bytes."""
MOST_READ = 256 << 20
"""Maximum size of files that the edits of one reply may read, in bytes plus 16 per line; many edits of a large
file take long."""
_UNSAFE = frozenset("\0\\")
_LEFT_OUT = frozenset({".git", "__pycache__", ".tox", ".venv", "node_modules", ".pytest_cache", ".mypy_cache"})


class PatchError(ValueError):
    """A patch can't be read, or does not apply; the message gives the reason."""


@dataclass(frozen=True, slots=True)
class TreeFile:
    """A file of a tree."""

    content: bytes
    executable: bool = False


Tree = Mapping[str, TreeFile]


def inside(path: str) -> str:
    """A path within the tree, in its plain form.

    Raises:
        PatchError: It leads out of the tree, or into git's own folder.
    """
    names = path.split("/")
    parts = [part for part in names if part not in ("", ".")]
    unsafe = path.startswith("/") or not _UNSAFE.isdisjoint(path) or ".." in names or len(path) > 1000
    if not parts or unsafe or ".git" in map(str.lower, parts) or max(map(len, parts)) > 255:
        raise PatchError(f"{path[:100]!r} is not a path within the repository")
    return "/".join(parts)


class Edited:
    """A tree while a reply's edits are applied to it, one by one; `files` is the tree so far."""

    def __init__(self, tree: Tree) -> None:
        self.files = dict(tree)
        self._read = 0
        self._folders = Counter(folder for name in tree for folder in folders_of(name))

    def read(self, name: str) -> TreeFile:
        """A file of the tree so far.

        Raises:
            PatchError: There is no such file, or the edits read too much.
        """
        if name not in self.files:
            raise PatchError(f"{name} does not exist")
        file = self.files[name]
        self._read += len(file.content) + 16 * file.content.count(b"\n")
        if self._read > MOST_READ:
            raise PatchError("the edits read too much: many edits of large files")
        return file

    def write(self, name: str, content: bytes, executable: bool | None = None) -> None:
        """Set a file's content; None leaves its mode unchanged.

        Raises:
            PatchError: A file exists at the path of a needed folder, or a folder at the file's path.
        """
        if self._folders[name] or any(folder in self.files for folder in folders_of(name)):
            raise PatchError(f"{name} conflicts with an existing file or folder")
        if executable is None:
            executable = name in self.files and self.files[name].executable
        if name not in self.files:
            self._folders.update(folders_of(name))
        self.files[name] = TreeFile(content, executable)

    def delete(self, name: str) -> None:
        """Delete a file.

        Raises:
            PatchError: There is no such file.
        """
        self.read(name)
        del self.files[name]
        self._folders.subtract(folders_of(name))


def folders_of(name: str) -> list[str]:
    """The folders that contain a path, the outermost first."""
    parts = name.split("/")[:-1]
    return ["/".join(parts[:n]) for n in range(1, len(parts) + 1)]


def read_tree(where: str | Mapping[str, Any], root: str = "") -> dict[str, TreeFile]:
    """A repository: a folder, a tar archive (optionally compressed), or names with contents.

    Links to a file of the tree are read as that file; other links and git's own folder are skipped.

    Raises:
        ValueError: It can't be read, leads out of `root`, or is too large.
    """
    if isinstance(where, Mapping):
        return _bounded({_name(name): TreeFile(str(text).encode()) for name, text in where.items()})
    path = Path(root, where).resolve()
    if root and not path.is_relative_to(Path(root).resolve()):
        raise ValueError(f"{where!r} leads out of {root}")
    try:
        if path.is_dir():
            return _bounded(_folder(path))
        return _bounded(_archive(path))
    except (OSError, tarfile.TarError, EOFError) as problem:
        raise ValueError(f"the repository {where!r} can't be read: {problem}") from None


def _name(name: str) -> str:
    try:
        return inside(str(name))
    except PatchError as problem:
        raise ValueError(str(problem)) from None


def _bounded(tree: dict[str, TreeFile]) -> dict[str, TreeFile]:
    if len(tree) > MOST_FILES or sum(len(file.content) for file in tree.values()) > MOST_BYTES:
        raise ValueError(f"a repository of more than {MOST_FILES} files or {MOST_BYTES >> 20} MiB")
    if not tree:
        raise ValueError("a repository without files")
    return tree


def _folder(top: Path) -> dict[str, TreeFile]:
    tree: dict[str, TreeFile] = {}
    size = 0
    for where, folders, names in os.walk(top):
        folders[:] = sorted(set(folders) - _LEFT_OUT)
        for name in sorted(names):
            path = Path(where, name)
            real = path.resolve()
            if real.is_file() and real.is_relative_to(top):
                size += real.stat().st_size
                if size > MOST_BYTES:
                    raise ValueError(f"a repository of more than {MOST_BYTES >> 20} MiB")
                content = TreeFile(real.read_bytes(), bool(real.stat().st_mode & 0o100))
                tree[path.relative_to(top).as_posix()] = content
        if len(tree) > MOST_FILES:
            break
    return tree


def _is_within(parts: Sequence[str]) -> bool:
    """Whether a path leads to a file that is included."""
    return bool(parts) and ".." not in parts and not _LEFT_OUT & set(parts)


def _archive(path: Path) -> dict[str, TreeFile]:
    """The regular files of an archive, below the one folder that contains them all, if there is one."""
    tree: dict[str, TreeFile] = {}
    size = 0
    with tarfile.open(path) as archive:
        for member in archive:
            size += member.size
            if size > MOST_BYTES or len(tree) > MOST_FILES:
                raise ValueError(f"a repository of more than {MOST_FILES} files or {MOST_BYTES >> 20} MiB")
            name = PurePosixPath(member.name)
            parts = [part for part in name.parts if part != "."]
            if not member.isfile() or name.is_absolute() or not _is_within(parts):
                continue
            file = archive.extractfile(member)
            if file is not None:
                tree["/".join(parts)] = TreeFile(file.read(), bool(member.mode & 0o100))
    return _below_one_folder(tree)


def _below_one_folder(tree: dict[str, TreeFile]) -> dict[str, TreeFile]:
    """The files below the one folder that contains them all; unchanged if there isn't one."""
    tops = {name.partition("/")[0] for name in tree}
    if len(tops) == 1 and all("/" in name for name in tree):
        return {name.partition("/")[2]: file for name, file in tree.items()}
    return tree
