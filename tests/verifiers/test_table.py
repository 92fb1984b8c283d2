"""`table`: rows by the types of what is expected, strict unless a task says otherwise."""

import json
import random
import sqlite3

import pytest

import verikit
from verikit.workspaces import Workspace

ROWS = [
    {"id": 1, "name": "Ann", "sum": 4.5, "ok": True, "note": None},
    {"id": 2, "name": "B, C", "sum": 3, "ok": False, "note": "x"},
]
CSV = 'id,name,sum,ok,note\n1,Ann,4.5,true,\n2,"B, C",3,false,x\n'


def value(text, name="out.csv", expected=ROWS, **options):
    return verikit.table(name, expected=expected, **options)("", workspace={"after": {name: text}}).value


CSV_TWINS = {
    "as it is": (CSV, 1.0),
    "line ends": (CSV.replace("\n", "\r\n"), 1.0),
    "no last line end": (CSV[:-1], 1.0),
    "all quoted": ('"id","name","sum","ok","note"\n"1","Ann","4.5","true",""\n"2","B, C","3","false","x"\n', 1.0),
    "numbers written otherwise": (CSV.replace("4.5", "4.50").replace(",3,", ",3.0,"), 1.0),
    "other order": ('id,name,sum,ok,note\n2,"B, C",3,false,x\n1,Ann,4.5,true,\n', 1.0),
    "columns in another order": ('name,id,sum,ok,note\nAnn,1,4.5,true,\n"B, C",2,3,false,x\n', 1.0),
    "another number": (CSV.replace("4.5", "4.6"), 0.0),
    "true for 1": (CSV.replace("1,Ann", "true,Ann"), 0.0),
    "1 for true": (CSV.replace("true", "1"), 0.0),
    "a blank in a name": (CSV.replace("Ann", "Ann "), 0.0),
    "a row twice": (CSV + "1,Ann,4.5,true,\n", 0.0),
    "a row gone": ("id,name,sum,ok,note\n1,Ann,4.5,true,\n", 0.0),
    "a column more": ("id,name,sum,ok,note,z\n1,Ann,4.5,true,,0\n2,\"B, C\",3,false,x,0\n", 0.0),
    "a column gone": ("id,name,sum,ok\n1,Ann,4.5,true\n2,\"B, C\",3,false\n", 0.0),
    "a column twice": (CSV.replace("id,name", "id,id", 1), 0.0),
    "a short row": (CSV + "3,x\n", 0.0),
    "thousands": (CSV.replace("4.5", '"4,5"'), 0.0),
    "a word for null": (CSV.replace("true,\n", "true,null\n"), 0.0),
    "an open quote": (CSV + '"', 0.0),
    "a byte order mark": ("\ufeff" + CSV, 0.0),
    "nothing": ("", 0.0),
    "no text": (b"\xff\xfe", 0.0),
}  # fmt: skip


@pytest.mark.parametrize(("text", "wanted"), CSV_TWINS.values(), ids=CSV_TWINS)
def test_csv(text, wanted):
    workspace = Workspace({"out.csv": text})
    assert verikit.table("out.csv", expected=ROWS)("", workspace=workspace).value == wanted


JSON_TWINS = {
    "as it is": (json.dumps(ROWS), 1.0),
    "other order": (json.dumps(ROWS[::-1], indent=1), 1.0),
    "1.0 for 1": (json.dumps(ROWS).replace('"id": 1', '"id": 1.0'), 1.0),
    "true for 1": (json.dumps(ROWS).replace('"id": 1', '"id": true'), 0.0),
    "a text for 1": (json.dumps(ROWS).replace('"id": 1', '"id": "1"'), 0.0),
    "a key twice": (json.dumps(ROWS).replace('"id": 1', '"id": 9, "id": 1'), 0.0),
    "NaN": (json.dumps(ROWS).replace("4.5", "NaN"), 0.0),
    "a key gone": (json.dumps(ROWS).replace(', "note": null', ""), 0.0),
    "an object": (json.dumps(ROWS[0]), 0.0),
    "cut off": (json.dumps(ROWS)[:-1], 0.0),
    "deep": ("[" * 100_000, 0.0),
}


@pytest.mark.parametrize(("text", "wanted"), JSON_TWINS.values(), ids=JSON_TWINS)
def test_json(text, wanted):
    assert value(text, "out.json") == wanted


def test_strictness_by_option():
    assert value("\ufeff" + CSV, allow=["bom"]) == 1.0
    doubled = json.dumps(ROWS).replace('"id": 1', '"id": 9, "id": 1')
    assert value(doubled, "out.json", allow="duplicates") == 1.0
    semicolons = CSV.replace(",", ";").replace("B; C", "B, C")
    assert (value(semicolons), value(semicolons, allow=["semicolons"])) == (0.0, 1.0)
    assert value(CSV, allow=["semicolons"]) == 1.0
    assert value('"a;b;c",d\n1,2\n', "out.csv", [{"a;b;c": 1, "d": 2}], allow=["semicolons"]) == 1.0
    assert value("a,b\r1;;;;,2\r", "out.csv", [{"a": "1;;;;", "b": 2}], allow=["semicolons"]) == 1.0
    assert value('[{"a": NaN}]', "out.json", [{"a": float("nan")}], allow=["nan"]) == 1.0
    shuffled = 'id,name,sum,ok,note\n2,"B, C",3,false,x\n1,Ann,4.5,true,\n'
    assert value(shuffled, order="given") == 0.0
    assert value(shuffled, key=["id"]) == 1.0
    assert value(shuffled, key="id", order="given") == 0.0
    assert value(CSV, columns="ordered") == 1.0
    assert value('name,id,sum,ok,note\nAnn,1,4.5,true,\n"B, C",2,3,false,x\n', columns="ordered") == 0.0
    wide = 'id,name,sum,ok,note,z\n1,Ann,4.5,true,,0\n2,"B, C",3,false,x,0\n'
    assert value(wide, columns="superset") == 1.0
    close = CSV.replace("4.5", "4.5004")
    assert value(close, tolerance=1e-3) == value(close, tolerance=1e-3, key="id") == 1.0
    assert value(close, tolerance=1e-5) == 0.0
    assert value(CSV.replace("2,", "1,", 1), key="id") == 0.0


def test_bags_within_a_tolerance_are_paired_whatever_their_order():
    draw = random.Random(5)
    rows = [{"k": f"k{n % 7}", "x": n * 1.0, "y": draw.random()} for n in range(300)]
    other = [{**row, "x": row["x"] + draw.uniform(-1e-4, 1e-4)} for row in rows]
    draw.shuffle(other)
    assert value(json.dumps(other), "o.json", rows, tolerance=1e-3) == 1.0
    other[17]["y"] += 1
    assert value(json.dumps(other), "o.json", rows, tolerance=1e-3) == 0.0


def test_expected_tables_from_the_answer_as_csv_and_from_what_was_given():
    table = verikit.table("out.json")
    after = {
        "after": {"out.json": '[{"a": 1, "b": "x"}, {"a": 2.5, "b": ""}]'},
        "before": {"in.csv": "a,b\n2.50,\n1,x\n"},
    }
    assert table("", "a,b\n1,x\n2.5,\n", workspace=after).value == 1.0
    assert table("", "a,b\n1,x\n2.6,\n", workspace=after).value == 0.0
    assert verikit.table("out.json", expected="before:in.csv")("", workspace=after).value == 1.0
    given = {"before": {"in.csv": "a;b\n1;2\n"}, "after": {"out.csv": "a,b\n1,2\n"}}
    assert verikit.table("out.csv", expected="before:in.csv")("", workspace=given).value == 0.0
    allowed = verikit.table("out.csv", expected="before:in.csv", allow=["semicolons"])
    assert allowed("", workspace=given).value == 1.0
    for gold in (None, "[{", "a,a\n1,2\n", '"a'):
        assert table("", gold, workspace=after).value is None
    assert verikit.table("out.bin", expected=ROWS)("", workspace={"after": {"out.bin": ""}}).value is None


def test_both_csv_compares_texts():
    assert value("a\n01\n", expected="a\n1\n") == 0.0
    assert value("a\n1\nx\n", expected="a\nx\n1\n") == 1.0
    assert value("a\n1.001\n", expected="a\n1\n", tolerance=0.01) == 1.0


def test_a_query_reads_sqlite_in_the_sandbox_and_writes_nothing(tmp_path):
    connection = sqlite3.connect(tmp_path / "a.db")
    connection.executescript("CREATE TABLE t (a INTEGER, b TEXT); INSERT INTO t VALUES (1, 'x'), (2, 'y');")
    connection.close()
    before = (tmp_path / "a.db").read_bytes()

    def of(query, expected):
        return verikit.table("a.db", query=query, expected=expected)("", workspace=Workspace(tmp_path)).value

    assert of("SELECT a, b FROM t", [{"a": 2, "b": "y"}, {"a": 1, "b": "x"}]) == 1.0
    assert of("SELECT a, b FROM t", [{"a": 2, "b": "y"}, {"a": True, "b": "x"}]) == 0.0
    assert of("SELECT a, nothing FROM t", [{"a": 1}]) == 0.0
    assert of("DELETE FROM t RETURNING a", [{"a": 1}, {"a": 2}]) == 0.0
    assert (tmp_path / "a.db").read_bytes() == before


def test_parquet(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    parquet.write_table(pyarrow.Table.from_pylist(ROWS), tmp_path / "out.parquet")
    workspace = Workspace(tmp_path)
    assert verikit.table("out.parquet", expected=ROWS)("", workspace=workspace).value == 1.0
    assert verikit.table("out.parquet", expected=ROWS[:1] * 2)("", workspace=workspace).value == 0.0
    assert value(b"PAR1 no table PAR1", "out.parquet") == 0.0
    assert value(CSV, "out.parquet") == 0.0
