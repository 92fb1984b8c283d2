"""The files of a search run: rows as `verikit sample` writes them, and a journal with the events of unfinished rows.

A row's events can't be recovered from the row. They stay in the journal until every row is written and none has failed.
"""

from __future__ import annotations

from verikit.sampling.core import SampledRow
from verikit.sampling.run import SampleFile
from verikit.types import JsonObject


class SearchFile(SampleFile):
    """OUT and its journal, open and locked. A context manager."""

    _failing = False

    def add(self, row: SampledRow) -> None:
        """Write a row."""
        super().add(row)
        self._failing = self._failing or bool(row.failed)

    def finish(self) -> None:
        """Reduce the journal to the plan, unless some row must be requested again."""
        if not self._failing:
            super().finish()

    def _put_back(self, row: JsonObject) -> None:
        """Do nothing, since the row's events are in the journal."""
