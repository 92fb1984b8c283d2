"""Rows of a dataset for an audit: with or without candidates, in any format that `verikit score` reads.

Fields of a known format are read by that format. For other rows the usual key names are tried. Consecutive rows with
one candidate each and the same prompt and gold answer are merged into one row with several candidates.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

from verikit.answers.gold import NUMERAL, ReadGold, read_gold
from verikit.errors import SchemaError, UsageError, nearest
from verikit.messages import content_text
from verikit.readers import Files, Paths, fields
from verikit.readers.formats import FORMATS, Format, detect
from verikit.readers.layout import ALIASES, LIKELY
from verikit.readers.parse import JsonRow, parse
from verikit.replies.text import accepted
from verikit.types import WORKSPACE, Gold, Prompt, Sample
from verikit.workspaces import TaskWorkspace

FIELDS = ("prompt", "completions", "answer", "id", "solution", "label")
"""Names that `--map` accepts here."""
_SOLUTIONS = ("solution", "canonical_solution", "reference_solution", "rationale", "explanation", "cot_content", "cot")
_LABELS = ("label", "is_correct", "correct", "verdict", "judge")
_WORDS = {"true": True, "yes": True, "correct": True, "1": True, "false": False, "no": False, "incorrect": False}
_WORDS["0"] = False


_NAMES = {**ALIASES, "text": "completions", "completion": "completions"}


_read = lru_cache(maxsize=2**14)(read_gold)


@dataclass(frozen=True, slots=True)
class AuditRow:
    """One question with its gold answer and the row's other fields."""

    line: int
    id: str
    prompt: Prompt
    answer: Gold
    solution: str = ""
    """The row's worked solution or program. Empty if it has none."""
    completions: tuple[str, ...] = ()
    labels: tuple[bool | None, ...] = ()
    """Whether each completion is right according to the row. Parallel to `completions`."""
    meta: Mapping[str, Any] = field(default_factory=dict)
    folder: str | None = None
    """The folder of the row's file, to which workspace paths are relative. None if there is no file."""

    @property
    def workspace(self) -> TaskWorkspace | None:
        """Return the files an agent started from and left behind. None if the row has no workspace."""
        told = self.meta.get(WORKSPACE)
        return None if told is None else TaskWorkspace(told, self.folder)

    @property
    def question(self) -> str:
        """Return the prompt as a string, without assistant messages."""
        if isinstance(self.prompt, str):
            return self.prompt
        return "\n".join(content_text(turn.get("content")) for turn in self.prompt if turn.get("role") != "assistant")

    @property
    def options(self) -> list[str]:
        """Return the options of a multiple-choice question. Empty for other questions."""
        found = self.meta.get("options")
        found = list(found.values()) if isinstance(found, dict) else found
        return [str(option) for option in found] if isinstance(found, list | tuple) else []

    @property
    def golds(self) -> list[str]:
        """The accepted answers."""
        return accepted(self.answer)

    @property
    def read(self) -> ReadGold | None:
        """Parse the first accepted answer into its kind and short text. None if there is no gold answer."""
        return _read(self.golds[0]) if self.golds else None

    @property
    def sound(self) -> bool:
        """Whether the gold answer can be compared with. A row with only a solution also qualifies."""
        return self.read is None or not self.read.problem

    @property
    def kind(self) -> str:
        """Return the kind of the first gold answer: letter, number, math, text, or `program` with only tests."""
        read = self.read
        if read is None:
            return "program"
        return "number" if NUMERAL.fullmatch(read.text) else read.kind

    def sample(self, completion: str) -> Sample:
        """A sample of this row with a completion."""
        return Sample(self.prompt, completion, self.answer, self.id, self.meta, workspace=self.workspace)


def _check_names(mapping: Mapping[str, str], format: str | None) -> None:
    if unknown := set(mapping) - {*FIELDS, *_NAMES}:
        raise UsageError(f"field {min(unknown)!r} of --map not found", hint=nearest(min(unknown), FIELDS))
    if format is not None and format not in FORMATS:
        raise UsageError(f"format {format!r} not found", hint=nearest(format, FORMATS))


def read_rows(files: Paths, mapping: Mapping[str, str], format: str | None = None) -> Iterator[AuditRow | SchemaError]:
    """Yield the rows of files. A row that can't be read is yielded as an error.

    Args:
        files: Any input that `verikit.readers.rows` accepts. With several files, `line` counts across all of them.
        mapping: From a name of `FIELDS` to the rows' key, a dotted path.
        format: A name of `verikit.readers.formats.FORMATS`. None detects it from each row's keys.

    Raises:
        UsageError: A field or format is unknown, or a file can't be read.
    """
    _check_names(mapping, format)
    mapping = {_NAMES.get(key, key): path for key, path in mapping.items()}
    held: AuditRow | None = None
    for item in _single(files, mapping, format):
        if isinstance(held, AuditRow) and isinstance(item, AuditRow) and _continues(held, item):
            held = replace(held, completions=held.completions + item.completions, labels=held.labels + item.labels)
            continue
        if held is not None:
            yield held
        held = item if isinstance(item, AuditRow) else None
        if isinstance(item, SchemaError):
            yield item
    if held is not None:
        yield held


def _continues(held: AuditRow, row: AuditRow) -> bool:
    return (
        len(row.completions) == 1
        and bool(held.completions)
        and bool(row.question)
        and (row.prompt, row.answer) == (held.prompt, held.answer)
    )


def _single(files: Paths, mapping: Mapping[str, str], format: str | None) -> Iterator[AuditRow | SchemaError]:
    prepared: dict[str, Any] = {}
    lists = [mapping["completions"]] if mapping.get("completions") else []
    source = Files(files, lists)
    for number, raw in source.rows():
        try:
            if isinstance(raw, SchemaError):
                raise raw
            row = parse(raw) if isinstance(raw, bytes) else raw
            form = FORMATS[format] if format else detect(row)
            if form is not None and form.prepare is not None:
                prepare = prepared.setdefault(form.name, form.prepare([]))
                if (row := prepare(row)) is None:
                    continue
            folder = _folder_of(source.places.at(number)[0])
            yield replace(_row(row, form, mapping, number), folder=folder)
        except SchemaError as error:
            yield source.places.placed(error, number)


def _folder_of(place: str) -> str | None:
    """The folder of a file; None for rows of stdin."""
    return None if place == "<stdin>" else os.path.dirname(place) or "."


def _row(row: JsonRow, form: Format | None, mapping: Mapping[str, str], line: int) -> AuditRow:
    taken = {name: _taken(row, name, form, mapping) for name in ("prompt", "completions", "answer", "id", "solution")}
    key = taken["prompt"][0]
    if key is None and "prompt" not in mapping and WORKSPACE not in row:
        raise SchemaError("the prompt is missing", field="prompt", hint="name its key: --map prompt=KEY")
    prompt = fields.prompt(taken["prompt"][1]) if key is not None else ""
    texts, own = _completions(taken["completions"][1])
    used = {name for name, _ in taken.values() if name is not None}
    return AuditRow(
        line,
        fields.identity(taken["id"][1]) or f"line:{line}",
        prompt,
        _gold(taken["answer"][1]),
        _solution(taken),
        tuple(texts),
        tuple(_labels(row, own, len(texts), mapping.get("label"))),
        _meta(row, used),
    )


def _gold(answer: Any) -> Gold:
    return None if isinstance(answer, bool) or answer == [] else fields.answer(answer)


def _solution(taken: Mapping[str, tuple[str | None, Any]]) -> str:
    """The text of a solution, unless its key is the answer's."""
    key, solution = taken["solution"]
    return solution if isinstance(solution, str) and key != taken["answer"][0] else ""


def _meta(row: JsonRow, used: set[str]) -> JsonRow:
    """Return a row's unused keys, merged with the keys of its `meta`."""
    meta = row.get("meta")
    rest = {name: value for name, value in row.items() if name not in used and name != "meta"}
    return rest | (meta if isinstance(meta, dict) else {})


def _keys_of(name: str, form: Format | None, mapping: Mapping[str, str]) -> Sequence[str]:
    """Return the keys that a field may have: the mapped key, or otherwise the format's keys and the usual ones."""
    if name in mapping:
        return (mapping[name],) if mapping[name] else ()
    if name == "solution":
        return _SOLUTIONS
    if name == "completions":
        own = () if form is None else (*form.completions, *form.completion)
        return (*own, "completions", "completion", *LIKELY[name])
    own = () if form is None else tuple(getattr(form, name))
    return (*own, name, *LIKELY[name])


def _taken(row: JsonRow, name: str, form: Format | None, mapping: Mapping[str, str]) -> tuple[str | None, Any]:
    """Return the top-level key that a field was found under, and its value. Both are None if it is missing."""
    for key in _keys_of(name, form, mapping):
        value = _at(row, key)
        if name == "answer" and (isinstance(value, bool) or (value is None and key not in row)):
            continue
        if value is not None or name == "answer":  # a null gold answer means there is none, regardless of other keys
            return (key if key in row else key.partition(".")[0]), value
    return None, None


def _at(row: JsonRow, path: str) -> Any:
    if path in row:
        return row[path]
    found: Any = row
    for part in path.split("."):
        found = found.get(part) if isinstance(found, dict) else None
    return found


def _completions(value: Any) -> tuple[list[str], list[Mapping[str, Any]]]:
    if value is None or value == []:
        return [], []
    if isinstance(value, list):
        texts, own = fields.candidates(value, "completions")
        return list(texts), list(own)
    text, keys = fields.candidate(value, "completion")
    return [text], [keys]


def _labels(row: JsonRow, own: list[Mapping[str, Any]], n: int, key: str | None) -> Iterator[bool | None]:
    """Yield each candidate's label: its own, the row's if it is the only candidate, or its item in a list."""
    keys = (key,) if key else _LABELS
    labels = _row_labels(row, keys)
    for i in range(n):
        held = own[i] if i < len(own) else {}
        value = next((held[name] for name in keys if name in held), None)
        if value is None and len(labels) == n:
            value = labels[i]
        yield _label(value)


def _row_labels(row: JsonRow, keys: Sequence[str]) -> list[Any]:
    """A row's list of labels, or its one label as a list of one."""
    values = (_at(row, name) for name in keys)
    labels = next((value for value in values if _boolish(value) or isinstance(value, list)), None)
    return labels if isinstance(labels, list) else [labels]


def _boolish(value: Any) -> bool:
    return _label(value) is not None


def _label(value: Any) -> bool | None:
    if isinstance(value, bool):
        return value
    if isinstance(value, int | float) and value in (0, 1):
        return bool(value)
    return _WORDS.get(value.strip().lower()) if isinstance(value, str) else None
