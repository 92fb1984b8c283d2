"""Signs a report: a file of checksums, and an ssh signature of that file. OpenSSH creates and checks it offline.

The report has the digest of each task, so its checksum covers the audited folder too.
"""

from __future__ import annotations

import hashlib
import subprocess
from pathlib import Path

from verikit.env.audit.report import REPORT
from verikit.errors import UsageError, VerikitError

SUMS, NAMESPACE = "env-audit.sha256", "verikit-env-audit"


def sign_report(folder: Path, key: Path) -> Path:
    """Write `env-audit.sha256` and its signature, and return the signature's path.

    Args:
        folder: The folder of the report.
        key: A private ssh key, or a public one whose private key is in the agent.

    Raises:
        UsageError: ssh-keygen is not installed, or rejects the key.
        VerikitError: A file can't be read or written.
    """
    sums = folder / SUMS
    signature = folder / f"{SUMS}.sig"
    try:
        with open(folder / REPORT, "rb") as report:
            digest = hashlib.file_digest(report, "sha256").hexdigest()
        sums.write_text(f"{digest}  {REPORT}\n", encoding="ascii")
        signature.unlink(missing_ok=True)  # ssh-keygen prompts before it replaces a file
    except OSError as error:
        raise VerikitError(f"can't sign the report in {folder}: {error.strerror}") from None
    command = ["ssh-keygen", "-Y", "sign", "-f", str(key), "-n", NAMESPACE, str(sums)]
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=120,
            check=False,
            text=True,
            errors="replace",
        )
    except FileNotFoundError:
        raise UsageError("--sign needs ssh-keygen", hint="install OpenSSH 8.1 or newer") from None
    except subprocess.TimeoutExpired:
        raise VerikitError("ssh-keygen did not end within 120 s") from None
    if done.returncode or not signature.is_file():
        raise UsageError(f"ssh-keygen rejects the key {key}: {done.stderr.strip()[-200:]}")
    return signature
