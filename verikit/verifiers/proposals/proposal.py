"""Is a proposed Absolute Zero task valid? Structure, safety, integrity, determinism, in this order.

The list of banned imports is the paper's (figure 10): it keeps tasks deterministic and self-contained. It does not
replace the sandbox.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from verikit.errors import SandboxError
from verikit.sandbox import FunctionCall, LocalSandbox, OpaqueValue, RunLimits, Symbolic
from verikit.sandbox.foreign import Array
from verikit.sandbox.guest import source
from verikit.verifiers.proposals.shared_runs import UNREAD, read_together

Preset = Literal["paper", "azr-repo"]

BANNED = (
    "logging", "random", "multiprocessing", "pebble", "subprocess", "threading", "datetime", "time", "hashlib",
    "calendar", "bcrypt", "os.sys", "os.path", "sys.exit", "os.environ",
)  # fmt: skip
_REPOSITORY_ADDS = ("hmac",)


class InvalidProposal(ValueError):
    """The model's proposal breaks a rule; the message names it."""


class OurFault(ValueError):
    """The row or the sandbox failed; the model is not to blame."""


@dataclass(frozen=True, slots=True)
class Valid:
    """A valid task."""

    args: list[Any]
    kwargs: dict[str, Any]
    value: Any
    output: str
    """The value as a literal."""


def validate(box: LocalSandbox, program: str, given: str, *, preset: Preset = "paper", limits: RunLimits) -> Valid:
    """Check one proposal, a program and an argument list of literals.

    Raises:
        Invalid: It breaks a rule.
        OurFault: The sandbox failed.
    """
    asked = [("structure", program), ("arguments", given), ("closed", program)]
    facts, read, closed = read_together(box, asked, limits)
    _structure(_guest(box, "structure", program, limits) if facts is UNREAD else facts, preset)
    args, kwargs = _guest(box, "arguments", given, limits) if read is UNREAD else read
    value, seen = run_twice(box, program, ("f", args, kwargs), limits)
    if value is None:
        raise InvalidProposal("integrity: returns nothing")
    output = as_literal(value)
    settle(box, program, ("f", args, kwargs), limits, seen, closed=closed is True)
    return Valid(args, kwargs, value, output)


def run_twice(box: LocalSandbox, program: str, call: FunctionCall, limits: RunLimits) -> tuple[Any, list[Any]]:
    """Make a call twice in one child; return its value, and both.

    Raises:
        InvalidProposal: The program fails.
        OurFault: The sandbox failed.
    """
    result = box.repeated(program, call, limits)
    if result.status == "infra_error":
        raise OurFault(f"the sandbox failed: {result.error}")
    if result.status != "ok":
        raise InvalidProposal(f"integrity: {result.status} ({result.error})")
    return result.value[0], result.value


def settle(
    box: LocalSandbox, program: str, call: FunctionCall, limits: RunLimits, seen: Sequence[Any], *, closed: bool
) -> None:
    """Check determinism: `seen` of one child, and another with another hash seed; two more unless it is closed.

    Raises:
        InvalidProposal: The program wavers.
        OurFault: The sandbox failed.
    """
    try:
        settled = box.deterministic(program, call=call, limits=limits, seeds=(1,) if closed else (1, 0, 1), seen=seen)
    except SandboxError as error:
        raise OurFault(str(error)) from None
    if not settled:
        raise InvalidProposal("determinism: another value in another process or at the next call")


def _guest(box: LocalSandbox, how: str, text: str, limits: RunLimits) -> Any:
    result = box.run(source("reading"), call=(how, [text], {}), limits=limits)
    if result.status == "infra_error":
        raise OurFault(f"the sandbox failed: {result.error}")
    if result.status != "ok":
        raise InvalidProposal(f"{how}: {result.error}")
    return result.value


def _structure(facts: dict[str, Any], preset: Preset) -> None:
    """The rules that can be checked from the program's text."""
    if not facts["has_f"]:
        raise InvalidProposal("structure: no function f at the top level")
    if not facts["returns"]:
        raise InvalidProposal("structure: f returns nothing")
    if preset == "azr-repo" and facts["functions"] != 1:
        raise InvalidProposal("structure: more than one def")
    found = _banned_imports(facts) if preset == "azr-repo" else _banned_uses(facts)
    if found:
        raise InvalidProposal(f"safety: uses {', '.join(found)}")


def _banned_imports(facts: dict[str, Any]) -> list[str]:
    """The repository's rule: no part of an imported name."""
    parts = {part for name in facts["imports"] for part in name.split(".")}
    return sorted(parts & {*BANNED, *_REPOSITORY_ADDS})


def _banned_uses(facts: dict[str, Any]) -> list[str]:
    used = [*facts["imports"], *facts["attributes"]]
    found = sorted(b for b in BANNED if any(name == b or name.startswith(b + ".") for name in used))
    return found + [name for name in ("__import__", "exec", "eval", "open") if name in facts["names"]]


def as_literal(value: Any) -> str:
    """A value as Python literal text, for prompts and rows.

    Raises:
        Invalid: It does not have a literal of a reasonable length.
    """
    if _foreign(value):
        raise InvalidProposal("integrity: returns a value that no literal stands for")
    try:
        text = repr(value)
    except ValueError:
        raise InvalidProposal("integrity: returns a number too long to write") from None
    if len(text) > 100_000:
        raise InvalidProposal("integrity: returns a value too long to write")
    return text


def _foreign(value: Any) -> bool:
    if isinstance(value, list | tuple | set):
        return any(map(_foreign, value))
    if isinstance(value, dict):
        return any(_foreign(k) or _foreign(v) for k, v in value.items())
    if isinstance(value, float):
        return value != value or value in (float("inf"), float("-inf"))
    return not (value is None or isinstance(value, bool | int | complex | str | bytes)) or isinstance(
        value, OpaqueValue | Symbolic | Array
    )
