"""Signs a report: a file of checksums, and an ssh signature of that file. OpenSSH creates and checks it offline.

The report has the digest of each task, so its checksum covers the audited folder too.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

from verikit.env.audit.report import REPORT
from verikit.errors import VerikitError
from verikit.platform.ssh import sign_file

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
    try:
        with open(folder / REPORT, "rb") as report:
            digest = hashlib.file_digest(report, "sha256").hexdigest()
        sums.write_text(f"{digest}  {REPORT}\n", encoding="ascii")
    except OSError as error:
        raise VerikitError(f"can't sign the report in {folder}: {error.strerror}") from None
    return sign_file(sums, key, NAMESPACE)
