"""Tasks whose answers are files, on stored runs."""

import json
import sys

import pytest

pytest.importorskip("lm_eval")

from tests.artifacts.books import cells, sales
from tests.env.audit.harbor_tasks import put
from tests.env.audit.running_tasks import make
from verikit.errors import SchemaError
from verikit.evals.grade import sample
from verikit.evals.left import StoredFiles
from verikit.evals.loading import Settings
from verikit.evals.models import opened_model
from verikit.evals.replies import Noted
from verikit.evals.run import identity, run_tasks
from verikit.evals.stored import outputs_of

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the local sandbox needs Linux")


def run(tmp_path, task, data, folder, **settings):
    spec = f"replay:{folder}"
    with opened_model(spec, {}, told=lambda done, of: None) as lm:
        found = run_tasks([task], spec, lm, Settings(data=str(data), **settings), tmp_path / "run")
    return found["tasks"][task]


@pytest.mark.slow(seconds=3)
def test_spreadsheetbench_has_hard_and_soft_values_of_a_folder_of_outputs(tmp_path):
    for package in ("openpyxl", "formulas", "formualizer"):
        pytest.importorskip(package)
    rows = []
    for id in ("1-1", "2-2", "3-3"):
        rows.append({"id": id, "instruction": f"Fill {id}.", "spreadsheet_path": f"spreadsheet/{id}",
                     "instruction_type": "Cell-Level Manipulation", "answer_position": "E2"})  # fmt: skip
        for number in (1, 2):
            path = tmp_path / f"spreadsheet/{id}/{number}_{id}_answer.xlsx"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(sales(cells(E2=number)))
    for id, values in (("1-1", (1, 2)), ("2-2", (1, 1))):
        for number, value in enumerate(values, 1):
            path = tmp_path / f"outputs/{id}/{number}_{id}_output.xlsx"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(sales(cells(E2=value)))
    (tmp_path / "dataset.json").write_text(json.dumps(rows))
    found = run(tmp_path, "verikit_spreadsheetbench", tmp_path / "dataset.json", tmp_path / "outputs")
    assert found["metrics"]["hard"]["value"] == 0.5
    assert found["metrics"]["soft"]["value"] == 0.75
    assert found["unscored"] == {"hard": 1, "soft": 1}  # nothing was left for 3-3
    assert not found["unparsed"]


def test_a_folder_of_harbor_tasks_is_graded_on_a_folder_of_trials(tmp_path):
    make(tmp_path / "tasks/sum")
    entry = {"source": "/app/total.txt", "destination": "artifacts/app/total.txt", "type": "file", "status": "ok"}
    for name, text in (("a", "461\n"), ("b", "460\n")):
        put(tmp_path / "job" / name, "result.json", json.dumps({"trial_name": name, "task_name": "sum"}))
        put(tmp_path / "job" / name, "artifacts/app/total.txt", text)
        put(tmp_path / "job" / name, "artifacts/manifest.json", json.dumps([entry]))
    put(tmp_path / "job/b", "agent/trajectory.json", "not JSON")  # the files are graded all the same
    found = run(tmp_path, "verikit_harbor", tmp_path / "tasks", tmp_path / "job", repeats=2)
    assert found["metrics"]["reward"]["value"] == 0.5
    before = identity("replay:x", StoredFiles(str(tmp_path / "job")))
    put(tmp_path / "job/b", "artifacts/app/total.txt", "461\n\n")
    assert identity("replay:x", StoredFiles(str(tmp_path / "job"))) != before


def test_a_folder_of_osworld_tasks_is_graded_on_a_folder_of_files(tmp_path):
    result = {"type": "vm_file", "path": "/home/user/out.csv", "dest": "out.csv"}
    gold = {"type": "cloud_file", "path": "https://example.org/gold.csv", "dest": "gold.csv"}
    for id, func in (("a", "compare_csv"), ("b", "compare_csv"), ("c", "is_cookie_deleted")):
        task = {"id": id, "snapshot": "calc", "instruction": f"Do {id}.",
                "evaluator": {"func": func, "result": result, "expected": gold}}  # fmt: skip
        put(tmp_path / "tasks", f"examples/calc/{id}.json", json.dumps(task, indent=2))
        put(tmp_path / "tasks", f"cache/{id}/gold.csv", "a,b\n1,2\n")
        put(tmp_path / "runs", f"{id}/home/user/out.csv", "a,b\n1,2\n" if id == "a" else "a,b\n1,3\n")
    put(tmp_path / "tasks", "cache/a/other.json", '{"evaluator": {}}')  # an agent's settings, no task
    found = run(tmp_path, "verikit_osworld", tmp_path / "tasks", tmp_path / "runs")
    assert found["metrics"]["success"]["value"] == 0.5
    assert found["unscored"] == {"success": 1}
    put(tmp_path / "tasks", "examples/calc/d.json", "{")
    with pytest.raises(SchemaError, match=r"d\.json"):
        run(tmp_path / "again", "verikit_osworld", tmp_path / "tasks", tmp_path / "runs")


@pytest.mark.parametrize("told", [{"after": "etc"}, "hello", None], ids=str)
def test_a_stored_reply_names_no_files_of_this_machine(told):
    doc = {"id": "1", "question": "q", "answer": [], "tests": json.dumps({"workspace": {"before": "etc"}})}
    (stored,) = outputs_of({"output": {"text": "x", "workspace": told, "reward": 1}})
    assert stored.meta == {"reward": 1}
    for reply in (stored, Noted("x", {"workspace": told, "reward": 1})):
        read = sample(doc, "x", reply)
        assert read.workspace is None
        assert read.meta.get("reward") == 1
        assert "workspace" not in read.meta
