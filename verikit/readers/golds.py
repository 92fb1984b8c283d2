"""Gold answers in a separate file, joined to rows by id: predictions in one file, the dataset in another.

All gold answers are kept in memory. It is an error that names the id if a row's id has no gold answer, two gold answers
differ, or one can't be read. Gold answers that no row uses are ignored.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from verikit.errors import SchemaError, UsageError
from verikit.readers import fields
from verikit.readers.files import Files, placed
from verikit.readers.layout import LIKELY, BuiltGroup, either, locate, without
from verikit.readers.parse import JsonRow, parse
from verikit.readers.paths import Paths
from verikit.types import Gold, Prompt

PREFIX = "gold."
"""Prefix of the gold file's fields in a mapping."""
FIELDS = ("id", "answer", "prompt")
_KEYS: Mapping[str, tuple[str, ...]] = {
    "id": ("id", "custom_id", "example_id", *LIKELY["id"]),
    "answer": ("answer", "reward_model.ground_truth", *LIKELY["answer"]),
    "prompt": ("prompt", "body.messages", *(key for key in LIKELY["prompt"] if key != "messages")),
}
_NOT_META = ("completions", "completion", "meta")


def split_mapping(mapping: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    """Split a mapping into the part for rows and the part for gold answers, without its prefix.

    Raises:
        UsageError: It names a field that gold answers don't have.
    """
    own = {name: path for name, path in mapping.items() if not name.startswith(PREFIX)}
    golds = {name.removeprefix(PREFIX): path for name, path in mapping.items() if name.startswith(PREFIX)}
    if unknown := [name for name, path in golds.items() if name not in FIELDS or not path]:
        raise UsageError(
            f"{PREFIX}{unknown[0]} can't be mapped", hint="to a key: " + ", ".join(PREFIX + name for name in FIELDS)
        )
    return own, golds


@dataclass(frozen=True, slots=True)
class GoldRow:
    """The gold file's content for an id."""

    prompt: Prompt
    answer: Gold
    meta: Mapping[str, Any]


class Golds:
    """The gold answers of files, by id.

    Args:
        paths: The files, as accepted by `rows`.
        mapping: Maps `id`, `answer` and `prompt` to their keys, as dotted paths. By default, the usual keys are
            searched.
    """

    def __init__(self, paths: Paths, mapping: Mapping[str, str]) -> None:
        self._files = Files(paths)
        self.name: str = self._files.name
        self._paths = {
            field: either(mapping[field]) if field in mapping else tuple(p for key in _KEYS[field] for p in either(key))
            for field in FIELDS
        }
        self._mapping = mapping
        self._rows: dict[str, tuple[GoldRow | SchemaError, int]] | None = None
        self.digest = ""
        """12 hex digits of all rows, once they are loaded."""

    def load(self, notes: list[str]) -> None:
        """Read the files once, and add notes for the user.

        Raises:
            UsageError: They can't be read, no row has an id, or no row has the mapped keys.
        """
        if self._rows is not None:
            return
        found: dict[str, tuple[GoldRow | SchemaError, int]] = {}
        bad: list[SchemaError] = []
        digest, answers = hashlib.sha256(), 0
        last: JsonRow | None = None
        for number, raw in self._files.rows():
            digest.update(raw if isinstance(raw, bytes) else repr(raw).encode(errors="replace"))
            if isinstance(raw, SchemaError):
                bad.append(raw)
                continue
            try:
                last = parse(raw) if isinstance(raw, bytes) else raw
                id = self._id(last)
            except SchemaError as error:
                bad.append(self._files.places.placed(error, number))
                continue
            row = self._row(last, number)
            answers += isinstance(row, GoldRow) and row.answer is not None
            found[id] = self._only(found.get(id), row, id, number), number
        if not found:
            raise bad[0] if bad else SchemaError("the file contains no gold answers", file=self.name)
        if bad:
            notes.append(f"{len(bad):,} rows of {self.name} can't be read, the first: {bad[0]}")
        if not answers and last is not None:
            notes.append(self._without_answers(last))
        self._rows, self.digest = found, digest.hexdigest()[:12]

    def _without_answers(self, row: JsonRow) -> str:
        keys = ", ".join(map(repr, list(row)[:20]))
        return f"no answers are read from {self.name}: --map {PREFIX}answer=KEY, one of {keys}"

    def joined(self, built: BuiltGroup) -> BuiltGroup:
        """Return a row joined with its gold answer and the gold file's other keys, which take precedence.

        A row without a prompt gets the gold file's.

        Raises:
            SchemaError: The row has no id, or there is not exactly one gold answer for it.
        """
        assert self._rows is not None, "golds are loaded before rows are read"
        group = built.group
        if not built.named:
            raise SchemaError("the row has no id to find its gold answer", field="id", hint="pass --map id=KEY")
        found, _ = self._rows.get(_key(group.id), (None, 0))
        if found is None:
            example = next(iter(self._rows))
            raise SchemaError(
                f"{self.name} has no gold answer for the id {group.id!r}",
                field="id",
                hint=(
                    f"its ids look like {example!r}. Use --map id=KEY and --map {PREFIX}id=KEY to set the "
                    "fields to join by"
                ),
            )
        if isinstance(found, SchemaError):
            raise SchemaError(f"its gold can't be used: {found}", field="id", hint=found.hint)
        meta = {**group.meta, **found.meta} if found.meta else group.meta
        return replace(built, group=replace(group, prompt=group.prompt or found.prompt, answer=found.answer, meta=meta))

    def _id(self, row: JsonRow) -> str:
        keys, value = locate(row, self._paths["id"]) or ((), None)
        if id := fields.identity(value):
            return _key(id)
        raise SchemaError(
            "id is missing", field=".".join(keys) or "id", hint=f"--map {PREFIX}id=KEY, one of {', '.join(row)}"
        )

    def _row(self, row: JsonRow, number: int) -> GoldRow | SchemaError:
        values: dict[str, Any] = {}
        rest = row
        for field in FIELDS:
            keys, values[field] = locate(row, self._paths[field]) or ((), None)
            if field in self._mapping and not keys:
                problem = SchemaError(f"{self._mapping[field]!r}, mapped to {PREFIX}{field}, not found", field=field)
                return self._files.places.placed(problem, number)
            rest = without(rest, keys)
        meta = row.get("meta")
        rest = {key: value for key, value in rest.items() if key not in _NOT_META}
        try:
            prompt = fields.prompt(values["prompt"]) if values["prompt"] else ""
            answer = fields.answer(values["answer"])
        except SchemaError as error:
            hint = error.hint.replace("--map answer", f"--map {PREFIX}answer")
            return self._files.places.placed(SchemaError(error.problem, field=error.field, hint=hint), number)
        return GoldRow(prompt, answer, rest | (meta if isinstance(meta, dict) else {}))

    def _only(
        self, before: tuple[GoldRow | SchemaError, int] | None, row: GoldRow | SchemaError, id: str, number: int
    ) -> GoldRow | SchemaError:
        """Return the row if no different one with its id came before, otherwise the error that they differ."""
        if before is None or before[0] == row or isinstance(before[0], SchemaError):
            return row if before is None else before[0]
        name, line = self._files.places.at(before[1])
        problem = SchemaError(f"another gold for the id {id!r} than in {name}:{line}", field="id", hint="keep one")
        return placed(problem, *self._files.places.at(number))


def _key(id: str) -> str:
    """Return the key used to compare ids. Data frames turn a column of integers with gaps into 3.0."""
    return id[:-2] if id.endswith(".0") and id[:-2].isdecimal() else id
