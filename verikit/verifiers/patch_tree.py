"""Repositories as trees of files, what a candidate wrote for one, and which files it may not touch.

Tests, their configuration and what Python loads by itself are the row's: a candidate's changes to them are put back
before anything runs, and its new ones are left out.
"""

from __future__ import annotations

import json
import os
import re
import sys
import tarfile
from collections.abc import Mapping
from importlib.machinery import PathFinder
from itertools import pairwise
from pathlib import Path, PurePosixPath
from typing import Any

from verikit.numbers import distinct
from verikit.sandbox import paths
from verikit.verifiers.fences import fenced
from verikit.verifiers.unified_diff import DiffError, TreeFile, applied, inside, parse

Tree = Mapping[str, TreeFile]
MOST_FILES = 50_000
MOST_BYTES = 256 << 20
MOST_WRITTEN = 4 << 20
"""Of a candidate, in bytes."""
_LEFT_OUT = frozenset({".git", "__pycache__", ".tox", ".venv", "node_modules", ".pytest_cache", ".mypy_cache"})
CONFIGURES = frozenset(
    """conftest.py pytest.ini .pytest.ini pytest.toml .pytest.toml tox.ini setup.cfg pyproject.toml sitecustomize.py
    usercustomize.py jest.config.js jest.config.ts vitest.config.ts""".split()
)
"""What says how tests are run, wherever it lies."""
_TEST_FOLDERS = frozenset({"test", "tests", "testing", "__tests__"})
_TEST_FILE = re.compile(
    r"test_.*\.py|.*_tests?\.py|tests?\.py|.*_test\.(?:go|c|cc|cpp|rs)|.*Tests?\.(?:java|kt)|.*\.(?:test|spec)\.[cm]?[jt]sx?"
)
_LOADED = re.compile(r".*\.(?:pyc|pyo|pth)|.*\.(?:egg-info|dist-info|egg-link)")
"""What Python loads, or pytest finds plugins by, without being asked."""
_RUNNERS = frozenset({"pytest", "_pytest", "pluggy", "py", "iniconfig", "unittest", "doctest"})
SOURCES = ("src", "lib")
"""Folders, beside the top, that modules are imported from."""
_FENCE = re.compile(r"[ \t]{0,3}(?:`{3,}|~{3,})[ \t]*([^`\n]{0,500})")
_PATH = re.compile(r"(?:\./)?[\w.+-]+(?:/[\w.+-]+)*\.\w{1,10}")
_DIFFS = ("diff", "patch", "udiff")


def read_tree(where: str | Mapping[str, Any], root: str = "") -> dict[str, TreeFile]:
    """A repository: a folder, a tar archive (also compressed), or names with texts.

    Links that lead to a file of the tree are that file; others are left out, and so is git's own folder.

    Raises:
        ValueError: it can't be read, leads out of `root`, or is too large.
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
    except DiffError as problem:
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


def _archive(path: Path) -> dict[str, TreeFile]:
    """The regular files of an archive, below the one folder that all lie in, if there is one."""
    tree: dict[str, TreeFile] = {}
    size = 0
    with tarfile.open(path) as archive:
        for member in archive:
            size += member.size
            if size > MOST_BYTES or len(tree) > MOST_FILES:
                raise ValueError(f"a repository of more than {MOST_FILES} files or {MOST_BYTES >> 20} MiB")
            name = PurePosixPath(member.name)
            parts = [part for part in name.parts if part != "."]
            if not member.isfile() or name.is_absolute() or ".." in parts or _LEFT_OUT & set(parts):
                continue
            file = archive.extractfile(member)
            if file is not None and parts:
                tree["/".join(parts)] = TreeFile(file.read(), bool(member.mode & 0o100))
    tops = {name.partition("/")[0] for name in tree}
    if len(tops) == 1 and all("/" in name for name in tree):
        return {name.partition("/")[2]: file for name, file in tree.items()}
    return tree


def patched(tree: Tree, reply: str) -> dict[str, TreeFile]:
    """The tree with what a reply writes: a unified diff, or whole files, each in a block that names its path.

    Raises:
        DiffError: it writes neither, or it does not apply.
    """
    if len(reply) > MOST_WRITTEN:
        raise DiffError(f"longer than {MOST_WRITTEN} characters")
    blocks = [content for label, content in fenced(reply) if label in _DIFFS]
    if blocks or _is_diff(reply):
        text = "\n".join(blocks) if blocks else reply
        return applied(tree, parse(text if text.endswith("\n") else text + "\n"))
    files = _whole_files(reply)
    if not files:
        raise DiffError("neither a diff nor a file with its path in the completion")
    after = dict(tree)
    for name, text in files.items():
        parts = name.split("/")
        if any("/".join(parts[:n]) in after for n in range(1, len(parts))) or any(
            other.startswith(name + "/") for other in after
        ):
            raise DiffError(f"{name} lies where a file or a folder is")
        after[name] = TreeFile(text.encode("utf-8", "replace"), name in after and after[name].executable)
    return after


def _is_diff(text: str) -> bool:
    lines = text.split("\n")
    return any(line.startswith("diff --git ") for line in lines) or any(
        line.startswith("--- ") and after.startswith("+++ ") for line, after in pairwise(lines)
    )


def _whole_files(reply: str) -> dict[str, str]:
    """Files as JSON (`{"path": "text"}`), or in blocks whose fence or the line before names a path."""
    if reply.lstrip().startswith("{"):
        try:
            read = json.loads(reply, object_pairs_hook=distinct)
        except (ValueError, RecursionError):
            read = None
        if isinstance(read, dict) and read and all(isinstance(text, str) for text in read.values()):
            return {inside(name): text for name, text in read.items()}
    found: dict[str, str] = {}
    lines = reply.split("\n")
    blocks = iter(fenced(reply))
    inner = False
    for at, line in enumerate(lines):
        fence = _FENCE.fullmatch(line.rstrip())
        if fence is None:
            continue
        if inner and not fence[1].strip():
            inner = False
            continue
        block = next(blocks, None)
        if block is None:
            break
        inner = True
        heading = next((text for text in reversed(lines[max(0, at - 2) : at]) if text.strip()), "")
        named = _path_in(fence[1]) or _path_in(heading, alone=True)
        if named:
            found[inside(named)] = block[1] + "\n"
    return found


def _path_in(text: str, *, alone: bool = False) -> str:
    """The path among a fence's words; of a heading only if it is all that stands there."""
    words = [word for word in re.split(r"[ \t:=\"'`*#]+", text.strip()[:300]) if word]
    if alone:
        words = [word for word in words if word.lower() not in ("file", "path", "filename", "title")]
    found = [word for word in words if _PATH.fullmatch(word)]
    return found[-1] if found and (not alone or len(words) == 1) else ""


def protected(name: str, own: frozenset[str]) -> bool:
    """Whether a file belongs to the tests: named by the row, their configuration, or where tests lie."""
    parts = name.split("/")
    return (
        name in own or parts[-1] in CONFIGURES or bool(_TEST_FOLDERS.intersection(parts[:-1]))
        or _TEST_FILE.fullmatch(parts[-1]) is not None
        or any(part == "__pycache__" or _LOADED.fullmatch(part) for part in parts)
    )  # fmt: skip


def judged_tree(original: Tree, candidate: Tree, tests: Tree) -> tuple[dict[str, TreeFile], list[str]]:
    """The tree that is run, and which files of the candidate are not in it.

    Args:
        original: the repository.
        candidate: the same with what the candidate wrote.
        tests: the repository as the row's tests have it.
    """
    own = frozenset(name for name in {*tests, *original} if tests.get(name) != original.get(name))
    changed = [name for name in {*candidate, *original} if candidate.get(name) != original.get(name)]
    put_back = sorted(name for name in changed if protected(name, own) or _shadows(name, original))
    tree = {name: file for name, file in candidate.items() if name not in put_back}
    for name in {*put_back, *own}:
        if file := tests.get(name):
            tree[name] = file
        else:
            tree.pop(name, None)
    folders = {"/".join(name.split("/")[:n]) for name in tree for n in range(1, name.count("/") + 1)}
    if clash := folders & set(tree):
        raise DiffError(f"{min(clash)} is a file where the tests need a folder")
    return tree, put_back


def _shadows(name: str, original: Tree) -> bool:
    """Whether a new file would be imported instead of Python's own or an installed module."""
    parts = name.split("/")
    if parts[0] in SOURCES and len(parts) > 1:
        parts = parts[1:]
    if name in original or not name.endswith((".py", ".so")):
        return False
    above = name[: len(name) - len("/".join(parts))]
    top = parts[0].partition(".")[0]
    known = f"{above}{top}.py" in original or any(other.startswith(f"{above}{top}/") for other in original)
    return not known and (top in _RUNNERS or _is_installed(top))


def _is_installed(module: str) -> bool:
    return module in sys.stdlib_module_names or PathFinder.find_spec(module, paths.readable()) is not None
