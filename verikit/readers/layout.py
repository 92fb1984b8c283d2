"""Turns one row into a `Group`: a format's keys, overridden by the caller's `mapping`.

The remaining keys go into `meta`.

Values taken from a row are not repeated in `meta`. The row's own `meta` object is merged into it and takes precedence.
A null is treated as absent. A mapped key must exist. A row without prompt or completions raises a `SchemaError` that
lists its keys and shows the `--map` that would help.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from verikit.errors import SchemaError, UsageError, nearest
from verikit.readers import fields
from verikit.readers.formats import Format
from verikit.readers.parse import JsonRow, kind
from verikit.types import WORKSPACE, Group

FIELDS = ("prompt", "completions", "completion", "answer", "id")
ALIASES: Mapping[str, str] = {"text": "completion", "texts": "completions", "gold": "answer"}
"""Alternative names of fields in a mapping."""
OWN = "completions."
"""Prefix of a name that is mapped to a list of the row: item i becomes the key of that name in completion i."""
PARALLEL = frozenset(("rewards", "scores", "labels", "correct", "logprobs", "finish_reasons"))
"""Keys whose value, if it is a list as long as the completions, is split among them item by item."""
LIKELY: dict[str, tuple[str, ...]] = {
    "prompt": (
        *("problem", "question", "instruction", "input", "query", "prompts", "messages", "original_question", "q"),
        "problem_statement",
    ),
    "completions": (
        *("candidates", "responses", "outputs", "samples", "generations", "predictions", "solutions", "response"),
        *("output", "out", "prediction", "generation", "model_output", "text", "reply", "replies", "code", "pred"),
    ),
    "answer": ("gold", "target", "label", "ground_truth", "reference", "gold_answer", "final_answer", "solution"),
    "id": ("idx", "index", "question_id", "unique_id", "doc_id", "uid", "qid", "instance_id"),
}
"""Key names that the hints search for, likeliest first."""

Path = tuple[tuple[str, ...], str]
"""Keys of the parents, and the last key."""
Located = tuple[tuple[str, ...], Any]
"""The keys that lead to a value, and the value."""


@dataclass(frozen=True, slots=True)
class BuiltGroup:
    """A row's group, with facts about the row that the group doesn't contain."""

    group: Group
    single: bool
    """Whether the row is a single candidate, which may belong to the same group as its neighbours."""
    named: bool
    """Whether the row has its own id."""


def check_mapping(mapping: Mapping[str, str]) -> dict[str, str]:
    """Return the mapping with every field under its canonical name.

    Raises:
        UsageError: It names a field that does not exist, names one twice, or maps it to nothing.
    """
    found: dict[str, str] = {}
    for name, path in mapping.items():
        field = ALIASES.get(name, name)
        if field not in FIELDS and not (field.startswith(OWN) and field != OWN):
            hint = nearest(name, (*FIELDS, *ALIASES, f"{OWN}NAME"))
            raise UsageError(f"field {name!r} of --map not found", hint=hint)
        if not path and field != "prompt":
            raise UsageError(f"--map {name}= names no key", hint=f"--map {name}=KEY, with a key of the row")
        if field in found:
            raise UsageError(f"{field} is mapped twice, as {name} too", hint="map each field once")
        found[field] = path
    return found


class Layout:
    """Parses the rows of one file in a format, with `mapping` from verikit's fields to the row's keys."""

    def __init__(self, form: Format, mapping: Mapping[str, str], notes: list[str], *, several: bool = False) -> None:
        """Set up for one file. `several` means that several files are read together."""
        self._several = several
        self.name: str = form.name
        self._prepare = form.prepare(notes) if form.prepare else None
        self._needs_prompt = form.needs_prompt and "prompt" not in mapping
        self._mapping = {field: path for field, path in mapping.items() if path and field in FIELDS}
        self._own = {field.removeprefix(OWN): either(path) for field, path in mapping.items() if field not in FIELDS}
        self._notes = notes
        self._first = self._unsure = True
        self._paths = _paths_of(form, mapping)
        self._flat = _flat(self._paths)

    def group(self, row: JsonRow, line: int) -> BuiltGroup | None:
        """Build a row's group. None means that the format skips the row.

        Raises:
            SchemaError: A required field is missing, or a value has the wrong type.
        """
        if self._prepare and self._prepare(row) is None:
            return None
        values, rest = self._split(row)
        prompt, several, lone, answer, id = values
        if several is None and lone is None and type(row.get(WORKSPACE)) is dict:
            values[FIELDS.index("completion")] = lone = ""  # an agent's files are scored instead
        if self._unsure or prompt is None or (several is None and lone is None):
            self._check(row, values)
        completions, own = _candidates(several, lone)
        if self._own or (type(several) is list and not PARALLEL.isdisjoint(rest)):
            rest, own = self._zipped(rest, own, len(completions))
        text = "" if prompt is None else fields.prompt(prompt)
        gold, name = fields.answer(answer), fields.identity(id)
        meta = _with_meta(rest) if "meta" in rest else rest
        group = Group(text, completions, gold, name or f"line:{line}", meta, own or ())
        return BuiltGroup(group, single=type(several) is not list, named=bool(name))

    def _split(self, row: JsonRow) -> tuple[list[Any], JsonRow]:
        """Return the value of each of FIELDS (None if there is none), and the row without them."""
        if self._flat:
            taken = self._flat
            return [row.get(key) for key in taken], {key: value for key, value in row.items() if key not in taken}
        values, rest = [], row
        for paths in self._paths:
            keys, value = locate(row, paths) or ((), None)
            values.append(value)
            rest = without(rest, keys)
        return values, rest

    def _zipped(self, rest: JsonRow, own: list[fields.Own], n: int) -> tuple[JsonRow, list[fields.Own]]:
        """Split lists parallel to the completions among them. Values that a completion already has take precedence.

        Raises:
            SchemaError: A list is not as long as the completions although it must be.
        """
        shared: dict[str, list[Any]] = {}
        for key in PARALLEL.intersection(rest):
            value = rest[key]
            if type(value) is list and len(value) == n:
                shared[key] = value
            elif type(value) is list and key == "rewards":
                raise _unequal(key, value, n)
        for name, paths in self._own.items():
            keys, value = locate(rest, paths) or ((), None)
            if type(value) is not list or len(value) != n:
                raise _unequal(".".join(keys) or paths[0][1], value, n)
            shared[name] = value
            rest = without(rest, keys)
        rest = {key: value for key, value in rest.items() if key not in shared}
        items: list[fields.Own] = [{key: values[i] for key, values in shared.items()} for i in range(n)]
        return rest, [{**item, **keys} for item, keys in zip(items, own or [{}] * n, strict=True)]

    def _check_mapped(self, row: JsonRow) -> None:
        """Raise if a row has no value at a mapped key."""
        for field, path in self._mapping.items():
            if locate(row, self._paths[FIELDS.index(field)]) is None:
                several = f"--map FILE:{field}=KEY maps it in one of several files" if self._several else ""
                hint = nearest(path, list(row), several or "map the field to one of these")
                raise SchemaError(f"{path!r}, mapped to {field}, not found. {_keys(row)}", field=field, hint=hint)

    def _check(self, row: JsonRow, values: Sequence[Any]) -> None:
        """Raise if a required field is missing. Note once if a likely gold answer is under a key of another name."""
        self._check_mapped(row)
        prompt, several, lone, answer, id = (value is None for value in values)
        missing = {"prompt": prompt and self._needs_prompt, "completions": several and lone, "answer": answer, "id": id}
        for field in ("completions", "prompt"):
            if missing[field]:
                self._check_null(field, row)
                raise SchemaError(f"{field} not found. {_keys(row)}", field=field, hint=_map_hint(row, missing))
        if self._first and answer and "answer" not in self._mapping and (likely := _likely(row, "answer")):
            self._notes.append(f"no gold answers are read; {likely!r} looks like one: --map answer={likely}")
        self._first = False
        self._unsure = bool(self._mapping)

    def _check_null(self, field: str, row: JsonRow) -> None:
        """Raise if a missing field's key is in the row, but its value is null."""
        for name in ("completions", "completion") if field == "completions" else (field,):
            if found := locate(row, self._paths[FIELDS.index(name)]):
                key, hint = ".".join(found[0]), "give it a value ('' is an empty string), or delete the row"
                raise SchemaError(f"{key!r} is null", field=name, hint=hint)


def _candidates(several: Any, lone: Any) -> tuple[list[str], list[fields.Own]]:
    """Return the strings of a list of completions or of a single one, and their own keys if any has some."""
    if type(several) is list:
        return fields.candidates(several, "completions")
    text, keys = fields.candidate(lone if several is None else several, "completion")
    return [text], [keys] if keys else []


def _unequal(key: str, value: Any, n: int) -> SchemaError:
    told = f"a list of {len(value)}" if type(value) is list else kind(value)
    hint = "it needs one item for each completion"
    return SchemaError(f"got {told} for a list of {n} completions", field=key, hint=hint)


def _map_hint(row: JsonRow, missing: Mapping[str, bool]) -> str:
    """The `--map` options that would find the missing fields."""
    guesses = {field: _likely(row, field) for field, lacks in missing.items() if lacks}
    needed = ("prompt", "completions")
    flags = [f"--map {field}={key or 'KEY'}" for field, key in guesses.items() if key or field in needed]
    none = " (or --map prompt= for none)" if guesses.get("prompt") == "" else ""
    return f"{' '.join(flags)}{none}"


def _paths_of(form: Format, mapping: Mapping[str, str]) -> tuple[tuple[Path, ...], ...]:
    """Return the paths of each field, in the order of `FIELDS`: its mapped path, otherwise the format's."""
    paths = {field: tuple(map(_path, getattr(form, field))) for field in FIELDS}
    if "completions" in mapping or "completion" in mapping:
        paths["completions"] = paths["completion"] = ()
    paths |= {field: either(path) for field, path in mapping.items() if field in FIELDS}
    return tuple(paths[field] for field in FIELDS)


def _flat(paths: tuple[tuple[Path, ...], ...]) -> tuple[Any, ...]:
    """Return the key of each field (None if a field has none) if all are at the top of the row, otherwise nothing."""
    if any(len(either) > 1 or any(parents for parents, _ in either) for either in paths):
        return ()
    return tuple(either[0][1] if either else None for either in paths)


def _path(dotted: str) -> Path:
    *parents, last = dotted.split(".")
    return tuple(parents), last


def either(dotted: str) -> tuple[Path, ...]:
    """Return a mapped key as a literal key and, if it has dots, also as a path."""
    if not dotted:
        return ()
    return (((), dotted), _path(dotted)) if "." in dotted else (((), dotted),)


def locate(row: JsonRow, paths: tuple[Path, ...]) -> Located | None:
    """Find the first path that leads to a value. A path to null counts only if no other path leads to a value."""
    null: Located | None = None
    for parents, last in paths:
        node: Any = row
        for parent in parents:
            node = _step(node, parent)
        if type(node) is dict:
            if last not in node:
                continue
        elif _item(node, last) is None:
            continue
        value = _step(node, last)
        if value is not None:
            return (*parents, last), value
        null = (*parents, last), None
    return null


def without(node: Any, keys: Sequence[str]) -> Any:
    """Return a copy of an object without the value at a path. List items are kept, so the others keep their indices."""
    if not keys:
        return node
    first, *rest = keys
    if type(node) is dict and first in node:
        if rest:
            return node | {first: without(node[first], rest)}
        return {key: value for key, value in node.items() if key != first}
    if rest and (index := _item(node, first)) is not None:
        return [*node[:index], without(node[index], rest), *node[index + 1 :]]
    return node


def _step(node: Any, key: str) -> Any:
    if type(node) is dict:
        return node.get(key)
    index = _item(node, key)
    return None if index is None else node[index]


def _item(node: Any, key: str) -> int | None:
    """Return the list index that a key represents, or None if it isn't one or is too large."""
    return int(key) if type(node) is list and key.isdecimal() and int(key) < len(node) else None


def _with_meta(row: JsonRow) -> JsonRow:
    meta = row.pop("meta")
    if meta is not None and type(meta) is not dict:
        raise SchemaError(f"meta is an object, this is {kind(meta)}", field="meta")
    return row | (meta or {})


def _keys(row: JsonRow) -> str:
    shown = ", ".join(repr(key if len(key) <= 40 else key[:39] + "…") for key in list(row)[:20])
    more = f" and {len(row) - 20} more" if len(row) > 20 else ""
    return f"The row's keys are {shown}{more}" if row else "The row is empty"


def _likely(row: JsonRow, field: str) -> str:
    return next((key for key in LIKELY[field] if row.get(key) is not None), "")
