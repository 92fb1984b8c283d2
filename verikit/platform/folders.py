"""Folders from other people (runs, indexes) are untrusted data: their links must not lead out, nor may they name code.

Code is named on the command line or in Python. Settings from a folder may only name code that is named there too.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path

from verikit.errors import SpecError, UsageError, nearest

TRACKER_FOLDERS = frozenset(("wandb",))
"""Folders of a run that a tracker's package writes and verikit does not read. W&B links its logs to its cache."""
_LISTED = 1000
"""Entries of a folder that `nearest_path` compares."""
_trusted: frozenset[str] | None = None
"""Names of code that may be imported. None: any."""


def _by_setting(name: str) -> str:
    return f"--set KEY={name}"


_option: Callable[[str], str] = _by_setting
"""Maps the name of code to the option that names it on the command line."""


def _check_entry(path: Path, root: Path) -> None:
    """Raise if an entry of a folder is a link out of it, or neither a file nor a folder."""
    try:
        mode = path.lstat().st_mode
        leads = path.resolve() if stat.S_ISLNK(mode) else None
    except FileNotFoundError:
        return  # another process removed it
    except (OSError, RuntimeError) as error:  # a link to itself
        raise UsageError(f"{path} can't be followed: {error}", hint="delete it") from None
    if leads is not None and not leads.is_relative_to(root):
        raise UsageError(
            f"{path} is a link that leads out of its folder, to {leads}",
            hint="a run or index folder must contain its own files: replace the link with a copy",
        )
    if leads is None and not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        raise UsageError(f"{path} must be a file or a folder", hint="delete it")


def refuse_links(folder: Path) -> None:
    """Check a folder for links that lead out of it, and for entries other than files and folders (a pipe, a device).

    The folder itself may be a link, because its caller named it. A missing folder is treated as empty. The content of
    `TRACKER_FOLDERS` is not checked, but such a folder must not be a link itself.

    Raises:
        UsageError: There is such an entry. The error names the first.
    """
    root = folder.resolve()
    for at, folders, files in os.walk(root):
        for name in (*folders, *files):
            _check_entry(Path(at, name), root)
        if at == str(root):
            folders[:] = [name for name in folders if name not in TRACKER_FOLDERS]


@contextmanager
def code_only_from(names: Iterable[str], option: Callable[[str], str] = _by_setting) -> Iterator[None]:
    """Within this block, in every thread, import only the code that `names` lists, because settings come from a folder.

    Args:
        names: Code that the caller named.
        option: Maps the name of other code to the option that allows it, for the hint.
    """
    global _trusted, _option
    before = _trusted, _option
    _trusted, _option = frozenset(names), option
    try:
        yield
    finally:
        _trusted, _option = before


def check_code(name: str) -> None:
    """Check that code to import is not named only by a folder.

    Raises:
        SpecError: It is.
    """
    if _trusted is not None and name not in _trusted:
        raise SpecError(
            f"the folder's settings name the code {name!r}, and the folder may not be trustworthy",
            hint=f"to run it, name it on the command line: {_option(name)}",
        )


def nearest_path(path: str | Path, otherwise: str) -> str:
    """Return the hint for a path that does not exist: up to three similar names in its folder, or `otherwise`."""
    missing = Path(path)
    try:
        with os.scandir(missing.parent) as entries:
            names = [entry.name for entry in islice(entries, _LISTED)]
    except (OSError, ValueError):
        return otherwise
    return nearest(missing.name, (name for name in names if name != missing.name), otherwise)
