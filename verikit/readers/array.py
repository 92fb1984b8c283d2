"""Splits one JSON array into its items, without parsing them: only strings, brackets and commas are examined.

Memory contains one item, at most `cap` bytes of it. The parser rejects a malformed item. As long as its brackets and
quotes are balanced, the items after it are found.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from verikit.errors import SchemaError

CHUNK = 2**16
Items = Iterator[tuple[int, bytes | SchemaError]]

_STRING = rb'[^"\\]*(?:\\.[^"\\]*)*'
_REST_OF_STRING = re.compile(_STRING, re.DOTALL)
_BETWEEN_ITEMS = re.compile(rb'(?:[^"\[\]{},]+|"%b")*' % _STRING, re.DOTALL)  # whole strings included
_WITHIN_ITEM = re.compile(rb'(?:[^"\[\]{}]+|"%b")*' % _STRING, re.DOTALL)


def items(read: Callable[[int], bytes], cap: int) -> Items:
    """Number the items of the array that `read` returns, from 1. An item over `cap` bytes becomes an error."""
    cutter = _Cutter(cap)
    while chunk := read(CHUNK):
        yield from cutter.feed(chunk)
    yield from cutter.finish()


def too_long(size: int, cap: int) -> SchemaError:
    """The error of a row over the limit."""
    return SchemaError(f"the row has {size:,} bytes, more than the limit of {cap:,}", hint="shorten or drop this row")


class _Cutter:
    def __init__(self, cap: int) -> None:
        self.cap = cap
        self.buffer = bytearray()  # the current item, from its start
        self.at = 0  # how far the buffer has been scanned
        self.skipped = 0  # bytes already dropped of an item that is too long
        self.number = 0
        self.depth = 0
        self.in_string = False
        self.closed = False

    def feed(self, chunk: bytes) -> Items:
        self.buffer += chunk
        while not self.closed and (mark := self._next_mark()):
            if mark in b"[{":
                self.depth += 1
                if self.depth == 1:
                    self._drop()
            elif mark in b"]}":
                self.depth -= 1
                if self.depth == 0:
                    self.closed = True
                    yield from self._last_item()
            elif self.depth == 1:
                yield self._item()
        if len(self.buffer) > self.cap:
            self.skipped += self.at
            self._drop()

    def _last_item(self) -> Items:
        """The item before the closing bracket. There is none in an empty array, and after a trailing comma."""
        if self.buffer[: self.at - 1].strip():
            yield self._item()
        else:
            self._drop()

    def finish(self) -> Items:
        if not self.closed:
            problem = "the array is not closed here: the file is cut short"
            yield self.number + 1, SchemaError(problem, hint="the rows before it are good")
        elif self.buffer.strip():
            problem = "something follows the array"
            yield (
                self.number + 1,
                SchemaError(problem, hint="a file must contain one array, or one JSON object per line"),
            )

    def _next_mark(self) -> bytes:
        """Return the next bracket, or comma between items, outside strings. Empty at the end of the buffer."""
        while True:
            if self.in_string:
                self._advance(_REST_OF_STRING)
                if self.buffer[self.at : self.at + 1] != b'"':
                    return b""
                self.at += 1
                self.in_string = False
            self._advance(_WITHIN_ITEM if self.depth > 1 else _BETWEEN_ITEMS)
            mark = bytes(self.buffer[self.at : self.at + 1])
            self.at += len(mark)
            if mark != b'"':
                return mark
            self.in_string = True

    def _advance(self, pattern: re.Pattern[bytes]) -> None:
        match = pattern.match(self.buffer, self.at)
        self.at = match.end() if match else self.at

    def _item(self) -> tuple[int, bytes | SchemaError]:
        self.number += 1
        size = self.skipped + self.at - 1
        item = bytes(self.buffer[: self.at - 1]).strip() if size <= self.cap else too_long(size, self.cap)
        self.skipped = 0
        self._drop()
        return self.number, item

    def _drop(self) -> None:
        del self.buffer[: self.at]
        self.at = 0
