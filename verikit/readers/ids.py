"""Which ids were seen before, and on which line: exact to 64 bits, in bounded memory for any number of rows.

The index is a temporary SQLite database that spills to disk by itself. Two different ids share a digest with a chance
of about 3e-8 in a file of a million rows.
"""

from __future__ import annotations

import sqlite3

CACHE_KIB = 32 * 1024


class IdIndex:
    """Remembers the line each id was first seen on."""

    def __init__(self) -> None:
        # A generator may be resumed from another thread; it never runs in two at once.
        self._database = sqlite3.connect("", isolation_level=None, check_same_thread=False)
        for setting in ("journal_mode=off", "synchronous=off", f"cache_size=-{CACHE_KIB}"):
            self._database.execute(f"PRAGMA {setting}")
        self._database.execute("CREATE TABLE ids (digest INTEGER PRIMARY KEY, line INTEGER)")
        self._database.execute("BEGIN")

    def add(self, id: str, line: int) -> int:
        """Remember `id`; return the line it was seen on before, or 0 if it is new."""
        digest = hash(id)
        cursor = self._database.execute("INSERT OR IGNORE INTO ids VALUES (?, ?)", (digest, line))
        if cursor.rowcount:
            return 0
        seen: int = self._database.execute("SELECT line FROM ids WHERE digest = ?", (digest,)).fetchone()[0]
        return seen

    def close(self) -> None:
        """Drop the index and its temporary file."""
        self._database.close()
