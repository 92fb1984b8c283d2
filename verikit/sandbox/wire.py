"""A run's result as plain JSON and back: the protocol between `verikit serve --sandbox` and its client.

Values travel in their typed form (`values`). Replies are treated as hostile, like a child's record.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, get_args

from verikit.sandbox import records, values
from verikit.sandbox.fusion import UnusableReply
from verikit.sandbox.types import Failure, RunResult, Status

Reader = Callable[[Mapping[str, Any], float], RunResult]
"""A reply's JSON, and the seconds it took, to a result."""


def write(result: RunResult) -> dict[str, Any]:
    """A result as plain data."""
    told: dict[str, Any] = {
        "status": result.status, "stdout": result.stdout, "stderr": result.stderr, "seconds": result.seconds,
        "cpu_s": result.cpu_s, "exit_code": result.exit_code, "error": None, "value": None,
    }  # fmt: skip
    if result.error is not None:
        told["error"] = {"type": result.error.type, "message": result.error.message, "line": result.error.line}
    if isinstance(result.value, records.ProgramLine):
        told["turn"] = result.value.text
    else:
        told["value"] = values.encode(result.value)
    return told


def read(facts: Mapping[str, Any], calls: int, *, asking: bool) -> RunResult:
    """The result in a reply.

    Raises:
        UnusableReply: There is no result.
    """
    try:
        status, error = facts["status"], facts["error"]
        if status not in get_args(Status):
            raise ValueError(f"no status {status!r}")
        failure = None if error is None else Failure(str(error["type"]), str(error["message"]), int(error["line"]))
        value = values.decode(facts["value"])
        if asking and isinstance(facts.get("turn"), str):
            value = records.ProgramLine(records.turn(facts["turn"].encode()))
            if not value.text:
                raise ValueError("not a line of a conversation")
        elif status == "ok" and calls and not (isinstance(value, list) and len(value) == calls):
            raise ValueError(f"the reply does not hold {calls} value(s)")
        texts = str(facts["stdout"]), str(facts["stderr"])
        numbers = float(facts["seconds"]), float(facts["cpu_s"]), int(facts["exit_code"])
    except (KeyError, TypeError, ValueError) as problem:
        raise UnusableReply(f"a reply that can't be read: {problem}") from None
    if status == "infra_error":
        raise UnusableReply(str(failure))
    return RunResult(status, value, texts[0], texts[1], failure, *numbers)
