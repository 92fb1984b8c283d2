import sqlite3

import pytest

pytest.importorskip("lm_eval")

from tests.evals.scripted import Scripted, write
from verikit.errors import UsageError
from verikit.evals.lm import EngineLM
from verikit.evals.loading import Settings
from verikit.evals.run import run_tasks

BIRD = [
    {"question_id": 0, "db_id": "zoo", "question": "Which animals are old?", "evidence": "old is over 9 years",
     "SQL": "SELECT name FROM animals WHERE age > 9", "difficulty": "simple"},
    {"question_id": 1, "db_id": "zoo", "question": "How old are they?", "evidence": "",
     "SQL": "SELECT age FROM animals", "difficulty": "moderate"},
    {"question_id": 2, "db_id": "zoo", "question": "Broken?", "evidence": "", "SQL": "SELECT x FROM animals",
     "difficulty": "moderate"},
]  # fmt: skip
SPIDER = [
    {"db_id": "zoo", "question": "Names and ages of the old?", "query": "SELECT name, age FROM animals WHERE age > 9"}
]


def zoo(path, rows):
    path.parent.mkdir(parents=True, exist_ok=True)
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE animals (name TEXT, age INTEGER)")
    connection.executemany("INSERT INTO animals VALUES (?, ?)", rows)
    connection.commit()
    connection.close()


ROWS = [("Leo", 12), ("Kim", 12), ("Bo", 3)]


def run(tmp_path, task, rows, answer):
    data = write(tmp_path / "dev.jsonl", rows)
    lm = EngineLM(Scripted(answer), seed=0, retriever=None)
    results = run_tasks([f"verikit_{task}"], "scripted", lm, Settings(data=data), tmp_path / "run")
    (found,) = results["tasks"].values()
    return found


def test_bird_runs_on_databases_beside_its_file_and_a_failing_gold_is_unscored(tmp_path):
    zoo(tmp_path / "dev_databases" / "zoo" / "zoo.sqlite", ROWS)
    asked = []

    def answer(request):
        asked.append(str(request.prompt))
        if "Which" in asked[-1]:
            return "```sql\nSELECT name FROM animals WHERE age >= 10\n```"
        return "```sql\nSELECT DISTINCT age FROM animals\n```"

    found = run(tmp_path, "bird", BIRD, answer)
    assert found["metrics"]["acc"]["value"] == 0.5  # a row that comes twice counts twice
    assert found["metrics"]["official"]["value"] == 1.0  # not under BIRD's rule
    assert found["metrics"]["acc"]["n"] == 2
    assert found["unscored"]["acc"] == 1
    assert any("CREATE TABLE animals" in text and "old is over 9 years" in text for text in asked)


def test_spider_asks_every_database_of_a_suite_and_takes_columns_in_any_order_as_its_script_does(tmp_path):
    zoo(tmp_path / "database" / "zoo" / "zoo.sqlite", ROWS)
    said = "```sql\nSELECT age, name FROM animals WHERE age = 12\n```"
    found = run(tmp_path, "spider", SPIDER, lambda request: said)
    assert (found["metrics"]["official"]["value"], found["metrics"]["acc"]["value"]) == (1.0, 0.0)
    zoo(tmp_path / "database" / "zoo" / "zoo_fuzz.sqlite", [("Al", 11)])
    (tmp_path / "second").mkdir()
    data = write(tmp_path / "dev.jsonl", SPIDER)
    lm = EngineLM(Scripted(lambda request: said), seed=0, retriever=None)
    results = run_tasks(["verikit_spider"], "scripted", lm, Settings(data=data), tmp_path / "second" / "run")
    (found,) = results["tasks"].values()
    assert found["metrics"]["official"]["value"] == 0.0


def test_a_database_that_is_not_there_and_a_name_that_leads_out_are_told(tmp_path):
    with pytest.raises(UsageError, match="database 'zoo' not found"):
        run(tmp_path, "bird", BIRD, lambda request: "")
    with pytest.raises(UsageError, match="not a database name"):
        run(tmp_path, "bird", [BIRD[0] | {"db_id": "../zoo"}], lambda request: "")
