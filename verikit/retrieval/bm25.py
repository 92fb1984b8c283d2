"""BM25 by bm25s: Lucene's variant over lower-cased words of title and text, without stop words or stemming.

k1 = 0.9 and b = 0.4 are Anserini's defaults for passages, and ranked best among the values measured on 2Wiki. Scores
are computed when the index is built and memory-mapped afterwards (Lù 2024, "BM25S").
"""

from __future__ import annotations

import os
import re
import shutil
from array import array
from collections.abc import Callable, Sequence
from pathlib import Path

import bm25s
import numpy as np

from verikit.errors import UsageError
from verikit.retrieval.index import Hit, Index
from verikit.retrieval.store import TOLD, Passages
from verikit.retrieval.types import Passage

FOLDER = "bm25"
MOST_TERMS = 2048
"""Maximum terms of a query that are used, so a hostile query can't block the server."""
_WORD = re.compile(r"\w+")


def words(text: str) -> list[str]:
    """Return the terms of a text."""
    return _WORD.findall(text.lower())


class BM25(Index):
    """A built index."""

    def __init__(self, folder: str | Path) -> None:
        """Open the index.

        Raises:
            UsageError: The folder has no index.
        """
        self.passages: Sequence[Passage] = Passages(folder)
        try:
            self._scores = bm25s.BM25.load(str(Path(folder) / FOLDER), mmap=True, show_progress=False)
        except (OSError, ValueError, KeyError) as error:
            raise UsageError(
                f"{folder} contains no readable BM25 index: {error}", hint="build it with --bm25"
            ) from None

    def rank(self, queries: Sequence[str], k: int) -> list[list[Hit]]:
        """Score all passages for each query. Passages that share no word with it are not hits."""
        return [self._rank(words(query), k) for query in queries]

    def _rank(self, terms: list[str], k: int) -> list[Hit]:
        known = self._scores.get_tokens_ids(terms[:MOST_TERMS])
        if not known or k < 1:
            return []
        scores = self._scores.get_scores_from_ids(known)
        return [Hit(row, float(scores[row])) for row in top(scores, k) if scores[row] > 0]


def top(scores: np.ndarray, k: int) -> list[int]:
    """Return the rows of the k highest scores, best first; equal scores by row."""
    k = min(k, len(scores))
    least = scores[np.argpartition(scores, len(scores) - k)[len(scores) - k]]
    rows = np.flatnonzero(scores >= least)
    best: list[int] = rows[np.lexsort((rows, -scores[rows]))][:k].tolist()
    return best


def build_bm25(passages: Passages, tell: Callable[[str], None], *, k1: float = 0.9, b: float = 0.4) -> BM25:
    """Build the index in the passages' folder, or open an existing one."""
    folder = passages.folder / FOLDER
    if not folder.is_dir():
        vocabulary: dict[str, int] = {}
        rows = []
        for number, passage in enumerate(passages, 1):
            rows.append(array("i", [vocabulary.setdefault(term, len(vocabulary)) for term in words(passage.content)]))
            if number % TOLD == 0:
                tell(f"bm25: words of {number:,} / {len(passages):,} passages")
        tell("bm25: scores")
        scores = bm25s.BM25(method="lucene", k1=k1, b=b)
        scores.index((rows, vocabulary), show_progress=False)
        part = folder.with_name(f"{FOLDER}.part")
        shutil.rmtree(part, ignore_errors=True)
        scores.save(str(part), show_progress=False)
        os.replace(part, folder)
    return BM25(passages.folder)
