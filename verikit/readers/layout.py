"""One row to a `Group`: a format's keys, overridden by the caller's `mapping`, then whatever is left over to `meta`.

What is taken out of a row is not repeated in `meta`; the row's own `meta` object is merged into it and wins. A null
counts as absent. A key the caller mapped must be there; a row without prompt or completions raises a `SchemaError`
that lists the keys seen and shows the `--map` that would help.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from verikit.errors import SchemaError, UsageError
from verikit.readers import fields
from verikit.readers.formats import Format
from verikit.readers.parse import Row, kind
from verikit.types import Group

FIELDS = ("prompt", "completions", "completion", "answer", "id")
LIKELY = {
    "prompt": ("problem", "question", "instruction", "input", "query", "prompts", "messages", "original_question"),
    "completions": (
        *("candidates", "responses", "outputs", "samples", "generations", "predictions", "solutions", "response"),
        *("output", "prediction", "generation", "model_output", "text", "code", "pred"),
    ),
    "answer": ("gold", "target", "label", "ground_truth", "reference", "gold_answer", "final_answer", "solution"),
    "id": ("idx", "index", "question_id", "unique_id", "doc_id", "uid", "qid"),
}
"""Key names the hints look for, likeliest first."""

Path = tuple[tuple[str, ...], str]
"""Keys of the parents, and the last key."""
Place = tuple[Any, Any]
"""The dict or list a value lies in, and its key there."""


def check_mapping(mapping: Mapping[str, str]) -> None:
    """Raise a `UsageError` if `mapping` names a field that does not exist or maps it to nothing."""
    for field, path in mapping.items():
        if field not in FIELDS:
            raise UsageError(f"there is no field {field!r} to map", hint=f"one of {', '.join(FIELDS)}")
        if not path and field != "prompt":
            raise UsageError(f"{field} is mapped to nothing", hint=f"--map {field}=KEY, a key of the row")


class Layout:
    """Reads the rows of one file as a format, with `mapping` from our fields to the row's keys."""

    def __init__(self, form: Format, mapping: Mapping[str, str], notes: list[str]) -> None:
        self.name = form.name
        self._prepare = form.prepare(notes) if form.prepare else None
        self._needs_prompt = form.needs_prompt and "prompt" not in mapping
        self._mapping = {field: path for field, path in mapping.items() if path}
        self._notes = notes
        self._first = self._unsure = True
        paths = {field: tuple(map(_path, getattr(form, field))) for field in FIELDS}
        if "completions" in mapping or "completion" in mapping:
            paths["completions"] = paths["completion"] = ()
        paths |= {field: _either(path) for field, path in mapping.items()}
        self._paths = tuple(paths[field] for field in FIELDS)
        self._flat = _flat(self._paths)

    def group(self, row: Row, line: int) -> tuple[Group, bool, bool] | None:
        """Return the row's group, whether it is a single candidate, and whether it has an id of its own.

        None stands for a row the format leaves out.
        """
        if self._prepare and self._prepare(row) is None:
            return None
        values: list[Any]
        places: list[Place | None] = []
        if self._flat:
            values = [row.get(key) for key in self._flat]
        else:
            places = [_place(row, paths) for paths in self._paths]
            values = [place and place[0][place[1]] for place in places]
        prompt, several, lone, answer, id = values
        if self._unsure or (several is None and lone is None) or prompt is None:
            self._check(row, prompt is None, several is None and lone is None, answer is None)
        single = type(several) is not list
        own: list[fields.Own] = []
        if single:
            completion, keys = fields.candidate(lone if several is None else several, "completion")
            completions = [completion]
            if keys:
                own = [keys]
        else:
            completions, own = fields.candidates(several, "completions")
        text = "" if prompt is None else fields.prompt(prompt)
        gold, name = fields.answer(answer), fields.identity(id)
        for key in self._flat:
            row.pop(key, None)
        for place in places:
            if place and type(place[0]) is dict:
                place[0].pop(place[1], None)
        meta = _with_meta(row) if "meta" in row else row
        return Group(text, completions, gold, name or f"line:{line}", meta, own or ()), single, bool(name)

    def _check(self, row: Row, no_prompt: bool, no_text: bool, no_answer: bool) -> None:
        """Raise if a field that must be there is not; note once a likely gold answer under a key of another name."""
        for field, path in self._mapping.items():
            if _place(row, self._paths[FIELDS.index(field)]) is None:
                raise SchemaError(f"no {path!r}, which {field} is mapped to; {_keys(row)}", field=field)
        if no_text or (no_prompt and self._needs_prompt):
            field = "completions" if no_text else "prompt"
            hint = self._hint(row, no_prompt, no_text, no_answer)
            raise SchemaError(f"no {field}; {_keys(row)}", field=field, hint=hint)
        if self._first and no_answer and "answer" not in self._mapping and (likely := _likely(row, "answer")):
            self._notes.append(f"no gold answers are read; {likely!r} looks like one: --map answer={likely}")
        self._first = False
        self._unsure = bool(self._mapping)

    def _hint(self, row: Row, no_prompt: bool, no_text: bool, no_answer: bool) -> str:
        wanted = {"prompt": no_prompt and self._needs_prompt, "completions": no_text, "answer": no_answer}
        wanted["id"] = _place(row, self._paths[FIELDS.index("id")]) is None
        guesses = {field: _likely(row, field) for field, missing in wanted.items() if missing}
        needed = ("prompt", "completions")
        flags = [f"--map {field}={key or 'KEY'}" for field, key in guesses.items() if key or field in needed]
        none = " (or --map prompt= for none)" if guesses.get("prompt") == "" else ""
        return f"{' '.join(flags)}{none}"


def _flat(paths: tuple[tuple[Path, ...], ...]) -> tuple[Any, ...]:
    """The one key of each field, None where a field has none, if all lie at the top of the row; else nothing."""
    if any(len(either) > 1 or any(parents for parents, _ in either) for either in paths):
        return ()
    return tuple(either[0][1] if either else None for either in paths)


def _path(dotted: str) -> Path:
    *parents, last = dotted.split(".")
    return tuple(parents), last


def _either(dotted: str) -> tuple[Path, ...]:
    """A mapped key as it stands or, if it has dots, as a path."""
    if not dotted:
        return ()
    return (((), dotted), _path(dotted)) if "." in dotted else (((), dotted),)


def _place(row: Row, paths: tuple[Path, ...]) -> Place | None:
    """Find the first path that leads to a value; one that leads to null counts if no other leads anywhere."""
    null: Place | None = None
    for parents, last in paths:
        node: Any = row
        key: Any = last
        for parent in parents:
            node = _step(node, parent)
        if type(node) is list and last.isdecimal() and int(last) < len(node):
            key = int(last)
        elif type(node) is not dict or last not in node:
            continue
        if node[key] is not None:
            return node, key
        null = node, key
    return null


def _step(node: Any, key: str) -> Any:
    if type(node) is dict:
        return node.get(key)
    if type(node) is list and key.isdecimal() and int(key) < len(node):
        return node[int(key)]
    return None


def _with_meta(row: Row) -> Row:
    meta = row.pop("meta")
    if meta is not None and type(meta) is not dict:
        raise SchemaError(f"meta is an object, this is {kind(meta)}", field="meta")
    return row | (meta or {})


def _keys(row: Row) -> str:
    shown = ", ".join(repr(key if len(key) <= 40 else key[:39] + "…") for key in list(row)[:20])
    more = f" and {len(row) - 20} more" if len(row) > 20 else ""
    return f"the row's keys are {shown}{more}" if row else "the row is empty"


def _likely(row: Row, field: str) -> str:
    return next((key for key in LIKELY[field] if row.get(key) is not None), "")
