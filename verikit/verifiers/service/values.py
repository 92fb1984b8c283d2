"""Values that a client keeps from the JSON of a reply, and uses in later requests."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeGuard

from verikit.errors import AgentFault

_MOST_KEPT = 200
"""Characters of a kept value."""


def filled(value: Any, kept: Mapping[str, str | int]) -> Any:
    """JSON with each string that is only `{name}` replaced by the kept value."""
    if isinstance(value, Mapping):
        return {key: filled(item, kept) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [filled(item, kept) for item in value]
    if isinstance(value, str) and value[:1] == "{" and value[-1:] == "}":
        return kept.get(value[1:-1], value)
    return value


def filled_text(text: str, kept: Mapping[str, str | int]) -> str:
    """A string with each `{name}` replaced by the kept value."""
    for name, value in kept.items():
        text = text.replace(f"{{{name}}}", str(value))
    return text


def found(value: Any, path: str) -> str | int:
    """The value at a path such as `items.0.id`.

    Raises:
        AgentFault: There isn't a string or integer at the path.
    """
    for name in path.split("."):
        if isinstance(value, list) and name.isdecimal() and int(name) < len(value):
            value = value[int(name)]
        elif isinstance(value, dict) and name in value:
            value = value[name]
        else:
            raise AgentFault(f"the reply has no {path!r}")
    if not _is_short(value):
        raise AgentFault(f"{path!r} of the reply is not a short string or an integer")
    return value


def _is_short(value: Any) -> TypeGuard[str | int]:
    if isinstance(value, str):
        return value.isprintable() and len(value) <= _MOST_KEPT
    return isinstance(value, int) and not isinstance(value, bool) and len(str(value)) <= _MOST_KEPT
