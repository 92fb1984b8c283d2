"""What `tamper` could not forge is reported, and half-made forms are not graded."""

from types import SimpleNamespace

import pytest

from verikit.env.audit.running import databases
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
