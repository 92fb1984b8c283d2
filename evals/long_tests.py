"""Tests of problems that are too long to stand in documents: kept in a temporary file, read when replies are scored.

LiveCodeBench's release is gigabytes of tests. A document that held its own would hold them in the data set, once more
for each reply, and in the sample rows.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
import threading
from functools import cache

from verikit.errors import UsageError

_lock = threading.Lock()
_kept: dict[str, tuple[int, int]] = {}
"""Where each text begins in the file, and how many bytes it has."""


@cache
def _file() -> int:
    """A file without a name, which ends with this process."""
    descriptor, path = tempfile.mkstemp(prefix="verikit-tests-")
    os.unlink(path)
    return descriptor


def keep(text: str) -> str:
    """Put a text away, for as long as this process lives; returns its digest, which it is had by."""
    data = text.encode("utf-8", "surrogatepass")
    digest = hashlib.sha256(data).hexdigest()
    with _lock:
        if digest not in _kept:
            start = os.lseek(_file(), 0, os.SEEK_END)
            left = memoryview(data)
            while left:
                left = left[os.write(_file(), left) :]
            _kept[digest] = start, len(data)
    return digest


def kept(digest: str) -> str:
    """The text with a digest.

    Raises:
        UsageError: this process has put none away, as where a document was read by another.
    """
    if digest not in _kept:
        raise UsageError("the tests of this document are not here", hint="read the data again")
    start, size = _kept[digest]
    data = bytearray()
    while len(data) < size and (part := os.pread(_file(), size - len(data), start + len(data))):
        data += part
    return data.decode("utf-8", "surrogatepass")
