"""SandboxFusion's form of a run, from the client's side: `/run_code` as bytedance/SandboxFusion defines it.

The protocol has whole programs, standard input and output, and files. Calls and test code go as a `bundle`, whose
record comes back as a file that the request names.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from typing import Any

from verikit.sandbox import bundle, records
from verikit.sandbox.types import Failure, RunLimits, RunResult, Status

LANGUAGES = {
    "python": "python", "cpp": "cpp", "javascript": "nodejs", "typescript": "typescript", "go": "go", "java": "java",
    "rust": "rust", "bash": "bash", "lean": "lean",
}  # fmt: skip
"""Our names of languages, and SandboxFusion's."""


class UnusableReply(Exception):
    """A reply without information about the program. `wait_s` is the wait that the server requests."""

    def __init__(self, problem: str, wait_s: float = 0.0) -> None:
        super().__init__(problem)
        self.wait_s = wait_s


def request(
    code: str, stdin: bytes, limits: RunLimits, *, language: str = "python",
    files: Mapping[str, str | bytes] | None = None, fetch: tuple[str, ...] = (),
) -> dict[str, Any]:  # fmt: skip
    """The body of a request for one run."""
    return {
        "code": code, "stdin": stdin.decode("utf-8", "replace"), "language": LANGUAGES.get(language, language),
        "compile_timeout": max(10.0, limits.wall_s), "run_timeout": limits.wall_s, "memory_limit_MB": limits.memory_mb,
        "files": {name: encoded(content) for name, content in (files or {}).items()}, "fetch_files": list(fetch),
    }  # fmt: skip


def encoded(content: str | bytes) -> str:
    """Content as base64."""
    return base64.b64encode(content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content).decode()


def result(facts: Mapping[str, Any], seconds: float) -> RunResult:
    """A reply as the result of a whole program.

    Raises:
        UnusableReply: It reports a server failure, or can't be read.
    """
    run, stdout, stderr, code = _streams(facts)
    if run.get("status") == "TimeLimitExceeded":
        return RunResult("timeout", None, stdout, stderr, Failure("timeout", "wall clock"), seconds)
    if facts["status"] == "Success" and code == 0:
        return RunResult("ok", None, stdout, stderr, None, seconds)
    kind, _, message = stderr.strip().rsplit("\n", 1)[-1].partition(": ")
    status: Status = "memory" if kind == "MemoryError" else "error"
    error = Failure(kind[:200] or "exit", message[:2000])
    return RunResult(status, None, stdout, stderr, error, seconds, exit_code=code)


def bundled(facts: Mapping[str, Any], seconds: float, limits: RunLimits, calls: int, *, asking: bool) -> RunResult:
    """A reply as the result of a bundle.

    Raises:
        UnusableReply: It reports a server failure, or can't be read.
    """
    run, stdout, stderr, code = _streams(facts)
    if code and bundle.OLD in stderr:
        raise UnusableReply(stderr.strip()[-200:])
    why = "wall" if run.get("status") == "TimeLimitExceeded" else "exit"
    took = run.get("execution_time")
    ended = {"why": why, "exit": code, "seconds": took if isinstance(took, int | float) else seconds,
             "disk_full": False, "cpu_over": False}  # fmt: skip
    files = facts.get("files")
    given = files.get(bundle.RECORD) if isinstance(files, Mapping) else None
    try:
        record = base64.b64decode(given, validate=True) if isinstance(given, str) else b""
    except (binascii.Error, ValueError):
        raise UnusableReply("the record is not base64") from None
    data = {"stdout": stdout.encode(), "stderr": stderr.encode(), "record": record}
    return records.result(ended, "", data, limits, calls, asking=asking)


def compiled(facts: Mapping[str, Any]) -> RunResult | None:
    """How the compiler failed, if it did.

    Raises:
        UnusableReply: The server failed.
    """
    built = facts.get("compile_result")
    if not isinstance(built, Mapping):
        return None
    stderr = str(built.get("stderr") or "")
    if built.get("status") == "TimeLimitExceeded":
        return RunResult("timeout", None, "", stderr, Failure("timeout", "CPU time"))
    if built.get("status") != "Finished":
        raise UnusableReply(f"compile status {built.get('status')!r}: {stderr[:200]}")
    if built.get("return_code") == 0:
        return None
    lines = [line for line in stderr.split("\n") if line.strip()]
    return RunResult("error", None, "", stderr, Failure("compiler", " | ".join(lines[:3])[:500]))


def _streams(facts: Mapping[str, Any]) -> tuple[Mapping[str, Any], str, str, int]:
    """The run's part of a reply, its output, and its exit code."""
    run = facts.get("run_result")
    if facts.get("status") not in ("Success", "Failed") or not isinstance(run, Mapping):
        raise UnusableReply(f"{facts.get('status')}: {str(facts.get('message'))[:200]}")
    code = run.get("return_code")
    if run.get("status") != "TimeLimitExceeded" and (run.get("status") != "Finished" or not isinstance(code, int)):
        raise UnusableReply(f"run status {run.get('status')!r}")
    return run, str(run.get("stdout") or ""), str(run.get("stderr") or ""), code if isinstance(code, int) else 0
