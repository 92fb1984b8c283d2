"""The state of an exception, and a copy with the same: arguments, causes, notes, attributes of Python's classes."""

from __future__ import annotations

import contextlib
import types
from collections.abc import Mapping
from typing import Any

_ROOTS = frozenset({object, BaseException, Exception})


def causes_of(error: BaseException) -> dict[str, BaseException]:
    """The exceptions that it was raised from, by attribute."""
    found = {name: getattr(error, name, None) for name in ("__cause__", "__context__")}
    return {name: cause for name, cause in found.items() if isinstance(cause, BaseException)}


def notes_of(error: BaseException) -> list[str] | None:
    """Its notes, or None."""
    notes = getattr(error, "__notes__", None)
    return [note for note in notes if isinstance(note, str)] if isinstance(notes, list) else None


def fresh(kind: Any, args: tuple[Any, ...]) -> BaseException:
    """An instance of a mirrored class of exceptions, created by the built-in class that it derives from."""
    own: Any = next(base for base in type.mro(kind) if type(base) is type and issubclass(base, BaseException))
    error: BaseException = own.__new__(kind, *args)
    error.args = args
    return error


def members_of(error: BaseException) -> dict[str, Any]:
    """Attributes of Python's own exception classes except the arguments, such as `filename`, `reason` and `code`."""
    found = {}
    for base in _own_classes(error):
        for name in _members(base):
            with contextlib.suppress(AttributeError):  # some are not always there
                value = base.__dict__[name].__get__(error)
                if value is not None:
                    found[name] = value
    return found


def attributes_of(error: BaseException) -> dict[str, Any]:
    """The attributes in an exception's dictionary, except private ones."""
    return {name: value for name, value in BaseException.__getattribute__(error, "__dict__").items() if name[:1] != "_"}


def restore(error: BaseException, state: Mapping[str, Any]) -> None:
    """Give the copy of an exception what `members_of` and `attributes_of` found."""
    members = {name: base.__dict__[name] for base in _own_classes(error) for name in _members(base)}
    for name, value in state.items():
        with contextlib.suppress(AttributeError, TypeError, ValueError):
            if name in members:
                members[name].__set__(error, value)
            elif name.isidentifier() and not name.startswith("_"):
                BaseException.__setattr__(error, name, value)


def _own_classes(error: BaseException) -> list[type]:
    """The classes of an exception that are Python's own, except the root classes."""
    return [base for base in type.mro(type(error)) if base.__module__ == "builtins" and base not in _ROOTS]


def _members(base: type) -> list[str]:
    kinds = types.MemberDescriptorType | types.GetSetDescriptorType
    return [name for name, item in base.__dict__.items() if isinstance(item, kinds) and not name.startswith("_")]
