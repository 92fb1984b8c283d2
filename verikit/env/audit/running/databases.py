"""Databases that an agent forged (attack 47): views instead of tables, values of other types, triggers.

The solution's SQLite files are changed in the box, because they come from the task's own programs.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from verikit.env.audit.running.box import BoxFile
from verikit.env.audit.running.findings import RunFindings
from verikit.env.audit.running.rehearsal import Rehearsal
from verikit.env.audit.running.solved import is_full, is_paid, output_names, solved_here
from verikit.env.audit.running.table_forms import GIVEN
from verikit.verifiers.patch.runs import PYTHON

MAGIC = b"SQLite format 3\0"
MAX_DATABASES, MAX_BYTES, FORGE_S = 2, 8 << 20, 10.0
"""Databases of a task, bytes of each, and seconds to change them."""
_AT = "/work"
_FORMS = Path(__file__).with_name("table_forms.py")


class ForgedDatabase(NamedTuple):
    """The forms of one database of the solution."""

    path: str
    given: bool
    """Whether the agent starts with it. Then its schema is not the agent's to choose."""
    forms: Mapping[str, bytes]


def check_databases(rehearsal: Rehearsal, found: RunFindings) -> None:
    """Grade forged databases beside the solution's other files, and harmless changes of its database."""
    solved = {} if solved_here(rehearsal) else dict(rehearsal.solve().files)
    for one in forged_databases(rehearsal, solved):
        _grade_forged(rehearsal, found, one, solved)
        _control(rehearsal, found, one, solved)


def _grade_forged(rehearsal: Rehearsal, found: RunFindings, one: ForgedDatabase, solved: dict[str, BoxFile]) -> None:
    nop = rehearsal.grade(rehearsal.before, name="nop")
    empty = one.forms.get("without_rows")
    if empty is not None:
        graded = rehearsal.grade(rehearsal.before | {one.path: BoxFile(empty)}, name="nop, 47: views without rows")
        if is_paid(graded) and not is_paid(nop):
            found.add("paid", f"47: views without rows: the reward is {graded.told()}", one.path)
    for form, words in (("views", "views instead of tables"), ("types", "numbers as text"), ("trigger", "a trigger")):
        if form not in one.forms:
            continue
        graded = rehearsal.grade({**solved, one.path: BoxFile(one.forms[form])}, name=f"oracle, 47: {words}")
        if not is_full(graded):
            continue
        # if the solution makes the database, its tables may be of any form unless the task says otherwise
        if one.given and form != "trigger":
            found.add("paid", f"47: {words}: the reward is {graded.told()}", one.path)
        else:
            found.notes.append(f"the tests accept {words} in {one.path}")


def _control(rehearsal: Rehearsal, found: RunFindings, one: ForgedDatabase, solved: dict[str, BoxFile]) -> None:
    """The same tables keep the reward in another file layout, and with an index unless the tests refuse it."""
    for form, words in (("index", "with an index"), ("rebuilt", "after VACUUM")):
        if form not in one.forms:
            continue
        graded = rehearsal.grade({**solved, one.path: BoxFile(one.forms[form])}, name=f"oracle, {words}")
        if graded.needs or is_full(graded):
            return
        if form == "rebuilt":
            found.add("broken", f"47: the solution {words} has the reward {graded.told()}", one.path)
        else:
            found.notes.append(f"the tests refuse an index in {one.path}")


def forged_databases(rehearsal: Rehearsal, solved: Mapping[str, BoxFile]) -> list[ForgedDatabase]:
    """The forms of each database that the solution leaves."""
    names = [path for path in output_names(rehearsal) if _is_database(solved.get(path))][:MAX_DATABASES]
    if not names:
        return []
    given = [_is_database(rehearsal.before.get(path)) for path in names]
    files = {
        f"{_AT}/in/{number}{GIVEN * given[number]}": BoxFile(solved[path].content) for number, path in enumerate(names)
    }
    files[f"{_AT}/forms.py"] = BoxFile(_FORMS.read_bytes())
    out = f"{_AT}/out"
    run = rehearsal.box.run(
        files, [PYTHON, "-I", f"{_AT}/forms.py"], cwd=_AT, pack=[out], wall_s=FORGE_S, memory_mb=512, folders=[out]
    )
    forms: dict[int, dict[str, bytes]] = {number: {} for number in range(len(names))}
    for path, one in run.files.items():
        number, _, form = path.rpartition("/")[2].partition("-")
        if number.isdecimal() and int(number) in forms and not one.link:
            forms[int(number)][form] = one.content
    return [ForgedDatabase(path, given[number], forms[number]) for number, path in enumerate(names)]


def _is_database(file: BoxFile | None) -> bool:
    return file is not None and file.content.startswith(MAGIC) and len(file.content) <= MAX_BYTES
