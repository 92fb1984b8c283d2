"""The folder of a run called from Python: the caller's, or a scratch folder that is deleted with the run."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike, fspath
from pathlib import Path
from tempfile import mkdtemp
from typing import NamedTuple

from verikit.results.data import Data, as_path, is_path, keep_rows, write_rows


class CallFolder(NamedTuple):
    """The folder of a run."""

    path: Path
    scratch: Path | None
    """Folder to delete with the run, or None if the caller named a folder to keep."""

    def file(self, data: Data, name: str, restart: bool) -> str:
        """Return the path that a caller gave.

        Rows are written to a file next to or in the run's folder, whose path is returned.

        Raises:
            UsageError: These are not rows, or the folder was created from others.
        """
        if is_path(data):
            return as_path(data)
        if self.scratch is None:
            return str(keep_rows(data, self.path, name, restart))
        write_rows(data, self.scratch / name)
        return str(self.scratch / name)


@contextmanager
def run_folder(out: str | PathLike[str] | None, goes_on: str) -> Iterator[CallFolder]:
    """Yield the folder that a call writes to. If the call ends with an exception, a scratch folder is deleted.

    An interrupt reports where the finished part of the run is stored. `goes_on` names the call that resumes it.
    """
    scratch = Path(mkdtemp(prefix="verikit-")) if out is None else None
    path = Path(fspath(out)).expanduser() if out is not None else Path(scratch or "", "run")
    try:
        yield CallFolder(path, scratch)
    except BaseException as error:
        if scratch is not None:
            shutil.rmtree(scratch, ignore_errors=True)
        if isinstance(error, KeyboardInterrupt):
            kept = f"finished work is in {path}: {goes_on} resumes it"
            error.add_note("without `out`, nothing is saved" if scratch is not None else kept)
        raise
