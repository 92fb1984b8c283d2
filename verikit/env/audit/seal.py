"""The manifest of an audit's folder: `verikit verify` compares the folder with it, as for other runs."""

from __future__ import annotations

from pathlib import Path

from verikit.errors import VerikitError
from verikit.platform.ssh import sign_file
from verikit.scoring.manifest import MANIFEST, NAMESPACE, write_manifest


def seal_audit(out: Path, audited: str, digest: str, key: Path | None = None) -> None:
    """Write `manifest.json` for a finished audit, and its signature.

    Args:
        out: The folder of the report.
        audited: The audited folder or file. A file is an input of the manifest.
        digest: Of all audited tasks.
        key: A private ssh key, or a public one whose private key is in the agent. None does not sign.

    Raises:
        UsageError: ssh-keygen is not installed, or rejects the key. Or a link leads out of the folder.
        VerikitError: A file can't be read or written.
    """
    try:
        write_manifest(out, [audited], {"tasks": digest})
    except OSError as error:
        raise VerikitError(f"can't write {out / MANIFEST}: {error.strerror}") from None
    if key:
        sign_file(out / MANIFEST, key, NAMESPACE)
