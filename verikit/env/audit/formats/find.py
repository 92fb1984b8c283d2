"""Environments below a folder, each with its format. Nothing of them is imported."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from verikit.env.audit.task import CONFIG, MAX_DEPTH
from verikit.errors import UsageError
from verikit.workspaces.beneath import open_within

FORMATS = ("harbor", "openenv", "verifiers", "nemo-gym", "rows")
MAX_HEAD = 2**18
"""Bytes of a file that are read to detect its format."""
MAX_MODULES = 30
"""Python files of a package that are read to detect its format."""
_VERIFIERS = re.compile(r"\bload_environment\b|^[ \t]*(?:import|from)[ \t]+verifiers\b", re.MULTILINE)
_SERVER = re.compile(r"\bSimpleResourcesServer\b|\bnemo_gym\.base_resources_server\b")
_SERVER_CONFIG = re.compile(r"^[ \t]*resources_servers:[ \t]*(?:#.*)?$", re.MULTILINE)
_ROW = re.compile(r'"workspace"\s{0,20}:')


@dataclass(frozen=True, slots=True)
class FoundEnv:
    """A folder that is an environment."""

    within: tuple[str, ...]
    """The names on its path."""
    marks: tuple[tuple[str, str], ...]
    """Each format that it may have, with the file that shows it."""
    file: str = ""
    """The only file of rows that is read. Empty: all files of the folder."""
    spec: str = ""
    """The spec that grades rows instead of their own checks."""

    @property
    def format(self) -> str:
        """The format; several of them joined if the folder is ambiguous."""
        return " or ".join(name for name, _ in self.marks)

    @property
    def doubt(self) -> str:
        """Why the format is not clear; empty if it is."""
        if len(self.marks) < 2:
            return ""
        told = " and ".join(f"{name} ({mark})" for name, mark in self.marks)
        return f"the format is ambiguous: {told}"


def found_environments(root: str, only: str = "") -> list[FoundEnv]:
    """The environments below a folder, in the order of their names. Links are not followed.

    An environment has no environments below it. Rows are an environment only if the folder has no other one.

    Args:
        root: The folder.
        only: The one format to look for. Empty: each of them.

    Raises:
        OSError: The folder can't be listed.
    """
    found: list[FoundEnv] = []
    rows: list[FoundEnv] = []
    for within, files, folders in _walk(root, found):
        marks = [mark for mark in _marks(root, within, files, folders) if only in ("", mark[0])]
        strong = [mark for mark in marks if mark[0] != "rows"]
        if strong:
            found.append(FoundEnv(within, tuple(marks)))
        elif marks:
            rows.append(FoundEnv(within, tuple(marks)))
    return found or rows


def rows_file(path: str) -> tuple[str, FoundEnv]:
    """A file of rows as an environment, with the folder that its paths are relative to.

    Raises:
        UsageError: It is not such a file.
    """
    folder, name = os.path.split(os.path.abspath(path))
    if not _has_rows(folder, (), name):
        raise UsageError(f"{path} is not a file of rows with workspaces", hint="each line is an object with workspace")
    return folder, FoundEnv((), (("rows", name),), name)


def _walk(root: str, found: list[FoundEnv]) -> Iterator[tuple[tuple[str, ...], list[str], list[str]]]:
    """Each folder with its files and folders. The folders below a found environment are passed over."""
    waiting: list[tuple[str, ...]] = [()]
    while waiting:
        within = waiting.pop()
        try:
            with os.scandir(os.path.join(root, *within)) as listing:
                entries = sorted(listing, key=lambda entry: os.fsencode(entry.name))
        except OSError:
            if not within:
                raise
            continue
        folders = [entry.name for entry in entries if entry.is_dir(follow_symlinks=False) and entry.name != ".git"]
        files = [entry.name for entry in entries if not entry.is_dir(follow_symlinks=False)]
        yield within, files, folders
        if len(within) < MAX_DEPTH and not (found and found[-1].within == within):
            waiting += [(*within, name) for name in reversed(folders)]


def _marks(root: str, within: tuple[str, ...], files: list[str], folders: list[str]) -> Iterator[tuple[str, str]]:
    """The formats that a folder may have, each with the file that shows it."""
    if CONFIG in files:
        yield "harbor", CONFIG
    for name in ("openenv.yaml", "openenv.yml"):
        if name in files:
            yield "openenv", name
            break
    if "pyproject.toml" in files:
        module = _first(root, within, _modules(root, within, files, folders), _VERIFIERS)
        if module:
            yield "verifiers", f"pyproject.toml and {module}"
    server = _server(root, within, files, folders)
    if server:
        yield "nemo-gym", server
    rows = next((name for name in files if name.endswith(".jsonl") and _has_rows(root, within, name)), None)
    if rows:
        yield "rows", rows


def _server(root: str, within: tuple[str, ...], files: list[str], folders: list[str]) -> str:
    """The file that identifies a resources server of NeMo-Gym, or ""."""
    server = _first(root, within, ["app.py"] if "app.py" in files else [], _SERVER)
    if server or "configs" not in folders:
        return server
    names = _listed(root, (*within, "configs"))
    configs = [f"configs/{name}" for name in names if name.endswith((".yaml", ".yml"))]
    return _first(root, within, configs, _SERVER_CONFIG)


def _modules(root: str, within: tuple[str, ...], files: list[str], folders: list[str]) -> list[str]:
    """Python files of a project: next to its pyproject.toml, and in the packages there or in src."""
    found = [name for name in files if name.endswith(".py")]
    sources = [f"src/{name}" for name in _listed(root, (*within, "src"))] if "src" in folders else []
    for folder in [*folders, *sources]:
        if not folder.startswith((".", "tests")) and len(found) <= MAX_MODULES:
            found += _package(root, within, folder)
    return found[:MAX_MODULES]


def _package(root: str, within: tuple[str, ...], folder: str) -> list[str]:
    """The Python files of a folder that is a package; none of any other."""
    names = _listed(root, (*within, *folder.split("/")))
    return [f"{folder}/{name}" for name in names if name.endswith(".py")] if "__init__.py" in names else []


def _listed(root: str, within: tuple[str, ...]) -> list[str]:
    try:
        return sorted(os.listdir(os.path.join(root, *within)))
    except OSError:
        return []


def _first(root: str, within: tuple[str, ...], paths: Iterable[str], pattern: re.Pattern[str]) -> str:
    """The first of these files whose text matches, or ""."""
    return next((path for path in paths if pattern.search(_head(root, (*within, *path.split("/"))))), "")


def _has_rows(root: str, within: tuple[str, ...], name: str) -> bool:
    lines = _head(root, (*within, name)).split("\n", 3)[:3]
    return any(line.lstrip().startswith("{") and _ROW.search(line) is not None for line in lines)


def _head(root: str, names: tuple[str, ...]) -> str:
    """The first bytes of a regular file; empty for anything else."""
    try:
        opened = open_within(root, names)
    except OSError:
        return ""
    with os.fdopen(opened, "rb") as stream:
        if not stat.S_ISREG(os.fstat(opened).st_mode):
            return ""
        return stream.read(MAX_HEAD).decode("utf-8", "replace")
