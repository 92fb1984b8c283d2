"""Recorded generations: `Recorder` writes an engine's results to a file, `Replay` returns them from the file.

A record is one JSONL row, `{"engine": …, "request": {…}, "generation": {…}}`, without fields that have their default
value. If a request was recorded several times, its k-th occurrence gets the k-th record, and later ones get the last. A
request that was not recorded is an error on that result, which describes the difference from the nearest record.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from pathlib import Path

from verikit.engines.errors import NotRecorded
from verikit.engines.records import (
    generation_from_json,
    generation_to_json,
    request_from_json,
    request_key,
    request_to_json,
)
from verikit.engines.types import Engine, Generation, Request, StructuredKind, Wrapper
from verikit.errors import SchemaError, UsageError


class Replay(Engine):
    """Answers from a file of records."""

    form = "replay:FILE"

    def __init__(self, path: str | Path) -> None:
        """Read the file.

        Args:
            path: A file of records: `replay:FILE`.

        Raises:
            UsageError: It can't be read.
            SchemaError: A row is not a record.
        """
        self.name: str = f"replay:{path}"
        self._records: dict[str, list[Generation]] = {}
        self._asked: dict[str, int] = {}
        self._by_prompt: dict[str, Request] = {}
        self._kinds: set[StructuredKind] = set()
        self._lock = threading.Lock()
        try:
            with open(path, encoding="utf-8") as rows:
                for number, row in enumerate(rows, 1):
                    if row.strip():
                        self._read(row, path, number)
        except OSError as error:
            raise UsageError(f"can't read {path}: {error.strerror}") from None

    def _read(self, row: str, path: str | Path, number: int) -> None:
        try:
            record = json.loads(row)
            request = request_from_json(record["request"])
            generation = generation_from_json(record["generation"])
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise SchemaError(f"invalid record: {error}", file=path, line=number) from None
        self._records.setdefault(request_key(request), []).append(generation)
        self._by_prompt.setdefault(_prompt_key(request), request)
        if request.structured is not None:
            self._kinds.add(request.structured.kind)

    @property
    def structured(self) -> frozenset[StructuredKind]:
        """The kinds in the recording. Kinds that its engine never received are not supported here either."""
        return frozenset(self._kinds)

    def generate(self, requests: Sequence[Request]) -> list[Generation]:
        """Look each request up."""
        return [self._answer(request) for request in requests]

    def _answer(self, request: Request) -> Generation:
        key = request_key(request)
        found = self._records.get(key)
        if not found:
            return Generation(
                error=NotRecorded(f"{self.name} does not contain this request", hint=self._nearest(request))
            )
        with self._lock:
            asked = self._asked.get(key, 0)
            self._asked[key] = asked + 1
        return found[min(asked, len(found) - 1)]

    def _nearest(self, request: Request) -> str:
        near = self._by_prompt.get(_prompt_key(request))
        if near is None:
            return "its prompt was never recorded"
        asked, recorded = request_to_json(request), request_to_json(near)
        names = sorted(name for name in {*asked, *recorded} if asked.get(name) != recorded.get(name))
        return "the prompt was recorded with other " + ", ".join(names)


class Recorder(Wrapper):
    """An engine that also appends every request with its result to a file.

    It has no tokenizer. Prompts are recorded as text, because a replay has no tokenizer either.
    """

    def __init__(self, engine: Engine, path: str | Path) -> None:
        super().__init__(engine)
        self._path = Path(path)
        self._lock = threading.Lock()

    def generate(self, requests: Sequence[Request]) -> list[Generation]:
        """Call the engine and append the records. Each call's rows are written together."""
        generations = self._engine.generate(requests)
        rows = [
            json.dumps(
                {"engine": self.name, "request": request_to_json(request), "generation": generation_to_json(result)}
            )
            for request, result in zip(requests, generations, strict=True)
        ]
        with self._lock, open(self._path, "a", encoding="utf-8") as file:
            file.write("".join(row + "\n" for row in rows))
        return generations


def _prompt_key(request: Request) -> str:
    return request_key(Request(request.prompt))
