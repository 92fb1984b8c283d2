"""Shared code of all kinds of finished runs in Python."""

from __future__ import annotations

import math
import shutil
import weakref
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from functools import cached_property
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from verikit.errors import UsageError, VerikitError
from verikit.report import Options, report
from verikit.report.kinds import collect, read_json
from verikit.report.model import Chart, Run, Table
from verikit.results.columns import to_dataset, to_pandas, to_polars
from verikit.results.folders import CallFolder
from verikit.results.html import render
from verikit.stats import Estimate

if TYPE_CHECKING:
    import datasets
    import pandas
    import polars

CHARTS = 2
"""Number of charts that a notebook shows of a run. Its report has all of them."""


class FinishedRun(ABC):
    """A finished run: its summary, its records as data frames, and its display in a notebook.

    `print(run)` shows the command's output. A notebook shows tables and pictures. Everything is read from the run's
    folder on demand, so a run of a million rows uses no more memory than its summary.
    """

    def __init__(self, held: CallFolder, notes: list[str] | None = None) -> None:
        self._path = held.path
        self._kept = held.scratch is None
        self.notes: list[str] = notes or []
        """Notes for the user on how the run was made."""
        if held.scratch is not None:
            weakref.finalize(self, shutil.rmtree, held.scratch, ignore_errors=True)

    @property
    def folder(self) -> Path | None:
        """The run's folder, or None if it was called without `out` and nothing is stored."""
        return self._path if self._kept else None

    @property
    def path(self) -> Path:
        """Location of the run's files during the lifetime of this object."""
        return self._path

    @property
    def config(self) -> Mapping[str, Any]:
        """All settings that determined the result, as in config.json."""
        return self._json("config.json")

    @property
    @abstractmethod
    def summary(self) -> Mapping[str, Any]:
        """The run's results, as in its folder."""

    @abstractmethod
    def lines(self) -> Iterator[str]:
        """Yield the lines that the command prints for the run."""

    @abstractmethod
    def records(self) -> Iterator[dict[str, Any]]:
        """Yield the rows of the run's data frame, one by one."""

    def to_pandas(self) -> pandas.DataFrame:
        """Return the run's records as a pandas data frame.

        Raises:
            MissingExtra: pandas is not installed.
        """
        return to_pandas(self.records())

    def to_polars(self) -> polars.DataFrame:
        """Return the run's records as a polars data frame.

        Raises:
            MissingExtra: polars is not installed.
        """
        return to_polars(self.records())

    def to_dataset(self) -> datasets.Dataset:
        """Return the run's records as a dataset of the package datasets.

        Raises:
            MissingExtra: It is not installed.
        """
        return to_dataset(self.records())

    def report(self, path: str | PathLike[str]) -> Path:
        """Write the run's report, one HTML page with every sample, and return its path.

        Raises:
            VerikitError: It can't be written.
        """
        return _write(Path(fspath(path)).expanduser(), report([self._path], Options()))

    def save(self, folder: str | PathLike[str]) -> Path:
        """Copy the run into a folder, for `verikit report` and `verikit compare`, and return the folder's path.

        Raises:
            UsageError: The folder is not empty.
        """
        path = Path(fspath(folder)).expanduser()
        if path.exists() and (not path.is_dir() or any(path.iterdir())):
            raise UsageError(f"{path} is not empty", hint="give a new folder")
        try:
            shutil.copytree(self._path, path, dirs_exist_ok=True, ignore=shutil.ignore_patterns(".lock"))
        except OSError as error:
            raise VerikitError(f"can't write {path}: {error.strerror}") from None
        return path

    def __repr__(self) -> str:
        """Return the command's output, without colours."""
        notes = (f"  note: {note}" for note in self.notes)
        where = [f"  in {self._path}"] if self._kept else []
        return click.unstyle("\n".join([*self.lines(), *notes, *where]))

    def _repr_html_(self) -> str:
        """Return tables and pictures for a notebook. All model output is escaped."""
        page = self._page
        charts = [chart for chart in page.charts if not chart.more]
        return render(page, self._tables(page), self._charts(charts), self.notes, self.folder)

    @cached_property
    def _page(self) -> Run:
        """The run as its report shows it, without its samples."""
        page = collect(self._path, Options())
        page.items = []
        page.notices = [note for note in page.notices if not note.startswith("the samples below")]
        return page

    def _tables(self, page: Run) -> list[Table]:
        """The tables that a notebook shows."""
        return [table for table in page.tables if not table.more]

    def _charts(self, charts: list[Chart]) -> list[Chart]:
        """Return the charts that a notebook shows, chosen from those that the report shows by default."""
        return charts[:CHARTS]

    def _json(self, name: str) -> Mapping[str, Any]:
        found: Mapping[str, Any] = read_json(self._path, name)
        return found


def estimate_of(row: Mapping[str, Any]) -> Estimate:
    """Read an estimate from a file, where an infinite bound is null."""
    low, high = (-math.inf if row["low"] is None else row["low"]), (math.inf if row["high"] is None else row["high"])
    return Estimate(**{**row, "low": low, "high": high})


def _write(path: Path, content: bytes) -> Path:
    try:
        path.write_bytes(content)
    except OSError as error:
        raise VerikitError(f"can't write {path}: {error.strerror}") from None
    return path
