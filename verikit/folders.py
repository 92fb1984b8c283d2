"""Folders that somebody else may have made (runs, indexes) are data: no link in them leads out, none names code to run.

Code is named on the command line or in Python. Settings that come from a folder may name only what stands there too.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from verikit.errors import SpecError, UsageError

_trusted: frozenset[str] | None = None
"""Names of code that may be imported; None: any."""


def refuse_links(folder: Path) -> None:
    """Refuse a folder with a link that leads out of it, or with what is neither file nor folder (a pipe, a device).

    The folder itself may be a link: its caller named it. One that is not there holds nothing.

    Raises:
        UsageError: names the first such thing.
    """
    root = folder.resolve()
    for at, folders, files in os.walk(root):
        for name in (*folders, *files):
            path = Path(at, name)
            try:
                mode = path.lstat().st_mode
                leads = path.resolve() if stat.S_ISLNK(mode) else None
            except FileNotFoundError:
                continue  # another process took it away
            except (OSError, RuntimeError) as error:  # a link to itself
                raise UsageError(f"{path} can't be followed: {error}", hint="delete it") from None
            if leads is not None and not leads.is_relative_to(root):
                raise UsageError(
                    f"{path} is a link that leads out of its folder, to {leads}",
                    hint="a run's or index's folder holds its own files only: put a copy in the link's place",
                )
            if leads is None and not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
                raise UsageError(f"{path} is neither a file nor a folder", hint="delete it")


@contextmanager
def code_only_from(names: Iterable[str]) -> Iterator[None]:
    """Within this block, in every thread, import only the code that `names` name: settings come from a folder."""
    global _trusted
    before, _trusted = _trusted, frozenset(names)
    try:
        yield
    finally:
        _trusted = before


def check_code(name: str) -> None:
    """Refuse to import code that only a folder names.

    Raises:
        SpecError: it is such code.
    """
    if _trusted is not None and name not in _trusted:
        raise SpecError(
            f"the folder's settings name the code {name!r}, and a folder may come from anybody",
            hint="to run it, name it on the command line: --set KEY=" + name,
        )
