"""lm-eval's filter and metric hooks, and lm-eval itself on a task whose YAML names the shim."""

import json
import pickle
import re

import pytest

from tests.conftest import ROOT
from verikit import Score, verifier
from verikit.adapters import to_lm_eval
from verikit.adapters.lm_eval import mean_scored, process_results
from verikit.adapters.stacks import STACKS, shim

YAML = re.search(r"```yaml\n(.*?)```", (ROOT / "docs/rewards.md").read_text("utf-8"), re.DOTALL)[1]


@verifier
def shaky(sample):
    return Score.error("away") if sample.completion == "lost" else float(sample.completion == sample.answer)


def test_the_shown_call_gives_a_score_for_each_reply():
    assert pickle.loads(pickle.dumps(to_lm_eval("answer")))(**STACKS["lm-eval"].call) == [[1.0]]


def test_every_reply_of_every_document_is_scored_in_its_place():
    docs = [{"question": "a", "answer": "1"}, {"question": "b", "answer": "2"}]
    assert to_lm_eval(shaky)([["1", "2"], ["lost", "2"]], docs) == [[1.0, 0.0], [None, 1.0]]
    assert to_lm_eval(shaky, answer=lambda doc: doc["key"])([("7",)], [{"key": 7}]) == [[1.0]]


def test_what_has_no_score_leaves_the_mean_and_is_counted():
    rows = [process_results({}, [[1.0]]), process_results({}, [[None]]), process_results({}, [[0.0, None]])]
    assert [row["verikit"] for row in rows] == [1.0, None, 0.0]
    assert [row["unscored"] for row in rows] == [0.0, 1.0, 0.5]
    assert mean_scored(row["verikit"] for row in rows) == 0.5
    assert mean_scored([None]) != mean_scored([None])  # NaN


@pytest.mark.filterwarnings("ignore")
def test_lm_eval_runs_a_task_with_the_reward_as_its_metric(tmp_path, monkeypatch):
    lm_eval = pytest.importorskip("lm_eval")
    pytest.importorskip("datasets")
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hub"))
    monkeypatch.setenv("HF_DATASETS_CACHE", str(tmp_path / "cache"))
    from lm_eval.api.model import LM
    from lm_eval.tasks import TaskManager

    class Echo(LM):
        def generate_until(self, requests, disable_tqdm=False):
            return ["The answer is 2" for _ in requests]

        def loglikelihood(self, requests):
            raise NotImplementedError

        loglikelihood_rolling = loglikelihood

    rows = [{"question": f"{n} + 1 =", "answer": answer} for n, answer in ((1, "2"), (2, "3"), (1, "2.0"), (9, "10"))]
    data = tmp_path / "rows.jsonl"
    data.write_text("".join(json.dumps(row) + "\n" for row in rows))
    tasks = tmp_path / "tasks"
    tasks.mkdir()
    (tasks / "sums.yaml").write_text(YAML.replace("sums.jsonl", str(data)))
    (tasks / "reward.py").write_text(shim("lm-eval", "answer"))
    manager = TaskManager(include_path=str(tasks), include_defaults=False)
    found = lm_eval.simple_evaluate(Echo(), tasks=["sums"], task_manager=manager, bootstrap_iters=0)["results"]["sums"]
    assert found["verikit,verikit"] == 0.5
    assert found["unscored,verikit"] == 0.0
