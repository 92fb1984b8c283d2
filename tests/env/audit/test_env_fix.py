"""`verikit env fix`: the patch applies, the fault is gone after it, and the folder is not changed."""

import subprocess

import pytest
from click.testing import CliRunner

from tests.env.audit.harbor_tasks import change, put, sound
from tests.env.audit.made_envs import make
from verikit.cli import cli
from verikit.env.audit import audit_tasks


def patch_of(folder, out):
    """The patch of a folder, which stays as it is."""
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    told = CliRunner().invoke(cli, ["env", "fix", str(folder), "-o", str(out)])
    assert told.exit_code == 0, told.output
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before
    return out.read_text()


def apply(folder, patch):
    """Apply a patch as people do."""
    subprocess.run(["git", "apply", "--check", str(patch)], cwd=folder, check=True)
    subprocess.run(["git", "apply", str(patch)], cwd=folder, check=True)


def kinds(folder):
    found = {}
    for record in audit_tasks(folder):
        told = {f"{check}.{one.kind}" for check, result in record.checks.items() for one in result.findings}
        found[record.task] = told
    return found


def no_artifacts(task):
    text = (task / "task.toml").read_text()
    put(task, "task.toml", "".join(line for line in text.splitlines(True) if not line.startswith("artifacts")))


def other_artifact(task):
    text = (task / "task.toml").read_text()
    lines = [
        'artifacts = [\n  "/app/log.txt",\n]\n' if line.startswith("artifacts") else line
        for line in text.splitlines(True)
    ]
    put(task, "task.toml", "".join(lines))


def shared(task):
    change(task, "task.toml", 'environment_mode = "separate"\n', "")


def shared_by_name(task):
    change(task, "task.toml", '"separate"', '"shared"')


def shared_without_artifacts(task):
    no_artifacts(task)
    shared(task)


def wrong_reward(task):
    text = (task / "tests/test.sh").read_text()
    put(task, "tests/test.sh", text.replace("/logs/verifier", "/app/result").rstrip("\n"))


def unpinned(task):
    put(task, "tests/requirements.txt", "# what tests need\nPy_Test[x]>=8  # runner\nrich==13.0\nnumpy\n-r more.txt")
    lock = '[[package]]\nname = "py-test"\nversion = "8.4.1"\n[[package]]\nname = "numpy"\nversion = "2.1.0"\n'
    put(task, "tests/uv.lock", lock)


PLANTED = {
    "no artifacts": (no_artifacts, "declared.undeclared"),
    "another artifact": (other_artifact, "declared.undeclared"),
    "shared": (shared, "mode.shared"),
    "shared by name": (shared_by_name, "mode.shared"),
    "shared without artifacts": (shared_without_artifacts, "mode.shared"),
    "reward's path": (wrong_reward, "mode.owned"),
    "requirements": (unpinned, "pins.package"),
}


@pytest.mark.parametrize("name", PLANTED)
def test_the_patch_applies_and_the_fault_is_gone(tmp_path, name):
    plant, kind = PLANTED[name]
    for number in (0, 1):
        plant(sound(tmp_path / "tasks" / f"t{number}", number))
    assert all(kind in told for told in kinds(tmp_path / "tasks").values())
    assert patch_of(tmp_path / "tasks", tmp_path / "fix.patch")
    apply(tmp_path / "tasks", tmp_path / "fix.patch")
    assert kinds(tmp_path / "tasks") == {"t0": set(), "t1": set()}
    assert patch_of(tmp_path / "tasks", tmp_path / "again.patch") == ""


def next_of(*words):
    return CliRunner().invoke(cli, ["env", *map(str, words)]).output.splitlines()[-1]


def test_the_suggested_commands_fix_a_task_in_a_subfolder_of_a_repository(tmp_path):
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    folder, out = tmp_path / "my tasks", tmp_path / "the fix.patch"
    no_artifacts(sound(folder / "t0", 0))
    assert next_of("audit", folder) == f"next: verikit env fix '{folder}' -o fix.patch"
    command = next_of("fix", folder, "-o", out).split("`")[1]
    subprocess.run(["bash", "-euc", command], check=True, stdout=subprocess.DEVNULL)
    assert kinds(folder) == {"t0": set()}
    assert next_of("audit", folder) == "next: nothing to do: no check fails"


def test_sound_environments_get_no_patch(tmp_path):
    for number in range(4):
        sound(tmp_path / "tasks" / f"t{number}", number)
    for format in ("openenv", "verifiers", "nemo-gym"):
        make(format, tmp_path / "tasks" / format, 1)
    assert patch_of(tmp_path / "tasks", tmp_path / "fix.patch") == ""


def test_a_task_whose_paths_arent_known_keeps_its_shared_box(tmp_path):
    task = sound(tmp_path / "t", 0)
    shared(task)
    change(task, "tests/test.sh", "if pytest", 'cat "$OUT/log.txt"\nif pytest')
    assert patch_of(task, tmp_path / "fix.patch") == ""
    assert next_of("audit", task).startswith("next: correct the tasks that fail")


def test_a_package_with_two_versions_in_the_lock_file_has_no_one_right_version(tmp_path):
    task = sound(tmp_path / "t", 0)
    put(task, "tests/requirements.txt", "numpy\n")
    put(task, "tests/uv.lock", "".join(f'[[package]]\nname = "numpy"\nversion = "{one}"\n' for one in ("1.0", "2.0")))
    assert patch_of(task, tmp_path / "fix.patch") == ""


def test_other_formats_get_versions_of_their_lock_file(tmp_path):
    pytest.importorskip("yaml")
    folder = make("nemo-gym", tmp_path / "shop", 0)
    put(folder, "requirements.txt", "sympy\n")
    put(folder, "constraints.txt", "sympy==1.13.3\n")
    assert patch_of(folder, tmp_path / "fix.patch")
    apply(folder, tmp_path / "fix.patch")
    assert (folder / "requirements.txt").read_text() == "sympy==1.13.3\n"
    assert kinds(folder) == {".": set()}
