"""Ids already seen, with their lines: exact to 64 bits, in bounded memory for any number of rows.

A hash table of fixed size (64 MiB of zero pages, touched as they fill) contains the first `IN_MEMORY` ids. Later ones
go to a temporary SQLite database, which spills to disk: slower, but no larger. Two different ids are treated as one
with a probability of about 3e-8 in a file of a million rows.
"""

from __future__ import annotations

import mmap
import sqlite3

SLOTS = 2**22
IN_MEMORY = SLOTS // 3 * 2
CACHE_KIB = 32 * 1024


class IdIndex:
    """Stores the line on which each id was first seen."""

    def __init__(self) -> None:
        self._memory = mmap.mmap(-1, SLOTS * 16, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        self._slots = memoryview(self._memory).cast("q")  # digest, line, digest, line, …; digest 0 is a free slot
        self._count = 0
        self._spilled: sqlite3.Connection | None = None

    def add(self, id: str, line: int) -> int:
        """Store `id`. Return the line on which it was seen before, or 0 if it is new."""
        slots, digest = self._slots, hash(id) or 1
        at = digest % SLOTS * 2
        while found := slots[at]:
            if found == digest:
                return slots[at + 1]
            at = (at + 2) % (2 * SLOTS)
        if self._count >= IN_MEMORY:
            return self._add_spilled(digest, line)
        self._count += 1
        slots[at], slots[at + 1] = digest, line
        return 0

    def close(self) -> None:
        """Release the memory and delete the temporary file."""
        self._slots.release()
        self._memory.close()
        if self._spilled:
            self._spilled.close()

    def _add_spilled(self, digest: int, line: int) -> int:
        if self._spilled is None:
            # The generator that owns the index may be resumed from another thread; it never runs in two at once.
            self._spilled = sqlite3.connect("", isolation_level=None, check_same_thread=False)
            for setting in ("journal_mode=off", "synchronous=off", f"cache_size=-{CACHE_KIB}"):
                self._spilled.execute(f"PRAGMA {setting}")
            self._spilled.execute("CREATE TABLE ids (digest INTEGER PRIMARY KEY, line INTEGER)")
            self._spilled.execute("BEGIN")
        if self._spilled.execute("INSERT OR IGNORE INTO ids VALUES (?, ?)", (digest, line)).rowcount:
            return 0
        seen: int = self._spilled.execute("SELECT line FROM ids WHERE digest = ?", (digest,)).fetchone()[0]
        return seen
