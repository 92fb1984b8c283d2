"""What `tamper` could not forge is reported, and half-made forms are not graded."""

import sqlite3
from types import SimpleNamespace

import pytest

from verikit.env.audit.running import databases, table_forms
from verikit.env.audit.running.box import BoxFile, BoxRun
from verikit.env.audit.running.findings import RunFindings

DATABASE = BoxFile(databases.MAGIC)
VIEWS = {"/work/out/db-views": DATABASE}


@pytest.mark.parametrize(
    ("solved", "run", "forms", "undecided"),
    [
        ({"/app/a.db": DATABASE}, BoxRun("exit", files=VIEWS), [["views"]], []),
        ({"/app/a.db": BoxFile(databases.MAGIC * 2**18 + b"-")}, BoxRun("exit"), [], ["a database of at most 4 MiB"]),
        (
            dict.fromkeys(("/app/a.db", "/app/b.db", "/app/c.db"), DATABASE),
            BoxRun("exit", files=VIEWS),
            [["views"], ["views"]],
            ["a solution with at most 2 databases"],
        ),
        (
            {"/app/a.db": DATABASE, "/app/a.db-wal": BoxFile(b"-")},
            BoxRun("exit", files=VIEWS),
            [],
            ["a closed database"],
        ),
        ({"/app/a.db": DATABASE}, BoxRun("start", needs="a sandbox"), [[]], ["a sandbox"]),
        ({"/app/a.db": DATABASE}, BoxRun("files"), [[]], ["all forged forms of /app/a.db"]),
        ({"/app/a.db": DATABASE}, BoxRun("exit", 1, files=VIEWS), [["views"]], ["all forged forms of /app/a.db"]),
        (
            {"/app/a.db": DATABASE},
            BoxRun("wall", files=VIEWS | {"/work/out/db-views-journal": DATABASE}),
            [["views"]],
            ["all forged forms of /app/a.db"],
        ),
    ],
)
def test_a_database_that_could_not_be_forged_is_undecided(monkeypatch, solved, run, forms, undecided):
    monkeypatch.setattr(databases, "output_names", lambda rehearsal: list(solved))
    rehearsal = SimpleNamespace(before={}, box=SimpleNamespace(run=lambda *words, **options: run))
    found = RunFindings()
    assert [list(one.forms) for one in databases.forged_databases(rehearsal, solved, found)] == forms
    assert [one.partition(";")[0] for one in found.undecided] == undecided


def test_a_form_that_is_not_finished_leaves_no_file(tmp_path, monkeypatch):
    (tmp_path / "in").mkdir()
    (tmp_path / "out").mkdir()
    with sqlite3.connect(tmp_path / "in" / "db") as db:
        db.execute("create table prices (price integer)")
    db.close()

    def stopped(db, given):
        raise KeyboardInterrupt

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(table_forms, "FORMS", {"trigger": table_forms.trigger, "views": stopped})
    with pytest.raises(KeyboardInterrupt):
        table_forms.main()
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["db-trigger"]
