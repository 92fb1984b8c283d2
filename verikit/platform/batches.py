"""Results of one batch that are given back to the parts that it was made from."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import TypeVar

Result = TypeVar("Result")


def take(results: Iterator[Result], count: int) -> list[Result]:
    """Take the next results.

    Raises:
        ValueError: There are fewer, so the results can't be assigned to what they belong to.
    """
    taken = list(islice(results, count))
    if len(taken) < count:
        raise ValueError(f"{len(taken)} results for {count} items of a batch")
    return taken
