"""Tests of problems that are too long for documents. They are stored in a temporary file and read for scoring.

LiveCodeBench's release has gigabytes of tests. Tests inside documents would be copied to the dataset, again for each
reply, and to the sample rows.
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
"""Start and length in bytes of each text in the file."""


@cache
def _file() -> int:
    """An anonymous file, which is deleted when this process ends."""
    descriptor, path = tempfile.mkstemp(prefix="verikit-tests-")
    os.unlink(path)
    return descriptor


def keep(text: str) -> str:
    """Store a text for the lifetime of this process, and return the digest under which `kept` returns it."""
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
    """Return the text with a digest.

    Raises:
        UsageError: This process has not stored it, for example because another process read the document.
    """
    if digest not in _kept:
        raise UsageError("the tests of this document are not on this machine", hint="read the data in this process")
    start, size = _kept[digest]
    data = bytearray()
    while len(data) < size and (part := os.pread(_file(), size - len(data), start + len(data))):
        data += part
    return data.decode("utf-8", "surrogatepass")
