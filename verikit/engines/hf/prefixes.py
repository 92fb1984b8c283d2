"""Keys and values of earlier texts, so a prompt that continues one is run only from there.

A conversation returns longer each turn: a review after its code was run, a question after a search. Sequences are found
by the hashes of their blocks, each chained to the one before (as in vLLM's prefix cache: Kwon et al., "Efficient Memory
Management for Large Language Model Serving with PagedAttention", SOSP 2023). A sequence is dropped as soon as a longer
one contains all its blocks, so a conversation is stored once. Beyond the limit, the least recently used sequence is
evicted first.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from torch import Tensor

BLOCK = 16
"""Tokens per block. A prefix is found in whole blocks."""


@dataclass(slots=True)
class Known:
    """A sequence with its keys and values."""

    ids: tuple[int, ...]
    kept: Tensor
    """(layers, 2, kv heads, tokens, width): keys and values."""
    blocks: set[int]
    """The blocks that it is found by."""


class Prefixes:
    """Sequences by their blocks, up to a limit in bytes."""

    def __init__(self, limit: int) -> None:
        self._limit, self._size = limit, 0
        self._known: OrderedDict[int, Known] = OrderedDict()
        self._holder: dict[int, int] = {}
        self._number = 0

    def put(self, ids: Sequence[int], kept: Tensor) -> None:
        """Store a sequence. `kept` is (layers, 2, kv heads, tokens, width) and is not copied."""
        blocks = {key for _, key in _blocks(ids)}
        if not blocks or _bytes(kept) > self._limit:
            return
        self._number += 1
        for key in blocks:
            if key in self._holder:
                self._leave(self._holder[key], key)
            self._holder[key] = self._number
        self._known[self._number] = Known(tuple(ids), kept, blocks)
        self._size += _bytes(kept)
        while self._size > self._limit:
            self._drop(next(iter(self._known)))

    def find(self, ids: Sequence[int]) -> Tensor | None:
        """Return the keys and values of the longest stored prefix that leaves at least one token to run, or None."""
        length, number = 0, 0
        for end, key in _blocks(ids[:-1]):
            if key not in self._holder:
                break
            length, number = end, self._holder[key]
        if not length or self._known[number].ids[:length] != tuple(ids[:length]):
            return None
        self._known.move_to_end(number)
        return self._known[number].kept[..., :length, :]

    def clear(self) -> bool:
        """Remove everything. Return whether there was anything."""
        held = bool(self._known)
        self._known.clear()
        self._holder.clear()
        self._size = 0
        return held

    def _leave(self, number: int, key: int) -> None:
        known = self._known[number]
        known.blocks.discard(key)
        if not known.blocks:
            self._drop(number)

    def _drop(self, number: int) -> None:
        known = self._known.pop(number)
        self._size -= _bytes(known.kept)
        for key in known.blocks:
            del self._holder[key]


def _blocks(ids: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield the end of each whole block, and its key."""
    key = 0
    for end in range(BLOCK, len(ids) + 1, BLOCK):
        key = hash((key, *ids[end - BLOCK : end]))
        yield end, key


def _bytes(kept: Tensor) -> int:
    return kept.numel() * kept.element_size()
