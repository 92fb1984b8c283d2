"""Compressed bytes as a stream: gzip, zstd, xz and bzip2, detected by their first bytes, in bounded memory.

Output is read piece by piece, so a small file that unpacks to terabytes costs time but no memory. A frame whose header
requires a window over `MAX_WINDOW` is rejected before the memory is allocated.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import sys
import zlib
from collections.abc import Callable
from importlib import import_module
from typing import Any, Protocol

from verikit.errors import MissingExtra

ENDINGS = (".gz", ".zst", ".xz", ".bz2")
"""File name endings that reveal nothing about the content."""
MAX_WINDOW = 2**27
"""Maximum window of a decompressor in bytes: zstd's `--ultra -22` needs this much, `xz -9` half of it."""
_PIECE = 2**16

Stream = io.BufferedReader | gzip.GzipFile
"""A stream that supports peeking and reading by line."""


class Decompressor(Protocol):
    """The common interface of the standard library's decompressors."""

    @property
    def eof(self) -> bool:
        """Whether the frame has ended."""
        ...

    @property
    def needs_input(self) -> bool:
        """Whether it has no more output before it gets more input."""
        ...

    @property
    def unused_data(self) -> bytes:
        """The data after the frame."""
        ...

    def decompress(self, data: bytes, max_length: int) -> bytes:
        """Consume `data` and return at most `max_length` bytes."""
        ...


def decompressed(stream: io.BufferedReader) -> Stream:
    """Return the stream itself, or its decompressed content.

    Raises:
        MissingExtra: It is zstd, on a Python older than 3.14 without the package zstandard.
    """
    start = stream.peek(6)[:6]
    if start.startswith(b"\x1f\x8b"):
        return gzip.GzipFile(fileobj=stream)
    for mark, make in _MAKERS.items():
        if start.startswith(mark):
            return io.BufferedReader(_Unpacked(stream, make()), _PIECE)
    return stream


def errors() -> tuple[type[Exception], ...]:
    """Errors raised when a damaged stream is read."""
    zstd = sys.modules.get("compression.zstd") or sys.modules.get("zstandard")
    return (OSError, EOFError, zlib.error, lzma.LZMAError, *([zstd.ZstdError] if zstd else []))


class _Unpacked(io.RawIOBase):
    """The decompressed content of a stream, including several consecutive frames."""

    def __init__(self, stream: io.BufferedReader, make: Callable[[], Decompressor]) -> None:
        self._stream, self._make = stream, make
        self._frame = make()
        self._begun = False  # whether any part of the frame was read
        self._ahead = b""  # read, not yet decompressed

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while True:
            if self._frame.eof:
                self._ahead = self._frame.unused_data or self._ahead
                self._frame, self._begun = self._make(), False
            packed = b""
            if not self._begun or self._frame.needs_input:
                packed, self._ahead = self._ahead or self._stream.read1(_PIECE), b""
                if not packed and not self._begun:
                    return 0
                if not packed:
                    raise EOFError("the compressed data ends too early")
                if not self._begun and not (packed := packed.lstrip(b"\0")):
                    continue  # padding between frames
            self._begun = True
            if data := self._frame.decompress(packed, len(buffer)):
                buffer[: len(data)] = data
                return len(data)


def _xz() -> Decompressor:
    return lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=MAX_WINDOW)


def _bzip2() -> Decompressor:
    return bz2.BZ2Decompressor()


def _zstd() -> Callable[[], Decompressor]:
    """Return a factory of zstd decompressors: the standard library's (Python 3.14 or later) or the package zstandard's.

    Raises:
        MissingExtra: Neither is available.
    """
    if sys.version_info >= (3, 14):
        zstd: Any = import_module("compression.zstd")
        limit = {zstd.DecompressionParameter.window_log_max: MAX_WINDOW.bit_length() - 1}
        return lambda: zstd.ZstdDecompressor(options=limit)
    try:
        package: Any = import_module("zstandard")
    except ImportError:
        raise MissingExtra("reading zstd", "zstd") from None
    return lambda: _ZstandardFrame(package)


class _ZstandardFrame:
    """Decompresses one frame with the package zstandard, whose output is unlimited: it gets its input in small steps.

    Zstd's blocks unpack to at most 128 KiB and take at least 3 bytes, so a step of `_STEP` bytes yields at most 5.4
    MiB.
    """

    _STEP = 128

    def __init__(self, package: Any) -> None:
        self._object = package.ZstdDecompressor(max_window_size=MAX_WINDOW).decompressobj()
        self._packed = self._ready = memoryview(b"")

    @property
    def eof(self) -> bool:
        """Whether the frame has ended and all its output was returned."""
        return bool(self._object.eof) and not self._ready

    @property
    def needs_input(self) -> bool:
        """Whether all its output has been returned."""
        return not self._ready and not self._packed and not self._object.eof

    @property
    def unused_data(self) -> bytes:
        """The data after the frame."""
        return bytes(self._object.unused_data) + bytes(self._packed)

    def decompress(self, data: bytes, max_length: int) -> bytes:
        """Consume `data` and return at most `max_length` bytes."""
        self._packed = memoryview(data) if data else self._packed
        while not self._ready and self._packed and not self._object.eof:
            step, self._packed = self._packed[: self._STEP], self._packed[self._STEP :]
            self._ready = memoryview(self._object.decompress(step))
        given, self._ready = self._ready[:max_length], self._ready[max_length:]
        return bytes(given)


_MAKERS: dict[bytes, Callable[[], Callable[[], Decompressor]]] = {
    b"\x28\xb5\x2f\xfd": _zstd,
    b"\xfd7zXZ\x00": lambda: _xz,
    b"BZh": lambda: _bzip2,
}
"""First bytes -> function that finds the factory of decompressors."""
