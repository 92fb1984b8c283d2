"""Verifiers, judges, selectors, engines and recipes by name: each is an entry point, ours and other packages' alike."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from inspect import Parameter, signature
from typing import Any, Literal

from verikit.errors import SpecError

Kind = Literal["verifiers", "selectors", "engines", "recipes"]


@cache
def registered(kind: Kind) -> dict[str, EntryPoint]:
    """Every registered name of a kind, sorted; where two distributions register one name, ours wins."""
    found: dict[str, EntryPoint] = {}
    for entry in sorted(entry_points(group=f"verikit.{kind}"), key=lambda e: (e.name, e.value)):
        if entry.name not in found or entry.value.startswith("verikit."):
            found[entry.name] = entry
    return found


def tables() -> dict[str, EntryPoint]:
    """What else `verikit list` shows: by kind, a function that gives each name with a line of help."""
    return {entry.name: entry for entry in entry_points(group="verikit.tables")}


def find(kind: Kind, name: str) -> Callable[..., Any]:
    """Load what is registered under a name.

    Raises:
        SpecError: nothing is (the hint holds the nearest names), or what is can't be imported.
    """
    entries = registered(kind)
    if name not in entries:
        near = get_close_matches(name, entries, n=3)
        hint = f"did you mean {' or '.join(near)}?" if near else f"`verikit list {kind}` shows all names"
        raise SpecError(f"no {kind.removesuffix('s')} is called {name!r}", hint=hint)
    try:
        loaded: Callable[..., Any] = entries[name].load()
    except (ImportError, AttributeError) as error:
        raise SpecError(f"{name} is registered as {entries[name].value}, which can't be imported: {error}") from error
    return loaded


def misfit(make: Callable[..., Any], args: Sequence[Any], options: Mapping[str, Any]) -> tuple[str, str]:
    """What of a call's arguments the callee does not take, and what to do about it; two empty texts if it takes all."""
    try:
        taken = signature(make).parameters
    except (TypeError, ValueError):
        return "", ""
    kinds = [parameter.kind for parameter in taken.values()]
    positional = [
        name
        for name, parameter in taken.items()
        if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD)
    ]
    named = [
        name
        for name, parameter in taken.items()
        if parameter.kind in (parameter.KEYWORD_ONLY, parameter.POSITIONAL_OR_KEYWORD)
    ]
    if Parameter.VAR_KEYWORD not in kinds and (unknown := [name for name in options if name not in named]):
        near = get_close_matches(unknown[0], named, n=1)
        hint = f"did you mean {near[0]}?" if near else f"its options are {', '.join(named) or 'none'}"
        return f"there is no option {unknown[0]!r}", hint
    if Parameter.VAR_POSITIONAL not in kinds and len(args) > len(positional):
        return f"{len(args)} values where {len(positional)} fit", f"its options are {', '.join(named) or 'none'}"
    given = {*positional[: len(args)], *options}
    missing = [name for name in named if taken[name].default is Parameter.empty and name not in given]
    return (f"it needs {' and '.join(missing)}", "`verikit list`") if missing else ("", "")
