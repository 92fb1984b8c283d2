"""lm-eval's own tables, file finders and hashes work on the results that `verikit eval` writes."""

import json
from pathlib import Path

import pytest

pytest.importorskip("lm_eval")

from lm_eval.utils import get_results_filenames, get_sample_results_filenames, hash_string, make_table

from tests.evals.scripted import ROWS, Scripted, down, write
from verikit.evals.lm import EngineLM
from verikit.evals.loading import Settings
from verikit.evals.run import run_tasks

LAW, MATH = "verikit_mmlu_pro_law", "verikit_mmlu_pro_math"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("lm")
    rows = [dict(ROWS["mmlu_pro"][0], category=category) for category in ("law", "math", "law")]
    settings = Settings(data=write(folder / "rows.jsonl", rows))
    lm = EngineLM(Scripted(lambda request: "The answer is (A)."))
    run_tasks(["verikit_mmlu_pro"], "m?key=secret", lm, settings, folder / "run")
    return folder / "run"


def test_lm_evals_table_has_the_values_and_errors_of_tasks_and_groups(run):
    results = json.loads((run / "results_lm_eval.json").read_text())
    own = json.loads((run / "results.json").read_text())
    table = make_table(results)
    for name in (LAW, MATH):
        metric = own["tasks"][name]["metrics"]["acc"]
        assert results["results"][name]["acc,verikit"] == metric["value"]
        assert results["results"][name]["acc_stderr,verikit"] in (metric["stderr"], "N/A")
        assert name in table
    assert "verikit_mmlu_pro" in make_table(results, "groups")
    assert results["n-samples"][LAW] == {"original": 2, "effective": 2}
    assert results["model_name"] == own["model"]
    assert "secret" not in (run / "results_lm_eval.json").read_text()
    assert "0x" not in json.dumps(results["configs"])


def test_lm_eval_finds_the_files_and_gives_the_samples_the_same_hash(run):
    files = [str(path) for path in run.iterdir()]
    assert get_results_filenames(files) == [str(run / "results_lm_eval.json")]
    found = get_sample_results_filenames(files)
    assert {Path(name).stem for name in found} == {f"samples_{LAW}", f"samples_{MATH}"}
    hashes = json.loads((run / "results_lm_eval.json").read_text())["task_hashes"]
    for name in (LAW, MATH):  # as lm-eval's EvaluationTracker hashes the samples of a task
        samples = [json.loads(line) for line in (run / f"samples_{name}.jsonl").read_text().splitlines()]
        assert hashes[name] == hash_string(
            "".join(s["doc_hash"] + s["prompt_hash"] + s["target_hash"] for s in samples)
        )


def test_a_run_without_any_score_has_a_table_too(tmp_path):
    settings = Settings(data=write(tmp_path / "rows.jsonl", ROWS["mmlu_pro"]))
    run_tasks([LAW], "m", EngineLM(Scripted(down)), settings, tmp_path / "run")
    assert LAW not in make_table(json.loads((tmp_path / "run/results_lm_eval.json").read_text()))
