"""The lines that differ between two texts. Lines that occur once in each text anchor the comparison (patience diff).

The work is linear except for one sort: texts are hostile, and the usual algorithms can be made quadratic.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise, takewhile
from typing import NamedTuple

CONTEXT = 2
"""Equal lines that are shown around a change."""


class Stretch(NamedTuple):
    """Lines `start` to `end` of the old text became lines `new_start` to `new_end` of the new one."""

    start: int
    end: int
    new_start: int
    new_end: int


def stretches(old: Sequence[str], new: Sequence[str]) -> list[Stretch]:
    """The stretches where two lists of lines differ, in order."""
    whole = _trimmed(old, new, Stretch(0, len(old), 0, len(new)))
    found: list[Stretch] = []
    ends = [(whole.start - 1, whole.new_start - 1), *_anchors(old, new, whole), (whole.end, whole.new_end)]
    for (a, b), (next_a, next_b) in pairwise(ends):
        between = _trimmed(old, new, Stretch(a + 1, next_a, b + 1, next_b))
        if between.start < between.end or between.new_start < between.new_end:
            found.append(between)
    return found


def line_diff(old: str, new: str) -> str:
    """The changes from one text to another: `@` and a line number, then lines prefixed by a space, `-` or `+`."""
    if old.splitlines() == new.splitlines():
        return "" if old == new else "(only the ends of lines differ)"
    before, after = old.split("\n"), new.split("\n")
    return "\n".join(_hunks(before, after, stretches(before, after)))


def _hunks(old: Sequence[str], new: Sequence[str], changes: Sequence[Stretch]) -> Iterator[str]:
    """Each change between some equal lines. Nearby changes share them."""
    shown = 0
    for number, change in enumerate(changes):
        start = max(shown, change.start - CONTEXT)
        if start > shown or number == 0:
            yield f"@ line {change.new_start - (change.start - start) + 1}"
        yield from (f" {line}" for line in old[start : change.start])
        yield from (f"-{line}" for line in old[change.start : change.end])
        yield from (f"+{line}" for line in new[change.new_start : change.new_end])
        following = changes[number + 1].start if number + 1 < len(changes) else len(old)
        shown = min(change.end + CONTEXT, following)
        yield from (f" {line}" for line in old[change.end : shown])


def _trimmed(old: Sequence[str], new: Sequence[str], part: Stretch) -> Stretch:
    """A stretch without the equal lines at its start and end."""
    most = min(part.end - part.start, part.new_end - part.new_start)
    head = _equal(old[part.start + i] == new[part.new_start + i] for i in range(most))
    tail = _equal(old[part.end - 1 - i] == new[part.new_end - 1 - i] for i in range(most - head))
    return Stretch(part.start + head, part.end - tail, part.new_start + head, part.new_end - tail)


def _equal(same: Iterator[bool]) -> int:
    return sum(1 for _ in takewhile(bool, same))


def _anchors(old: Sequence[str], new: Sequence[str], part: Stretch) -> list[tuple[int, int]]:
    """Pairs of positions of lines that occur once in each part: the longest sequence that rises on both sides."""
    counts = Counter(old[part.start : part.end])
    new_counts = Counter(new[part.new_start : part.new_end])
    places = {new[at]: at for at in range(part.new_start, part.new_end) if new_counts[new[at]] == 1}
    pairs = [(at, places[old[at]]) for at in range(part.start, part.end) if counts[old[at]] == 1 and old[at] in places]
    return _rising(pairs)


def _rising(pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The longest subsequence of pairs whose second numbers rise."""
    last: list[int] = []
    ends: list[int] = []
    before: list[int] = []
    for number, (_, place) in enumerate(pairs):
        length = bisect_left(ends, place)
        before.append(last[length - 1] if length else -1)
        if length == len(ends):
            ends.append(place)
            last.append(number)
        else:
            ends[length], last[length] = place, number
    found = []
    at = last[-1] if last else -1
    while at >= 0:
        found.append(pairs[at])
        at = before[at]
    return found[::-1]
