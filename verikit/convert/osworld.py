"""Tasks of OSWorld: an evaluator over files becomes the checks of the verifier `osworld`.

Source: xlang-ai/OSWorld, one JSON object per task. Expected files are read from `cache/ID/NAME` next to the row's file,
where OSWorld itself keeps its downloads. An agent's files are in `outputs/ID`, at the paths of the task's machine.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from verikit.convert.deliverables import path_id
from verikit.convert.osworld_tables import sheets
from verikit.convert.parts import FOLDER, made, text
from verikit.errors import AgentFault, SchemaError, WorkspaceError
from verikit.readers.parse import JsonRow
from verikit.verifiers.osworld import rules, visible
from verikit.verifiers.osworld.checks import spacings
from verikit.workspaces import Workspace
from verikit.workspaces.folder import FolderSource
from verikit.workspaces.names import has_wildcards, parts

Check = JsonRow
Options = Mapping[str, Any]
Golds = Callable[[str], bytes]
"""Reads an expected file by its name.

Raises:
    SchemaError: It is not there.
"""


class NotTranslated(Exception):
    """A comparer, or a part of one, that the verifier can't check. The message names it."""


class Compared(NamedTuple):
    """One comparer of a task."""

    func: str
    file: str
    """The agent's file, within its workspace."""
    expected: Any
    """The expected files, or the rules."""
    options: Options
    golds: Golds

    def gold(self) -> bytes:
        """The first expected file."""
        return self.golds(self.names()[0])

    def names(self) -> list[str]:
        """The names of the expected files."""
        told = self.expected
        if not isinstance(told, Mapping) or told.get("type") not in ("cloud_file", "cache_file"):
            kind = told.get("type") if isinstance(told, Mapping) else None
            raise NotTranslated(f"{self.func}: the expected value is {kind!r}, not a file")
        if told.get("gives", [0]) != [0]:
            raise NotTranslated(f"{self.func} compares with several expected files")
        found = told.get("dest" if told["type"] == "cloud_file" else "path")
        return _named(found, "evaluator.expected")

    def rule(self) -> Mapping[str, Any]:
        """The rules."""
        told = self.expected.get("rules") if isinstance(self.expected, Mapping) else None
        if not isinstance(told, Mapping) or self.expected.get("type") != "rule":
            raise NotTranslated(f"{self.func}: the expected value is not a rule")
        return told


def osworld(row: JsonRow) -> Iterator[JsonRow]:
    """An instruction with the checks of its evaluator. Other comparers become unscored checks with the reason."""
    prompt, id = text(row, "instruction"), path_id(row)
    evaluator = row.get("evaluator")
    if not isinstance(evaluator, Mapping):
        raise SchemaError("must be an object", field="evaluator")
    names = _named(evaluator.get("func"), "evaluator.func")
    golds = _golds(row, id)
    given = [_aligned(evaluator, key, len(names)) for key in ("result", "expected", "options")]
    functions = [
        {"func": func, "checks": _checks(func, result, expected, options, golds)}
        for func, result, expected, options in zip(names, *given, strict=True)
    ]
    conj = "or" if evaluator.get("conj") == "or" else "and"
    taken = ("instruction", "evaluator", "config", "trajectory", FOLDER)
    checks = {"conj": conj, "functions": functions}
    yield made(row, prompt, taken=taken, osworld=checks, workspace={"after": f"outputs/{id}"})


def _named(told: Any, field: str) -> list[str]:
    names = told if isinstance(told, list) else [told]
    if not names or not all(isinstance(name, str) and name for name in names):
        raise SchemaError("must be a name or a list of names", field=field)
    return [str(name) for name in names]


def _aligned(evaluator: Mapping[str, Any], key: str, count: int) -> list[Any]:
    """The values of a key, one for each comparer."""
    told = evaluator.get(key)
    found = told if isinstance(told, list) else [told]
    if told in (None, {}, []):
        return [{}] * count
    if len(found) != count:
        raise SchemaError(f"{count} comparers need {count} values, got {len(found)}", field=f"evaluator.{key}")
    return [one if one is not None else {} for one in found]


def _golds(row: JsonRow, id: str) -> Golds:
    """A reader of the expected files of a task."""

    def read(name: str) -> bytes:
        folder = row.get(FOLDER)
        if not isinstance(folder, str):
            raise SchemaError("the expected files are only next to a local file", field="evaluator.expected")
        try:
            return Workspace(FolderSource(os.path.abspath(folder), ("cache", id))).one(name).data()
        except (AgentFault, WorkspaceError) as problem:
            raise SchemaError(f"cache/{id}/{name}: {problem}"[:300], field="evaluator.expected") from None

    return read


def _checks(func: str, result: Any, expected: Any, options: Any, golds: Golds) -> list[Check]:
    """The checks of one comparer."""
    try:
        if func not in COMPARERS:
            raise NotTranslated(f"{func} has no counterpart")
        if not isinstance(options, Mapping):
            raise SchemaError("must be an object", field="evaluator.options")
        compared = Compared(func, _agents_file(func, result), expected, options, golds)
        return [{"file": compared.file, **check} if "because" not in check else check
                for check in COMPARERS[func](compared)]  # fmt: skip
    except NotTranslated as problem:
        return [unscored(str(problem))]
    except (AgentFault, WorkspaceError) as problem:
        raise SchemaError(f"{func}: an expected file can't be read: {problem}"[:300], field="evaluator") from None


def unscored(because: str) -> Check:
    """A check that has no value."""
    return {"kind": "unscored", "because": because[:300]}


def _agents_file(func: str, result: Any) -> str:
    """The path of the agent's file within its workspace."""
    kind = result.get("type") if isinstance(result, Mapping) else None
    if kind != "vm_file":
        raise NotTranslated(f"{func} reads {kind!r}, which needs the running machine")
    path = result.get("path")
    if isinstance(path, list):
        gives = result.get("gives", [0])
        if gives != [0] or not path:
            raise NotTranslated(f"{func} reads several files")
        path = path[0]
    names = parts(path[1:]) if isinstance(path, str) and path.startswith("/") else None
    if not names or has_wildcards("/".join(names)):
        raise NotTranslated(f"{func} reads {path!r}, which is not an absolute path")
    return "/".join(names)


def _lines(compared: Compared, source: str, rule: str, expected: list[str] | None = None) -> Iterator[Check]:
    if expected is None:
        readings = visible.SOURCES[source](compared.gold())
        if any(reading != readings[0] for reading in readings):
            raise NotTranslated(f"{compared.func}: only a rendered page shows the text of the expected file")
        expected = readings[0]
    check: Check = {"kind": "lines", "source": source, "rule": rule, "expected": expected}
    yield check | ({"ignore_case": True} if compared.options.get("ignore_case") else {})


def _documents(compared: Compared) -> Iterator[Check]:
    """The strings of two documents. A similarity is 1.0 if they are equal, otherwise 0.0."""
    if not compared.file.endswith(".docx"):
        raise NotTranslated(f"{compared.func} compares documents other than .docx")
    yield from _lines(compared, "docx", _document_rule(compared.func, compared.options))


def _document_rule(func: str, told: Options) -> str:
    if func == "compare_docx_lines":
        return "set"
    words = told.get("ignore_blanks", True) or told.get("content_only")
    filled = told.get("delete_empty_lines") or func.endswith("ignore_new_lines")
    if told.get("ignore_order"):
        return "filled bag" if words or filled else "bag"
    if words:
        return "words"
    return "filled" if filled else "lines"


def _spacing(compared: Compared) -> Iterator[Check]:
    yield {"kind": "spacing", "expected": spacings(compared.gold())}


def _font(compared: Compared) -> Iterator[Check]:
    yield {"kind": "font", "expected": text(dict(compared.rule()), "font_name")}


_DECK = ("text", "number_of_slides", "note")
_PROPERTIES = (
    "shape", "indent", "font_name", "font_size", "font_bold", "font_italic", "color_rgb", "font_underline",
    "strike_through", "alignment", "bullets", "background_color",
)  # fmt: skip
"""Properties that the comparer of decks checks unless an option disables it. verikit does not check them."""


def _examined(options: Mapping[str, Any]) -> dict[str, Any]:
    """What a comparison of decks examines, by name."""
    return {key.removeprefix("examine_"): wanted for key, wanted in options.items() if key.startswith("examine_")}


def _decks(compared: Compared) -> Iterator[Check]:
    on = _examined(compared.options)
    if off := [name for name in _DECK if on.get(name) is False]:
        raise NotTranslated(f"{compared.func} without {', '.join(off)}")
    yield from _lines(compared, "pptx", "filled")
    more = [name for name in _PROPERTIES if on.get(name, True)]
    more += [name for name, wanted in on.items() if wanted and name not in (*_DECK, *_PROPERTIES)]
    if more:
        yield unscored(f"{compared.func} also compares {', '.join(more)}")


def _texts(compared: Compared) -> Iterator[Check]:
    rule = "words" if compared.options.get("ignore_blanks") else "lines"
    expected = compared.rule().get("expected") if compared.func == "compare_config" else None
    if expected is not None:
        expected = visible.SOURCES["text"](str(expected).encode("utf-8", "replace"))[0]
    yield from _lines(compared, "text", rule, expected)


def _contains(compared: Compared) -> Iterator[Check]:
    told = compared.rule().get("expected")
    if not isinstance(told, list) or not told or not all(isinstance(one, str) for one in told):
        raise SchemaError("must be a list of strings that is not empty", field="evaluator.expected.rules.expected")
    yield {"kind": "contains", "expected": told}


def _json_rules(compared: Compared) -> Iterator[Check]:
    if compared.options.get("is_yaml"):
        raise NotTranslated(f"{compared.func} reads YAML")
    told = compared.rule()
    sides = _sides(told)
    for side, listed in sides.items():
        for rule in listed:
            if not isinstance(rule.get("key"), list):
                raise SchemaError("a rule needs a list `key`", field=f"evaluator.expected.rules.{side}")
            if rules.method_of(rule) not in rules.METHODS:
                raise NotTranslated(f"{compared.func} by {rule.get('method')!r}")
            if rules.method_of(rule) == "approx" and not _is_tolerance(str(rule["method"]).partition(":")[2]):
                raise SchemaError("approx needs a tolerance", field=f"evaluator.expected.rules.{side}")
    yield {"kind": "json_values", **sides}


def _is_tolerance(told: str) -> bool:
    try:
        return 0 <= float(told) < float("inf")
    except ValueError:
        return False


def _sides(told: Mapping[str, Any]) -> dict[str, list[Mapping[str, Any]]]:
    """The rules of both sides. Without any, every file would pass."""
    sides = {side: _mappings(told, side) for side in ("expect", "unexpect")}
    if not any(sides.values()):
        raise SchemaError("has no rules", field="evaluator.expected.rules")
    return sides


def _mappings(told: Mapping[str, Any], side: str) -> list[Mapping[str, Any]]:
    """The rules of one side, which may be left out."""
    found = told.get(side, [])
    if not isinstance(found, list) or not all(isinstance(rule, Mapping) for rule in found):
        raise SchemaError("must be a list of objects", field=f"evaluator.expected.rules.{side}")
    return found


def _json_settings(compared: Compared) -> Iterator[Check]:
    told = compared.rule().get("expected")
    if not isinstance(told, Mapping) or not told:
        raise SchemaError("must be an object", field="evaluator.expected.rules.expected")
    yield {
        "kind": "json_values",
        "expect": [{"key": [key], "method": "eq", "ref": value} for key, value in told.items()],
    }


def _records(compared: Compared) -> Iterator[Check]:
    told = compared.rule()
    yield {"kind": "records", **_sides(told)}


def _picture(compared: Compared) -> Iterator[Check]:
    import base64

    yield {"kind": "picture", "like": "data:image/png;base64," + base64.b64encode(compared.gold()).decode()}


def _picture_size(compared: Compared) -> Iterator[Check]:
    told = compared.rule()
    size = [told.get("width"), told.get("height")]
    if told.get("ignore_transparent") or not all(type(side) is int for side in size):
        raise NotTranslated(f"{compared.func} of a part of the picture, or of one side")
    yield {"kind": "picture", "size": size}


def _pages(compared: Compared) -> Iterator[Check]:
    told, most = compared.rule(), 200
    relation, count = told.get("relation"), told.get("ref_value")
    if relation not in ("eq", "ge", "le") or type(count) is not int:
        raise NotTranslated(f"{compared.func} by {relation!r}")
    if count < 0 or (relation == "ge" and count > most):
        raise SchemaError(f"ref_value must be from 0 to {most}", field="evaluator.expected.rules.ref_value")
    yield {"kind": "pages", "pages": {"eq": count, "ge": [count, most], "le": [0, count]}[relation]}


def _tables(compared: Compared) -> Iterator[Check]:
    told = compared.options.get("rules")
    if not isinstance(told, list) or not all(isinstance(rule, Mapping) for rule in told) or not told:
        raise SchemaError("must be a list of rules", field="evaluator.options.rules")
    names = compared.names() if compared.expected else []
    yield from sheets(told, names, compared.golds)


COMPARERS: Mapping[str, Callable[[Compared], Iterator[Check]]] = {
    "compare_table": _tables,
    "compare_csv": lambda compared: _lines(compared, "csv", "lines"),
    "check_csv": _records,
    "compare_docx_files": _documents,
    "compare_docx_files_and_ignore_new_lines": _documents,
    "compare_docx_lines": _documents,
    "compare_docx_tables": lambda compared: _lines(compared, "docx tables", "lines"),
    "compare_line_spacing": _spacing,
    "compare_font_names": _font,
    "compare_pptx_files": _decks,
    "compare_pdfs": lambda compared: _lines(compared, "pdf", "words"),
    "check_pdf_pages": _pages,
    "compare_text_file": _texts,
    "diff_text_file": _texts,
    "compare_config": _texts,
    "file_contains": _contains,
    "check_json": _json_rules,
    "check_json_settings": _json_settings,
    "check_structure_sim": _picture,
    "check_structure_sim_resized": _picture,
    "compare_images": _picture,
    "check_image_size": _picture_size,
}
"""The comparers that are translated."""
