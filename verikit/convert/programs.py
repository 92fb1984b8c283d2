"""Programming tasks with their tests, each read once as the verifier `code` will read it.

Sources: livecodebench/code_generation_lite (private tests packed as base64 of zlib of a pickled text, which is never
unpickled here: `verikit.verifiers.code.packed`), codeparrot/apps, BAAI/TACO, deepmind/code_contests.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from verikit.convert.parts import MISSING, LeftOut, decoded, made, need, text
from verikit.errors import SchemaError
from verikit.readers.parse import JsonRow
from verikit.readers.source import MAX_ROW
from verikit.verifiers.code import packed, rows

BULKY = ("question_content", "question", "description", "solutions", "incorrect_solutions", "input_output")
MAX_UNPACKED = MAX_ROW // 4
"""Maximum characters of unpacked tests that are written unpacked: rows over `MAX_ROW` bytes are not read."""
CONTEST = ("public_tests", "private_tests", "generated_tests")


def livecodebench(row: JsonRow) -> Iterator[JsonRow]:
    """A dated contest's problem; its tests are unpacked."""
    tests: JsonRow = {}
    for key in ("public_test_cases", "private_test_cases"):
        if row.get(key) not in MISSING:
            tests[key] = _cases(row[key], key)
    if not tests:
        need(row, "public_test_cases", "private_test_cases")
    about = row.get("metadata") or "{}"
    tests["metadata"] = decoded(about, "metadata")
    yield _task(row, text(row, "question_content"), tests)


def _cases(value: Any, field: str) -> str | list[dict[str, str]]:
    """Return tests as objects, from JSON or a packed string. A packed string stays packed if the row would be too long.

    Raises:
        SchemaError: The tests are neither.
    """
    unpacked = value
    if isinstance(value, str) and not value.lstrip().startswith("["):
        try:
            unpacked = packed.unpacked(value)
        except ValueError as error:
            raise SchemaError(str(error), field=field) from None
        if len(unpacked) > MAX_UNPACKED:
            return value
    found = decoded(unpacked, field)
    if not isinstance(found, list) or not all(isinstance(item, dict) for item in found):
        raise SchemaError("is not a list of tests", field=field)
    return found


def apps(row: JsonRow) -> Iterator[JsonRow]:
    """A task of APPS or TACO: `input_output` has parallel lists as JSON. Tasks without tests are skipped."""
    held = row.get("input_output")
    if held in MISSING and "input_output" in row:
        raise LeftOut("no tests")
    found = decoded(need(row, "input_output"), "input_output")
    if not isinstance(found, dict):
        raise SchemaError("is not an object", field="input_output")
    if not found.get("inputs"):
        raise LeftOut("no tests")
    starter = str(row.get("starter_code") or "")
    form = f"\n\nComplete this code:\n```python\n{starter.rstrip()}\n```" if starter.strip() else ""
    yield _task(row, text(row, "question") + form, {"input_output": held if isinstance(held, str) else found})


def contests(row: JsonRow) -> Iterator[JsonRow]:
    """A task of CodeContests with public, private and generated tests. Tasks without any are skipped.

    Times in the row (`time_limit`) refer to the contest's own machines.
    """
    tests = {key: row[key] for key in CONTEST if isinstance(row.get(key), dict) and row[key].get("input")}
    if not tests:
        if not any(key in row for key in CONTEST):
            need(row, *CONTEST)  # raises an error that names the keys
        raise LeftOut("no tests")
    if row.get("input_file") or row.get("output_file"):
        raise LeftOut("reads or writes a named file, not standard input and output")
    yield _task({**row, "id": row.get("id") or row.get("name")}, text(row, "description"), tests)


def _task(row: JsonRow, asked: str, tests: JsonRow) -> JsonRow:
    """The row with its tests, which the verifier can read.

    Raises:
        SchemaError: It can't.
    """
    field = next(iter(tests))
    try:
        cases = rows.read(tests)
    except (ValueError, KeyError, TypeError) as error:
        raise SchemaError(f"the tests can't be read: {error}", field=field) from None
    if not cases:
        raise LeftOut("no tests")
    taken = (*BULKY, *CONTEST, "public_test_cases", "private_test_cases", "metadata")
    return made(row, asked, taken=taken, **tests)
