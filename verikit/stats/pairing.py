"""A largest pairing of wanted items with produced ones: maximum bipartite matching by augmenting paths."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

W = TypeVar("W")
M = TypeVar("M")


def pairs(wanted: Sequence[W], made: Sequence[M], fits: Callable[[W, M], bool]) -> dict[int, int]:
    """Pair indices of `made` with indices of `wanted`, with the largest possible number of pairs.

    Each augmenting path is found breadth first, without recursion. O(pairs · edges).
    """
    edges = [[i for i, thing in enumerate(made) if fits(want, thing)] for want in wanted]
    taken: dict[int, int] = {}
    held: dict[int, int] = {}
    for start in range(len(wanted)):
        _augment(start, edges, taken, held)
    return taken


def _augment(start: int, edges: Sequence[Sequence[int]], taken: dict[int, int], held: dict[int, int]) -> None:
    """Pair another item of `wanted`, moving other pairs along a path if needed and possible."""
    came: dict[int, int] = {}
    queue = [start]
    for want in queue:
        for i in edges[want]:
            if i in came:
                continue
            came[i] = want
            if i in taken:
                queue.append(taken[i])
                continue
            step: int | None = i
            while step is not None:
                owner = came[step]
                previous = held.get(owner)
                taken[step], held[owner] = owner, step
                step = previous
            return
