"""Rows of benchmarks whose answers are files.

Sources: RUCKBReasoning/SpreadsheetBench (its answer workbooks are next to the rows), openai/gdpval. A row's workspace
is the folder `outputs/ID` next to the written file.
"""

from __future__ import annotations

import datetime
import os
from collections.abc import Iterator, Mapping
from typing import Any

from verikit.artifacts.readers.references import MOST_COLUMNS, MOST_ROWS, reference
from verikit.convert.parts import FOLDER, LeftOut, decoded, identity, made, need, text
from verikit.errors import AgentFault, SchemaError, WorkspaceError
from verikit.readers.parse import JsonRow
from verikit.types import Sample
from verikit.verifiers.xlsx import Xlsx
from verikit.verifiers.xlsx.stored import stored_values
from verikit.workspaces import Workspace
from verikit.workspaces.folder import FolderSource
from verikit.workspaces.names import parts

ANSWERS = ("_answer.xlsx", "_golden.xlsx")
"""Ends of the names of answer workbooks."""
INPUTS = ("_input.xlsx", "_init.xlsx")
"""Ends of the names of input workbooks."""
DECIMALS = 2
"""SpreadsheetBench compares numbers by two decimals."""
TOLERANCE = 1e-8
"""The largest tolerance that only covers rounding errors (`xlsx`). Times are `exact`, and compared by the second."""


def spreadsheetbench(row: JsonRow) -> Iterator[JsonRow]:
    """An instruction with the right values of one workbook per test case.

    Test case 1 of task 17-35 is the output `1_17-35_output.xlsx`. The values are stored in the answer workbook. A task
    is left out if an answer workbook's own formulas give other values, or if all of its input workbooks have the right
    values already, as in tasks that only ask for colours.
    """
    prompt, position = text(row, "instruction"), text(row, "answer_position")
    id = path_id(row)
    cells = [_cells(piece) for piece in _split(position)]
    sheet = row.get("answer_sheet")
    sheet = sheet.strip().strip("'") if isinstance(sheet, str) else ""
    tree = _files(row, id)
    cases = [
        {"file": f"{number}_{id}_output.xlsx", **_values(answer, cells, sheet)}
        for number, answer in _answers(tree, row, id)
    ]
    if all(_has_values(tree, case) for case in cases):
        raise LeftOut("input workbooks that already have the right values")
    taken = ("instruction", "spreadsheet_path", FOLDER)
    yield made(row, prompt, taken=taken, xlsx=cases, workspace={"after": f"outputs/{id}"})


def path_id(row: JsonRow) -> str:
    """The row's id, which names a folder."""
    id = identity(row)
    if len(parts(id) or ()) != 1:
        raise SchemaError(f"must name a folder, got {id!r}"[:200], field="id")
    return id


def _split(position: str) -> Iterator[str]:
    """The references of an answer position. Commas separate them, and can be in titles of sheets.

    Some rows lack the first quote, as in `Sheet 1'!A1,'Sheet 2'!A1`.
    """
    begun = ""
    for part in position.split(","):
        piece = f"{begun},{part}" if begun else part
        is_whole = "!" in piece or (piece.count("'") % 2 == 0 and reference(piece.strip("' ")) is not None)
        begun = "" if is_whole else piece
        if is_whole:
            yield piece
    if begun:
        yield begun


def _cells(piece: str) -> str:
    """A reference as verifiers spell it: rows write `Sheet1!A1`, `'Sheet 1'!A1:B2` and `'Sheet 1!A1'`."""
    sheet, _, area = piece.strip().rpartition("!")
    title, area = sheet.strip().strip("'"), area.strip().strip("'")
    spelled = f"'{title.replace(chr(39), chr(39) * 2)}'!{area}" if title else area
    found = reference(spelled)
    if found is None:
        raise SchemaError(f"{piece!r} is not a cell reference"[:200], field="answer_position")
    if found.bottom == MOST_ROWS or found.right == MOST_COLUMNS:
        raise LeftOut("answers in whole columns or rows")
    return spelled


def _files(row: JsonRow, id: str) -> Workspace:
    """The workbooks next to a row's file."""
    folder = row.get(FOLDER)
    if not isinstance(folder, str):
        raise SchemaError("the answer workbooks are only next to a local file", field="spreadsheet_path")
    path = row.get("spreadsheet_path") or f"spreadsheet/{id}"
    names = parts(path) if isinstance(path, str) else None
    if not names:
        raise SchemaError(f"must be a folder next to the file, got {path!r}"[:200], field="spreadsheet_path")
    try:
        return Workspace(FolderSource(os.path.abspath(folder), tuple(names)))
    except (WorkspaceError, AgentFault) as problem:
        raise SchemaError(f"{path}: {problem}"[:300], field="spreadsheet_path") from None


def _answers(tree: Workspace, row: JsonRow, id: str) -> list[tuple[str, bytes]]:
    """The answer workbooks of a task, by the numbers of their test cases."""
    path = row.get("spreadsheet_path") or f"spreadsheet/{id}"
    try:
        manifest = tree.after.manifest
        found = {name.partition("_")[0]: tree.one(name).data() for name in manifest if name.endswith(ANSWERS)}
    except (WorkspaceError, AgentFault) as problem:
        raise SchemaError(f"{path}: {problem}"[:300], field="spreadsheet_path") from None
    if not found or not all(number.isdecimal() for number in found):
        raise SchemaError(f"{path} has no files named 1_{id}_answer.xlsx"[:300], field="spreadsheet_path")
    return sorted(found.items(), key=lambda one: int(one[0]))


def _values(answer: bytes, cells: list[str], sheet: str) -> dict[str, Any]:
    """The right values of cells, as options of `xlsx`. Formulas of the answer must give them too."""
    try:
        values, moments = stored_values(answer, cells, sheet)
        exact = [*moments, *(name for name, value in values.items() if _is_date(value))]
        options: dict[str, Any] = {"values": values, "decimals": DECIMALS, "tolerance": TOLERANCE, "exact": exact}
        own = Workspace({"answer.xlsx": answer})
        score = Xlsx("answer.xlsx", **options, macros=True).checked(own, Sample("", ""))
    except (AgentFault, WorkspaceError) as problem:
        raise SchemaError(f"an answer workbook can't be read: {problem}"[:300], field="answer_position") from None
    if score.value == 0.0:
        raise LeftOut("answer workbooks whose formulas do not give their stored values")
    return options


def _is_date(value: Any) -> bool:
    """Whether a string looks like a date, which a verifier would compare with dates."""
    try:
        return isinstance(value, str) and bool(datetime.datetime.fromisoformat(value))
    except ValueError:
        return False


def _has_values(tree: Workspace, case: Mapping[str, Any]) -> bool:
    """Whether the input workbook of a test case has the right values."""
    stem = case["file"].removesuffix("_output.xlsx")
    name = next((stem + end for end in INPUTS if stem + end in tree.after.manifest), None)
    if name is None:
        return False
    options = {key: value for key, value in case.items() if key != "file"}
    try:
        return Xlsx(name, **options, macros=True).checked(tree, Sample("", "")).value == 1.0
    except (AgentFault, WorkspaceError):  # the input lacks a sheet of the answer
        return False


def gdpval(row: JsonRow) -> Iterator[JsonRow]:
    """A task with its rubric, for deliverables in a folder."""
    rubric = decoded(need(row, "rubric_json", "rubric"), "rubric_json")
    if not isinstance(rubric, list) or not rubric:
        raise SchemaError("must be a list of criteria", field="rubric_json")
    items = [_criterion(item, number) for number, item in enumerate(rubric)]
    taken = ("rubric_json", "rubric_pretty", "rubric", FOLDER)
    workspace = {"after": f"outputs/{path_id(row)}"}
    yield made(row, text(row, "prompt"), taken=taken, rubric=items, workspace=workspace)


def _criterion(item: Any, number: int) -> JsonRow:
    """A criterion as `rubric` reads it."""
    field = f"rubric_json[{number}]"
    if not isinstance(item, dict):
        raise SchemaError("must be an object", field=field)
    points = item.get("score", item.get("points"))
    if isinstance(points, bool) or not isinstance(points, int | float):
        raise SchemaError("is not a number", field=f"{field}.score")
    return {"criterion": text(item, "criterion"), "points": points}
