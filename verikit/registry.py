"""Verifiers, judges and selectors by name: everything is an entry point, ours and other packages' alike."""

from __future__ import annotations

from collections.abc import Callable
from difflib import get_close_matches
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Literal

from verikit.errors import SpecError

Kind = Literal["verifiers", "selectors"]


@cache
def registered(kind: Kind) -> dict[str, EntryPoint]:
    """Every registered name of a kind, sorted; where two distributions register one name, ours wins."""
    found: dict[str, EntryPoint] = {}
    for entry in sorted(entry_points(group=f"verikit.{kind}"), key=lambda e: (e.name, e.value)):
        if entry.name not in found or entry.value.startswith("verikit."):
            found[entry.name] = entry
    return found


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
