"""`env audit --run` of Harbor tasks with `[[steps]]`: each step runs on what the earlier ones leave."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.env.audit.harbor_tasks import DIGEST, change, put
from verikit.env.audit.checks import RUNNING_CHECKS
from verikit.env.audit.running.run import RunningChecks
from verikit.env.audit.task import AuditedTask

TOML = """schema_version = "1.4"
artifacts = ["/app/total.txt", "/app/twice.txt"]
[verifier]
timeout_sec = 120.0
environment_mode = "separate"
[environment]
memory_mb = 512
[[steps]]
name = "sum"
[[steps]]
name = "twice"
"""
PAY = "> /logs/verifier/reward.txt"
TEST = f"#!/bin/bash\nif {{}}; then echo 1 {PAY}; else echo 0 {PAY}; fi\n"


def make(folder: Path) -> Path:
    """A sound task of two steps. The second reads what the first leaves, and a file of its own."""
    put(folder, "task.toml", TOML)
    put(folder, "environment/Dockerfile", f"FROM debian:12{DIGEST}\nWORKDIR /app\nCOPY sales.csv .\n")
    put(folder, "environment/sales.csv", "a,7\nb,120\nc,334\n")
    put(folder, "tests/Dockerfile", f"FROM debian:12{DIGEST}\nWORKDIR /grade\n")
    put(folder, "steps/sum/instruction.md", "Write the sum to /app/total.txt.\n")
    put(folder, "steps/sum/solution/solve.sh", "#!/bin/bash\necho 461 > total.txt\n")
    put(folder, "steps/sum/tests/test.sh", TEST.format('grep -qx "461" <(tr -d "\\r" < /app/total.txt)'))
    put(folder, "steps/twice/instruction.md", "Write the product of total.txt and factor.txt to /app/twice.txt.\n")
    put(folder, "steps/twice/workdir/setup.sh", "echo 2 > factor.txt\n")
    put(
        folder,
        "steps/twice/solution/solve.sh",
        "#!/bin/bash\necho $(($(cat total.txt) * $(cat factor.txt))) > twice.txt\n",
    )
    put(folder, "steps/twice/tests/test.sh", TEST.format('grep -qx "922" <(tr -d "\\r" < /app/twice.txt)'))
    return folder


@pytest.fixture(scope="module")
def checks():
    with RunningChecks(120) as opened:
        yield opened


def looked(checks: RunningChecks, folder: Path, *names: str) -> dict[str, tuple[str, list[str]]]:
    """The status of running checks, and the findings or needs."""
    found = checks.check(AuditedTask.open(str(folder), ()), names or ("oracle", "nop"))
    return {name: (record.status, [one.what for one in record.findings] or [record.needs]) for name, record in found}


@pytest.mark.slow(seconds=8)
def test_a_sound_task_of_steps_passes_every_running_check(tmp_path, checks):
    found = looked(checks, make(tmp_path), *RUNNING_CHECKS)
    assert {name: told for name, told in found.items() if told[0] != "pass"} == {}


def test_a_step_that_pays_the_work_of_an_earlier_one_is_found(tmp_path, checks):
    change(
        make(tmp_path),
        "steps/twice/tests/test.sh",
        '"922" <(tr -d "\\r" < /app/twice.txt',
        '"461" <(cat /app/total.txt',
    )
    status, told = looked(checks, tmp_path)["nop"]
    assert status == "fail"
    assert told[0].startswith("step twice: the files as they were: the reward is 1")


def test_with_the_final_reward_undone_work_is_a_task_of_which_no_step_was_done(tmp_path, checks):
    change(
        make(tmp_path),
        "steps/twice/tests/test.sh",
        '"922" <(tr -d "\\r" < /app/twice.txt',
        '"461" <(cat /app/total.txt',
    )
    change(
        tmp_path,
        "task.toml",
        'schema_version = "1.4"\n',
        'schema_version = "1.4"\nmulti_step_reward_strategy = "final"\n',
    )
    assert looked(checks, tmp_path) == {"oracle": ("pass", [""]), "nop": ("pass", [""])}


def test_a_wrong_solution_of_one_step_is_named(tmp_path, checks):
    change(make(tmp_path), "steps/twice/solution/solve.sh", "* ", "+ ")
    status, told = looked(checks, tmp_path)["oracle"]
    assert status == "fail"
    assert [one[:40] for one in told] == ["step twice: the reward of the solution i"]


@pytest.mark.parametrize(
    ("path", "text", "needs"),
    [
        ("steps/sum/solution/solve.sh", None, "step twice: the files after step sum: a script solve.sh"),
        ("steps/twice/workdir/setup.sh", "exit 3\n", "step twice: a setup.sh of step twice that succeeds here (exit 3"),
    ],
)
def test_what_a_step_lacks_is_named_and_no_pass(tmp_path, checks, path, text, needs):
    make(tmp_path)
    if text is None:
        (tmp_path / path).unlink()
    else:
        put(tmp_path, path, text)
    status, told = looked(checks, tmp_path)["nop"]
    assert status == "not_run"
    assert needs in told[0]


@pytest.mark.parametrize(
    ("more", "needs"),
    [
        ('[steps.healthcheck]\ncommand = "true"\n', "a service that answers the step's healthcheck"),
        ("".join(f'[[steps]]\nname = "{number}"\n' for number in range(19)), "a task of at most 20 steps"),
    ],
)
def test_a_task_that_can_not_be_rehearsed_is_not_run(tmp_path, checks, more, needs):
    put(make(tmp_path), "task.toml", TOML + more)
    status, told = looked(checks, tmp_path)["nop"]
    assert status == "not_run"
    assert needs in told[0]
