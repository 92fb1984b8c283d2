import itertools
import random
import sqlite3
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verikit import Sample
from verikit.errors import UsageError
from verikit.verifiers.sql.compare import Result, difference, near
from verikit.verifiers.sql.text import query, sort_keys, tokens
from verikit.verifiers.sql.verifier import SQL

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the sandbox needs Linux")

SCRIPT = """
CREATE TABLE singer (id INTEGER, name TEXT, age INTEGER, pay REAL, boss INTEGER);
INSERT INTO singer VALUES (1,'Ann',30,10.5,NULL),(2,'Bo',25,20.25,1),(3,'Cy',30,5.0,1),(4,'Di',41,10.5,2);
"""
DIALECTS = ["sqlite", "duckdb"]


@pytest.fixture(params=DIALECTS)
def dialect(request):
    if request.param == "duckdb":
        pytest.importorskip("duckdb")
    return request.param


def verdict(said, gold, dialect="sqlite", meta=None, **options):
    verifier = SQL(dialect=dialect, **options)
    meta = {"schema": SCRIPT} if meta is None else meta
    return verifier.score([Sample("", said, gold, meta=meta)])[0]


@pytest.mark.parametrize(
    ("said", "gold", "value"),
    [
        ("SELECT name FROM singer WHERE age > 29", "SELECT name FROM singer WHERE age >= 30", 1),
        ("```sql\nSELECT name FROM singer WHERE age > 30;\n```", "SELECT name FROM singer WHERE age >= 30", 0),
        ("SELECT name FROM singer ORDER BY id DESC", "SELECT name FROM singer", 1),
        ("SELECT name FROM singer ORDER BY id DESC", "SELECT name FROM singer ORDER BY id", 0),
        ("SELECT name FROM singer ORDER BY age, id DESC", "SELECT name FROM singer ORDER BY age", 1),
        ("SELECT name FROM singer ORDER BY age DESC", "SELECT name FROM singer ORDER BY age", 0),
        ("SELECT age, count(*) FROM singer GROUP BY 1", "SELECT age, count(*) AS n FROM singer GROUP BY age", 1),
        ("SELECT DISTINCT age FROM singer", "SELECT age FROM singer", 0),
        ("SELECT name, age FROM singer", "SELECT age, name FROM singer", 0),
        ("SELECT name FROM singer", "SELECT name, age FROM singer", 0),
        ("SELECT boss FROM singer WHERE id = 1", "SELECT NULL", 1),
        ("SELECT ''", "SELECT NULL", 0),
        ("SELECT 0", "SELECT NULL", 0),
        ("SELECT 1.0", "SELECT 1", 1),
        ("SELECT '1'", "SELECT 1", 0),
        ("SELECT 0.1 + 0.2", "SELECT 0.3", 1),
        ("SELECT sum(pay) / 4 FROM singer", "SELECT avg(pay) FROM singer", 1),
        ("SELECT round(avg(pay), 1) FROM singer", "SELECT avg(pay) FROM singer", 0),
        ("SELECT 10000001", "SELECT 10000002", 0),
        ("SELECT nothing FROM singer", "SELECT name FROM singer", 0),
        ("I can't say.", "SELECT name FROM singer", 0),
    ],
)
def test_a_query_is_right_exactly_if_its_rows_are_the_golds(said, gold, value, dialect):
    score = verdict(said, gold, dialect)
    assert (score.status, score.value) == ("ok", value), score


def test_columns_match_by_position_by_name_or_in_any_order(dialect):
    gold, turned = "SELECT name, age FROM singer", "SELECT age, name FROM singer"
    assert [verdict(turned, gold, dialect, columns=how).value for how in ("position", "name", "any")] == [0, 1, 1]
    other = "SELECT age AS name, name AS age FROM singer"
    assert [verdict(other, gold, dialect, columns=how).value for how in ("position", "name", "any")] == [0, 0, 1]
    assert verdict("SELECT age, pay FROM singer", gold, dialect, columns="any").value == 0


def test_order_and_multiplicity_follow_the_options(dialect):
    gold = "SELECT age FROM singer ORDER BY id"
    assert verdict("SELECT age FROM singer ORDER BY id DESC", gold, dialect, order="never").value == 1
    tied = "SELECT name FROM singer ORDER BY age"
    assert verdict("SELECT name FROM singer ORDER BY age, id DESC", tied, dialect, order="always").value == 0
    distinct = "SELECT DISTINCT age FROM singer"
    assert verdict(distinct, gold, dialect, order="never", rows="set").value == 1
    with pytest.raises(UsageError, match="no order"):
        SQL(rows="set")


def test_texts_that_are_the_same_under_the_golds_collation_tie():
    schema = {"schema": "CREATE TABLE t (n TEXT, i INT); INSERT INTO t VALUES ('b', 1), ('A', 2), ('a', 3), ('A ', 4)"}
    said = "SELECT n, i FROM t ORDER BY lower(trim(n)), i DESC"
    for key, value in (("n COLLATE NOCASE", 0), ("trim(n) COLLATE NOCASE", 1), ("n", 0), ("2", 0)):
        for gold in (f"SELECT n, i FROM t ORDER BY {key}", f"SELECT n, i FROM t WHERE 1 ORDER BY {key} ASC LIMIT 9"):
            score = verdict(said, gold, meta=schema)
            assert (score.status, score.value) == ("ok", value), (gold, score)
    named = "SELECT n AS m, i FROM t WHERE i < 4 ORDER BY m COLLATE nocase DESC"
    for order, value in (("lower(n) DESC, i", 1), ("lower(n) DESC, i DESC", 1), ("n DESC", 1), ("i", 1), ("i DESC", 0)):
        score = verdict(f"SELECT n, i FROM t WHERE i < 4 ORDER BY {order}", named, meta=schema)
        assert (score.status, score.value) == ("ok", value), (order, score)
    spaced = "SELECT n, i FROM t WHERE i <> 3 ORDER BY n COLLATE RTRIM"
    assert verdict("SELECT n, i FROM t WHERE i <> 3 ORDER BY trim(n), i DESC", spaced, meta=schema).value == 1
    assert verdict("SELECT n, i FROM t WHERE i <> 3 ORDER BY n DESC", spaced, meta=schema).value == 0


def test_any_of_several_golds_will_do_and_a_gold_that_fails_is_unscored(dialect):
    golds = ["SELECT name FROM singer WHERE id = 1", "SELECT name FROM singer WHERE id = 2"]
    assert verdict("SELECT 'Bo'", golds, dialect).value == 1
    assert verdict("SELECT 'Cy'", golds, dialect).value == 0
    for gold in ("SELECT nothing FROM singer", "DELETE FROM singer", ""):
        for said in ("SELECT 1", "no query at all", "SELECT nothing FROM singer"):
            score = verdict(said, gold, dialect)
            assert (score.status, score.value) == ("error", None), score
    endless = "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT count(*) FROM r"
    assert verdict("SELECT 1", endless, dialect, wall_s=0.5).status == "timeout"


def test_a_row_without_a_readable_database_is_unscored(tmp_path):
    (tmp_path / "text.sqlite").write_text("this is no database, but long enough to look at")
    for meta in ({}, {"db": "absent.sqlite"}, {"db_id": "absent"}, {"db": "text.sqlite"}, {"schema": "CREATE TABL x"}):
        score = verdict("SELECT 1", "SELECT 1", meta=meta, root=str(tmp_path))
        assert score.status == "error", (meta, score)


def made(path, rows, dialect="sqlite"):
    path.parent.mkdir(parents=True, exist_ok=True)
    if dialect == "duckdb":
        import duckdb as module
    else:
        module = sqlite3
    connection = module.connect(str(path))
    connection.execute("CREATE TABLE t (a INTEGER, b TEXT)")
    for row in rows:
        connection.execute("INSERT INTO t VALUES (?, ?)", row)
    connection.commit()
    connection.close()


def test_databases_are_found_by_path_and_by_id_and_a_suite_has_several(tmp_path, dialect):
    suffix = "sqlite" if dialect == "sqlite" else "duckdb"
    made(tmp_path / "shop" / f"shop.{suffix}", [(1, "x"), (2, "y")], dialect)
    made(tmp_path / "shop" / f"shop_2.{suffix}", [(1, "x"), (2, "y"), (3, "z")], dialect)
    gold, lucky = "SELECT b FROM t WHERE a > 1", "SELECT b FROM t WHERE a = 2"
    options = {"root": str(tmp_path), "dialect": "auto"}
    assert verdict(lucky, gold, meta={"db_id": "shop"}, **options).value == 1
    score = verdict(lucky, gold, meta={"db_id": "shop"}, suite=True, **options)
    assert score.value == 0
    assert score.reason == "database 2 of 2: 1 rows, not 2"
    assert verdict(gold, gold, meta={"db_id": "shop"}, suite=True, **options).value == 1
    both = [f"shop/shop.{suffix}", f"shop/shop_2.{suffix}"]
    assert verdict(lucky, gold, meta={"db": both[0]}, **options).value == 1
    assert verdict(lucky, gold, meta={"db": both}, **options).value == 0
    assert verdict(gold, gold, meta={"db_id": "../other"}, root=str(tmp_path / "shop")).status == "error"


HOSTILE = {
    "sqlite": [
        "ATTACH DATABASE '{path}' AS other",
        "ATTACH DATABASE 'fresh.db' AS other",
        "PRAGMA writable_schema = 1",
        "PRAGMA table_info(t)",
        "SELECT load_extension('/tmp/evil.so')",
        "SELECT fts3_tokenizer('simple')",
        "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT max(n) FROM r",
        "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT n FROM r",
        "WITH RECURSIVE r(n) AS (SELECT 'x' UNION ALL SELECT n || n FROM r) SELECT n FROM r",
        "SELECT count(*) FROM t a, t b, t c, t d, t e, t f, t g, t h, t i, t j, t k, t l, t m, t n, t o, t p",
        "SELECT a.a FROM t a, t b, t c, t d, t e, t f, t g, t h",
        "SELECT zeroblob(900000000)",
        "SELECT printf('%.*c', 900000000, 'x')",
        "SELECT 'x' LIKE '" + "%_" * 20000 + "'",
        "DELETE FROM t",
        "DROP TABLE t",
        "UPDATE t SET b = 'gone'",
        "INSERT INTO t VALUES (9, 'new')",
        "CREATE TABLE u AS SELECT * FROM t",
        "CREATE TEMP TABLE u AS SELECT * FROM t",
        "VACUUM INTO '{path}.copy'",
        "BEGIN EXCLUSIVE",
        "SELECT 1; DELETE FROM t",
        "REPLACE INTO t SELECT 1, 'z'",
        "SELECT " + "(" * 5000 + "1" + ")" * 5000,
        "SELECT 1" + " UNION SELECT 1" * 3000,
        "SELECT '\0' || char(0), x'00ff', 1e999, -1e999",
    ],
    "duckdb": [
        "ATTACH '{path}' AS other",
        "COPY t TO '{path}.csv'",
        "COPY t FROM '/etc/passwd'",
        "EXPORT DATABASE 'out'",
        "INSTALL httpfs",
        "LOAD httpfs",
        "SELECT * FROM read_csv('/etc/passwd')",
        "SELECT * FROM read_text('/etc/passwd')",
        "SELECT * FROM read_blob('/proc/self/environ')",
        "SELECT * FROM '/etc/passwd'",
        "SELECT * FROM 'https://example.com/x.parquet'",
        "SELECT * FROM glob('/etc/*')",
        "SELECT * FROM sqlite_scan('{path}', 't')",
        "SET enable_external_access = true",
        "SET memory_limit = '100GB'",
        "RESET threads",
        "PRAGMA enable_profiling",
        "PRAGMA database_list",
        "SELECT 1; DROP TABLE t",
        "DELETE FROM t",
        "CREATE MACRO f() AS 1",
        "CALL pragma_version()",
        "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT max(n) FROM r",
        "SELECT count(*) FROM range(1000000000) a, range(1000000000) b",
        "SELECT repeat('x', 2000000000)",
        "SELECT list(x) FROM range(1000000000) r(x)",
        "SELECT order FROM keyed",
        "SELECT * FROM names",
    ],
}


@pytest.mark.parametrize("kind", DIALECTS)
def test_hostile_queries_are_held_and_score_nothing(tmp_path, kind):
    if kind == "duckdb":
        pytest.importorskip("duckdb")
    path = tmp_path / ("d.sqlite" if kind == "sqlite" else "d.duckdb")
    made(path, [(i, "x" * i) for i in range(40)], kind)
    before = path.read_bytes(), sorted(tmp_path.iterdir())
    queries = [text.replace("{path}", str(path)) for text in HOSTILE[kind]]
    verifier = SQL(wall_s=1, memory_mb=256, max_rows=1000)
    samples = [Sample("", f"```sql\n{text}\n```", "SELECT a, b FROM t", meta={"db": str(path)}) for text in queries]
    for text, score in zip(queries, verifier.score(samples), strict=True):
        assert (score.status, score.value) == ("ok", 0), (text[:80], score)
    assert (path.read_bytes(), sorted(tmp_path.iterdir())) == before
    right = Sample("", "SELECT a, b FROM t", "SELECT a, b FROM t", meta={"db": str(path)})
    assert verifier.score([right])[0].value == 1


def test_a_database_that_is_being_written_is_not_read_without_its_log(tmp_path):
    path = tmp_path / "d.sqlite"
    made(path, [(1, "x")])
    (tmp_path / "d.sqlite-wal").write_bytes(b"pages that count")
    assert "being written" in verdict("SELECT 1", "SELECT 1", meta={"db": str(path)}).reason


def test_a_changed_database_is_read_again(tmp_path):
    path = tmp_path / "d.sqlite"
    made(path, [(1, "x")])
    assert verdict("SELECT 1", "SELECT count(*) FROM t", meta={"db": str(path)}).value == 1
    connection = sqlite3.connect(path)
    connection.execute("INSERT INTO t VALUES (2, 'y')")
    connection.commit()
    connection.close()
    assert verdict("SELECT 1", "SELECT count(*) FROM t", meta={"db": str(path)}).value == 0


def test_blobs_text_that_is_no_unicode_dates_decimals_and_lists_compare(dialect):
    if dialect == "sqlite":
        pairs = [("SELECT x'00ff'", "SELECT x'00ff'", 1), ("SELECT x'00ff'", "SELECT x'00fe'", 0),
                 ("SELECT cast(x'ff41' AS text)", "SELECT cast(x'ff41' AS text)", 1)]  # fmt: skip
    else:
        pairs = [("SELECT 1.10::decimal(9,2)", "SELECT 1.1", 1), ("SELECT date '2020-01-02'", "SELECT '2020-01-02'", 1),
                 ("SELECT [1, 2]", "SELECT [1.0, 2.0]", 1), ("SELECT [1, 2]", "SELECT [2, 1]", 0),
                 ("SELECT {'a': 1}", "SELECT {'a': 1}", 1), ("SELECT 'nan'::float", "SELECT 'nan'::float", 1),
                 ("SELECT 170141183460469231731687303715884105727::hugeint", "SELECT 1", 0)]  # fmt: skip
    for said, gold, value in pairs:
        score = verdict(said, gold, dialect)
        assert (score.status, score.value) == ("ok", value), (said, gold, score)


@pytest.mark.parametrize(
    ("reply", "found"),
    [
        ("SELECT 1;", "SELECT 1"),
        ("  -- why\nselect 1 ; -- done", "-- why\nselect 1"),
        ("```sql\nSELECT 1\n```\nor better\n```sql\nSELECT 2;\n```", "SELECT 2"),
        ("```\nSELECT 1\n```", "SELECT 1"),
        ("```python\nprint(1)\n```", ""),
        ("Use this:\nSELECT a\nFROM t;\nIt selects a.", "SELECT a\nFROM t"),
        ("Use this:\n\nSELECT a\nFROM t\n\nIt selects a.", "SELECT a\nFROM t"),
        ("SQL: SELECT ';' FROM t; done", "SELECT ';' FROM t"),
        ("<answer>SELECT 3</answer>", "SELECT 3"),
        ("I'd <sql>\nWITH x AS (SELECT 1) SELECT * FROM x\n</sql>", "WITH x AS (SELECT 1) SELECT * FROM x"),
        ("(SELECT 1) UNION (SELECT 2)", "(SELECT 1) UNION (SELECT 2)"),
        ("DROP TABLE t", ""),
        ("With great care I say no.", ""),
        ("Answer: SELECT a FROM t", "SELECT a FROM t"),
        ("**Final answer:** select a\nfrom t;\nDone.", "select a\nfrom t"),
        ("The SQL query is: SELECT 1", "SELECT 1"),
        ("SQL query is: SELECT 1", "SELECT 1"),
        ("Use `SELECT a FROM t` here.", "SELECT a FROM t"),
        ("Not `SELECT * FROM t` but `SELECT a FROM t`.", "SELECT a FROM t"),
        ("Answer: `SELECT 1`", "SELECT 1"),
        ("Use `SELECT DISTINCT` and `SELECT`.", ""),
        ("Answer: SELECT a FROM t; (`SELECT b FROM t` is slower)", "SELECT b FROM t"),
        ("First `SELECT b FROM t`.\nAnswer: SELECT a FROM t", "SELECT a FROM t"),
        ("Use\nSELECT `a b` FROM `from x`", "SELECT `a b` FROM `from x`"),
        (
            "SELECT a\nFROM t\n\nWith this query you get all of a.",
            "SELECT a\nFROM t\n\nWith this query you get all of a.",
        ),
        ("I give you\nSELECT a\nFROM t\n\nWith this query you get all of a.", "SELECT a\nFROM t"),
        ("SELECT is a keyword, and SELECT statements read rows.", ""),
        ("You should use a SELECT with a WHERE clause.", ""),
        ('{"sql": "SELECT 1;"}', "SELECT 1"),
        ('{"thought": "SELECT 2", "query": "SELECT 1"}', "SELECT 1"),
        ('So:\n```json\n{"sql": "SELECT a FROM t"}\n```', "SELECT a FROM t"),
        ('{"sql": "SELECT 1"} no, {"sql": "SELECT 2"}', "SELECT 2"),
        ('<answer>{"sql": "SELECT 1"}</answer>', "SELECT 1"),
        ('{"sql": 5}', ""),
        ('{"sql": "SELECT 1', ""),
        ('SELECT a AS "query" FROM t', 'SELECT a AS "query" FROM t'),
        ("", ""),
    ],
)
def test_the_query_of_a_reply_is_found(reply, found):
    assert query(reply) == found


@pytest.mark.parametrize(
    ("sql", "ordered"),
    [
        ("SELECT a FROM t ORDER BY a", True),
        ("select a from t order\n by a desc nulls last limit 3", True),
        ("(SELECT a FROM t ORDER BY a)", True),
        ("SELECT a FROM t UNION SELECT a FROM u ORDER BY 1", True),
        ("SELECT a FROM (SELECT a FROM t ORDER BY a)", False),
        ("SELECT rank() OVER (ORDER BY a) FROM t", False),
        ("SELECT 'order by' FROM t -- order by a", False),
        ('SELECT "order by" FROM t /* ORDER BY a */', False),
        ("WITH x AS (SELECT a FROM t ORDER BY a) SELECT a FROM x", False),
        ("SELECT a FROM t", False),
        ("", False),
    ],
)
def test_only_the_outermost_order_by_orders_the_rows(sql, ordered):
    assert (sort_keys(sql) is not None) == ordered


@pytest.mark.parametrize(
    "gold",
    [
        "SELECT name FROM singer ORDER BY age",
        "SELECT name, age FROM singer ORDER BY 2",
        "SELECT name, age AS years FROM singer ORDER BY years DESC",
        "SELECT name FROM singer ORDER BY age % 10, pay > 100 LIMIT 10",
        "SELECT name FROM singer ORDER BY coalesce(boss, 0) * 0",
    ],
)
def test_rows_that_tie_in_the_golds_order_may_stand_in_any_order_and_no_others(gold, dialect):
    connection = sqlite3.connect(":memory:")
    connection.executescript(SCRIPT)
    rows = connection.execute(gold).fetchall()
    keys = {"age": lambda n: n, "years": lambda n: -n}
    ages = dict(connection.execute("SELECT name, age FROM singer"))
    if "% 10" in gold:
        key = lambda row: ages[row[0]] % 10  # noqa: E731
    elif "* 0" in gold:
        key = lambda row: 0  # noqa: E731
    else:
        key = lambda row: keys["years" if "years" in gold else "age"](ages[row[0]])  # noqa: E731
    samples, right = [], []
    turns = list(itertools.permutations(rows))
    tied = [turned for turned in turns if [key(row) for row in turned] == sorted(map(key, rows))]
    for turned in [*tied[:4], *random.Random(gold).sample(turns, 4)]:
        listed = " UNION ALL ".join(f"SELECT {', '.join(map(repr, row))}, {i}" for i, row in enumerate(turned))
        columns = ", ".join(f"c{i}" for i in range(len(rows[0])))
        said = f"WITH r({columns}, i) AS ({listed}) SELECT {columns} FROM r ORDER BY i"
        samples.append(Sample("", said, gold, meta={"schema": SCRIPT}))
        right.append([key(row) for row in turned] == sorted(map(key, rows)))
    assert [score.value for score in SQL(dialect=dialect).score(samples)] == right


CELLS = st.sampled_from([None, 0, 1, 2, 1.0, 1 + 1e-12, 0.5, 0.5 + 1e-11, "a", "1", "", ("blob", "00")])


def brute_force(gold, said, columns, blocks):
    """Try every order of rows within blocks, and of columns."""
    if len(gold) != len(said):
        return False
    width = len(gold[0]) if gold else 0

    def close(x, y):
        both = isinstance(x, int | float) and isinstance(y, int | float)
        return near(x, y, 1e-9) if both else type(x) is type(y) and x == y

    def equal(a, b):
        return all(close(x, y) for x, y in zip(a, b, strict=True))

    cuts = list(itertools.accumulate(blocks or (len(gold),), initial=0))
    for order in itertools.permutations(range(width)) if columns == "any" else [tuple(range(width))]:
        turned = [tuple(row[i] for i in order) for row in said]
        if all(
            any(all(map(equal, gold[a:b], p)) for p in itertools.permutations(turned[a:b]))
            for a, b in itertools.pairwise(cuts)
        ):
            return True
    return False


@given(st.data())
def test_results_are_the_same_exactly_if_some_order_of_rows_and_columns_says_so(data):
    width, height = data.draw(st.integers(1, 3)), data.draw(st.integers(0, 4))
    whole = [1, 0.5]
    rows = data.draw(st.lists(st.tuples(*[CELLS] * width), min_size=height, max_size=height))
    rng = random.Random(data.draw(st.integers(0, 99)))
    said = [list(row) for row in rows]
    rng.shuffle(said)
    if data.draw(st.booleans()) and said:
        said[0][0] = data.draw(CELLS)
    if data.draw(st.booleans()):
        said = [row[1:] + row[:1] for row in said]
    whole = [tuple(int(c) if isinstance(c, float) and c.is_integer() else c for c in row) for row in rows]
    told = [tuple(int(c) if isinstance(c, float) and c.is_integer() else c for c in row) for row in said]
    blocks = data.draw(st.sampled_from([(), (1,) * height, (2, height - 2)] if height > 2 else [(), (1,) * height]))
    columns = data.draw(st.sampled_from(["position", "any"]))
    names = tuple(f"c{i}" for i in range(width))
    same = not difference(Result(names, tuple(whole), blocks), Result(names, tuple(told)), columns, 1e-9)
    assert same == brute_force(whole, told, columns, blocks)


def verdict_of(gold, said, **options):
    names = tuple(f"c{i}" for i in range(len(gold[0])))
    ours, theirs = (Result(names, tuple(map(tuple, rows))) for rows in (gold, said))
    return difference(ours, theirs, "any", 0, **options)


def rings(*sizes):
    """Rows that each hold two neighbours of some ring: refining classes does not tell one ring from two."""
    starts = itertools.accumulate(sizes, initial=0)
    edges = [
        {start + i, start + (i + 1) % size} for start, size in zip(starts, sizes, strict=False) for i in range(size)
    ]
    apart = [*range(0, sum(sizes), 2), *range(1, sum(sizes), 2)]
    return [[int(column in edge) for column in apart] for edge in edges]


def test_columns_that_look_alike_are_matched_or_told_apart():
    for size in (8, 30):
        unit = [[int(i == j) for j in range(size)] for i in range(size)]
        doubled = [[*row[:-1], row[-2]] for row in unit]
        assert verdict_of(unit, doubled) == verdict_of(doubled, unit) == "other rows"
        shuffled = [*zip(*random.Random(1).sample([*zip(*unit, strict=True)], size), strict=True)]
        assert verdict_of(unit, shuffled) == ""
        assert verdict_of(unit, shuffled[1:] + shuffled[:1], distinct=True) == ""
        assert verdict_of(unit, [[1 - cell for cell in row] for row in unit]) == "other rows"


def test_many_columns_in_any_order_are_matched_without_recursion():
    row = random.Random(2).sample(range(10_000), 1900)
    assert verdict_of([row], [row[::-1]]) == ""
    assert verdict_of([row], [[*row[1:], row[1]]]) == "other rows"
    assert verdict_of([[7] * 1900], [[7] * 1900]) == ""


def test_matching_columns_of_large_results_takes_a_bounded_time():
    rng = random.Random(3)
    large = [[rng.randint(0, 1) for _ in range(20)] for _ in range(20_000)]
    other = [row[::-1] for row in large]
    assert verdict_of(large, other) == ""
    other[7][3] ^= 1
    assert verdict_of(large, other) == "other rows"
    assert verdict_of(rings(32), rings(16, 16)) == "32 columns look too much alike to be matched"
    assert verdict_of(rings(8), rings(4, 4)) == "other rows"


@given(st.lists(st.tuples(*[st.integers(0, 1)] * 4), min_size=1, max_size=5), st.permutations(range(4)), st.data())
def test_columns_of_few_values_match_as_brute_force_matches_them(rows, order, data):
    said = [tuple(row[i] for i in order) for row in data.draw(st.permutations(rows))]
    if data.draw(st.booleans()):
        said[0] = data.draw(st.tuples(*[st.integers(0, 1)] * 4))
    assert (not verdict_of(rows, said)) == brute_force(rows, said, "any", ())


@given(st.text(alphabet="selct ordrby()'\"-*/;,\n[]`", max_size=60))
def test_any_text_has_tokens_and_no_text_is_lost(text):
    found = tokens(text)
    assert all(text[t.start : t.end] == t.text for t in found)
    sort_keys(text)
    query(text)


def test_long_hostile_texts_are_read_in_linear_time():
    for text in (
        "(" * 200_000,
        "'" * 200_001,
        "/*" * 100_000,
        "SELECT " * 50_000,
        "-- \n" * 50_000,
        "select\n\n" * 50_000,
    ):
        query(text)
        sort_keys(text)
