"""The verifier `harbor_tests`: a Harbor task's own tests in a second box, and who is to blame without a reward."""

import json
import sys

import pytest

import verikit
from tests.env.audit.harbor_tasks import change, put
from tests.env.audit.running_tasks import make
from verikit.env.audit.running.box import TaskBox
from verikit.env.audit.running.rehearsal import Rehearsal, RehearsalLimits
from verikit.env.audit.task import AuditedTask
from verikit.env.grading.harbor_tests import _agents_files
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
    assert hooked.value == 0.0
    assert module.value == 0.0
    assert honest.value == 1.0


@pytest.mark.slow(seconds=2)
def test_a_file_that_the_solution_changes_is_paid_though_programs_load_it_on_their_own(tmp_path):
    task = make(tmp_path / "task", "a shared box")
    change(task, "environment/Dockerfile", "COPY sales.csv .", "COPY sales.csv setup.cfg tox.ini ./")
    put(task, "environment/setup.cfg", "version = 1\n")
    put(task, "environment/tox.ini", "\n")
    put(task, "instruction.md", "Raise the version to 2.\n")
    put(task, "solution/solve.sh", "echo version = 2 > /app/setup.cfg; touch /app/tox.ini\n")
    put(task, "tests/test.sh", "cat /app/setup.cfg /app/tox.ini | grep -c '= 2' > /logs/verifier/reward.txt\n")
    right, wrong, hooked = scores(
        tmp_path,
        left(tmp_path, {"app/setup.cfg": "version = 2\n"}),
        left(tmp_path, {"app/setup.cfg": "version = 3\n"}),
        left(tmp_path, {"app/tox.ini": "version = 2\n"}),
    )
    assert [right.value, wrong.value, hooked.value] == [1.0, 0.0, 0.0]
    assert "Without /app/tox.ini" in hooked.reason


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


@pytest.mark.slow(seconds=2)
def test_a_task_may_set_the_python_path(tmp_path):
    task = make(tmp_path / "task", "a shared box")
    put(task, "tests/test.sh", PYTEST)
    put(task, "tests/test_total.py", "import checks\n\n" + CHECK)
    put(task, "environment/Dockerfile", "FROM debian:12\nWORKDIR /app\nCOPY checks.py /srv/checks.py\n")
    put(task, "environment/checks.py", "")
    change(task, "environment/Dockerfile", "WORKDIR", "ENV PYTHONPATH=/srv\nWORKDIR")
    right, shadowed = scores(
        tmp_path,
        left(tmp_path, {"app/total.txt": "461\n", "srv/checks.py": ""}),
        left(tmp_path, {"app/total.txt": "460\n", "srv/checks.py": "", "srv/argparse.py": FORGED}),
    )
    assert right.value == 1.0
    assert shadowed.value == 0.0


HOOKS = {
    "app/iniconfig.py": FORGED,
    "app/argparse.pyc": b"",
    "app/packaging/__init__.py": FORGED,
    "app/_pytest/__init__.pyc": b"",
    "app/json.py": FORGED,
    "app/pyproject.toml": '[tool.pytest.ini_options]\naddopts = "--collect-only"\n',
    "app/pytest.toml": "",
    "app/select.cpython-311-x86_64-linux-gnu.so": b"",
    "app/lib/json.py": FORGED,
}


def agents_files(tmp_path, files):
    task = AuditedTask.open(str(tmp_path), ("task",))
    box = TaskBox()
    try:
        return _agents_files(Rehearsal.prepare(task, box, RehearsalLimits()), left(tmp_path, files))
    finally:
        box.close()


def test_all_files_that_programs_load_on_their_own_are_known(tmp_path):
    task = make(tmp_path / "task", "a shared box")
    put(task, "instruction.md", "Write total.txt, tests/test_json.py and /app/types.py.\n")
    put(task, "tests/test.sh", "cd /app/lib; python3 -m pytest /tests\n")
    honest = ["app/total.txt", "app/test_json.py", "app/types.py", "app/src/json.py", "app/logging/a.txt"]
    found = agents_files(tmp_path, {**HOOKS, **dict.fromkeys(honest, "")})
    assert sorted(found.hooks) == sorted(f"/{path}" for path in HOOKS)
    assert {f"/{path}" for path in honest} <= found.files.keys()


def test_a_changed_file_of_the_task_is_replaced_by_the_tasks_own(tmp_path):
    task = make(tmp_path / "task", "a shared box")
    change(task, "environment/Dockerfile", "COPY sales.csv .", "COPY sales.csv pytest.ini ./")
    put(task, "environment/pytest.ini", "[pytest]\n")
    found = agents_files(tmp_path, {"app/pytest.ini": "[pytest]\naddopts = --collect-only\n"})
    assert list(found.hooks) == ["/app/pytest.ini"]
    assert found.files["/app/pytest.ini"].content == b"[pytest]\n"


@pytest.mark.slow(seconds=2)
def test_files_that_the_box_cannot_have_do_not_leave_the_agent_without_a_value(tmp_path):
    make(tmp_path / "task", "a shared box")
    wrong = {"app/total.txt": "460\n"}
    more = [
        {"notes.txt": ""}, {"tests": ""}, {"logs": ""}, {"logs/verifier": ""}, {"usr/x": ""}, {"app/" + "a" * 300: ""}
    ]  # fmt: skip
    found = scores(tmp_path, *(left(tmp_path, {**wrong, **one}) for one in more))
    assert [one.value for one in found] == [0.0] * len(more)
    [right] = scores(tmp_path, left(tmp_path, {"app/total.txt": "461\n", "notes.txt": "", "usr/x": ""}))
    assert right.value == 1.0


PROGRAM = """import subprocess
def test_total():
    assert subprocess.run(["bash", "/app/run.sh"], capture_output=True, text=True).stdout.strip() == "461"
"""


@pytest.mark.slow(seconds=9)
def test_what_the_agents_program_does_to_the_tests_has_a_value(tmp_path):
    task = make(tmp_path / "task", "a shared box")
    put(task, "tests/test.sh", PYTEST)
    put(task, "tests/test_total.py", PROGRAM)
    put(task, "solution/solve.sh", "echo 'echo 461' > /app/run.sh\n")
    change(task, "task.toml", "[verifier]\ntimeout_sec = 120.0", "[verifier]\ntimeout_sec = 6.0")
    hang = {"app/run.sh": "sleep 100\n"}
    full = {"app/run.sh": "head -c 40000000 /dev/zero > /logs/verifier/x\n"}
    places = [left(tmp_path, one) for one in (hang, {**hang, "app/conftest.py": "#\n"}, full)]
    rows = [Sample("", "", workspace=one) for one in places]
    assert [one.value for one in verikit.harbor_tests(seconds=9).score(rows)] == [0.0, 0.0, 0.0]
    change(task, "task.toml", "timeout_sec = 6.0", "timeout_sec = 60.0")  # the task gives more than we do
    [score] = verikit.harbor_tests(seconds=12).score(rows[:1])
    assert score.value == 0.0
    assert score.reason == "the reward is none: it needs more than 12 s for the verifier"


@pytest.mark.slow(seconds=4)
def test_unasked_files_do_not_raise_a_part_of_the_reward_and_may_lower_it(tmp_path):
    task = make(tmp_path / "task", "a shared box")
    put(task, "tests/test.sh", "if [ -e /app/conftest.py ]; then echo 0.9; elif [ -e /app/tox.ini ]; then echo 0.1; "
        "else cat /app/total.txt; fi > /logs/verifier/reward.txt\n")  # fmt: skip
    put(task, "solution/solve.sh", "echo 1 > /app/total.txt\n")
    half = {"app/total.txt": "0.5\n"}
    raised, lowered = scores(
        tmp_path, left(tmp_path, {**half, "app/conftest.py": ""}), left(tmp_path, {**half, "app/tox.ini": ""})
    )
    assert raised.value == 0.5
    assert lowered.value == 0.1
    assert "tox.ini" in lowered.reason


@pytest.mark.slow(seconds=3)
def test_an_agent_cannot_leave_itself_without_a_value(tmp_path):
    task = make(tmp_path / "task", "a shared box")
    put(task, "tests/test.sh", "cat /app/conftest.py /app/total.txt | tail -n 1 > /logs/verifier/reward.txt\n")
    put(task, "solution/solve.sh", "echo 1 > /app/total.txt\n")
    change(task, "environment/Dockerfile", "COPY sales.csv .", "COPY sales.csv conftest.py ./")
    put(task, "environment/conftest.py", "#\n")
    half, many = {"app/total.txt": "0.5\n"}, {f"app/many/{number}": "" for number in range(1600)}
    changed, crowded, full, above, below = scores(
        tmp_path,
        left(tmp_path, {"app/conftest.py": "0.1\n", "app/total.txt": ""}),
        left(tmp_path, {**half, **many}),
        left(tmp_path, {"app/total.txt": "1\n", **many}),
        left(tmp_path, {"app/total.txt": "7\n"}),
        left(tmp_path, {"app/total.txt": "-7\n"}),
    )
    assert [changed.value, crowded.value, full.value, above.value, below.value] == [0.0, 0.5, 1.0, 1.0, 0.0]
    assert "do not fit" in crowded.reason
    assert "do not fit" in full.reason
    assert "the reward is 7" in above.reason
    put(task, "solution/solve.sh", "echo 5 > /app/total.txt\n")
    [score] = scores(tmp_path, left(tmp_path, half))
    assert "from 0 to 1" in score.reason
