"""Build the graph of an index's folder: titles, then which of them stand in each passage. Same corpus, same bytes."""

from __future__ import annotations

import os
import shutil
from array import array
from collections.abc import Callable

import numpy as np

from verikit.retrieval.graph import ABOUT, ARRAYS, BEFORE, FOLDER, FORMAT, MOST_MENTIONS
from verikit.retrieval.store import TOLD, Passages, write_json
from verikit.retrieval.titles import FAN, Finder, collect, grouped, tokens

MOST_WORDS = 20_000
"""Words of a passage that are read for titles."""


def build_graph(passages: Passages, tell: Callable[[str], None]) -> None:
    """Build the graph in the passages' folder, unless it is there."""
    folder = passages.folder / FOLDER
    if (folder / ABOUT).is_file():
        return
    tell("graph: titles")
    keys = collect(passage.title for passage in passages)
    finder = Finder(keys.beginnings, keys.numbers, keys.openers, keys.small)
    found = _Mentions()
    for row, passage in enumerate(passages):
        found.add(passage.text, int(keys.own[row]), finder)
        if (row + 1) % TOLD == 0:
            tell(f"graph: titles in {row + 1:,} / {len(passages):,} passages")
    tell("graph: edges")
    stored = keys._asdict() | found.arrays(len(keys.small))
    part = folder.with_name(f"{FOLDER}.part")
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir()
    for name in ARRAYS:
        np.save(part / f"{name}.npy", stored[name])
    write_json(part / ABOUT, {"format": FORMAT, "digest": passages.digest, "keys": len(keys.small)})
    shutil.rmtree(folder, ignore_errors=True)
    os.replace(part, folder)


class _Mentions:
    """Mentions of titles by passage, as they are read."""

    def __init__(self) -> None:
        self._at, self._keys, self._contexts = array("q", [0]), array("i"), array("H")

    def add(self, text: str, own: int, finder: Finder) -> None:
        words = tokens(text)[:MOST_WORDS]
        seen: set[int] = {own}
        for start, _, key in finder.find(words):
            if key in seen:
                continue
            if len(seen) > MOST_MENTIONS:
                break
            seen.add(key)
            before = [word.stem for word in words[max(0, start - BEFORE) : start]]
            self._keys.append(key)
            self._contexts.extend([0] * (BEFORE - len(before)) + before)
        self._at.append(len(self._keys))

    def arrays(self, count: int) -> dict[str, np.ndarray]:
        """Return the mentions, the ways back and each title's weight: log(1 + passages / (1 + mentions))."""
        at, keys = np.array(self._at, np.int64), np.array(self._keys, np.int32)
        rows = np.repeat(np.arange(len(at) - 1, dtype=np.int32), np.diff(at))
        often = np.bincount(keys, minlength=count)
        rare = often[keys] <= FAN
        back_at, back = grouped(keys[rare], rows[rare], count)
        weights = np.log1p((len(at) - 1) / (1 + often)).astype(np.float32)
        return {
            "mentions_at": at,
            "mentions": keys,
            "contexts": np.array(self._contexts, np.uint16).reshape(-1, BEFORE),
            "back_at": back_at,
            "back": back,
            "weights": weights,
        }
