"""Folders that want to hurt whoever audits them: nothing of them is run, opened without end or followed."""

import os
import struct
import zlib

import pytest

from tests.env.audit.harbor_tasks import change, put, sound
from verikit.env.audit import audit_tasks, run
from verikit.env.audit.history import MAX_OBJECT, loose_object, packed_objects
from verikit.env.audit.python_paths import opened_paths
from verikit.env.audit.running.grader_mutants import mutated_texts
from verikit.env.audit.running.literals import _python_literals
from verikit.env.audit.scripts import placed
from verikit.errors import UsageError


def statuses(folder):
    (record,) = audit_tasks(folder)
    return {check: result.status for check, result in record.checks.items()}


def test_links_in_circles_and_out_are_not_followed(tmp_path):
    folder = sound(tmp_path / "tasks" / "t", 0)
    (folder / "environment" / "again").symlink_to("..")
    (folder / "tests" / "itself").symlink_to("itself")
    (tmp_path / "tasks" / "loop").symlink_to(tmp_path / "tasks")
    (record,) = audit_tasks(tmp_path / "tasks")
    assert record.checks["schema"].status == "pass"


def test_a_linked_configuration_is_an_error_and_not_read(tmp_path):
    folder = sound(tmp_path / "t", 0)
    (folder / "task.toml").rename(tmp_path / "other.toml")
    (folder / "task.toml").symlink_to(tmp_path / "other.toml")
    assert set(statuses(folder).values()) == {"error"}


def test_fifos_are_reported_and_not_opened(tmp_path):
    folder = sound(tmp_path / "t", 0)
    os.mkfifo(folder / "environment" / "pipe")
    os.mkfifo(folder / "tests" / "test_pipe.py")
    (record,) = audit_tasks(folder)
    assert [one.kind for one in record.checks["schema"].findings] == ["wrong", "wrong"]


def test_a_file_without_end_is_listed_and_not_read(tmp_path):
    folder = sound(tmp_path / "t", 0)
    with open(folder / "environment" / "huge.bin", "wb") as stream:
        stream.truncate(2**42)
    (record,) = audit_tasks(folder)
    assert record.checks["reach"].notes == ("not read: environment/huge.bin",)


@pytest.mark.parametrize(
    "text",
    [
        "a = " + "[" * 9000,
        "[" * 9000,
        "a" + ".a" * 16_000 + " = 1",
        "a = " + "9" * 20_000,
        "x" * 100_000,
        "\0",
        "[task",
    ],
)
def test_a_configuration_that_is_none_is_an_error(tmp_path, text):
    folder = sound(tmp_path / "t", 0)
    put(folder, "task.toml", text)
    found = statuses(folder)
    assert "pass" not in found.values()


def test_names_that_are_no_text_are_escaped(tmp_path):
    folder = sound(tmp_path / "tasks" / "t", 0)
    os.rename(os.fsencode(folder), os.fsencode(tmp_path / "tasks") + b"/t\xff\n\x1b[2J")
    (record,) = audit_tasks(tmp_path / "tasks")
    assert record.task.isprintable()
    assert record.task.startswith("t\\")


def test_nothing_of_a_task_is_run(tmp_path):
    folder = sound(tmp_path / "t", 0)
    for name in ("tests/test_outputs.py", "tests/conftest.py", "solution/solve.py", "environment/sitecustomize.py"):
        put(folder, name, f"open({str(tmp_path / 'ran')!r}, 'w')\n")
    put(folder, "tests/test.sh", f"touch {tmp_path}/ran\n")
    statuses(folder)
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    "text", ["(" * 5000, "-" * 100_000 + "1", "+".join(["1"] * 50_000), "x = [" + "[" * 300, "\0", "def f(:"]
)
def test_python_that_breaks_a_parser_leaves_the_check_undecided(tmp_path, text):
    folder = sound(tmp_path / "t", 0)
    put(folder, "tests/test_more.py", text)
    assert statuses(folder)["declared"] in ("pass", "not_run")
    assert opened_paths("x = 1\n" + "y = x\n" * 10, "/app", "/tests/t.py").problem == ""


@pytest.mark.parametrize(
    "text",
    ["if " * 5000, "$(" * 5000, "'" * 5001, "exit;" * 5000, "if a; " * 5000, "a && " * 5000, "<<A\n" * 5000],
)
def test_shell_without_end_is_read_to_its_end(tmp_path, text):
    placed(text)
    folder = sound(tmp_path / "t", 0)
    put(folder, "tests/test.sh", text)
    assert statuses(folder)["mode"] in ("fail", "not_run")


def test_copies_that_leave_the_context_read_nothing(tmp_path):
    (tmp_path / "secret.txt").write_text("5417")
    folder = sound(tmp_path / "t", 0)
    change(folder, "environment/Dockerfile", "WORKDIR /app\n", "WORKDIR /app\nCOPY ../../secret.txt /app/\n")
    (record,) = audit_tasks(folder)
    assert [one.kind for one in record.checks["schema"].findings] == ["outside"]


def test_git_objects_that_unpack_without_end_are_cut(tmp_path):
    bomb = zlib.compress(b"blob 1\0" + b"0" * 2**23)
    assert len(loose_object(bomb)) <= MAX_OBJECT
    pack = b"PACK" + struct.pack(">II", 2, 2**32 - 1) + b"\x30" + bomb
    assert list(packed_objects(pack)) == []
    assert list(packed_objects(b"PACK" + b"\xff" * 40)) == []


def test_a_folder_without_tasks_is_a_mistake_of_the_caller(tmp_path):
    with pytest.raises(UsageError, match="has no environment"):
        list(audit_tasks(tmp_path))


@pytest.mark.parametrize("text", ["assert x == BIG", "open('a', BIG)", "x = f[BIG].environ['A']", "open(f'{BIG}/x')"])
def test_numbers_that_python_does_not_print_end_no_check(tmp_path, text):
    text = text.replace("BIG", "0x" + "f" * 20_000)
    folder = sound(tmp_path / "t", 0)
    put(folder, "tests/test_more.py", text)
    put(folder, "environment/run.py", text)
    assert "error" not in statuses(folder).values()
    assert all(len(literals) <= 1 for *_, literals in mutated_texts(text))
    assert list(_python_literals(text)) in ([], [(1, "A")])


def test_a_check_that_fails_ends_neither_the_task_nor_the_audit(tmp_path, monkeypatch):
    def fail(task):
        raise RecursionError("too deep")

    monkeypatch.setattr(run, "ENV_CHECKS", {**run.ENV_CHECKS, "pins": run.ENV_CHECKS["pins"]._replace(look=fail)})
    sound(tmp_path / "a", 0)
    sound(tmp_path / "b", 1)
    for record in audit_tasks(tmp_path):
        assert record.checks["pins"].status == "error"
        assert "RecursionError: too deep" in record.checks["pins"].needs
        assert record.checks["schema"].status == "pass"
