"""A graph of passages and the titles they mention, walked from the titles that a query names: `graph:bm25:DIR`.

Passages lead to the titles they mention, titles to their passages and, weakly, to passages that mention them. A query
starts at the titles it names and at the top passages of an index. Personalised PageRank from there ranks the nodes
nearby, as in HippoRAG (Gutiérrez et al. 2024, section 2.3; 2025, "From RAG to Memory", section 3). The graph is built
without a model, but names found by a model can be added to the titles (`entities.py`).

The rarer a title is in the passages, the more of the walk goes to it. A mention is preferred if the words before it are
words of the query (`directed by` for `the director`).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np

from verikit.errors import ConfigError, UsageError
from verikit.retrieval.bm25 import MOST_TERMS
from verikit.retrieval.index import Hit, Index
from verikit.retrieval.store import Passages, mapped
from verikit.retrieval.titles import FAN, Finder, Mention, TitleWord, tokens
from verikit.retrieval.types import Passage

FOLDER, ABOUT, FORMAT = "graph", "graph.json", 1
BEFORE = 4
"""Words before a mention that are stored with it."""
MOST_MENTIONS = 64
"""Titles that a passage leads to: the first ones in it."""
ARRAYS: dict[str, tuple[str, int]] = {
    "beginnings": ("uint64", 1),
    "numbers": ("int32", 1),
    "openers": ("uint64", 1),
    "small": ("bool", 1),
    "titled_at": ("int64", 1),
    "titled": ("int32", 1),
    "own": ("int32", 1),
    "mentions_at": ("int64", 1),
    "mentions": ("int32", 1),
    "contexts": ("uint16", 2),
    "back_at": ("int64", 1),
    "back": ("int32", 1),
    "weights": ("float32", 1),
}
"""Each file's type and dimensions."""
DEPTH = 50
"""Number of top passages of the index at which the walk also starts."""
SHARE = 0.1
"""Fraction of the start mass that top passages get, by 1 / rank². They get all of it if the query names no title."""
NAMED_ONLY = 0.5
"""The same fraction if the query names only entities, not titles. A model finds many, and most are less relevant."""
HOMONYMS = 0.05
"""Base start weight of each passage of a title that several passages share."""
DAMPING, HOPS = 0.5, 4
"""HippoRAG's damping; a hop is half the way from passage to passage."""
LEAST = 0.012
"""The walk does not leave a node with less mass than this, which bounds a query's time."""
NAMED = 8.0
"""Increase of a mention's weight, as a multiple, if the query has a word that precedes the mention."""
RIGHT_BEFORE = 0.3
"""Weight of such a word if it directly precedes a title in the query."""
BACK = 0.1
"""Weight of the steps from a title to all passages that mention it, and from a passage to its own title."""

Neighbours = Callable[[int], Sequence[tuple[int, float]]]


def walk(
    start: Mapping[int, float],
    neighbours: Neighbours,
    *,
    damping: float = DAMPING,
    hops: int = HOPS,
    least: float = LEAST,
) -> dict[int, float]:
    """Return the personalised PageRank of the nodes that are near.

    It is `(1 - damping) * sum over i of damping^i * start * P^i`, for i up to `hops`. Mass stays at a node that has no
    neighbours or less than `least`.

    Args:
        start: Fraction of the start mass per node.
        neighbours: Returns a node's neighbours with positive weights, which need no normalisation.
        damping: Fraction of a node's mass that moves on.
        hops: Maximum path length.
        least: Minimum mass that a node must receive in a hop for the walk to leave it.
    """
    ranks: dict[int, float] = {}
    front = dict(start)
    for _ in range(hops):
        after: dict[int, float] = {}
        for node, mass in front.items():
            ranks[node] = ranks.get(node, 0.0) + (1 - damping) * mass
            near = neighbours(node) if mass >= least else ()
            if not near:
                continue
            part = damping * mass / sum([weight for _, weight in near])
            get = after.get
            for other, weight in near:
                after[other] = get(other, 0.0) + part * weight
        front = after
    for node, mass in front.items():
        ranks[node] = ranks.get(node, 0.0) + (1 - damping) * mass
    return ranks


def asked(words: Sequence[TitleWord], named: Sequence[Mention]) -> dict[int, float]:
    """Return the stems of a query that may describe how its titles lead on, with weights up to 1.

    A title's own words are excluded. The word directly before a title (`film` in `the director of the film …`) usually
    describes the title itself.
    """
    within = {at for mention in named for at in range(mention.start, mention.start + mention.length)}
    before = {mention.start - 1 for mention in named}
    stems: dict[int, float] = {}
    for at, word in enumerate(words):
        if word.stem and at not in within:
            stems[word.stem] = max(stems.get(word.stem, 0.0), RIGHT_BEFORE if at in before else 1.0)
    return stems


class Graph(Index):
    """An index that supplies the top passages, and the graph in its folder that is walked from them."""

    def __init__(self, index: Index) -> None:
        """Open the graph in the index's folder.

        Raises:
            ConfigError: The index has no folder on this machine.
            UsageError: The folder has no graph, or a damaged one.
        """
        if not isinstance(index.passages, Passages):
            raise ConfigError("a graph needs an index in a folder")
        self._index = index
        self.passages: Sequence[Passage] = index.passages
        stored, titles = _opened(index.passages)
        view = {name: values.data for name, values in stored.items()}
        self._finder = Finder(*(stored[name] for name in ("beginnings", "numbers", "openers", "small")))
        self._titled_at, self._titled = view["titled_at"], view["titled"]
        self._mentions_at, self._mentions = view["mentions_at"], view["mentions"]
        self._back_at, self._back = view["back_at"], view["back"]
        self._own, self._weights = view["own"], view["weights"]
        self._contexts = stored["contexts"]
        self._titles = titles

    def rank(self, queries: Sequence[str], k: int) -> list[list[Hit]]:
        """Rank the passages that the walk reaches, then the index's other hits. Top passages don't depend on k."""
        if not queries or k < 1:
            return [[] for _ in queries]
        first = self._index.rank(queries, max(k, DEPTH))
        return [self._rank(query, hits, k) for query, hits in zip(queries, first, strict=True)]

    def _rank(self, query: str, hits: Sequence[Hit], k: int) -> list[Hit]:
        words = tokens(query[: 16 * MOST_TERMS])[:MOST_TERMS]
        named = self._named_in(words)
        start = self._start([mention.key for mention in named], [hit.row for hit in hits[:DEPTH]])
        count, stems = len(self.passages), asked(words, named)
        ranks = walk(start, lambda node: self._near(node, count, stems))
        best = sorted([(-mass, row) for row, mass in ranks.items() if row < count])[:k]
        ranked = [Hit(row, -mass) for mass, row in best]
        if len(ranked) < k:
            ranked += _followers(ranked, (hit.row for hit in hits if hit.row not in ranks), k)
        return ranked

    def _named_in(self, words: Sequence[TitleWord]) -> list[Mention]:
        """The titles and entities that a question names."""
        any_case = not any(word.upper for word in words[1:])
        named = self._finder.find(words, any_case=any_case, below=self._titles)
        if self._titles < len(self._weights):  # entity names are found separately: they do not hide a title
            entities = self._finder.find(words, any_case=any_case)
            named += [mention for mention in entities if mention.key >= self._titles]
        return named

    def _start(self, named: Sequence[int], rows: Sequence[int]) -> dict[int, float]:
        """Split the start mass: titles by weight, top passages with `SHARE`, or all of it if no title is named."""
        found = {row: 1 / rank**2 for rank, row in enumerate(rows, 1)}
        keys = dict.fromkeys(named)
        start = self._start_of_titles(keys, found)
        if any(key < self._titles for key in keys):
            share = SHARE
        else:
            share = NAMED_ONLY if start else 1.0
        share /= sum(found.values()) or 1.0
        for row, mass in found.items():
            start[row] = start.get(row, 0.0) + share * mass
        whole = sum(start.values())
        return {row: mass / whole for row, mass in start.items()}

    def _start_of_titles(self, keys: Iterable[int], found: Mapping[int, float]) -> dict[int, float]:
        """Split the start mass over the titles' passages: by title weight, and per title by the index's ranking."""
        start: dict[int, float] = {}
        weights = sum([self._weights[key] for key in keys])
        for key in keys:
            titled = self._titled[self._titled_at[key] : self._titled_at[key + 1]].tolist()
            shares = [found.get(row, 0.0) + HOMONYMS for row in titled]
            part = self._weights[key] / (weights * sum(shares) or 1.0)
            for row, share in zip(titled, shares, strict=True):
                start[row] = start.get(row, 0.0) + part * share
        return start

    def _near(self, node: int, count: int, stems: dict[int, float]) -> list[tuple[int, float]]:
        """A node is a passage, or `count` and a key."""
        return self._of_passage(node, count, stems) if node < count else self._of_key(node - count)

    def _of_passage(self, row: int, count: int, stems: dict[int, float]) -> list[tuple[int, float]]:
        first, last = self._mentions_at[row], self._mentions_at[row + 1]
        near: list[tuple[int, float]] = []
        if last > first:
            weights, known = self._weights, stems.keys()
            contexts = self._contexts[first:last].tolist()
            for key, context in zip(self._mentions[first:last].tolist(), contexts, strict=True):
                weight: float = weights[key]
                if not known.isdisjoint(context):
                    weight *= 1 + NAMED * max([stems.get(stem, 0.0) for stem in context])
                near.append((count + key, weight))
        own = self._own[row]
        if own >= 0:
            near.append((count + own, BACK * self._weights[own]))
        return near

    def _of_key(self, key: int) -> list[tuple[int, float]]:
        titled = self._titled[self._titled_at[key] : self._titled_at[key + 1]].tolist()
        back = self._back[self._back_at[key] : self._back_at[key + 1]].tolist()
        near = [(row, 1 / len(titled)) for row in titled]
        return near + [(row, BACK / len(back)) for row in back]


def _opened(passages: Passages) -> tuple[dict[str, np.ndarray], int]:
    """Map the arrays and return them with the number of title keys. The files are untrusted, so all are checked.

    Raises:
        UsageError: The arrays are missing or do not match each other.
    """
    folder = passages.folder / FOLDER
    try:
        about = json.loads((folder / ABOUT).read_text("utf-8"))
        if about["format"] != FORMAT or about["digest"] != passages.digest:
            raise ValueError("it is of other passages, or of another version")
        stored = {name: mapped(folder / f"{name}.npy", *form) for name, form in ARRAYS.items()}
        _check(stored, len(passages))
        titles = int(about.get("titles", len(stored["weights"])))
        if not 0 <= titles <= len(stored["weights"]):
            raise ValueError(f"{ABOUT} lists {titles} titles")
    except FileNotFoundError as error:
        raise UsageError(
            f"{passages.folder} contains no graph: {Path(str(error.filename)).name} not found",
            hint="`verikit index build CORPUS -o DIR --graph` makes one",
        ) from None
    except (OSError, ValueError, KeyError, TypeError, EOFError, RecursionError, OverflowError) as error:
        hint = f"delete {folder} and build it again"
        raise UsageError(f"the graph in {passages.folder} is damaged: {error}", hint=hint) from None
    return stored, titles


def _check(stored: Mapping[str, np.ndarray], count: int) -> None:
    keys = len(stored["weights"])
    checks = {
        "beginnings": len(stored["numbers"]) == len(stored["beginnings"]),
        "numbers": _within(stored["numbers"], -1, keys),
        "small": len(stored["small"]) == keys,
        "titled_at": _offsets(stored["titled_at"], keys, len(stored["titled"]), FAN),
        "titled": _within(stored["titled"], 0, count),
        "own": len(stored["own"]) == count and _within(stored["own"], -1, keys),
        "mentions_at": _offsets(stored["mentions_at"], count, len(stored["mentions"]), MOST_MENTIONS),
        "mentions": _within(stored["mentions"], 0, keys),
        "contexts": stored["contexts"].shape == (len(stored["mentions"]), BEFORE),
        "back_at": _offsets(stored["back_at"], keys, len(stored["back"]), FAN),
        "back": _within(stored["back"], 0, count),
        "weights": keys == 0 or bool(np.min(stored["weights"]) > 0 and np.max(stored["weights"]) < 1e6),
    }
    if wrong := [name for name, right in checks.items() if not right]:
        raise ValueError(f"{', '.join(wrong)} can't be")


def _within(values: np.ndarray, low: int, high: int) -> bool:
    return not len(values) or bool(values.min() >= low and values.max() < high)


def _offsets(values: np.ndarray, count: int, end: int, most: int) -> bool:
    if len(values) != count + 1 or values[0] != 0 or values[-1] != end:
        return False
    steps = np.diff(values)
    return not count or bool(steps.min() >= 0 and steps.max() <= most)


def _followers(ranked: Sequence[Hit], rows: Iterable[int], k: int) -> list[Hit]:
    """The hits that fill up to k, each with less than those before it."""
    least = ranked[-1].score if ranked else 1.0
    return [Hit(row, least / (1 + n)) for n, row in zip(range(1, k - len(ranked) + 1), rows, strict=False)]
