"""The verifier `harbor_tests`: a Harbor task's own tests in a second box, and who is to blame without a reward."""

import json
import sys

import pytest

import verikit
from tests.env.audit.harbor_tasks import change, put
from tests.env.audit.running_tasks import make
from verikit.types import Sample
from verikit.workspaces import Workspace
from verikit.workspaces.harbor import trial_workspace

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the local sandbox needs Linux")
PYTEST = """#!/bin/bash
cd /app
if python3 -m pytest -q /tests/test_total.py; then echo 1 > /logs/verifier/reward.txt
else echo 0 > /logs/verifier/reward.txt; fi
"""
CHECK = "def test_total():\n    assert open('/app/total.txt').read().strip() == '461'\n"
FORGED = "import os\nos.system('echo 1 > /logs/verifier/reward.txt; kill -9 $PPID')\nos._exit(0)\n"


def scores(root, *workspaces):
    return verikit.harbor_tests().score([Sample("Sum.", "", workspace=one) for one in workspaces])


def left(root, files):
    return Workspace(files, task=(str(root), ("task",)))


@pytest.mark.slow(seconds=2)
def test_the_tests_decide_and_a_claimed_reward_does_not(tmp_path):
    make(tmp_path / "task")
    claim = {
        "logs/verifier/reward.txt": "1\n",
        "logs/artifacts/reward.json": '{"reward": 1}',
        "tests/test.sh": "exit 0\n",
    }
    right, wrong, claimed, nothing = scores(
        tmp_path,
        left(tmp_path, {"app/total.txt": "461\n"}),
        left(tmp_path, {"app/total.txt": "460\n"}),
        left(tmp_path, {"app/total.txt": "460\n", **claim}),
        left(tmp_path, {"app/other.txt": ""}),
    )
    assert [one.value for one in (right, wrong, claimed, nothing)] == [1.0, 0.0, 0.0, 0.0]


def test_a_task_whose_solution_has_no_full_reward_here_has_no_values(tmp_path):
    change(make(tmp_path / "task"), "solution/solve.sh", "461", "9")
    [score] = scores(tmp_path, left(tmp_path, {"app/total.txt": "460\n"}))
    assert score.value is None
    assert "solution" in score.reason


def test_files_that_keep_the_tests_from_a_reward_are_the_agents_fault(tmp_path):
    task = make(tmp_path / "task")
    put(task, "tests/test.sh", "set -e\ngrep -qx 461 /app/total.txt\necho 1 > /logs/verifier/reward.txt\n")
    [score] = scores(tmp_path, left(tmp_path, {"app/total.txt": "460\n"}))
    assert score.value == 0.0
    (task / "solution/solve.sh").unlink()  # without a control it is unknown whether the tests work here
    [score] = scores(tmp_path, left(tmp_path, {"app/total.txt": "460\n"}))
    assert score.value is None


@pytest.mark.slow(seconds=3)
def test_files_that_programs_load_on_their_own_are_not_paid(tmp_path):
    task = make(tmp_path / "task", "a shared box")
    put(task, "tests/test.sh", PYTEST)
    put(task, "tests/test_total.py", CHECK)
    plain, hooked, module, honest = scores(
        tmp_path,
        left(tmp_path, {"app/total.txt": "460\n"}),
        left(tmp_path, {"app/total.txt": "460\n", "app/conftest.py": FORGED}),
        left(tmp_path, {"app/total.txt": "460\n", "app/pytest.py": FORGED}),
        left(tmp_path, {"app/total.txt": "461\n", "app/conftest.py": "import math\n"}),
    )
    assert plain.value == 0.0
    assert hooked.value != 1.0
    assert module.value != 1.0
    assert honest.value == 1.0


def trial(root, name, files, record):
    for path, text in files.items():
        put(root / name, f"artifacts/{path}", text)
    put(root / name, "artifacts/manifest.json", json.dumps(record))
    return trial_workspace(str(root), (name,), ("task",))


@pytest.mark.slow(seconds=2)
def test_what_was_not_collected_leaves_a_trial_without_a_value(tmp_path):
    task = make(tmp_path / "task")
    entry = {"source": "/app/total.txt", "destination": "artifacts/app/total.txt", "type": "file", "status": "ok"}
    right = trial(tmp_path, "right", {"app/total.txt": "461\n"}, [entry])
    wrong = trial(tmp_path, "wrong", {"app/total.txt": "460\n"}, [entry])
    lost = trial(tmp_path, "lost", {}, [{**entry, "status": "failed"}])
    assert [one.value for one in scores(tmp_path, right, wrong, lost)] == [1.0, 0.0, None]
    change(task, "task.toml", '"/app/total.txt"', '"/app/other.txt"')  # dawn#14: the tests read what nothing declares
    other = {**entry, "destination": "artifacts/app/other.txt"}
    [score] = scores(tmp_path, trial(tmp_path, "other", {"app/other.txt": "461\n"}, [other]))
    assert score.value is None


def test_a_row_without_a_task_has_no_value():
    [score] = verikit.harbor_tests().score([Sample("", "", workspace=Workspace({"a": "b"}))])
    assert "names no Harbor task" in score.reason
