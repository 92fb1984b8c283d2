"""The cause of a missing score: the reply if the row can be scored for another reply, otherwise the row or verikit.

A failure that depends only on the reply's text is 0.0 with its reason. So a verifier that runs third-party code (a
checker, a grader, a repository's tests) checks the row before it leaves a reply unscored. It checks whether the same
code works for a trivial reply. This happens once per row, when a first reply fails.
"""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future

MOST_ROWS = 256
"""Maximum cached rows; the oldest are evicted first."""


class RowFaults:
    """Findings about rows; thread-safe."""

    def __init__(self, most: int = MOST_ROWS) -> None:
        self._most = most
        self._found: OrderedDict[bytes, Future[str]] = OrderedDict()
        self._lock = threading.Lock()

    def of(self, row: object, find: Callable[[], str]) -> str:
        """Why no reply can be scored on this row; "" if one can.

        Args:
            row: All that the answer depends on, including the verifier's options; its `repr` is the key.
            find: Tries trivial replies. It is called once per row; concurrent callers wait for it.
        """
        key = hashlib.blake2b(repr(row).encode("utf-8", "replace"), digest_size=16).digest()
        with self._lock:
            found = self._found.get(key)
            if first := found is None:
                found = self._found[key] = Future()
                while len(self._found) > self._most:
                    self._found.popitem(last=False)
        if first:
            try:
                found.set_result(find())
            except BaseException as error:
                with self._lock:
                    self._found.pop(key, None)
                found.set_exception(error)
                raise
        return found.result()
