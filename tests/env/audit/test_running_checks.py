"""`verikit env audit --run`: sound tasks pass every running check, and each planted fault is found by its check."""

import json

import pytest
from click.testing import CliRunner

from tests.env.audit.harbor_tasks import change, put
from tests.env.audit.running_tasks import FAULTS, MAKES, REWARD, grade_by, make
from verikit.cli import cli
from verikit.env.audit.checks import RUNNING_CHECKS
from verikit.env.audit.running import repeated
from verikit.env.audit.running.run import LOOKS, RunningChecks
from verikit.env.audit.running.solved import last_output
from verikit.env.audit.task import AuditedTask
from verikit.errors import SandboxUnavailable


@pytest.fixture(scope="module")
def checks():
    with RunningChecks() as running:
        yield running


@pytest.fixture
def few(monkeypatch):
    monkeypatch.setattr(repeated, "ORACLE_RUNS", 2)
    monkeypatch.setattr(repeated, "NOP_RUNS", 1)
    monkeypatch.setattr(repeated, "SOLVE_RUNS", 1)


def looked(checks, folder, *names):
    """The records of some checks, by name."""
    return dict(checks.check(AuditedTask.open(str(folder), ()), names or tuple(LOOKS)))


def test_every_running_check_is_listed_in_order():
    assert list(LOOKS) == list(RUNNING_CHECKS)


@pytest.mark.slow(seconds=3)
@pytest.mark.usefixtures("few")
@pytest.mark.parametrize("name", MAKES)
def test_a_sound_task_passes_every_running_check(tmp_path, checks, name):
    found = looked(checks, make(tmp_path, name))
    assert {check: (record.status, record.findings, record.needs) for check, record in found.items()} == dict.fromkeys(
        LOOKS, ("pass", (), "")
    )
    assert all(one.digest and one.command == "bash /tests/test.sh" for one in found["oracle"].evidence)


@pytest.mark.parametrize("name", FAULTS)
def test_a_planted_fault_is_found_by_its_running_check(tmp_path, checks, name):
    kind, plant = FAULTS[name]
    plant(make(tmp_path))
    check, _, wanted = kind.partition(".")
    assert wanted in {one.kind for one in looked(checks, tmp_path, check)[check].findings}


def test_the_reported_output_is_the_same_for_durations_of_any_length():
    before = "".join(map(str, range(100)))
    durations = ("9.98s", "10.02s", "65.20s (0:01:05)")
    ends = {last_output(f"{before}\n{f' 1 failed in {duration} ':=^80}\n") for duration in durations}
    assert ends == {f"{before}\n=== 1 failed in … s ==="[-200:]}


@pytest.mark.usefixtures("few")
def test_rewards_that_differ_by_themselves_are_one_finding(tmp_path, checks):
    FAULTS["an order of hashes"][1](make(tmp_path))
    found = looked(checks, tmp_path, "replay", "portable", "tamper", "mutants", "honest")
    assert [found.pop("replay").status, *(record.status for record in found.values())] == ["fail", *["not_run"] * 4]
    assert all("replay" in record.needs for record in found.values())


MISSING = {
    "an image": (lambda f: change(f, "environment/Dockerfile", "debian:12", "ghcr.io/a/b"), "the image ghcr.io/a/b"),
    "a built image": (
        lambda f: change(f, "environment/Dockerfile", "RUN mkdir -p /app", "RUN make -C /src install"),
        "an image built with RUN make",
    ),
    "a program": (lambda f: put(f, "tests/test.sh", "nosuchprogram /app\n"), "the program nosuchprogram"),
    "a package": (
        lambda f: put(f, "tests/grade.py", "import nosuchpackage\n"),
        "the Python package nosuchpackage",
    ),
    "the network": (lambda f: put(f, "tests/test.sh", "curl https://example.org | sh\n"), "the network, for curl"),
}


@pytest.mark.parametrize("name", MISSING)
def test_what_this_machine_lacks_is_named_and_no_pass(tmp_path, checks, name):
    plant, needs = MISSING[name]
    plant(make(tmp_path))
    for record in looked(checks, tmp_path).values():
        assert record.status == "not_run"
        assert needs in record.needs


def test_without_a_sandbox_nothing_passes_that_runs(tmp_path, monkeypatch):
    def missing():
        raise SandboxUnavailable("no sandbox here")

    monkeypatch.setattr("verikit.env.audit.running.run.TaskBox", missing)
    make(tmp_path / "tasks/a")
    told = run(tmp_path / "tasks", "--run", "--json", "--fail-on", "not_run")
    counts = json.loads(told.stdout)["checks"]
    assert told.return_value == 4
    assert all(counts[name] == {"pass": 0, "fail": 0, "error": 0, "not_run": 1} for name in LOOKS)


@pytest.mark.slow(seconds=4)
@pytest.mark.usefixtures("few")
def test_a_second_run_gives_the_same_report_but_for_seconds(tmp_path):
    sound = make(tmp_path / "tasks/a")
    change(make(tmp_path / "tasks/b"), "solution/solve.sh", "461", "460")
    change(sound, "task.toml", "memory_mb = 512", "memory_mb = 1")
    printed = "print('1 failed in', time.thread_time(), 'seconds')"
    grade_by(tmp_path / "tasks/b", f"good = path.exists() and path.read_text().strip() == '461'\n{printed}")

    def report(out):
        run(tmp_path / "tasks", "--run", "-o", out, "--restart")
        told = json.loads((out / "env-audit.json").read_text())
        for task in told["tasks"]:
            del task["seconds"]
            for one in (one for check in task["checks"].values() for one in check.get("evidence", ())):
                del one["seconds"]
        return told

    assert report(tmp_path / "one") == report(tmp_path / "two")


HOSTILE = {
    "hangs": "while true; do :; done\n",
    "forks": "f() { f | f & }; f; sleep 100\n",
    "prints without end": "yes\n",
    "fills the disk": "yes > /logs/verifier/reward.txt\n",
    "ends its own box": "kill -9 -1\n",
    "forges the record": "rm -rf /tmp/.verikit /tmp/.verikit-work/.verikit; echo 1 > /logs/verifier/reward.txt\n",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_grader_is_bounded_and_told(tmp_path, name):
    put(make(tmp_path), "tests/test.sh", HOSTILE[name])
    with RunningChecks(seconds=0.5) as checks:
        record = looked(checks, tmp_path, "oracle")["oracle"]
    assert record.status == "not_run"
    assert record.needs


def test_a_process_that_stays_changes_nothing_after_the_solution(tmp_path, checks):
    change(
        make(tmp_path), "solution/solve.sh", "echo 461", "(while true; do echo 0 > /app/total.txt; done) &\necho 461"
    )
    grade_by(tmp_path, "good = path.exists() and path.read_text().strip() in ('461', '0', '')")
    assert looked(checks, tmp_path, "oracle")["oracle"].status == "pass"


def run(*words):
    return CliRunner().invoke(cli, ["env", "audit", *map(str, words), "-q"], standalone_mode=False)


@pytest.mark.usefixtures("few")
def test_the_command_runs_tasks_only_if_told_and_keeps_their_records(tmp_path, monkeypatch):
    put(make(tmp_path / "tasks/a"), "tests/test.sh", f"echo 1 {REWARD}\n")
    still = json.loads(run(tmp_path / "tasks", "-o", tmp_path / "out", "--json").stdout)
    assert "nop" not in still["checks"]
    told = run(tmp_path / "tasks", "--run", "-o", tmp_path / "out", "--json", "--fail-on", "nop.paid")
    report = json.loads(told.stdout)
    assert told.return_value == 4
    assert report["checks"]["nop"] == {"pass": 0, "fail": 1, "error": 0, "not_run": 0}
    assert report["tasks"][0]["checks"]["nop"]["evidence"][0]["result"] == "1"
    monkeypatch.setattr(RunningChecks, "check", lambda *given: pytest.fail("it was run again"))
    assert json.loads(run(tmp_path / "tasks", "--run", "-o", tmp_path / "out", "--json").stdout) == report
