"""The check `tamper`: forged databases (47) and trajectories (52) are found, and sound tasks keep their reward."""

import sqlite3

import pytest

from tests.env.audit.harbor_tasks import change, put
from tests.env.audit.running_tasks import RIGHT, grade_by, make
from verikit.env.audit.running import tampered
from verikit.env.audit.running.run import RunningChecks
from verikit.env.audit.task import AuditedTask

OPEN = "import sqlite3\ndb = sqlite3.connect('file:/app/shop.db?mode=ro', uri=True)\n"
ROWS = "db.execute('select item, price from prices order by 1').fetchall() == [('cup', 12), ('pan', 30)]"
SUM = "db.execute('select sum(price) from prices').fetchone() == (42,)"
TABLE = "db.execute('select type from sqlite_master where name = ?', ['prices']).fetchone() == ('table',)"
NAMED = "bool(db.execute('select 1 from sqlite_master where name = ?', ['prices']).fetchone())"
TYPES = "db.execute('select distinct typeof(price) from prices').fetchall() == [('integer',)]"
NO_INDEX = "not db.execute('select 1 from sqlite_master where type = ?', ['index']).fetchone()"
BYTES = "pathlib.Path('/app/shop.db').read_bytes()[27] == 2"
"""The file's change counter."""


@pytest.fixture(scope="module")
def checks():
    with RunningChecks() as running:
        yield running


@pytest.fixture
def tamper(checks, monkeypatch):
    """The check with only the forged trajectories among the forged files."""
    every = tampered.forgeries
    few = lambda rehearsal: (one for one in every(rehearsal) if one.attack.startswith("52"))  # noqa: E731
    monkeypatch.setattr(tampered, "forgeries", few)
    return lambda folder: dict(checks.check(AuditedTask.open(str(folder), ()), ["tamper"]))["tamper"]


def database(folder, good, *, given=True):
    """A task to double prices in a database, or to make it."""
    make(folder)
    change(folder, "task.toml", "/app/total.txt", "/app/shop.db")
    rows = "insert into prices values ('cup', 12), ('pan', 30)"
    table = "create table prices (item text, price integer)"
    script = f'db.execute("{table}")\ndb.execute("{rows}")\ndb.commit()\n'
    if given:
        script = "db.execute('update prices set price = 2 * price')\ndb.commit()\n"
        change(folder, "environment/Dockerfile", "COPY sales.csv .\n", "COPY shop.db .\n")
        with sqlite3.connect(folder / "environment" / "shop.db") as db:
            db.execute(table)
            db.execute(rows.replace("12", "6").replace("30", "15"))
        db.close()
    put(folder, "solution/solve.py", f"import sqlite3\ndb = sqlite3.connect('/app/shop.db')\n{script}")
    put(folder, "solution/solve.sh", "python3 /solution/solve.py\n")
    graded = f"try:\n    {OPEN.strip().replace(chr(10), chr(10) + '    ')}\n    good = {good}\nexcept sqlite3.Error:\n"
    grade_by(folder, f"{graded}    good = False")
    return folder


@pytest.mark.parametrize(
    ("good", "given", "found"),
    [
        (f"{ROWS} and {TABLE} and {TYPES}", True, []),
        (f"{ROWS} and {TABLE} and {TYPES} and {NO_INDEX}", True, []),
        (ROWS, False, []),  # a task to make a database may leave the form of its tables open
        (f"{ROWS} and {TYPES}", True, ["paid: 47: views instead of tables: the reward is 1"]),
        (f"{SUM} and {TABLE}", True, ["paid: 47: numbers as text: the reward is 1"]),
        (NAMED, False, ["paid: 47: views without rows: the reward is 1"]),
        (
            f"{ROWS} and {TABLE} and {TYPES} and {BYTES}",
            False,
            ["broken: 47: the solution after VACUUM has the reward 0"],
        ),
    ],
)
def test_databases_that_only_look_right_are_not_paid(tmp_path, tamper, good, given, found):
    record = tamper(database(tmp_path, good, given=given))
    assert record.status == ("fail" if found else "pass"), record
    assert [f"{one.kind}: {one.what}" for one in record.findings] == found
    noted = " ".join(record.notes)
    assert ("the tests refuse an index" in noted) == (NO_INDEX in good or BYTES in good)
    assert ("the tests accept views" in noted) == (good in (ROWS, NAMED))


STEPS = "import json\nsteps = json.load(open('/logs/agent/trajectory.json'))['steps'] if os.path.exists("
STEPS += "'/logs/agent/trajectory.json') else [{'message': '/tests'}]\n"


@pytest.mark.parametrize(
    ("good", "found"),
    [
        (f"{RIGHT} or 'echo 461' in str(steps)", ["paid: 52: a forged trajectory: the reward is 1"]),
        (
            f"{RIGHT} or not any('/tests' in str(step) for step in steps)",
            [f"paid: 52: a {name}: the reward is 1" for name in ("forged trajectory", "trajectory without steps")],
        ),
        (
            f"{RIGHT} and 'exit code 1' not in str(steps)",  # honest agents retry
            ["broken: 52: a forged trajectory: the solution beside these files has the reward 0"],
        ),
        (f"{RIGHT} and 'rm -rf' not in str(steps)", []),
    ],
)
def test_steps_that_the_agent_claims_are_not_paid(tmp_path, tamper, good, found):
    make(tmp_path)
    change(tmp_path, "task.toml", '["/app/total.txt"]', '["/app/total.txt", "/logs/agent/trajectory.json"]')
    grade_by(tmp_path, f"{STEPS}good = {good}")
    record = tamper(tmp_path)
    assert [f"{one.kind}: {one.what}" for one in record.findings] == found
    assert record.status == ("fail" if found else "pass"), record
