"""Keys of the rows that a run was created from: a prompt's category, and `--where key=value`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from verikit.errors import MissingExtra, UsageError
from verikit.judges.calibration.verdicts import JUDGE
from verikit.judges.match.run import CONFIG
from verikit.readers import read, rows
from verikit.report.kinds import kind_of, read_json
from verikit.types import Group, JsonObject

CATEGORY = "category"
_MOST_TOLD = 10
_GIVE = "run the command in the folder of the original command, with its input file"


def row_keys(run: Path) -> dict[str, JsonObject]:
    """The keys of each prompt's row other than its prompt, candidates and gold answer, by id.

    They come from the run's input file.

    Raises:
        UsageError: The run does not record its input file, or the file can't be read.
        MissingExtra: It requires a package that is not installed.
    """
    config, kind = read_json(run, CONFIG), kind_of(run)
    source = config.get("input")
    if not source or "-" in ([source] if isinstance(source, str) else source):
        raise UsageError(f"{run} scored stdin or rows in memory, whose keys are not stored")
    judged = kind is not None and kind.name == JUDGE
    return dict(_judged(source[0], config) if judged else _scored(source, config))


def _scored(source: str | list[str], config: JsonObject) -> Iterator[tuple[str, JsonObject]]:
    for group in read(source, format=config["format"], mapping=config["mapping"], gold=config["gold"]):
        if isinstance(group, Group):
            yield group.id, group.meta


def _judged(source: str, config: JsonObject) -> Iterator[tuple[str, JsonObject]]:
    """For comparisons, the rows of the first model's file. Rows with pairs of answers can't be read as groups."""
    name: str = config["mapping"].get("id", "id")
    for _, line, row in rows(source):
        if isinstance(row, dict):
            id, meta = row.get(name), row.get("meta")
            yield (f"line:{line}" if id in (None, "") else str(id)), row | (meta if isinstance(meta, dict) else {})


def categories(run: Path) -> dict[str, str]:
    """Each prompt's category, by id. Empty if the rows have no category or can't be read."""
    with suppress(UsageError, MissingExtra):
        return {id: _text(row[CATEGORY]) for id, row in row_keys(run).items() if row.get(CATEGORY) not in (None, "")}
    return {}


def ids_where(run: Path, wanted: Sequence[tuple[str, str]]) -> set[str]:
    """Ids of the prompts whose rows have all of these values.

    Raises:
        UsageError: The rows can't be read, or the key or value does not occur in them.
    """
    try:
        found = row_keys(run)
    except UsageError as error:
        raise UsageError(f"--where needs the rows of the run: {error}", hint=_GIVE) from None
    for key, value in wanted:
        _check_occurs(run, list(found.values()), key, value)
    ids = {id for id, row in found.items() if all(_has(row, key, value) for key, value in wanted)}
    if not ids:
        raise UsageError(f"--where: no row of {run} has all of {', '.join(map('='.join, wanted))}")
    return ids


def _check_occurs(run: Path, rows: Sequence[JsonObject], key: str, value: str) -> None:
    values = dict.fromkeys(_text(row[key]) for row in rows if key in row)
    if not values:
        known = sorted({name for row in rows for name in row})
        raise UsageError(f"--where: no row of {run} has the key {key!r}", hint=f"keys: {_listed(known)}")
    if value not in values:
        raise UsageError(f"--where: no row of {run} has {key}={value}", hint=f"values: {_listed(list(values))}")


def _has(row: Mapping[str, object], key: str, value: str) -> bool:
    return key in row and _text(row[key]) == value


def _text(value: object) -> str:
    """A value as written on the command line."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(names[:_MOST_TOLD])
    return f"{shown}, … ({len(names):,} in all)" if len(names) > _MOST_TOLD else shown or "none"
