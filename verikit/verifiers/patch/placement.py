"""The place of a hunk's old lines in a file: at their line, at the nearest other one, or with fuzz as in `patch`."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field

from verikit.verifiers.patch.tree import PatchError

MOST_FUZZ = 5
"""Maximum lines of context at either end that may differ: SWE-bench's `patch --fuzz=5`."""
MOST_SEARCHED = 1 << 30
"""Maximum bytes of a file that its hunks may search: many misplaced hunks in a large file take long."""


@dataclass(slots=True)
class Hunk:
    """Old lines and their replacements, starting at a line of the old file (0: an empty file)."""

    start: int
    old: list[str] = field(default_factory=list)
    new: list[str] = field(default_factory=list)
    before: int = 0
    """Lines of context at the start."""
    after: int = 0
    """Lines of context at the end."""


@dataclass(frozen=True, slots=True)
class Place:
    """The bytes of a file that a hunk replaces, and their replacement."""

    start: int
    end: int
    new: bytes


class HunkSearch:
    """A file that is searched for the places of hunks, in order."""

    def __init__(self, content: bytes) -> None:
        self._text = b"\n" + content
        self._back: bytes | None = None
        self._starts = [0]
        while (end := content.find(b"\n", self._starts[-1])) >= 0:
            self._starts.append(end + 1)
        self._size = len(content)
        self._searched = 0

    def place(self, hunk: Hunk, done: int, *, fuzzy: bool) -> Place | None:
        """The place of a hunk after the byte `done`; None if there isn't one.

        Exact matches come first: at the end of the file if the hunk ends without context and the file ends that way, as
        in git. Otherwise they are at the stated line or the nearest other one. Then, if `fuzzy`, more and more lines of
        context are dropped.

        Raises:
            PatchError: Too much was searched.
        """
        at = max(0, hunk.start - (1 if hunk.old else 0))
        found = self._found(hunk, 0, 0, at, done, to_end=not hunk.after)
        context = max(hunk.before, hunk.after)
        for fuzz in range(1, min(MOST_FUZZ, context) + 1 if fuzzy and found is None else 0):
            before, after = fuzz + hunk.before - context, fuzz + hunk.after - context
            if before < 0 and hunk.start <= 1:  # as in `patch`: less context before than after is a file's start
                found = self._found(hunk, 0, max(0, after), at, done, only=0)
            elif after < 0:
                found = self._found(hunk, max(0, before), 0, at, done, to_end=True, only_end=True)
            else:
                found = self._found(hunk, max(0, before), after, at, done)
            if found is not None:
                break
        return found

    def _found(
        self, hunk: Hunk, before: int, after: int, at: int, done: int,
        *, to_end: bool = False, only_end: bool = False, only: int | None = None,
    ) -> Place | None:  # fmt: skip
        """The place of a hunk without `before` and `after` lines of context at its ends."""
        old, new = _cut(hunk.old, before, after), _cut(hunk.new, before, after)
        if before:  # the skipped lines have their places too
            done = self._start_of(bisect_left(self._starts, done) + before)
        line = at + before
        wanted = self._start_of(line)
        start = None
        if only is not None:
            start = only if self._is_at(old, only) and only >= done else None
        elif to_end and old and self._is_at(old, self._size - len(old)) and self._size - len(old) >= done:
            start = self._size - len(old)
        elif not only_end:
            start = self._nearest(old, wanted, done)
        return None if start is None else Place(start, start + len(old), new)

    def _start_of(self, line: int) -> int:
        return self._starts[line] if line < len(self._starts) else self._size

    def _nearest(self, old: bytes, wanted: int, done: int) -> int | None:
        """The position of lines: at a byte, or else at the nearest line after or before it."""
        if wanted >= done and self._is_at(old, wanted):
            return wanted
        if not old:
            return None
        if not old.endswith(b"\n"):
            end = self._size - len(old)
            return end if end >= done and self._is_at(old, end) else None
        ahead = self._count(self._text.find(b"\n" + old, max(wanted, done)), max(wanted, done))
        back = self._behind(old, wanted, done)
        if ahead is None or back is None:
            return back if ahead is None else ahead
        line = bisect_left(self._starts, wanted)
        nearer = line - bisect_left(self._starts, back) < bisect_left(self._starts, ahead) - line
        return back if nearer else ahead

    def _behind(self, old: bytes, wanted: int, done: int) -> int | None:
        """The last place before a byte. It searches from the other end, which is linear, unlike `rfind`."""
        if wanted <= done:
            return None
        self._back = self._back or self._text[::-1]
        begun = max(0, self._size - (wanted + len(old)) + 1)
        found = self._back.find(old[::-1] + b"\n", begun)
        if self._count(found, begun, len(self._back)) is None:
            return None
        start = self._size - found - len(old)
        return start if start >= done else None

    def _count(self, found: int, begun: int, size: int = 0) -> int | None:
        self._searched += (found if found >= 0 else (size or len(self._text))) - begun
        if self._searched > MOST_SEARCHED:
            raise PatchError("the hunks require too much searching: their line numbers don't match the file")
        return found if found >= 0 else None

    def _is_at(self, old: bytes, at: int) -> bool:
        """Whether lines match completely at a byte."""
        whole = not old or old.endswith(b"\n") or at + len(old) == self._size
        return at >= 0 and whole and self._text.startswith(b"\n" + old, at)


def _cut(lines: Sequence[str], before: int, after: int) -> bytes:
    return "".join(lines[before : len(lines) - after]).encode("utf-8", "surrogatepass")
