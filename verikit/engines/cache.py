"""A cache of generations in one SQLite file, in front of any engine.

A row's key is a hash of (engine identity, request, number of the same request in the batch). So n equal unseeded
requests stay n different samples, and a repeated run finds all of them. Rows are written as results arrive, so paid
results survive a crash. Errors are never stored, and a row that can't be read is a miss.

Safe across processes and threads: write-ahead log, a connection for each call, short transactions. The least recently
used rows are evicted when the file passes its cap.
"""

from __future__ import annotations

import json
import logging
import os
import sqlite3
import time
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from verikit.engines.records import generation_from_json, generation_to_json, request_key
from verikit.engines.types import Engine, Generation, Request, StreamingEngine, Wrapper
from verikit.errors import ConfigError

VERSION = 1
BUSY_S = 60.0
"""Seconds that a writer waits for another one."""
USED_AGAIN_S = 3600.0
"""A hit is recorded as a use if the last one is older than this, so reading causes few writes."""
TRAINING_BYTES = 2**30
APPLICATION = 0x76726B31
"""SQLite's application id, which identifies the file as verikit's."""
_TABLE = (
    "CREATE TABLE generations (key TEXT PRIMARY KEY, engine TEXT NOT NULL, used REAL NOT NULL, value BLOB NOT NULL)"
)
_INDEX = "CREATE INDEX by_use ON generations (used)"
_log = logging.getLogger(__name__)


def default_path() -> Path:
    """Return the cache's path: VERIKIT_CACHE, or by default verikit/generations.sqlite in the user's cache folder."""
    if own := os.environ.get("VERIKIT_CACHE"):
        return Path(own)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "verikit" / "generations.sqlite"


def training_cache() -> Cache:
    """Return the cache of judge replies for a training run: in the same folder as the default one, with a lower cap.

    Each completion is judged once, so its replies would evict those that are needed again.
    """
    path = default_path()
    return Cache(path.with_name(f"{path.stem}-training{path.suffix}"), TRAINING_BYTES)


@dataclass(frozen=True)
class Cache:
    """The file and its cap."""

    path: Path
    max_bytes: int = 4 * 2**30

    def connect(self) -> sqlite3.Connection:
        """Open the file, creating it if it doesn't exist.

        Raises:
            ConfigError: It can't be opened, or is not a cache.
        """
        end = time.monotonic() + BUSY_S
        try:
            Path(self.path).parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            while (connection := self._open(end)) is None:
                time.sleep(0.02)
        except (OSError, sqlite3.Error) as error:
            raise ConfigError(
                f"can't open the cache {self.path}: {error}", hint="VERIKIT_CACHE names another"
            ) from None
        return connection

    def _open(self, end: float) -> sqlite3.Connection | None:
        """Open and prepare the file. None if another process is preparing it, for which SQLite itself does not wait."""
        connection = sqlite3.connect(self.path, timeout=BUSY_S, isolation_level=None)
        try:
            self._prepare(connection)
        except sqlite3.Error as error:
            connection.close()
            if getattr(error, "sqlite_errorname", "").startswith("SQLITE_BUSY") and time.monotonic() < end:
                return None
            raise
        return connection

    def _prepare(self, connection: sqlite3.Connection) -> None:
        def ours() -> bool:
            return (
                _pragma(connection, "application_id") == APPLICATION and _pragma(connection, "user_version") == VERSION
            )

        if not ours():
            # Checked in this order, because the table and the mark are created in one transaction.
            if _pragma(connection, "schema_version") and _pragma(connection, "application_id") != APPLICATION:
                raise sqlite3.DatabaseError("it is another program's database")
            connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("BEGIN IMMEDIATE")
            if not ours():  # another process may have been first
                connection.execute("DROP TABLE IF EXISTS generations")
                connection.execute(_TABLE)
                connection.execute(_INDEX)
                connection.execute(f"PRAGMA application_id = {APPLICATION}")
                connection.execute(f"PRAGMA user_version = {VERSION}")
            connection.execute("COMMIT")
        # The file may be untrusted: views, triggers and generated columns would be foreign code.
        connection.execute("PRAGMA trusted_schema = OFF")
        if {sql for (sql,) in connection.execute("SELECT sql FROM sqlite_master")} != {_TABLE, _INDEX, None}:
            raise sqlite3.DatabaseError("it contains more than generations")
        connection.execute("PRAGMA synchronous = NORMAL")

    def get(self, connection: sqlite3.Connection, keys: Sequence[str]) -> dict[str, Generation]:
        """Return the generations stored under some keys, marked as hits."""
        found: dict[str, Generation] = {}
        old = []
        now = time.time()
        for start in range(0, len(keys), 500):
            part = keys[start : start + 500]
            marks = ",".join("?" * len(part))
            rows = connection.execute(f"SELECT key, used, value FROM generations WHERE key IN ({marks})", part)
            for key, used, value in rows:
                try:
                    generation = generation_from_json(json.loads(zlib.decompress(value)))
                except (ValueError, zlib.error):
                    continue
                found[key] = replace(generation, usage={"cached": 1.0})
                if used < now - USED_AGAIN_S:
                    old.append((now, key))
        if old:
            self._write(connection, "UPDATE generations SET used = ? WHERE key = ?", old)
        return found

    def put(self, connection: sqlite3.Connection, key: str, engine: str, generation: Generation) -> None:
        """Store a generation. One with an error is not stored."""
        if generation.error is None:
            value = zlib.compress(json.dumps(generation_to_json(generation)).encode(), 1)
            self._write(
                connection,
                "INSERT OR REPLACE INTO generations VALUES (?, ?, ?, ?)",
                [(key, engine, time.time(), value)],
            )

    def trim(self, connection: sqlite3.Connection) -> None:
        """Delete the least recently used rows, an eighth at a time, until the file is within its cap."""
        count = 1
        while count and self.size(connection) > self.max_bytes:
            count = connection.execute("SELECT count(*) FROM generations").fetchone()[0]
            oldest = "SELECT key FROM generations ORDER BY used LIMIT ?"
            self._write(connection, f"DELETE FROM generations WHERE key IN ({oldest})", [(count // 8 + 1,)])
            connection.execute("PRAGMA incremental_vacuum").fetchall()

    def size(self, connection: sqlite3.Connection) -> int:
        """Bytes of the file's pages in use."""
        pages = _pragma(connection, "page_count") - _pragma(connection, "freelist_count")
        return pages * _pragma(connection, "page_size")

    def clear(self, connection: sqlite3.Connection, *, engine: str = "", unused_days: float = 0.0) -> int:
        """Delete an engine's rows (all engines' if empty) not used for some days. Return their number."""
        before = time.time() - unused_days * 86400
        deleted = connection.execute(
            "DELETE FROM generations WHERE used <= ? AND (? = '' OR engine = ?)", (before, engine, engine)
        ).rowcount
        connection.execute("PRAGMA incremental_vacuum").fetchall()
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        return deleted

    def _write(self, connection: sqlite3.Connection, statement: str, rows: Sequence[tuple[object, ...]]) -> None:
        """Write in one transaction. With a full disk or a writer that never ends, the cache is lost but not the run."""
        try:
            connection.execute("BEGIN IMMEDIATE")
            connection.executemany(statement, rows)
            connection.execute("COMMIT")
        except sqlite3.OperationalError as error:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            _log.warning("the cache %s was not written: %s", self.path, error)


def _pragma(connection: sqlite3.Connection, name: str) -> int:
    return int(connection.execute(f"PRAGMA {name}").fetchone()[0])


class CachedEngine(Wrapper, StreamingEngine):
    """An engine behind a cache."""

    def __init__(self, engine: Engine, cache: Cache) -> None:
        super().__init__(engine)
        self._cache = cache
        self.tokenizer: Any = engine.tokenizer

    def stream(self, requests: Sequence[Request]) -> Iterator[tuple[int, Generation]]:
        """Yield the hits, then the engine's results as they arrive, each stored first.

        Equal deterministic requests are sent once.
        """
        askers: dict[str, list[int]] = {}
        asked: Counter[str] = Counter()
        for number, request in enumerate(requests):
            key = request_key(request, self.identity)
            if not request.deterministic:
                asked[key] += 1
                key = f"{key}-{asked[key]}"
            askers.setdefault(key, []).append(number)
        with closing(self._cache.connect()) as connection:
            hits = self._cache.get(connection, list(askers))
            for key, generation in hits.items():
                yield from ((number, generation) for number in askers[key])
            missed = [key for key in askers if key not in hits]
            for number, generation in self._engine.stream([requests[askers[key][0]] for key in missed]):
                key = missed[number]
                self._cache.put(connection, key, self.name, generation)
                yield from ((number, generation) for number in askers[key])
            if missed:
                self._cache.trim(connection)
