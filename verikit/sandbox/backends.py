"""Selects the sandbox: by an option, then VERIKIT_SANDBOX, then `local`.

    local           fork servers on this machine; the default
    bwrap           bubblewrap on this machine, a process start per program
    process         limits but no isolation: for programs you trust
    http://HOST     a server that runs programs: `verikit serve --sandbox`, SandboxFusion; https:// too
    docker:IMAGE    a container per program; the image needs Python 3.11
    docker+http     a container with a SandboxFusion server in it; docker+http:IMAGE names another image

Each is started once per process. An unavailable sandbox raises an error that names it. There is no fallback.
"""

from __future__ import annotations

import atexit
import logging
import os
import sys
import threading
from collections.abc import Callable
from typing import Any, cast

from verikit.errors import SandboxError, SandboxUnavailable, UsageError, nearest
from verikit.platform.secrets import strike
from verikit.platform.system import at_fork
from verikit.sandbox.local import LocalSandbox, default_sandbox
from verikit.sandbox.report import ISOLATION

VARIABLE = "VERIKIT_SANDBOX"
NAMES = ("local", "bwrap", "process", "http://HOST", "docker:IMAGE", "docker+http")
_LOG = logging.getLogger("verikit.sandbox")
_started: dict[str, Any] = {}
_lock = threading.RLock()
at_fork(before=_lock.acquire, in_parent=_lock.release, in_child=lambda: _forget())


def _forget() -> None:
    """In a forked copy of the caller: connections and containers still belong to the caller."""
    _started.clear()
    _lock.release()


def backend_name(given: str | None = None) -> str:
    """The sandbox's name: `given`, then the environment variable, then `local`.

    Raises:
        UsageError: The name is not valid.
    """
    name, source = (given, "sandbox") if given else (os.environ.get(VARIABLE, "").strip() or "local", VARIABLE)
    if not _is_name(name):
        raise UsageError(f"{source} names no sandbox: {strike(name)!r}", hint=nearest(strike(name), NAMES))
    return name


def _is_name(name: str) -> bool:
    """Whether this names a sandbox; some kinds take no rest, some need one."""
    kind, _, rest = name.partition(":")
    if kind in ("http", "https"):
        return rest.startswith("//") and len(rest) > 2
    if kind == "docker":
        return bool(rest)
    return kind == "docker+http" or (kind in ("local", "bwrap", "process") and not rest)


def chosen_sandbox(given: str | None = None) -> LocalSandbox:
    """The sandbox of that name, which this process shares. It is started on first use.

    The isolation of `local` and `bwrap` must be verified. The others provide the part of `local` that the verifier
    `code`
    uses: `run`, `run_calls`, `map`, `session`, `programs`, `workers`, `report`.

    Raises:
        UsageError: The name is not valid.
        SandboxUnavailable: It is not available here. The error names what is missing, and the remedy.
    """
    name = backend_name(given)
    if name == "local":
        return default_sandbox(ISOLATION)
    with _lock:
        if name not in _started:
            try:
                _started[name] = start(name)
            except SandboxUnavailable as problem:
                raise SandboxUnavailable(f"the sandbox {strike(name)!r}: {problem}", hint=problem.hint) from None
            except SandboxError as problem:
                hint = problem.hint or "choose another one, or mend it"
                raise SandboxUnavailable(f"the sandbox {strike(name)!r}: {problem}", hint=hint) from None
        return cast("LocalSandbox", _started[name])


def start(name: str) -> Any:
    """Start a separate sandbox, which the caller closes.

    Raises:
        SandboxError: It is not available here.
    """
    kind = name.partition(":")[0]
    return _START["http" if kind == "https" else kind](name)


def _bwrap(name: str) -> Any:
    from verikit.sandbox.bwrap import BwrapSandbox

    return BwrapSandbox(require=ISOLATION)


def _process(name: str) -> Any:
    from verikit.sandbox.process import ProcessSandbox

    _LOG.warning("sandbox process: programs run as this user, with limits and without isolation")
    return ProcessSandbox(examine=sys.platform == "linux")  # the probes make calls by Linux's numbers


def _http(name: str) -> Any:
    from verikit.sandbox.http import HttpSandbox

    return HttpSandbox(name, check=True)


def _docker(name: str) -> Any:
    from verikit.sandbox.docker import DockerSandbox

    # The files that a program can read are the image's: none of this machine's is in it.
    return DockerSandbox(name.partition(":")[2], require=ISOLATION - {"file_reads"})


def _docker_http(name: str) -> Any:
    from verikit.sandbox.docker import DockerServer

    image = name.partition(":")[2]
    box = DockerServer(image) if image else DockerServer()
    atexit.register(box.close)
    return box


_START: dict[str, Callable[[str], Any]] = {
    "local": lambda name: LocalSandbox(require=ISOLATION),
    "bwrap": _bwrap,
    "process": _process,
    "http": _http,
    "docker": _docker,
    "docker+http": _docker_http,
}
