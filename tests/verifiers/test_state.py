"""`state`: exactly these rows of a database, read in the sandbox."""

import os
import random
import shutil
import sqlite3
from contextlib import closing

import pytest

import verikit
from verikit.errors import UsageError, WorkspaceError
from verikit.verifiers.reading import sqlite_file
from verikit.workspaces import Workspace

SETUP = """
CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT, age INTEGER, weight REAL, note);
INSERT INTO users VALUES (1, 'Ann', 30, 60.5, NULL), (2, 'Bob', 40, 80.0, x'00ff'), (3, 'Cy', 50, 70.0, 'é');
CREATE TABLE stock (shop TEXT, item TEXT, n INTEGER, PRIMARY KEY (shop, item)) WITHOUT ROWID;
INSERT INTO stock VALUES ('a', 'pen', 1), ('a', 'ink', 2);
CREATE TABLE log (line TEXT);
INSERT INTO log VALUES ('x'), ('x'), ('y');
CREATE VIEW old AS SELECT * FROM users WHERE age > 45;
"""
OLDER = [{"table": "users", "key": 2, "set": {"age": 41}}]
RIGHT = "UPDATE users SET age = 41 WHERE id = 2;"


@pytest.fixture(scope="module")
def given(tmp_path_factory):
    folder = tmp_path_factory.mktemp("given")
    run(folder / "app.db", SETUP)
    return folder


def run(path, script):
    connection = sqlite3.connect(path)
    connection.executescript(script)
    connection.commit()
    connection.close()


def scored(given, tmp_path, script, changed=OLDER, **options):
    after = tmp_path / "after"
    shutil.rmtree(after, ignore_errors=True)
    shutil.copytree(given, after)
    run(after / "app.db", script)
    return verikit.state("app.db", changed=changed, **options)("", workspace=Workspace(after, given))


TWINS = {
    "the row": (RIGHT, 1.0),
    "nothing": ("SELECT 1;", 0.0),
    "another value": ("UPDATE users SET age = 42 WHERE id = 2;", 0.0),
    "another row too": (RIGHT + "UPDATE users SET age = 0 WHERE id = 1;", 0.0),
    "another column too": (RIGHT + "UPDATE users SET name = 'Rob' WHERE id = 2;", 0.0),
    "another table too": (RIGHT + "DELETE FROM log WHERE line = 'y';", 0.0),
    "one of two equal rows gone": (RIGHT + "DELETE FROM log WHERE rowid = 1;", 0.0),
    "a row of two more": (RIGHT + "INSERT INTO users VALUES (4, 'D', 1, 1.0, NULL);", 0.0),
    "moved by VACUUM": (RIGHT + "VACUUM;", 1.0),
    "moved by rewriting": (RIGHT + "DELETE FROM log; INSERT INTO log VALUES ('y'), ('x'), ('x');", 1.0),
    "a view over the old table": ("DROP VIEW old; ALTER TABLE users RENAME TO u; CREATE VIEW users AS SELECT id, name, "
                                  "CASE id WHEN 2 THEN 41 ELSE age END AS age, weight, note FROM u;", 0.0),
    "a view more": (RIGHT + "CREATE VIEW v AS SELECT 1;", 0.0),
    "a view changed": (RIGHT + "DROP VIEW old; CREATE VIEW old AS SELECT 1;", 0.0),
    "a trigger more": (RIGHT + "CREATE TRIGGER t AFTER INSERT ON log BEGIN DELETE FROM users; END;", 0.0),
    "an index more": (RIGHT + "CREATE INDEX i ON users (name);", 0.0),
    "a column more": (RIGHT + "ALTER TABLE users ADD COLUMN x;", 0.0),
    "the table gone": ("DROP TABLE users;", 0.0),
    "a key rewritten": ("UPDATE users SET age = 41, id = 9 WHERE id = 2;", 0.0),
}  # fmt: skip


@pytest.mark.parametrize(("script", "value"), TWINS.values(), ids=TWINS)
def test_exactly_the_expected_row_has_changed(given, tmp_path, script, value):
    assert scored(given, tmp_path, script).value == value


def drawn_twins(draw):
    """The start, the expected change, a script that makes it, and one that also does something else."""
    tables = [f"t{number}" for number in range(draw.randint(1, 3))]
    rows = {name: draw.sample(range(1, 99), draw.randint(2, 9)) for name in tables}
    setup = "".join(
        f"CREATE TABLE {name} (id INTEGER PRIMARY KEY, a TEXT, b REAL, c);"
        + "".join(f"INSERT INTO {name} VALUES ({key}, 'x{key % 3}', {key / 4}, {key});" for key in rows[name])
        for name in tables
    )
    name = draw.choice(tables)
    key, other = draw.sample(rows[name], 2)
    kind = draw.choice(("set", "new", "deleted"))
    new = {"a": f"y{key}", "b": key / 8, "c": None}
    if kind == "set":
        change, right = {"key": key, "set": {"a": new["a"]}}, f"UPDATE {name} SET a = 'y{key}' WHERE id = {key};"
    elif kind == "new":
        change, right = {"key": 100, "set": new}, f"INSERT INTO {name} VALUES (100, 'y{key}', {key / 8}, NULL);"
    else:
        change, right = {"key": key, "deleted": True}, f"DELETE FROM {name} WHERE id = {key};"
    further = draw.choice((
        f"UPDATE {name} SET c = CAST(c AS TEXT) WHERE id = {other};",
        f"UPDATE {name} SET a = a || ' ' WHERE id = {other};",
        f"UPDATE {name} SET b = b + 1e-9 WHERE id = {other};", f"DELETE FROM {name} WHERE id = {other};",
        f"UPDATE {name} SET id = 200 WHERE id = {other};", f"INSERT INTO {name} (a) VALUES ('x');",
        f"CREATE TABLE z AS SELECT * FROM {name};", f"ALTER TABLE {name} RENAME COLUMN c TO d;",
    ))  # fmt: skip
    harmless = draw.choice(("", "VACUUM;", "REINDEX;", f"UPDATE {name} SET a = a;"))
    return setup, [{"table": name, **change}], right + harmless, right + further


@pytest.mark.parametrize("seed", range(30))
def test_sixty_drawn_twins_one_with_exactly_the_change(tmp_path, seed):
    setup, changed, right, forged = drawn_twins(random.Random(seed))
    (tmp_path / "given").mkdir()
    run(tmp_path / "given" / "app.db", setup)
    assert scored(tmp_path / "given", tmp_path, right, changed).value == 1.0
    assert scored(tmp_path / "given", tmp_path, forged, changed).value == 0.0


def test_types_count_as_they_are_stored(given, tmp_path):
    note = [{"table": "users", "key": 1, "set": {"note": 1}}]
    assert scored(given, tmp_path, "UPDATE users SET note = 1 WHERE id = 1;", note).value == 1.0
    assert scored(given, tmp_path, "UPDATE users SET note = 1.0 WHERE id = 1;", note).value == 0.0
    assert scored(given, tmp_path, "UPDATE users SET note = '1' WHERE id = 1;", note).value == 0.0
    weight = [{"table": "users", "key": 1, "set": {"weight": 61}}]
    assert scored(given, tmp_path, "UPDATE users SET weight = 61 WHERE id = 1;", weight).value == 1.0


def test_new_rows_deleted_rows_and_keys_of_several_columns(given, tmp_path):
    new = [{"table": "users", "key": 4, "set": {"name": "Di"}}]
    assert scored(given, tmp_path, "INSERT INTO users (id, name, age) VALUES (4, 'Di', 5);", new).value == 1.0
    assert scored(given, tmp_path, "INSERT INTO users (id, name) VALUES (4, 'Ed');", new).value == 0.0
    gone = [{"table": "USERS", "key": 3, "deleted": True}]
    assert scored(given, tmp_path, "DELETE FROM users WHERE id = 3;", gone).value == 1.0
    assert scored(given, tmp_path, "UPDATE users SET name = NULL WHERE id = 3;", gone).value == 0.0
    pens = [{"table": "stock", "key": {"shop": "a", "item": "pen"}, "set": {"n": 0}}]
    assert scored(given, tmp_path, "UPDATE stock SET n = 0 WHERE item = 'pen';", pens).value == 1.0
    assert scored(given, tmp_path, "UPDATE stock SET n = 0;", pens).value == 0.0


def test_what_is_allowed_beside_the_change(given, tmp_path):
    index = RIGHT + "CREATE INDEX i ON users (name);"
    assert scored(given, tmp_path, index, allow=["index"]).value == 1.0
    assert scored(given, tmp_path, RIGHT + "DELETE FROM log;", nothing_else=False).value == 1.0
    assert scored(given, tmp_path, "DROP VIEW old;" + RIGHT, allow=["view"]).value == 0.0


def test_the_log_beside_a_database_belongs_to_its_state(given, tmp_path):
    for name, in_file, in_log in (("right", 40, 41), ("wrong", 41, 99)):
        work, after = tmp_path / f"{name}-work", tmp_path / name
        shutil.copytree(given, work)
        connection = sqlite3.connect(work / "app.db", isolation_level=None)
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("UPDATE users SET age = ? WHERE id = 2", (in_file,))
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        connection.execute("UPDATE users SET age = ? WHERE id = 2", (in_log,))
        shutil.copytree(work, after)  # with the log, as an agent's machine that was stopped leaves it
        connection.close()
        assert os.path.getsize(after / "app.db-wal")
        (after / "app.db-shm").unlink()
    state = verikit.state("app.db", changed=OLDER)
    assert state("", workspace=Workspace(tmp_path / "right", given)).value == 1.0
    assert state("", workspace=Workspace(tmp_path / "wrong", given)).value == 0.0


def test_what_is_no_sound_database_is_the_agents_after_and_the_rows_before(given, tmp_path):
    good = (given / "app.db").read_bytes()
    broken = good[:4096] + b"\xff" * 4096 + good[8192:]
    state = verikit.state("app.db", changed=OLDER)
    for bad in (b"text", b"", good[:3000], broken):
        (tmp_path / "app.db").write_bytes(bad)
        assert state("", workspace=Workspace(tmp_path, given)).value == 0.0
        assert state("", workspace=Workspace(given, tmp_path)).value is None


def test_rows_that_expect_what_can_t_be_are_unscored(given, tmp_path):
    for changed in (
        [{"table": "nowhere", "key": 1, "set": {"a": 1}}],
        [{"table": "users", "key": 1, "set": {"nothing": 1}}],
        [{"table": "log", "key": 1, "set": {"line": "z"}}],
        [{"table": "stock", "key": "a", "set": {"n": 0}}],
        [{"table": "users", "key": 9, "deleted": True}],
    ):
        assert scored(given, tmp_path, "SELECT 1;", changed).value is None, changed
    assert verikit.state("app.db")("", workspace=Workspace(given, given)).status == "error"
    in_row = verikit.state("app.db")("", workspace=Workspace(given, given), changed=OLDER)
    assert in_row.value == 0.0


def test_more_rows_than_are_read_are_unscored(given):
    assert verikit.state("app.db", changed=OLDER, max_rows=2)("", workspace=Workspace(given, given)).value is None


@pytest.mark.parametrize("change", [{"table": "t"}, {"table": "t", "key": 1, "set": {}}, {"key": 1, "set": {"a": 1}}])
def test_changes_of_another_form_are_refused(change):
    with pytest.raises(UsageError):
        verikit.state("app.db", changed=[change])


@pytest.mark.parametrize(
    "told",
    [
        {"columns": 5, "rows": []}, {"columns": ["a"], "rows": [5]}, {"columns": ["a"], "rows": [[1, 2]]},
        {"columns": ["a"], "rows": [[{"blob": "zz"}]]}, {"columns": ["a"], "rows": [[{}]]}, {"rows": [[1]]},
        {"tables": [], "schema": []}, {"tables": {"t": 5}, "schema": []}, {"tables": {}, "schema": [5]},
    ],
    ids=str,
)  # fmt: skip
def test_a_reader_that_lies_leaves_no_value(told, monkeypatch):
    """A child that a database has taken over may print anything."""
    monkeypatch.setattr(sqlite_file, "_observed", lambda *_: told)
    with pytest.raises(WorkspaceError, match="printed no observation"):
        sqlite_file.database(None, "app.db")
    with pytest.raises(WorkspaceError, match="printed no observation"):
        sqlite_file.queried(None, "app.db", "SELECT 1")


def test_rows_are_found_by_their_key_however_many_changes_are_expected():
    cell = ("integer", 7)
    table = sqlite_file.StoredTable(("id", "a"), ("INTEGER", ""), ("id",), ((cell, ("text", "x")),))
    assert table.by_key == {(cell,): (cell, ("text", "x"))}
    assert table.by_key is table.by_key


def test_a_key_of_several_columns_is_a_list_or_an_object(tmp_path):
    for name, count in (("before", 1), ("after", 5)):
        (tmp_path / name).mkdir()
        with closing(sqlite3.connect(tmp_path / name / "shop.db")) as database:
            database.execute("CREATE TABLE items (bill TEXT, line INTEGER, n INTEGER, PRIMARY KEY (bill, line))")
            database.execute("INSERT INTO items VALUES ('a', 2, ?)", [count])
            database.commit()
    for key in (["a", 2], {"bill": "a", "line": 2}):
        state = verikit.state("shop.db", changed=[{"table": "items", "key": key, "set": {"n": 5}}])
        assert state("", workspace=Workspace(tmp_path / "after", tmp_path / "before")).value == 1.0
    short = verikit.state("shop.db", changed=[{"table": "items", "key": ["a"], "set": {"n": 5}}])
    reason = short("", workspace=Workspace(tmp_path / "after", tmp_path / "before")).reason
    assert "['a'] has 1 values, the primary key is bill, line" in reason
