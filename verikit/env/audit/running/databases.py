"""Databases that an agent forged (attack 47): views instead of tables, values of other types, triggers.

The solution's SQLite files are changed in the box, because they come from the task's own programs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from verikit.env.audit.running.box import BoxFile
from verikit.env.audit.running.findings import RunFindings
from verikit.env.audit.running.rehearsal import Rehearsal
from verikit.env.audit.running.solved import is_full, is_paid, output_names, solved_here
from verikit.env.audit.running.table_forms import FORMS, GIVEN
from verikit.verifiers.patch.runs import PYTHON

MAGIC = b"SQLite format 3\0"
MAX_DATABASES, MAX_BYTES, FORGE_S = 2, 4 << 20, 10.0
"""Databases of a task, bytes of each (its forms have to fit the output of one run), and seconds to change it."""
_LOGS = ("-wal", "-journal")
"""Ends of the files with the rest of a database that was not closed. They don't fit a forged one."""
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
    for one in forged_databases(rehearsal, solved, found):
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


def forged_databases(
    rehearsal: Rehearsal, solved: Mapping[str, BoxFile], found: RunFindings
) -> Iterator[ForgedDatabase]:
    """The forms of each database that the solution leaves. What can't be forged here is undecided."""
    names = [path for path in output_names(rehearsal) if _is_database(solved.get(path))]
    for path in [path for path in names if any(path + end in solved for end in _LOGS)]:
        names.remove(path)
        found.undecided.append(f"a closed database; {path} has a log beside it")
    if len(names) > MAX_DATABASES:
        found.undecided.append(f"a solution with at most {MAX_DATABASES} databases; it leaves {len(names)}")
    for path in names[:MAX_DATABASES]:
        if len(solved[path].content) > MAX_BYTES:
            found.undecided.append(f"a database of at most {MAX_BYTES >> 20} MiB; {path} is larger")
        else:
            yield _forged(rehearsal, path, solved[path], found)


def _forged(rehearsal: Rehearsal, path: str, file: BoxFile, found: RunFindings) -> ForgedDatabase:
    given = _is_database(rehearsal.before.get(path))
    files = {f"{_AT}/in/db{GIVEN * given}": BoxFile(file.content), f"{_AT}/forms.py": BoxFile(_FORMS.read_bytes())}
    out = f"{_AT}/out"
    run = rehearsal.box.run(
        files, [PYTHON, "-I", f"{_AT}/forms.py"], cwd=_AT, pack=[out], wall_s=FORGE_S, memory_mb=512, folders=[out]
    )
    made = {name: run.files.get(f"{out}/db-{name}") for name in FORMS}
    forms = {name: one.content for name, one in made.items() if one and not one.link}
    if run.needs:
        found.undecided.append(run.needs)
    elif run.why != "exit" or run.code:
        found.undecided.append(f"all forged forms of {path}; the program that makes them ended by {run.why}")
    elif not forms:
        found.notes.append(f"{path} has no tables to forge")
    return ForgedDatabase(path, given, forms)


def _is_database(file: BoxFile | None) -> bool:
    return file is not None and file.content.startswith(MAGIC)
