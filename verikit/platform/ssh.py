"""Signatures by ssh keys: OpenSSH creates and checks them, offline."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

from verikit.errors import UsageError, VerikitError


def sign_file(file: Path, key: Path, namespace: str) -> Path:
    """Sign a file, and return the path of the signature: the file's with `.sig` added.

    Args:
        file: The file.
        key: A private ssh key, or a public one whose private key is in the agent.
        namespace: The signature's purpose. It is valid for no other.

    Raises:
        UsageError: ssh-keygen is not installed, or rejects the key.
        VerikitError: The signature can't be written.
    """
    signature = file.with_name(f"{file.name}.sig")
    try:
        signature.unlink(missing_ok=True)  # ssh-keygen prompts before it replaces a file
    except OSError as error:
        raise VerikitError(f"can't write {signature}: {error.strerror}") from None
    done = _keygen("sign", "-f", str(key), "-n", namespace, str(file))
    if done.returncode or not signature.is_file():
        raise UsageError(f"ssh-keygen rejects the key {key}: {done.stderr.strip()[-200:]}")
    return signature


def signer_of(file: Path, signature: Path, namespace: str, signers: Path | None) -> str | None:
    """Return who signed a file, or None if the signature is not valid for its content.

    Args:
        file: The file.
        signature: Its signature.
        namespace: The purpose for which it was signed.
        signers: OpenSSH's "allowed signers": a line has a name and a public key. Only these may sign, and the name is
            returned. None accepts any key and returns its fingerprint.

    Raises:
        UsageError: ssh-keygen is not installed.
        VerikitError: The file can't be read.
    """
    common = ("-n", namespace, "-s", str(signature))
    if signers is None:
        done = _keygen("check-novalidate", *common, content=file)
        return done.stdout.rpartition(" ")[2].strip() or "a key" if done.returncode == 0 else None
    found = _keygen("find-principals", "-f", str(signers), *common[2:])
    for name in found.stdout.splitlines() if found.returncode == 0 else ():
        if _keygen("verify", "-f", str(signers), "-I", name, *common, content=file).returncode == 0:
            return name
    return None


def _keygen(action: str, *words: str, content: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run `ssh-keygen -Y ACTION`, with a file as its input."""
    command: Sequence[str] = ["ssh-keygen", "-Y", action, *words]
    try:
        given = b"" if content is None else content.read_bytes()
        done = subprocess.run(command, input=given, capture_output=True, timeout=120, check=False)
    except FileNotFoundError as error:
        if error.filename != command[0]:
            raise VerikitError(f"can't read {content}: {error.strerror}") from None
        raise UsageError("ssh-keygen not found", hint="install OpenSSH 8.1 or newer") from None
    except OSError as error:
        raise VerikitError(f"can't read {content}: {error.strerror}") from None
    except subprocess.TimeoutExpired:
        raise VerikitError("ssh-keygen did not end within 120 s") from None
    out, errors = (stream.decode(errors="replace") for stream in (done.stdout, done.stderr))
    return subprocess.CompletedProcess(command, done.returncode, out, errors)
