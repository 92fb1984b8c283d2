"""`sql` beside the rules of BIRD's and Spider's evaluators: agreement, each difference by its name, and speed.

    python benchmarks/sql.py [databases]

Databases are generated, with ties, NULLs and repeated rows, and so are pairs of a gold query and what a model may
write for it: rewritten, with columns turned round, with DISTINCT, another order, another constant, a fault. The rules
are those of the two evaluators' scripts, put down again here: BIRD compares the sets of rows; Spider bags of rows up
to an order of the columns, as lists where "order by" occurs anywhere in the gold. Both run queries in their own
process.
"""

from __future__ import annotations

import random
import sqlite3
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from itertools import permutations
from pathlib import Path

from verikit import Sample
from verikit.verifiers.sql.verifier import SQL

Rows = list[tuple[object, ...]]
NAMES = ["Ann", "Bo", "Cy", "Di", "Ed", "Flo", "Gus", None]
COUNTRIES = ["France", "Japan", "Peru"]
GOLDS = [
    "SELECT name FROM singer WHERE age > {n}",
    "SELECT name, age FROM singer WHERE country = '{c}'",
    "SELECT country, count(*) FROM singer GROUP BY country",
    "SELECT DISTINCT country FROM singer WHERE age > {n}",
    "SELECT name FROM singer ORDER BY age DESC",
    "SELECT name, age FROM singer ORDER BY age, id",
    "SELECT name FROM singer ORDER BY age DESC LIMIT 1",
    "SELECT country, avg(pay) FROM singer GROUP BY country ORDER BY avg(pay) DESC",
    "SELECT avg(pay), max(age) FROM singer WHERE country = '{c}'",
    "SELECT s.name, c.title FROM singer s JOIN concert c ON c.singer = s.id WHERE c.year = {y}",
    "SELECT name FROM singer WHERE id NOT IN (SELECT singer FROM concert WHERE year = {y})",
    "SELECT title, year FROM concert WHERE singer IN (SELECT id FROM singer ORDER BY pay DESC LIMIT 3)",
    "SELECT year, count(DISTINCT singer) FROM concert GROUP BY year HAVING count(*) > 1",
    "SELECT sum(pay) FROM singer WHERE age BETWEEN {n} AND {n} + 20",
    "SELECT name FROM singer WHERE name LIKE '%o%' UNION SELECT title FROM concert WHERE year > {y}",
    "SELECT country FROM singer WHERE age > 200",
]
NOTHING = "id, pay FROM singer WHERE age > 200"
WRITTEN: list[tuple[str, Callable[[str], str]]] = [
    ("as it is", lambda q: q),
    ("in a fence", lambda q: f"Here it is:\n```sql\n{q};\n```"),
    ("as a subquery", lambda q: f"SELECT * FROM ({q})"),
    ("with a CTE", lambda q: f"WITH r AS ({q}) SELECT * FROM r"),
    ("DISTINCT put in", lambda q: q.replace("SELECT ", "SELECT DISTINCT ", 1) if "DISTINCT" not in q[:16] else q),
    ("DISTINCT left out", lambda q: q.replace("DISTINCT ", "")),
    ("columns turned round", lambda q: turned(q)),
    ("a column left out", lambda q: q.replace(", age", "").replace(", count(*)", "").replace(", c.title", "")),
    ("order left out", lambda q: q.split(" ORDER BY")[0] if q.count("ORDER BY") == 1 and "IN (" not in q else q),
    ("order turned round", lambda q: q.replace(" DESC", " ASC") if " DESC" in q else q + " ORDER BY 1 DESC"),
    ("ties in another order", lambda q: q.replace("ORDER BY age DESC", "ORDER BY age DESC, id DESC")),
    ("another constant", lambda q: q.replace("> ", "> 5 + ").replace("France", "Peru").replace("= 2", "= 1 + 2")),
    ("average by hand", lambda q: q.replace("avg(pay)", "sum(pay) / count(pay)")),
    ("sums in another order", lambda q: q.replace("sum(pay)", "sum(pay * 3) / 3")),
    ("no rows, another column", lambda q: q.replace("country FROM singer WHERE age > 200", NOTHING)),
    ("rows twice", lambda q: f"{q} UNION ALL {q}" if "ORDER" not in q else q),
    ("misspelt", lambda q: q.replace("FROM singer", "FROM singers").replace("FROM concert", "FROM concerts")),
    ("two statements", lambda q: f"{q}; {q}"),
]  # fmt: skip


def turned(query: str) -> str:
    head, _, rest = query.partition(" FROM ")
    columns = head.removeprefix("SELECT ").split(", ")
    return f"SELECT {', '.join(reversed(columns))} FROM {rest}" if len(columns) == 2 and "GROUP" not in query else query


def made(folder: Path, seed: int) -> str:
    rng = random.Random(seed)
    path = folder / f"db{seed}.sqlite"
    connection = sqlite3.connect(path)
    connection.executescript(
        "CREATE TABLE singer (id INTEGER PRIMARY KEY, name TEXT, age INTEGER, pay REAL, country TEXT);"
        "CREATE TABLE concert (id INTEGER PRIMARY KEY, singer INTEGER, title TEXT, year INTEGER);"
    )
    for i in range(rng.randint(8, 40)):
        row = (i, rng.choice(NAMES), rng.choice([20, 30, 30, 41]), round(rng.random() * 99, 2), rng.choice(COUNTRIES))
        connection.execute("INSERT INTO singer VALUES (?, ?, ?, ?, ?)", row)
        connection.execute("INSERT INTO concert VALUES (?, ?, ?, ?)", (i, rng.randint(0, i), f"T{i % 7}", 2000 + i % 4))
    connection.commit()
    connection.close()
    return str(path)


def run(path: str, query: str) -> Rows:
    connection = sqlite3.connect(path)
    try:
        return connection.execute(query).fetchall()
    finally:
        connection.close()


def bird(gold: Rows, said: Rows, _: str) -> bool:
    return set(gold) == set(said)


def spider(gold: Rows, said: Rows, query: str) -> bool:
    if not gold and not said:
        return True
    if len(gold) != len(said) or len(gold[0]) != len(said[0]):
        return False
    for order in permutations(range(len(gold[0]))):
        rows = [tuple(row[i] for i in order) for row in said]
        if rows == gold if "order by" in query.lower() else Counter(rows) == Counter(gold):
            return True
    return False


def judged(rule: Callable[[Rows, Rows, str], bool], path: str, gold: str, said: str) -> bool:
    expected = run(path, gold)
    try:
        return rule(expected, run(path, said), gold)
    except (sqlite3.Error, sqlite3.Warning):
        return False


def bare(said: str) -> str:
    return said.split("```sql\n")[1].split(";\n```")[0] if "```" in said else said


def main(databases: int) -> None:
    rng = random.Random(0)
    with tempfile.TemporaryDirectory() as folder:
        paths = [made(Path(folder), seed) for seed in range(databases)]
        cases = []
        for path in paths:
            for form in GOLDS:
                n, country, year = rng.choice([15, 25, 35]), rng.choice(COUNTRIES), rng.randint(2000, 2003)
                gold = form.format(n=n, c=country, y=year)
                cases += [(path, gold, name, write(gold)) for name, write in WRITTEN]
        samples = [Sample("", said, gold, meta={"db": path}) for path, gold, _, said in cases]
        begun = time.perf_counter()
        default = SQL().score(samples)
        seconds = time.perf_counter() - begun
        if missing := [score for score in default if score.value is None]:
            raise SystemExit(f"{len(missing)} unscored, the first: {missing[0].reason}")
        print(f"{len(cases)} queries on {databases} databases; default: {sum(map(float, default)):.0f} right")
        print(f"{len(cases) / seconds:.0f} verdicts a second in the sandbox, golds kept; without one, in this process:")
        for peer, rule, options in (
            ("BIRD", bird, {"rows": "set", "order": "never", "tolerance": 0.0}),
            ("Spider", spider, {"columns": "any", "tolerance": 0.0}),
        ):
            begun = time.perf_counter()
            theirs = [judged(rule, path, gold, bare(said)) for path, gold, _, said in cases]
            rate = len(cases) / (time.perf_counter() - begun)
            same = SQL(**options).score(samples)  # type: ignore[arg-type]
            print(f"\n{peer}'s rule ({rate:.0f} a second)")
            for name, scores in ((f"sql{options}", same), ("sql()", default)):
                table(name, cases, [score.passed for score in scores], theirs)


def table(name: str, cases: list[tuple[str, str, str, str]], ours: list[bool], theirs: list[bool]) -> None:
    differences = Counter(
        (change, "only we say yes" if a else "only it says yes")
        for (_, _, change, _), a, b in zip(cases, ours, theirs, strict=True)
        if a != b
    )
    print(f"  {name}: {1 - differences.total() / len(cases):.2%} alike")
    for (change, who), count in differences.most_common():
        print(f"    {count:5} {who}: {change}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 6)
