"""Read files of answers into bouts: the same prompt answered by two models.

Several files contain one model each. They are joined by id if every row has its own id, otherwise by prompt. A single
file contains either pairs or candidates. Pairs are rows with `output_1` and `output_2` (alpaca_eval, LLMBar, and
PandaLM's `response1`, `response2`), and optionally a label for the better one. Candidates are rows with several
completions, which are all compared pairwise.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path
from typing import Any

from verikit.base import unique_names
from verikit.errors import SchemaError, UsageError
from verikit.judges.evidence import Shown, as_text, reference_shown
from verikit.judges.pairwise import Pair
from verikit.readers import read, rows
from verikit.readers.files import BAD_ROWS, check_rows
from verikit.readers.layout import ALIASES
from verikit.readers.parse import JsonRow
from verikit.types import Group, Sample

SIDES = (("output_1", "output_2"), ("response1", "response2"), ("answer_1", "answer_2"), ("response_A", "response_B"))
LABELS: Mapping[Any, float] = {1: 1.0, 2: 0.0, 0: 0.5, 1.5: 0.5, "1": 1.0, "2": 0.0, "A>B": 1.0, "B>A": 0.0, "A=B": 0.5}
"""The preference for the first answer that a pair's `label` means."""


@dataclass(frozen=True, slots=True)
class Bout:
    """One prompt with the answers of two models."""

    id: str
    a: str
    b: str
    pair: Pair
    label: float | None = None
    """The preferred answer, if the file has a label: 1 is the first."""
    keys: Mapping[str, Any] = field(default_factory=dict, compare=False)
    """The other keys of the rows, such as a category. The first model's row has priority."""

    @property
    def digest(self) -> str:
        """8 hex digits of everything the judge sees."""
        pair = self.pair
        texts = "\0".join((as_text(pair.prompt), pair.first, pair.second, as_text(pair.reference)))
        if any(pair.messages):
            texts += "\0" + json.dumps(pair.messages, default=repr)
        return hashlib.sha256(texts.encode("utf-8", "replace")).hexdigest()[:8]


@dataclass
class Entrants:
    """The result of reading the files."""

    bouts: list[Bout]
    answers: dict[str, dict[str, str]]
    """Answers by model, then by prompt id."""
    notes: list[str] = field(default_factory=list)
    """Notes for the user on how the files were read."""


@dataclass(frozen=True, slots=True)
class Reading:
    """How files are read: further arguments of `verikit.readers.read`."""

    format: str | None
    mapping: Mapping[str, str]
    gold: str | None


def read_entrants(
    paths: Sequence[str],
    *,
    format: str | None = None,
    mapping: Mapping[str, str] | None = None,
    gold: str | None = None,
    names: Sequence[str] | None = None,
) -> Entrants:
    """Read one file per model, or one file of pairs.

    Models are named after their files unless `names` is given.

    Raises:
        UsageError: A file can't be read, nothing joins, or a row can't be used. A verdict on some of the rows would
            compare unequal sets.
    """
    names = names or unique_names(Path(path).name.partition(".")[0] or "stdin" for path in paths)
    reading = Reading(format, mapping or {}, gold)
    entrants = _pairs(paths[0], reading) if len(paths) == 1 else _joined(paths, names, reading)
    if not entrants.bouts:
        raise UsageError(
            "the files have no prompt with answers of two models", hint="rows are joined by id, or else by prompt"
        )
    return entrants


def judged_bouts(
    rows: Sequence[Mapping[str, Any]], config: Mapping[str, Any], others: Sequence[str] = ()
) -> tuple[Sequence[Bout], str]:
    """Return a run's comparisons with their texts, or none and why they can't be read.

    Args:
        rows: Rows of verdicts.jsonl.
        config: The run's configuration.
        others: Files to try after those that were judged.
    """
    problem = "the run does not record their path"
    for files in filter(None, (config.get("input"), others)):
        try:
            apart = {"gold": config.get("gold"), "names": config.get("names")}
            bouts = read_entrants(files, format=config["format"], mapping=config["mapping"], **apart).bouts
        except UsageError as error:
            problem = str(error)
            continue
        if len(bouts) >= len(rows) and all(bouts[row["line"] - 1].digest == row["digest"] for row in rows):
            return bouts, ""
        problem = f"{', '.join(files)} contain other answers than the judged ones"
    return (), problem


def _joined(paths: Sequence[str], names: Sequence[str], reading: Reading) -> Entrants:
    bad: list[SchemaError] = []
    groups = {name: list(_groups(path, reading, bad)) for name, path in zip(names, paths, strict=True)}
    check_rows(bad)
    by_id = all(not group.id.startswith("line:") for rows in groups.values() for group in rows)
    tables = {name: _table(rows, by_id, name) for name, rows in groups.items()}
    shared = _in_all(list(tables.values()))
    answers = {name: {key: group.completions[0] for key, group in table.items()} for name, table in tables.items()}
    entrants = Entrants([], answers, notes=list(_join_notes(tables, shared)))
    for key in shared:
        entrants.bouts += _bouts(tables[names[0]][key], {name: tables[name][key].samples()[0] for name in names})
    return entrants


def _in_all(tables: Sequence[Mapping[str, Group]]) -> list[str]:
    return [key for key in tables[0] if all(key in table for table in tables)]


def _join_notes(tables: Mapping[str, Mapping[str, Group]], shared: Sequence[str]) -> Iterator[str]:
    for name, table in tables.items():
        several = sum(len(group.completions) > 1 for group in table.values())
        if several:
            yield f"{name}: {several} prompts have several completions; the first is judged"
    for name, table in tables.items():
        lost = len(table) - len(shared)
        if lost:
            yield f"{name}: {lost} of {len(table)} prompts are not in every file and are excluded"
    differing = sum(len({as_text(table[key].prompt) for table in tables.values()}) > 1 for key in shared)
    if differing:
        yield f"{differing} prompts differ between files under one id; the first file's are shown"


def _bouts(asked: Group, replies: Mapping[str, Sample]) -> Iterator[Bout]:
    """Every pair of replies to one prompt."""
    gold = reference_shown(asked.answer)
    for (a, first), (b, second) in combinations(replies.items(), 2):
        keys = {**second.meta, **first.meta}
        yield Bout(asked.id, a, b, _pair(asked, first, second, gold), keys=keys)


def _pair(asked: Group, first: Sample, second: Sample, gold: Shown) -> Pair:
    messages, workspaces = (first.messages, second.messages), (first.workspace, second.workspace)
    return Pair(first.completion, second.completion, asked.prompt, gold, messages, workspaces)


def _groups(path: str, reading: Reading, bad: list[SchemaError]) -> Iterator[Group]:
    """The rows of a file. Its first bad rows are added to `bad`."""
    before = len(bad)
    for item in read(path, format=reading.format, mapping=reading.mapping, gold=reading.gold):
        if isinstance(item, SchemaError):
            bad.append(item)
            if len(bad) - before == BAD_ROWS:
                return
        elif item.completions:
            yield item


def _table(rows: Sequence[Group], by_id: bool, name: str) -> dict[str, Group]:
    table: dict[str, Group] = {}
    for group in rows:
        key = group.id if by_id else as_text(group.prompt)
        if key in table:
            raise UsageError(f"{name}: two rows for the prompt {key[:80]!r}", hint="give each prompt its own id")
        table[key] = group
    return table


def _pairs(path: str, reading: Reading) -> Entrants:
    """Rows with two named answers, or with several completions."""
    mapping = reading.mapping
    if path == "-":
        raise UsageError("pairs are read from a file, not from stdin")
    readable = (row for _, _, row in rows(path) if not isinstance(row, SchemaError))
    sides = _sides(next(readable, {}), mapping)
    if sides is None:
        return _candidates(path, reading)
    entrants = Entrants([], {side: {} for side in sides})
    bad: list[SchemaError] = []
    for _, line, row in rows(path):
        try:
            bout = _bout(row, line, sides, mapping, path)
        except SchemaError as error:
            bad.append(error)
            if len(bad) == BAD_ROWS:
                break
            continue
        entrants.bouts.append(bout)
        for side, text in zip(sides, (bout.pair.first, bout.pair.second), strict=True):
            entrants.answers[side][bout.id] = text
    check_rows(bad)
    return entrants


def _bout(row: JsonRow | SchemaError, line: int, sides: tuple[str, str], mapping: Mapping[str, str], path: str) -> Bout:
    """The pair in a row.

    Raises:
        SchemaError: The row can't be read, or has no prompt or lacks an answer.
    """
    if isinstance(row, SchemaError):
        raise row
    if not all(isinstance(row.get(side), str) for side in sides):
        raise SchemaError(f"text not found under {sides[0]!r} or {sides[1]!r}", file=path, line=line)
    pair = Pair(row[sides[0]], row[sides[1]], _prompt(row, mapping, path, line))
    return Bout(_id(row, mapping, line), *sides, pair, _label(row, mapping), row)


def _id(row: JsonRow, mapping: Mapping[str, str], line: int) -> str:
    named = row.get(mapping.get("id", "id"))
    return f"line:{line}" if named in (None, "") else str(named)


def _label(row: JsonRow, mapping: Mapping[str, str]) -> float | None:
    label = row.get(mapping.get("answer", "label"))
    return LABELS.get(label) if isinstance(label, (str, int, float)) else None


def _sides(row: JsonRow, mapping: Mapping[str, str]) -> tuple[str, str] | None:
    if not {"completions", "completion", *ALIASES}.isdisjoint(mapping):
        return None
    return next((sides for sides in SIDES if all(isinstance(row.get(side), str) for side in sides)), None)


def _prompt(row: JsonRow, mapping: Mapping[str, str], path: str, line: int) -> str:
    keys = [mapping["prompt"]] if "prompt" in mapping else ["instruction", "prompt", "question", "input"]
    parts = [row[key] for key in keys if isinstance(row.get(key), str) and row[key]]
    if not parts:
        hint = f"--map prompt=KEY, one of {', '.join(sorted(row))}"
        raise SchemaError("prompt is missing", file=path, line=line, field="prompt", hint=hint)
    return "\n\n".join(parts)


def _candidates(path: str, reading: Reading) -> Entrants:
    entrants = Entrants([], {})
    bad: list[SchemaError] = []
    for group in _groups(path, reading, bad):
        gold = reference_shown(group.answer)
        samples = group.samples()
        names = [f"completion_{i + 1}" for i in range(len(group.completions))]
        for name, text in zip(names, group.completions, strict=True):
            entrants.answers.setdefault(name, {})[group.id] = text
        for i, j in combinations(range(len(names)), 2):
            pair = _pair(group, samples[i], samples[j], gold)
            entrants.bouts.append(Bout(group.id, names[i], names[j], pair, keys=group.meta))
    check_rows(bad)
    return entrants
