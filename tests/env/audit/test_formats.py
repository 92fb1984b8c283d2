"""Environments of other formats: each planted fault is found by its check, and sound ones raise no alarm."""

import subprocess
import sys

import pytest

from tests.env.audit.env_changes import FAULTS, NEAR_MISSES
from tests.env.audit.harbor_tasks import sound
from tests.env.audit.made_envs import MAKERS, make, put
from verikit.env.audit import ENV_CHECKS, audit_tasks
from verikit.errors import UsageError

pytest.importorskip("yaml")


def found(folder):
    """The format and the findings of a folder's only environment."""
    (record,) = audit_tasks(folder)
    assert not [one for one in record.checks.values() if one.status == "error"], record.checks
    kinds = {f"{check}.{one.kind}" for check, result in record.checks.items() for one in result.findings}
    return record.format, kinds


@pytest.mark.parametrize("format", MAKERS)
def test_sound_environments_have_no_finding(tmp_path, format):
    for number in range(8):
        assert found(make(format, tmp_path / f"{number}", number)) == (format, set())


@pytest.mark.parametrize(("format", "name"), [(format, name) for format, held in FAULTS.items() for name in held])
def test_a_planted_fault_is_found_by_its_check_alone(tmp_path, format, name):
    kind, plant = FAULTS[format][name]
    for number in (0, 1):
        folder = make(format, tmp_path / f"{number}", number)
        plant(folder)
        assert found(folder) == (format, {kind})


@pytest.mark.parametrize(("format", "name"), [(format, name) for format, held in NEAR_MISSES.items() for name in held])
def test_a_near_miss_is_no_fault(tmp_path, format, name):
    for number in (0, 1):
        folder = make(format, tmp_path / f"{number}", number)
        NEAR_MISSES[format][name](folder)
        assert found(folder) == (format, set())


@pytest.mark.parametrize("format", MAKERS)
def test_every_check_has_a_status_and_what_cant_run_is_no_pass(tmp_path, format):
    (record,) = audit_tasks(make(format, tmp_path, 0))
    assert list(record.checks) == list(ENV_CHECKS)
    assert record.checks["declared"].status == "not_run"
    assert record.checks["declared"].needs


def test_a_folder_of_several_formats_is_audited_as_a_whole(tmp_path):
    for format in ("openenv", "verifiers", "nemo-gym"):
        make(format, tmp_path / format, 2)
    assert [(one.task, one.format) for one in audit_tasks(tmp_path)] == [
        ("nemo-gym", "nemo-gym"),
        ("openenv", "openenv"),
        ("verifiers", "verifiers"),
    ]


def test_an_ambiguous_folder_is_refused_by_both_names(tmp_path):
    folder = make("openenv", tmp_path / "a", 0)
    put(folder, "task.toml", 'schema_version = "1.4"\n')
    with pytest.raises(UsageError, match=r"harbor \(task.toml\) and openenv \(openenv.yaml\)"):
        list(audit_tasks(folder))
    (record,) = audit_tasks(folder, only="openenv")
    assert record.format == "openenv"
    make("openenv", tmp_path / "b", 1)
    first, second = audit_tasks(tmp_path)
    assert {one.status for one in first.checks.values()} == {"error"}
    assert second.format == "openenv"


def test_one_file_of_rows_is_audited_by_itself(tmp_path):
    folder = make("rows", tmp_path, 0)
    put(folder, "test.jsonl", "{oops\n")
    (record,) = audit_tasks(folder / "train.jsonl")
    assert (record.task, record.checks["schema"].status) == ("train.jsonl", "pass")
    with pytest.raises(UsageError, match="not a file of rows"):
        list(audit_tasks(folder / "test.jsonl"))


@pytest.mark.parametrize("format", MAKERS)
def test_nothing_of_a_folder_is_imported(tmp_path, format, monkeypatch):
    folder = make(format, tmp_path, 1)
    for path in [*folder.rglob("*.py"), folder / "sitecustomize.py"]:
        text = path.read_text() if path.exists() else ""
        put(folder, str(path.relative_to(folder)), f"raise SystemExit(9)\n{text}")
    monkeypatch.chdir(folder)
    before = set(sys.modules)
    list(audit_tasks("."))
    assert not {
        name for name in set(sys.modules) - before if str(folder) in str(getattr(sys.modules[name], "__file__", ""))
    }


def test_documents_that_blow_up_are_findings_and_no_error(tmp_path):
    folder = make("openenv", tmp_path, 0)
    bomb = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
        f"{chr(98 + n)}: &{chr(98 + n)} [{', '.join(['*' + chr(97 + n)] * 9)}]\n" for n in range(9)
    )
    put(folder, "openenv.yaml", bomb)
    put(folder, "pyproject.toml", "a" + ".a" * 5000 + " = 1\n")
    put(folder, "server/app.py", "(" * 5000 + ")" * 5000)
    assert {"schema.wrong"} <= found(folder)[1]


TRACE = """
import sys
from verikit.env.audit import audit_tasks
from verikit.env.audit.formats import looks
root = sys.argv[1]
for record in audit_tasks(root, only="rows"):  # loads what verikit itself imports
    pass


def told(event, values):
    if event.startswith(("subprocess", "os.exec", "os.posix_spawn", "os.fork", "os.system", "socket.connect")):
        print(event)
    if event == "exec" and values[0].co_filename.startswith(root):
        print(event, values[0].co_filename)
    if event == "import" and str(values[1]).startswith(root):
        print(event, values[1])


sys.addaudithook(told)
print(len(list(audit_tasks(root))), "environments")
"""


def test_the_trace_of_a_static_audit_has_no_import_and_no_program_of_the_folder(tmp_path):
    sound(tmp_path / "harbor", 1)
    for format in MAKERS:
        make(format, tmp_path / format, 1)
    for path in tmp_path.rglob("*.py"):
        path.write_text(f"{path.read_text()}\nraise SystemExit('it was run')\n")
    done = subprocess.run([sys.executable, "-c", TRACE, str(tmp_path)], capture_output=True, text=True)
    assert done.stdout == "4 environments\n", done
