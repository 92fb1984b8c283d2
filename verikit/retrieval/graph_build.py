"""Builds the graph of an index's folder: titles, then their mentions in each passage. The result is deterministic.

With a model (`entities.py`), the names that it finds in passages are added to the titles found by rules. A passage that
the model failed on therefore still has its titles. Names that are titles become further mentions of them. Other names
become separate keys, which lead to the passages that mention them.
"""

from __future__ import annotations

import json
import os
import shutil
from array import array
from collections.abc import Callable, Iterable, Sequence
from functools import reduce
from itertools import repeat
from pathlib import Path

import numpy as np

from verikit.retrieval.entities import EntityMention, EntityModel
from verikit.retrieval.graph import ABOUT, ARRAYS, BEFORE, FOLDER, FORMAT, MOST_MENTIONS
from verikit.retrieval.store import TOLD, Passages, write_json
from verikit.retrieval.titles import FAN, Finder, Keys, Names, collect, extended, grouped, tokens
from verikit.types import JsonObject

MOST_WORDS = 20_000
"""Words of a passage that are read for titles."""
NAME = 0.1
"""Weight of a name that is not a title, relative to an equally rare title."""


def build_graph(passages: Passages, tell: Callable[[str], None], entities: EntityModel | None = None) -> None:
    """Build the graph in the passages' folder, unless it exists. With a model, it must be complete and from that model.

    Raises:
        EngineError: The model's engine is unreachable.
        UsageError: The folder has replies of another model.
    """
    folder = passages.folder / FOLDER
    if _done(folder / ABOUT, entities):
        return
    if entities is not None:
        entities.ask(passages, tell)
    tell("graph: titles")
    keys = collect(passage.title for passage in passages)
    titles = len(keys.small)
    found = _Mentions(Finder(keys.beginnings, keys.numbers, keys.openers, keys.small))
    named: Iterable[Sequence[EntityMention]] = repeat(()) if entities is None else entities.mentions(passages)
    for row, (passage, names) in enumerate(zip(passages, named, strict=False)):
        found.add(passage.text, int(keys.own[row]), names)
        if (row + 1) % TOLD == 0:
            tell(f"graph: titles in {row + 1:,} / {len(passages):,} passages")
    tell("graph: edges")
    keys, arrays = found.arrays(keys)
    stored = keys._asdict() | arrays
    about: JsonObject = {"format": FORMAT, "digest": passages.digest, "keys": len(keys.small)}
    if entities is not None:
        about = {**about, "titles": titles, "entities": entities.told()}
    part = folder.with_name(f"{FOLDER}.part")
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir()
    for name in ARRAYS:
        np.save(part / f"{name}.npy", stored[name])
    write_json(part / ABOUT, about)
    shutil.rmtree(folder, ignore_errors=True)
    os.replace(part, folder)


def _done(path: Path, entities: EntityModel | None) -> bool:
    """Whether the graph exists, with all results that the model can give."""
    if entities is None:
        return path.is_file()
    try:
        told = json.loads(path.read_text("utf-8"))["entities"]
        return bool(told["made"] == entities.made() and told["failed"] == 0)
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return False


class _Mentions:
    """Collects mentions of titles and of other names, by passage."""

    def __init__(self, finder: Finder) -> None:
        self._finder = finder
        self._at, self._keys, self._contexts = array("q", [0]), array("i"), array("H")
        self._names = Names()
        self._named, self._named_rows, self._named_contexts = array("Q"), array("q"), array("H")

    def add(self, text: str, own: int, names: Sequence[EntityMention]) -> None:
        """Add a passage: the titles in its text, then the names found by a model."""
        words = tokens(text)[:MOST_WORDS]
        related = {name.hash: name.relations for name in names}
        seen: set[int] = {own}
        for start, length, key in self._finder.find(words):
            if key in seen:
                continue
            if len(seen) > MOST_MENTIONS:
                break
            seen.add(key)
            hash = reduce(extended, words[start : start + length], 0) if related else 0
            before = [word.stem for word in words[max(0, start - BEFORE) : start]]
            self._keys.append(key)
            self._contexts.extend(_context(related.get(hash, ()), before))
        for name in names:
            self._add_name(name, seen)
        self._at.append(len(self._keys))

    def _add_name(self, name: EntityMention, seen: set[int]) -> None:
        context, key = _context(name.relations, name.before), self._finder.key(name.hash)
        if key < 0:
            self._names.add(name.hash, name.words)
            self._named.append(name.hash)
            self._named_rows.append(len(self._at) - 1)
            self._named_contexts.extend(context)
        elif key not in seen and len(seen) <= MOST_MENTIONS:
            seen.add(key)
            self._keys.append(key)
            self._contexts.extend(context)

    def arrays(self, titles: Keys) -> tuple[Keys, dict[str, np.ndarray]]:
        """Return all keys, and mentions, ways back and each key's weight: log(1 + passages / (1 + mentions))."""
        at, keys = np.array(self._at, np.int64), np.array(self._keys, np.int32)
        contexts = np.array(self._contexts, np.uint16).reshape(-1, BEFORE)
        rows = np.repeat(np.arange(len(at) - 1, dtype=np.int32), np.diff(at))
        count = len(titles.small)
        often = np.bincount(keys, minlength=count)
        rare = often[keys] <= FAN
        back_at, back = grouped(keys[rare], rows[rare], count)
        weights = np.log1p((len(at) - 1) / (1 + often))
        if self._named:
            titles, often, named, named_rows, named_contexts = self._kept(titles)
            keys, rows, contexts = (
                np.concatenate(pair) for pair in ((keys, named), (rows, named_rows), (contexts, named_contexts))
            )
            at, order = _first(rows, len(at) - 1)
            keys, contexts = keys[order], contexts[order]
            back_at = np.concatenate([back_at, np.full(len(often), back_at[-1])])
            weights = np.concatenate([weights, NAME * np.log1p((len(at) - 1) / (1 + often))])
        return titles, {
            "mentions_at": at,
            "mentions": keys,
            "contexts": contexts,
            "back_at": back_at,
            "back": back,
            "weights": weights.astype(np.float32),
        }

    def _kept(self, titles: Keys) -> tuple[Keys, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Drop names in too many passages to be useful. Names of a single passage only lead a query there."""
        rows = np.array(self._named_rows, np.int64)
        hashes, number, often = np.unique(np.array(self._named, np.uint64), return_inverse=True, return_counts=True)
        kept = often <= FAN
        renumbered = np.where(kept, np.cumsum(kept) - 1, -1)[number]
        here = renumbered >= 0
        keys = self._names.beside(titles, hashes[kept], *grouped(renumbered[here], rows[here], int(kept.sum())))
        leads = here & (often[number] > 1)
        contexts = np.array(self._named_contexts, np.uint16).reshape(-1, BEFORE)[leads]
        mentions = (len(titles.small) + renumbered[leads]).astype(np.int32)
        return keys, often[kept], mentions, rows[leads].astype(np.int32), contexts


def _context(relations: Sequence[int], before: Sequence[int]) -> list[int]:
    """Return the stems stored with a mention: those of its relations, then as many words before it as fit."""
    stems = [*dict.fromkeys(filter(None, relations))][:BEFORE]
    stems += before[max(0, len(before) - BEFORE + len(stems)) :]
    return [0] * (BEFORE - len(stems)) + stems


def _first(rows: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return where each row's mentions begin, and which they are: the first `MOST_MENTIONS`, titles before names."""
    order = np.argsort(rows, kind="stable")
    sizes = np.bincount(rows, minlength=count)
    starts = np.repeat(np.cumsum(sizes) - sizes, sizes)
    order = order[np.arange(len(order)) - starts < MOST_MENTIONS]
    at = np.concatenate([[0], np.cumsum(np.minimum(sizes, MOST_MENTIONS))]).astype(np.int64)
    return at, order
