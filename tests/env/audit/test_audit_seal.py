"""The folder of `verikit env audit -o` has a manifest, which `verikit verify` compares and `--sign` signs."""

import json
import shutil
import subprocess

import pytest
from click.testing import CliRunner

from tests.env.audit.harbor_tasks import change, sound
from tests.env.audit.made_envs import make
from verikit.cli import cli
from verikit.env.audit import AuditSums, audit_tasks
from verikit.errors import UsageError
from verikit.scoring.manifest import SIGNATURE, check_run, read_manifest


def audit(tmp_path, *words):
    told = ["env", "audit", str(tmp_path / "tasks"), "-q", *map(str, words)]
    return CliRunner().invoke(cli, told, standalone_mode=False)


def verify(*words):
    return CliRunner().invoke(cli, ["verify", *map(str, words)], standalone_mode=False).return_value


def key(path):
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(path)], check=True)
    return path


def test_the_manifest_proves_the_report_and_the_audited_tasks(tmp_path):
    folder, out = sound(tmp_path / "tasks" / "a", 1), tmp_path / "out"
    pages = ("--html", out / "page.html", "--junit", out / "gates.xml")
    assert audit(tmp_path, "-o", out, *pages).return_value == 0
    assert check_run(out, 2**20).problems == {}
    assert {"env-audit.json", "page.html", "gates.xml"} < {file.path for file in read_manifest(out).files}
    sums = AuditSums()
    for record in audit_tasks(tmp_path / "tasks"):
        sums.add(record)
    assert read_manifest(out).specs == {"tasks": sums.digest}
    change(folder, "task.toml", "[agent]", "[agents]")
    audit(tmp_path, "-o", out, *pages)
    assert read_manifest(out).specs != {"tasks": sums.digest}
    assert verify(out) == 0
    for name in ("env-audit.json", ".tasks/tasks.jsonl"):  # a later audit reuses the second
        with open(out / name, "a") as file:
            file.write(" ")
    assert set(check_run(out, 2**20).problems) == {"env-audit.json", ".tasks/tasks.jsonl"}
    assert verify(out) == verify(tmp_path) == 1  # also among the runs of a folder


def test_a_file_of_rows_is_an_input_of_the_manifest(tmp_path):
    rows = make("rows", tmp_path / "tasks", 1) / "train.jsonl"
    out = tmp_path / "out"
    CliRunner().invoke(cli, ["env", "audit", str(rows), "-q", "-o", str(out)], standalone_mode=False)
    rows.write_text("{}")
    assert set(check_run(out, 2**20).problems) == {f"input {rows}"}


def test_a_folder_with_links_that_lead_out_is_refused_before_the_audit(tmp_path):
    sound(tmp_path / "tasks" / "a", 1)
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "outside").symlink_to(tmp_path / "tasks")
    assert "leads out of its folder" in str(audit(tmp_path, "-o", tmp_path / "out").exception)
    assert [one.name for one in (tmp_path / "out").iterdir()] == ["outside"]


@pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="needs ssh-keygen")
def test_the_signature_holds_for_this_report_and_key_only(tmp_path):
    folder = sound(tmp_path / "tasks" / "a", 1)
    out, mine, other = tmp_path / "out", key(tmp_path / "mine"), key(tmp_path / "other")
    signers = [tmp_path / "mine.signers", tmp_path / "other.signers"]
    for file, one in zip(signers, (mine, other), strict=True):
        file.write_text(f"me {one.with_suffix('.pub').read_text()}")
    for _ in range(2):  # a signature that is there is replaced
        assert audit(tmp_path, "-o", out, "--sign", mine).exception is None
    assert [verify(out, "--signers", file) for file in signers] == [0, 1]
    assert audit(tmp_path, "-o", out).exception is None
    assert verify(out, "--signers", signers[0]) == 0  # nothing has changed
    change(folder, "task.toml", "[agent]", "[agents]")
    assert audit(tmp_path, "-o", out).exception is None
    assert not (out / SIGNATURE).exists()  # it was of the earlier report
    assert verify(out, "--signers", signers[0]) == 1


@pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="needs ssh-keygen")
def test_a_key_that_is_none_and_a_report_that_is_not_kept_are_refused(tmp_path):
    sound(tmp_path / "tasks" / "a", 1)
    (tmp_path / "text").write_text("no key")
    assert isinstance(audit(tmp_path, "--sign", tmp_path / "text").exception, UsageError)
    error = audit(tmp_path, "-o", tmp_path / "out", "--sign", tmp_path / "text").exception
    assert "rejects the key" in str(error)


def test_other_files_of_the_folder_are_neither_listed_nor_compared(tmp_path):
    sound(tmp_path / "tasks" / "a", 1)
    out = tmp_path / "tasks"  # also the audited folder
    assert audit(tmp_path, "-o", out, "--html", out / "pages" / "audit.html").exception is not None  # no such folder
    (out / "pages").mkdir()
    audit(tmp_path, "-o", out, "--html", out / "pages" / "audit.html")
    assert {"env-audit.json", "pages/audit.html"} < {file.path for file in read_manifest(out).files}
    assert not [file for file in read_manifest(out).files if file.path.startswith("a/")]
    (out / "a" / "note.txt").write_text("new")
    (out / "pages" / "more.txt").write_text("new")
    assert check_run(out, 2**20).problems == {}
    (run,) = json.loads(CliRunner().invoke(cli, ["verify", "--json", str(out)]).stdout).values()
    assert (run["verified"], run["whole"]) == (True, False)
    (out / "pages" / "audit.html").write_text("other")
    assert set(check_run(out, 2**20).problems) == {"pages/audit.html"}


@pytest.mark.parametrize("file", ["env-audit.json", "scores.jsonl"])
def test_a_manifest_of_some_files_is_only_accepted_for_an_audit_with_its_report(tmp_path, file):
    manifest = {"form": 1, "code": {}, "specs": {}, "inputs": [], "files": [], "whole": False}
    (tmp_path / "manifest.json").write_text(json.dumps(manifest))
    (tmp_path / file).write_text("{}")
    assert verify(tmp_path) == 2
