"""Paths of a workspace, and the folders that relative ones start in."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from verikit.verifiers.tools.commands import Word

MAX_FOLDERS = 8
MAX_PARTS = 64
"""Names in a folder's path at most. Deeper folders are unknown, since each name costs time."""
_UNNAMED = re.compile(r"[-+]|~$|~[-+0-9]|~.*\.\.", re.DOTALL)
"""Arguments of `cd` that do not show the folder."""
_SEARCHED = re.compile(r"(?!/|\.\.?(/|$)).", re.DOTALL)
"""Folders that `cd` looks for below `CDPATH` or `HOME`."""


@dataclass(frozen=True, slots=True)
class CurrentFolder:
    """A folder that a command may run in."""

    path: str | None
    """Relative in the workspace, absolute outside of it; None if the text does not show it."""
    doubted: bool = False
    """Whether the command only runs there if an earlier `cd` failed."""


Folders = frozenset[CurrentFolder]
UNKNOWN: Folders = frozenset({CurrentFolder(None)})
NONE: Folders = frozenset()


def normal(path: str) -> str:
    """A path without `.`, `..` and repeated slashes. POSIX keeps two at the start, and Linux treats them as one."""
    found = posixpath.normpath(path)
    return found[1:] if found.startswith("//") else found


def placed(path: str, cwd: str, root: str) -> str:
    """A path relative to the workspace's root; absolute if it is outside."""
    whole = normal(posixpath.join(root, cwd, path))
    base = normal(root)
    if whole == base:
        return "."
    return whole[len(base) :].lstrip("/") if whole.startswith(base.rstrip("/") + "/") else whole


def limited(folders: Folders) -> Folders:
    """The folders, or an unknown one instead of many. A folder is not doubted if it is also reached otherwise."""
    if len(folders) < 2:
        return folders
    sure = {folder.path for folder in folders if not folder.doubted}
    kept = frozenset(folder for folder in folders if not folder.doubted or folder.path not in sure)
    return kept if len(kept) <= MAX_FOLDERS else UNKNOWN


def doubted(folders: Folders) -> Folders:
    """The folders as those of a `cd` that failed."""
    return frozenset(replace(folder, doubted=True) for folder in folders)


def entered(here: Folders, arguments: Sequence[Word], root: str, *, searched: bool = False) -> Folders:
    """The folders after `cd` with these arguments; `searched`: whether `CDPATH` or another `HOME` may be set."""
    words = list(arguments)
    while len(words) > 1 and words[0].text in ("-L", "--"):
        words.pop(0)
    target = words[0] if len(words) == 1 else Word("", known=False)
    if not _shows_folder(target) or (searched and _SEARCHED.match(target.text)):
        return frozenset(replace(folder, path=None) for folder in here)
    return limited(frozenset(replace(folder, path=_below(folder.path, target.text, root)) for folder in here))


def _shows_folder(target: Word) -> bool:
    return target.known and not target.pattern and not _UNNAMED.match(target.text)


def _below(path: str | None, target: str, root: str) -> str | None:
    if target.startswith("~"):
        return "/" + target  # a folder outside
    if path is None and not target.startswith("/"):
        return None
    found = placed(target, path or "", root)
    return found if found.count("/") < MAX_PARTS else None


def surely_there(folders: Folders, root: str) -> bool:
    """Whether `cd` to these folders can't fail: the workspace and the folders around it, and `/tmp`."""
    base = normal(root)
    return all(
        folder.path in (".", "/", "/tmp") or (folder.path is not None and base.startswith(folder.path + "/"))
        for folder in folders
    )
