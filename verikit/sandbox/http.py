"""A client of SandboxFusion's `/run_code`: programs run on another machine, by standard input and output only.

A server that fails, refuses or does not answer is `infra_error` after some retries, never a verdict. What the server
isolates is its own affair: nothing is proved here.
"""

from __future__ import annotations

import base64
import time
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Self

from verikit.errors import UsageError
from verikit.sandbox.report import PROPERTIES, Property, Report
from verikit.sandbox.types import Failure, FunctionCall, Job, RunLimits, RunResult, Status

_PAUSES = (0.2, 1.0, 3.0)
_RETRYABLE = {429, 500, 502, 503, 504}


class HttpSandbox:
    """Runs programs on a SandboxFusion-compatible server.

    Args:
        url: of the server, without `/run_code`.
        require: properties that must be proved; none is.
        limits: of each run; the server may have narrower ones.
        workers: requests at a time.
        retries: after a refused or broken request.
    """

    def __init__(
        self,
        url: str,
        *,
        require: Iterable[Property] = (),
        limits: RunLimits | None = None,
        workers: int = 8,
        retries: int = 3,
    ) -> None:
        import httpx

        self.limits: RunLimits = limits or RunLimits()
        self.workers: int = workers
        self._url = url.rstrip("/")
        self._pauses = _PAUSES[:retries]
        self.report.require(frozenset(require))
        self._client = httpx.Client(limits=httpx.Limits(max_connections=workers))

    @property
    def report(self) -> Report:
        """Nothing is proved from here."""
        return Report("http", self._url, {"server": "not examined"}, dict.fromkeys(PROPERTIES, "absent"))

    def run(
        self,
        code: str,
        stdin: str | bytes = "",
        call: FunctionCall | None = None,
        limits: RunLimits | None = None,
        files: Mapping[str, str | bytes] | None = None,
    ) -> RunResult:
        """Run one program.

        Raises:
            UsageError: a call was asked; the protocol has text only.
        """
        if call is not None:
            raise UsageError("the http sandbox runs whole programs only", hint="use the local sandbox for calls")
        limits = limits or self.limits
        given = stdin if isinstance(stdin, str) else stdin.decode("utf-8", "replace")
        body = {
            "code": code, "stdin": given, "language": "python", "compile_timeout": limits.wall_s,
            "run_timeout": limits.wall_s, "memory_limit_MB": limits.memory_mb,
            "files": {name: _base64(content) for name, content in (files or {}).items()},
        }  # fmt: skip
        start = time.monotonic()
        problem = ""
        for pause in (*self._pauses, None):
            try:
                return _result(self._post(body, limits), time.monotonic() - start)
            except _Unusable as error:
                problem = str(error)
            if pause is not None:
                time.sleep(pause)
        return RunResult("infra_error", error=Failure("infra", problem), seconds=time.monotonic() - start)

    def _post(self, body: dict[str, Any], limits: RunLimits) -> dict[str, Any]:
        import httpx

        try:
            reply = self._client.post(f"{self._url}/run_code", json=body, timeout=2 * limits.wall_s + 10)
            if reply.status_code in _RETRYABLE:
                raise _Unusable(f"HTTP {reply.status_code}")
            facts = reply.json() if reply.is_success else None
        except (httpx.HTTPError, ValueError) as error:
            raise _Unusable(f"{type(error).__name__}: {error}") from None
        if not isinstance(facts, dict):
            raise _Unusable(f"HTTP {reply.status_code}: {reply.text[:200]}")
        return facts

    def map(self, jobs: Iterable[Job]) -> list[RunResult]:
        """Run many programs, `workers` at a time; results keep the order."""
        with ThreadPoolExecutor(self.workers, thread_name_prefix="verikit-sandbox") as threads:
            return list(threads.map(lambda j: self.run(j.code, j.stdin, j.call, j.limits, j.files), jobs))

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


class _Unusable(Exception):
    """A reply that says nothing about the program."""


def _base64(content: str | bytes) -> str:
    return base64.b64encode(content.encode() if isinstance(content, str) else content).decode()


def _result(facts: dict[str, Any], seconds: float) -> RunResult:
    """The server's word as a result.

    Raises:
        _Unusable: it says that the server failed, or nothing that can be read.
    """
    run = facts.get("run_result")
    if facts.get("status") not in ("Success", "Failed") or not isinstance(run, dict):
        raise _Unusable(f"{facts.get('status')}: {str(facts.get('message'))[:200]}")
    stdout, stderr = str(run.get("stdout") or ""), str(run.get("stderr") or "")
    if run.get("status") == "TimeLimitExceeded":
        return RunResult("timeout", None, stdout, stderr, Failure("timeout", "wall clock"), seconds)
    if run.get("status") != "Finished" or not isinstance(run.get("return_code"), int):
        raise _Unusable(f"run status {run.get('status')!r}")
    if facts["status"] == "Success" and run["return_code"] == 0:
        return RunResult("ok", None, stdout, stderr, None, seconds)
    lines = stderr.strip().rsplit("\n", 1)
    kind, _, message = lines[-1].partition(": ")
    status: Status = "memory" if kind == "MemoryError" else "error"
    return RunResult(status, None, stdout, stderr, Failure(kind[:200] or "exit", message[:2000]), seconds)
