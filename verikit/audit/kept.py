"""Stores the scores of patches in an audit's folder as they arrive, so that an interrupted run can resume."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Self

from verikit.errors import SchemaError
from verikit.scoring.folder import Folder
from verikit.scoring.rows import from_row, to_line, to_row
from verikit.types import Score

PATCHES = ".patches"
"""The folder of kept scores in an audit's folder."""
_SCORES = "scores.jsonl"


class KeptScores:
    """Scores by key, in memory and, with a folder, on disk; a context manager.

    Raises:
        UsageError: The folder can't be written, another run has it open, or its files are damaged.
    """

    def __init__(self, audit: Path | None = None, *, restart: bool = False) -> None:
        self._folder: Folder | None = Folder(audit / PATCHES, (_SCORES,)) if audit else None
        self._restart: bool = restart
        self._scores: dict[str, Score] = {}

    def __enter__(self) -> Self:
        if self._folder:
            self._folder.__enter__()
            try:
                self._read(self._folder)
            except BaseException:
                self._folder.__exit__()
                raise
        return self

    def __exit__(self, *exception: object) -> None:
        if self._folder:
            self._folder.__exit__(*exception)

    def get(self, key: str) -> Score | None:
        """Return the score stored under a key."""
        return self._scores.get(key)

    def add(self, key: str, score: Score) -> None:
        """Store a score.

        Raises:
            VerikitError: The disk is full or missing. Scores stored earlier are kept.
        """
        self._scores[key] = score
        if self._folder:
            row = {"key": key, **to_row(Score(score.value, score.status, reason=score.reason))}
            self._folder.append({_SCORES: to_line(row)}, len(self._scores))

    def _read(self, folder: Folder) -> None:
        if self._restart:
            folder.clear()
        folder.recover()
        path = folder.path / _SCORES
        for number, line in enumerate(path.read_bytes().splitlines(), 1):
            try:
                row = json.loads(line)
                self._scores[row["key"]] = from_row(row)
            except (ValueError, KeyError, TypeError) as error:
                raise SchemaError(str(error), file=path, line=number, hint="pass --restart to start over") from None
