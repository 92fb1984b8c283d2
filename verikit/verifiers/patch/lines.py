"""The lines of a file, searched for a run of lines and written back with the file's own line ends."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

from verikit.verifiers.patch.tree import PatchError

MOST_SEARCHED = 1 << 30
"""Maximum bytes of a file that the edits of a reply may search: many edits of a large file take long."""


class FileLines:
    """A file's lines without their ends.

    A file with only CRLF line ends keeps them, and a file without a final newline stays without one.
    """

    def __init__(self, content: bytes) -> None:
        count = content.count(b"\n")
        self._end = b"\r\n" if count and content.count(b"\r\n") == count else b"\n"
        self._closed = not content or content.endswith(b"\n")
        self.lines = content.split(self._end)
        if self._closed:
            self.lines.pop()
        self._exact = _Haystack(self.lines)
        self._bare: _Haystack | None = None
        self._stripped: _Haystack | None = None

    def places(self, old: Sequence[str]) -> list[int]:
        """The first lines of a run's matches, two at most: exact, or else ignoring whitespace at line ends."""
        needle = [line.encode("utf-8", "replace") for line in old]
        return self._exact.two(needle) or self._without_ends().two([line.rstrip() for line in needle])

    def find(self, old: Sequence[str], start: int) -> int | None:
        """The first match of a run of lines at or after a line: exact, or else ignoring whitespace at line ends."""
        needle = [line.encode("utf-8", "replace") for line in old]
        found = self._exact.find(needle, start)
        return self._without_ends().find([line.rstrip() for line in needle], start) if found is None else found

    def find_bare(self, line: str, start: int) -> int | None:
        """The first match of a line at or after a line: exact, or else ignoring whitespace around it."""
        found = self.find([line], start)
        if found is None:
            self._stripped = self._stripped or _Haystack([line.strip() for line in self.lines])
            found = self._stripped.find([line.strip().encode("utf-8", "replace")], start)
        return found

    def _without_ends(self) -> _Haystack:
        self._bare = self._bare or _Haystack([line.rstrip() for line in self.lines])
        return self._bare

    def joined(self, lines: Sequence[bytes], *, closed: bool | None = None) -> bytes:
        """Lines as the content of this file."""
        closed = self._closed if closed is None else closed
        return self._end.join(lines) + (self._end if closed and lines else b"")

    def replaced(self, at: int, count: int, new: Sequence[str]) -> bytes:
        """The content with `count` lines, starting at a line, replaced by others."""
        lines = [line.encode("utf-8", "replace") for line in new]
        return self.joined([*self.lines[:at], *lines, *self.lines[at + count :]])


class _Haystack:
    """Lines as one text, to find a run of them in linear time."""

    def __init__(self, lines: Sequence[bytes]) -> None:
        self._text = b"\n" + b"".join(line + b"\n" for line in lines)
        self._searched = 0
        self._starts = [0]
        for line in lines:
            self._starts.append(self._starts[-1] + len(line) + 1)

    def find(self, lines: Sequence[bytes], start: int) -> int | None:
        """The first place at or after line `start`.

        Raises:
            PatchError: Too much was searched.
        """
        if not 0 <= start < len(self._starts):
            return None
        begun = self._starts[start]
        found = self._text.find(b"\n" + b"".join(line + b"\n" for line in lines), begun)
        self._searched += (found if found >= 0 else len(self._text)) - begun
        if self._searched > MOST_SEARCHED:
            raise PatchError("the edits search too much of a file")
        return None if found < 0 else bisect_left(self._starts, found)

    def two(self, lines: Sequence[bytes]) -> list[int]:
        """The first two places."""
        first = self.find(lines, 0)
        second = None if first is None else self.find(lines, first + 1)
        return [at for at in (first, second) if at is not None]
