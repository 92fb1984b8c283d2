"""The manifest of an audit's folder: `verikit verify` compares the folder with it, as for other runs."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from verikit.env.audit.report import REPORT
from verikit.env.audit.run import KEPT
from verikit.errors import VerikitError
from verikit.platform.ssh import sign_file
from verikit.scoring.manifest import MANIFEST, NAMESPACE, write_manifest


def written(out: Path, pages: Iterable[Path]) -> list[str]:
    """The files of the folder that an audit writes. Others may be the audited tasks, or belong to someone else."""
    root = out.resolve()
    found = [path.resolve() for path in pages]
    kept = [*(root / KEPT).iterdir()] if (root / KEPT).is_dir() else []
    return [path.relative_to(root).as_posix() for path in (root / REPORT, *kept, *found) if path.is_relative_to(root)]


def seal_audit(out: Path, audited: str, digest: str, key: Path | None = None, pages: Iterable[Path] = ()) -> None:
    """Write `manifest.json` for a finished audit, and its signature.

    Args:
        out: The folder of the report.
        audited: The audited folder or file. A file is an input of the manifest.
        digest: Of all audited tasks.
        pages: Further files that the audit wrote, which may be in the folder.
        key: A private ssh key, or a public one whose private key is in the agent. None does not sign.

    Raises:
        UsageError: ssh-keygen is not installed, or rejects the key. Or a link leads out of the folder.
        VerikitError: A file can't be read or written.
    """
    try:
        write_manifest(out, [audited], {"tasks": digest}, written(out, pages))
    except OSError as error:
        raise VerikitError(f"can't write {out / MANIFEST}: {error.strerror}") from None
    if key:
        sign_file(out / MANIFEST, key, NAMESPACE)
