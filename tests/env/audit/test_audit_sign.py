"""`verikit env audit --sign`: OpenSSH accepts the signature, and rejects a changed report or another key."""

import shutil
import subprocess

import pytest
from click.testing import CliRunner

from tests.env.audit.harbor_tasks import sound
from verikit.cli import cli
from verikit.env.audit.sign import NAMESPACE, SUMS
from verikit.errors import UsageError

pytestmark = pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="needs ssh-keygen")


def audit(tmp_path, *words):
    return CliRunner().invoke(cli, ["env", "audit", str(tmp_path / "tasks"), "-q", *words], standalone_mode=False)


def key(path):
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(path)], check=True)
    return path


def accepts(folder, signer):
    allowed = folder / "allowed"
    allowed.write_text(f"me {signer.with_suffix('.pub').read_text()}")
    verify = ["ssh-keygen", "-Y", "verify", "-f", str(allowed), "-I", "me", "-n", NAMESPACE, "-s", f"{SUMS}.sig"]
    with open(folder / SUMS) as told:
        signed = subprocess.run(verify, stdin=told, cwd=folder, capture_output=True, check=False).returncode == 0
    return signed and subprocess.run(["sha256sum", "-c", SUMS], cwd=folder, capture_output=True).returncode == 0


def test_the_signature_holds_for_this_report_and_key_only(tmp_path):
    sound(tmp_path / "tasks" / "a", 1)
    out, mine, other = tmp_path / "out", key(tmp_path / "mine"), key(tmp_path / "other")
    for _ in range(2):  # a signature that is there is replaced
        assert audit(tmp_path, "-o", str(out), "--sign", str(mine)).exception is None
    assert accepts(out, mine)
    assert not accepts(out, other)
    with open(out / "env-audit.json", "a") as report:
        report.write(" ")
    assert not accepts(out, mine)


def test_a_key_that_is_none_and_a_report_that_is_not_kept_are_refused(tmp_path):
    sound(tmp_path / "tasks" / "a", 1)
    (tmp_path / "text").write_text("no key")
    assert isinstance(audit(tmp_path, "--sign", str(tmp_path / "text")).exception, UsageError)
    error = audit(tmp_path, "-o", str(tmp_path / "out"), "--sign", str(tmp_path / "text")).exception
    assert "rejects the key" in str(error)
