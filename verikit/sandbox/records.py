"""Turns a child's output into a `RunResult`. No other module decides how a run ended.

The record comes from the candidate and may claim anything. It is trusted only if a false claim can't help: the value
is compared with an answer that the child never saw. Evidence from outside (time, output, signals) takes precedence.
"""

from __future__ import annotations

import json
import signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from verikit.sandbox import values
from verikit.sandbox.foreign import Array, OpaqueValue
from verikit.sandbox.types import Failure, FunctionCall, RunLimits, RunResult, Status

_CLAIMS = {"ok", "error", "memory", "disk"}
OUT_OF_CPU = Failure("timeout", "CPU time")
"""The error of a run that used up its CPU time."""
Role = Literal["tests", "program"]
"""A child's side of a conversation: the tests, or the program that they use."""


def payload(
    code: str,
    calls: Sequence[FunctionCall] = (),
    files: Mapping[str, str | bytes] | None = None,
    role: Role | None = None,
    names: Sequence[str] = (),
    answers: Sequence[tuple[str, str]] | None = None,
    fetch: Sequence[str] = (),
    *,
    only_closed: bool = False,
) -> bytes:
    """One line for the child: the program and the calls, and no secrets.

    With a `role` the child is one side of a conversation (`proxies`). `names` are the other side's, and override
    Python's. With `answers`, its lines so far have these answers in this order, and it ends with the first line beyond.
    With `only_closed`, a program whose calls can affect each other is not run.

    Raises:
        ValueError: An argument has no typed form, or a file's name leads out of the directory.
    """
    job: dict[str, Any] = {"code": code, "calls": []}
    if role is not None:
        job |= {"role": role, "names": list(names)}
    for name, args, kwargs in calls:
        job["calls"].append([name, values.encode(list(args)), values.encode(dict(kwargs))])
    if only_closed:
        job["only_closed"] = True
    if answers is not None:
        job["answers"] = list(answers)
    if fetch:
        job["fetch"] = [_inside(name) for name in fetch]
    if files:
        job["files"] = {_inside(name): _bytes(content).hex() for name, content in files.items()}
    return json.dumps(job).encode() + b"\n"


def _bytes(content: str | bytes) -> bytes:
    return content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content


def _inside(name: str) -> str:
    if not name or name.startswith("/") or ".." in name.split("/") or "\0" in name:
        raise ValueError(f"{name!r} is not a file name below the program's directory")
    return name


@dataclass(frozen=True, slots=True)
class ProgramLine:
    """A line of a conversation, sent by a program that ended with it."""

    text: str


def result(
    ended: Mapping[str, Any], overflow: str, data: Mapping[str, bytes | bytearray], limits: RunLimits, calls: int = 0,
    *, asking: bool = False,
) -> RunResult:  # fmt: skip
    """Judge a finished run. With `calls`, its value is a list of that length, or with `asking` a `ProgramLine`."""
    stdout, stderr = (bytes(data[name]).decode("utf-8", "replace") for name in ("stdout", "stderr"))
    status, value, error = _outside(ended, overflow, limits.wall_s)
    if status is None:
        status, value, error = read(bytes(data["record"]), limits.value_kb << 10)
        if asking and status == "no_result" and (said := turn(bytes(data["record"]))):
            status, value, error = "ok", ProgramLine(said), None
    whole = isinstance(value, ProgramLine) or (isinstance(value, list) and len(value) == calls)
    if status == "ok" and calls and not whole:
        status, value, error = "no_result", None, Failure("no result", f"the record does not hold {calls} value(s)")
    if status == "no_result" and ended["exit"]:
        error = Failure("no result", f"the process ended itself with exit code {ended['exit']}")
    seconds, cpu_s = float(ended["seconds"]), float(ended.get("cpu", 0.0))
    peak_mb = float(ended.get("peak", 0)) / 1024
    return RunResult(status, value, stdout, stderr, error, seconds, cpu_s, int(ended["exit"]), peak_mb=peak_mb)


def fetched(record: bytes) -> dict[str, bytes]:
    """The files in a record; empty if it is not well-formed."""
    try:
        node = values.parse(record.partition(b"\n")[0])
        found = node.get("files") if isinstance(node, dict) else None
        pairs = found.items() if isinstance(found, dict) else ()
        return {str(name): bytes.fromhex(content) for name, content in pairs}
    except (ValueError, TypeError):
        return {}


def turn(record: bytes) -> str:
    """The line of a conversation in a record; empty if it has another kind, or is not well-formed."""
    line, _, more = record.partition(b"\n")
    try:
        node = values.parse(line, len(line))
    except ValueError:
        return ""
    is_turn = not more and isinstance(node, dict) and node.get("status") == "turn"
    return line.decode("ascii", "replace") if is_turn else ""


def _outside(ended: Mapping[str, Any], overflow: str, wall_s: float) -> tuple[Status | None, Any, Failure | None]:
    """The part of the outcome that the record can't influence."""
    number, why = -int(ended["exit"]), ended["why"]
    if overflow:
        return "output", None, Failure("output", f"more than the cap of {overflow}")
    if why in ("wall", "stopped"):
        return "timeout", None, Failure("timeout", f"{wall_s:g} s of wall clock")
    if why == "disk" or ended["disk_full"]:
        return "disk", None, Failure("disk", "more than the cap of what may be written")
    if number > 0:
        return _by_signal(number, cpu_over=ended["cpu_over"] if number == signal.SIGKILL else False)
    return None, None, None


def _by_signal(number: int, *, cpu_over: bool) -> tuple[Status, Any, Failure]:
    """The end of a process that a signal ended."""
    if number == signal.SIGSYS:
        return "violation", None, Failure("violation", "a system call by a forbidden gate")
    if number == signal.SIGXCPU or cpu_over:
        return "timeout", None, OUT_OF_CPU
    if number == signal.SIGXFSZ:
        return "disk", None, Failure("disk", "a file larger than the cap")
    name = signal.Signals(number).name if number in signal.valid_signals() and number < 32 else f"signal {number}"
    return "killed", None, Failure("killed", name)


def read(record: bytes, most: int = values.MAX_BYTES) -> tuple[Status, Any, Failure | None]:
    """Validate one record line. A malformed record is `no_result`, and so is a value of more than `most` bytes."""
    nothing = Failure("no result", "the program ended without a record")
    if not record:
        return "no_result", None, nothing
    line, _, more = record.partition(b"\n")
    if more:
        return "no_result", None, Failure("no result", "bytes after the record")
    try:
        claim = values.parse(line, most)
        status = claim.get("status") if isinstance(claim, dict) else None
        if not isinstance(status, str) or status not in _CLAIMS:
            raise ValueError("no status")
        if status == "ok":
            return "ok", values.decode(claim.get("value")), None
        kind, message, at = (claim.get(key) for key in ("type", "message", "line"))
        if not (isinstance(kind, str) and isinstance(message, str) and isinstance(at, str)):
            raise ValueError("wrong fields")
        failure = Failure(_clean(kind[:200]), _clean(message[:2000]), values.decode(["int", at]) % (1 << 31))
    except Exception as problem:  # noqa: BLE001 - any error means a malformed record
        return "no_result", None, Failure("no result", f"a malformed record: {str(problem)[:200]}")
    return status, None, failure  # type: ignore[return-value]


def _clean(text: str) -> str:
    """Text that any file and terminal takes: half characters become question marks."""
    return text.encode("utf-8", "replace").decode()


def same(a: Any, b: Any) -> bool:
    """Equal, and of exactly the same types at every level. NaN equals NaN; an opaque value never equals anything."""
    if type(a) is not type(b) or isinstance(a, OpaqueValue):
        return False
    if isinstance(a, float):
        return a == b or (a != a and b != b)
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict):
        return len(a) == len(b) and _same_items(list(a), list(b)) and all(same(v, b[k]) for k, v in a.items())
    if isinstance(a, set | frozenset):
        return len(a) == len(b) and _same_items(list(a), list(b))
    if isinstance(a, complex):
        return same(a.real, b.real) and same(a.imag, b.imag)
    if isinstance(a, Array):
        return (a.dtype, a.shape) == (b.dtype, b.shape) and same(a.items, b.items)
    return bool(a == b)


def _same_items(a: Sequence[Any], b: Sequence[Any]) -> bool:
    """Whether two collections have the same hashable values, types included."""
    return sorted(map(_key, a)) == sorted(map(_key, b))


def _key(item: Any) -> str:
    """Text that is equal exactly for values that are the same; sets are written in order."""
    if isinstance(item, frozenset):
        return "{" + ",".join(sorted(map(_key, item))) + "}"
    if isinstance(item, tuple):
        return "(" + ",".join(map(_key, item)) + ")"
    if isinstance(item, OpaqueValue):
        return f"opaque {id(item)}"
    return json.dumps(values.encode(item + 0 if isinstance(item, float) else item))
