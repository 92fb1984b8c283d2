"""Steps to take on a page before it is read: their format, checked before a page is opened."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from verikit.errors import UsageError

KEYS = {
    "Enter": (13, "\r"), "Tab": (9, ""), "Escape": (27, ""), "Backspace": (8, ""), "Delete": (46, ""),
    "ArrowUp": (38, ""), "ArrowDown": (40, ""), "ArrowLeft": (37, ""), "ArrowRight": (39, ""), "Home": (36, ""),
    "End": (35, ""), "PageUp": (33, ""), "PageDown": (34, ""), "Space": (32, " "),
}  # fmt: skip
"""Names of keys, their codes and the characters that they type."""
_KINDS = "click, type (with into), press, scroll, wait, dialog"
_MOST = 50


@dataclass(frozen=True)
class Aim:
    """Which element a step goes to: by a CSS selector, by its text, or by its role and name."""

    css: str | None = None
    text: str = ""
    role: str = ""
    name: str = ""

    def __str__(self) -> str:
        """As the row wrote it, about."""
        if self.css is not None:
            return repr(self.css)
        return f"the {self.role} {self.name!r}" if self.role else f"the text {self.text!r}"


@dataclass(frozen=True)
class Step:
    """One step: the action, the element, and the text, number or answer to use."""

    kind: str
    aim: Aim | None = None
    value: Any = None


def read_steps(told: Sequence[Mapping[str, Any]]) -> list[Step]:
    """The steps of a row.

    Raises:
        UsageError: They are invalid.
    """
    if isinstance(told, str | Mapping) or not isinstance(told, Sequence) or len(told) > _MOST:
        raise UsageError(f"steps is a list of at most {_MOST} steps")
    return [_step(one) for one in told]


def _step(told: Mapping[str, Any]) -> Step:
    if not isinstance(told, Mapping) or not told:
        raise UsageError(f"{told!r} is not a step", hint=_KINDS)
    kind = next(iter(told))
    further = set(told) - {kind}
    read = _READERS.get(kind)
    step = read(told[kind], told.get("into")) if read and further <= _FURTHER.get(kind, set()) else None
    if step is None:
        raise UsageError(f"{dict(told)!r} is not a step", hint=_KINDS)
    return step


def unreachable(place: Any, *, click: bool) -> str:
    """Why a step can't reach an element at a place that the page reported; empty if it can."""
    if not isinstance(place, dict):
        return "is not to be found"
    if place.get("empty") is not False:
        return "has no size"
    return "is covered" if click and place.get("covered") is not False else ""


def _click(value: Any, into: Any) -> Step:
    return Step("click", _aim(value))


def _type(value: Any, into: Any) -> Step | None:
    return Step("type", None if into is None else _aim(into), value) if isinstance(value, str) else None


def _press(value: Any, into: Any) -> Step | None:
    return Step("press", None, value) if isinstance(value, str) and (value in KEYS or len(value) == 1) else None


def _scroll(value: Any, into: Any) -> Step:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return Step("scroll", None, float(value))
    return Step("scroll", _aim(value))


def _wait(value: Any, into: Any) -> Step | None:
    if isinstance(value, str):
        return Step("wait", None, value)
    return Step("wait", None, float(value)) if _seconds(value) else None


def _dialog(value: Any, into: Any) -> Step | None:
    return Step("dialog", None, value) if isinstance(value, bool | str) else None


_READERS: Mapping[Any, Callable[[Any, Any], Step | None]] = {
    "click": _click, "type": _type, "press": _press, "scroll": _scroll, "wait": _wait, "dialog": _dialog,
}  # fmt: skip
"""The parser for each kind of step, from its value and the element to type into. None: the step is invalid."""
_FURTHER = {"type": {"into"}}
"""Keys that a step may have in addition to its kind."""


def _seconds(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 < value <= 10


def _aim(told: object) -> Aim:
    if isinstance(told, str) and told:
        return Aim(css=told)
    if isinstance(told, Mapping) and all(isinstance(value, str) and value for value in told.values()):
        if set(told) == {"text"}:
            return Aim(text=" ".join(told["text"].split()))
        if "role" in told and set(told) <= {"role", "name"}:
            return Aim(role=told["role"], name=told.get("name", ""))
    raise UsageError(f"{told!r} does not name an element", hint='a CSS selector, {"text": …} or {"role": …, "name": …}')
