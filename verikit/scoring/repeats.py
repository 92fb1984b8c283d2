"""Prompts whose id occurred before become errors."""

from __future__ import annotations

import json
from typing import Any

from verikit.readers import IdIndex, Places, repeated
from verikit.scoring.chunk import ERRORS, SCORES, SELECTED, TREES, ChunkResult, Scorer, error_row
from verikit.scoring.rows import to_line


def without_repeats(result: ChunkResult, scorer: Scorer, ids: IdIndex, places: Places) -> ChunkResult:
    """Remove the groups whose id is in `ids`. The others are added to it."""
    repeats = {line: repeated(id, seen, places) for id, line in result.ids if (seen := ids.add(id, line))}
    if not repeats:
        return result
    rows = {name: list(map(json.loads, data.splitlines())) for name, data in result.written.items()}
    kept = {name: [row for row in rows[name] if row["line"] not in repeats] for name in (SCORES, SELECTED, TREES)}
    errors = [*rows[ERRORS], *(error_row(places.placed(error, line), places) for line, error in repeats.items())]
    kept[ERRORS] = sorted(errors, key=_line)
    tally = scorer.tally().part()
    for _ in tally.read(kept[SCORES], kept[SELECTED], kept[ERRORS]):
        pass
    return ChunkResult(tally, {name: b"".join(map(to_line, kept[name])) for name in kept}, seconds=result.seconds)


def _line(row: dict[str, Any]) -> int:
    return int(row["line"])
