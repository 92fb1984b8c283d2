"""Verifiers, judges, selectors, engines and recipes by name. Each is an entry point of verikit or another package.

verikit's own names come from the metadata of the running package, or from pyproject.toml in a source tree. Any package
may add names. A name that two distributions register is rejected, since otherwise metadata alone would decide which
verifier `answer` is.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from importlib.metadata import Distribution, EntryPoint, distributions, entry_points
from inspect import Parameter, signature
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args
from urllib.parse import unquote, urlsplit

from verikit.errors import SpecError, nearest

Kind = Literal["verifiers", "selectors", "engines", "recipes"]
_PACKAGE = Path(__file__).resolve().parents[1]
_ALLOWED: ContextVar[frozenset[str] | None] = ContextVar("_ALLOWED", default=None)
"""The verifiers that specs may name. None: all, and code."""


class Foreign(NamedTuple):
    """A name that another distribution registers."""

    kind: str
    name: str
    value: str
    distribution: str
    """The distribution's name and version."""
    others: tuple[str, ...] = ()
    """The other distributions that register the name. If there are any, the name is rejected."""


@cache
def registered(kind: Kind) -> dict[str, EntryPoint]:
    """All registered names of a kind, sorted. verikit's entry wins if several distributions register a name."""
    return dict(sorted(_entries(kind).items()))


def tables() -> dict[str, EntryPoint]:
    """The other tables of `verikit list`: by kind, a function that gives each name with a line of help.

    Raises:
        SpecError: Two distributions register the same table.
    """
    found = _entries("tables")
    for name in found:
        _check_single("tables", name)
    return found


def answer_families() -> dict[str, EntryPoint]:
    """The rare answer families, sorted by name. Each entry is a `verikit.answers.extra.Extra`.

    Raises:
        SpecError: Two distributions register the same family.
    """
    found = _entries("answer_families")
    for name in found:
        _check_single("answer_families", name)
    return dict(sorted(found.items()))


def find(kind: Kind, name: str) -> Callable[..., Any]:
    """Load the object registered under a name.

    Raises:
        SpecError: The name is not registered (the hint lists the nearest names), the object can't be imported, or two
            distributions register the name.
    """
    entries = registered(kind)
    if name not in entries:
        hint = nearest(name, entries, f"`verikit list {kind}` shows all names")
        raise SpecError(f"{kind.removesuffix('s')} {name!r} not found", hint=hint)
    _check_single(kind, name)
    check_allowed(name, kind)
    try:
        loaded: Callable[..., Any] = entries[name].load()
    except (ImportError, AttributeError) as error:
        raise SpecError(f"{name} is registered as {entries[name].value}, which can't be imported: {error}") from error
    return loaded


@contextmanager
def allowed(verifiers: Collection[str]) -> Iterator[None]:
    """Load only these verifiers within the block, and no code, because the author of a spec is not trusted."""
    outer = _ALLOWED.get()
    inner = frozenset(verifiers)
    token = _ALLOWED.set(inner if outer is None else inner & outer)
    try:
        yield
    finally:
        _ALLOWED.reset(token)


def check_allowed(told: str, kind: Kind | Literal["code"] = "code") -> None:
    """Refuse code, or a name, that is not allowed here.

    Raises:
        SpecError: It is not allowed.
    """
    names = _ALLOWED.get()
    if names is not None and (kind != "verifiers" or told not in names):
        raise SpecError(f"a spec in a row can't name {told!r}")


def foreign() -> list[Foreign]:
    """All names, of all kinds, that distributions other than verikit register."""
    found = []
    for kind in (*get_args(Kind), "tables"):
        own = _own(kind)
        others = _of_others(kind, own)
        entries = [*own.values(), *others]
        for entry in others:
            labels = {_label(other) for other in entries if other.name == entry.name} - {_label(entry)}
            found.append(Foreign(kind, entry.name, entry.value, _label(entry), tuple(sorted(labels))))
    return found


def version() -> str:
    """The version of the running package."""
    own = _distributions()
    return own[0].version if own else str(_project().get("version", "unknown"))


def requirements() -> list[str]:
    """The requirements of the running package, by extra."""
    own = _distributions()
    return list((own[0].requires if own else None) or [])


def _entries(kind: str) -> dict[str, EntryPoint]:
    own = _own(kind)
    return {entry.name: entry for entry in _of_others(kind, own)} | own


def _check_single(kind: str, name: str) -> None:
    entries = _claims(kind).get(name, [])
    labels = list(dict.fromkeys(map(_label, entries))) if len(entries) > 1 else []
    if len(labels) > 1:
        raise SpecError(
            f"{name} is registered by {' and by '.join(labels)} (entry points verikit.{kind}), so it is not used",
            hint="uninstall all but one of these packages. `verikit doctor` lists the names that packages register",
        )


@cache
def _claims(kind: str) -> dict[str, list[EntryPoint]]:
    """The entries that register each name, verikit's first."""
    own = _own(kind)
    found: dict[str, list[EntryPoint]] = {}
    for entry in (*own.values(), *_of_others(kind, own)):
        found.setdefault(entry.name, []).append(entry)
    return found


def _own(kind: str) -> dict[str, EntryPoint]:
    """The entries of a kind that verikit itself registers."""
    group = f"verikit.{kind}"
    if own := _distributions():
        return {entry.name: entry for found in reversed(own) for entry in found.entry_points if entry.group == group}
    table = _project().get("entry-points", {}).get(group, {})
    return {name: EntryPoint(name, value, group) for name, value in table.items()}


def _of_others(kind: str, own: Mapping[str, EntryPoint]) -> list[EntryPoint]:
    """The entries of other distributions. The first counts if a distribution is on the path twice, as with imports."""
    found = entry_points(group=f"verikit.{kind}")
    named = {id(entry.dist): entry.dist for entry in found if entry.dist is not None}
    verikits = {key for key, distribution in named.items() if _named_verikit(distribution)}
    # Without its distribution, the conflicting package can't be named, so verikit's own entry is used.
    return [e for e in found if (e.name not in own if e.dist is None else id(e.dist) not in verikits)]


def _distributions() -> list[Distribution]:
    """The metadata of the running package. Other versions' metadata may be on the path as well.

    A copy of the package without metadata uses the metadata of the installed verikit.
    """
    found = [each for each in distributions(name="verikit") if _named_verikit(each)]
    own = [each for each in found if _PACKAGE in _places(each)]
    return own or ([] if _project() else found[:1])


def _places(distribution: Distribution) -> Iterator[Path]:
    """The folders that may contain a distribution's package: next to its metadata, or of an editable installation."""
    yield Path(str(distribution.locate_file("verikit"))).resolve()
    try:
        url = json.loads(distribution.read_text("direct_url.json") or "{}")["url"]
        folder = re.sub(r"^/(?=[A-Za-z]:)", "", unquote(urlsplit(url).path))  # file:///C:/… on Windows
        yield Path(folder, "verikit").resolve()
    except (ValueError, KeyError, TypeError, AttributeError):
        return


@cache
def _project() -> Mapping[str, Any]:
    """The project table of the source tree if the package runs from a tree that is not installed. Otherwise empty."""
    try:
        table = tomllib.loads((_PACKAGE.parent / "pyproject.toml").read_text("utf-8")).get("project", {})
    except (OSError, ValueError):
        return {}
    return table if table.get("name") == "verikit" else {}


def _named_verikit(distribution: Distribution) -> bool:
    return _stated(distribution, "Name").lower() == "verikit"


def _label(entry: EntryPoint) -> str:
    """The distribution of an entry, for messages."""
    if entry.dist is None:
        return f"verikit {version()}" if entry.value.startswith("verikit.") else "an unknown distribution"
    name = _stated(entry.dist, "Name") or "a distribution without a name"
    return f"{name} {_stated(entry.dist, 'Version')}".rstrip()


def _stated(distribution: Distribution, name: str) -> str:
    """A field of a distribution's metadata. Empty if it is missing."""
    try:
        metadata = distribution.metadata  # parsed anew each time
        return str(metadata[name]) if name in metadata else ""
    except FileNotFoundError:
        return ""


def misfit(make: Callable[..., Any], args: Sequence[Any], options: Mapping[str, Any]) -> tuple[str, str]:
    """The arguments that the callee does not accept, and how to fix the call. Both are empty if it accepts all."""
    try:
        taken = signature(make).parameters
    except (TypeError, ValueError):
        return "", ""
    positional = _of_kinds(taken, Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
    named = _of_kinds(taken, Parameter.KEYWORD_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
    available = f"its options are {', '.join(named)}" if named else "it has no options"
    unknown = [] if _of_kinds(taken, Parameter.VAR_KEYWORD) else [name for name in options if name not in named]
    if unknown:
        return f"option {unknown[0]!r} not found", nearest(unknown[0], named, available)
    if len(args) > len(positional) and not _of_kinds(taken, Parameter.VAR_POSITIONAL):
        return f"{len(args)} values where {len(positional)} fit", available
    missing, hint = _missing(taken, named, {*positional[: len(args)], *options})
    return (missing, hint) if missing else _mistyped(make, {**dict(zip(positional, args, strict=False)), **options})


def _mistyped(make: Callable[..., Any], given: Mapping[str, Any]) -> tuple[str, str]:
    strings = (name for name, value in given.items() if isinstance(value, str) and numeric_type(make, name))
    name = next(strings, "")
    return (f"option {name!r} must be {numeric_type(make, name)}, got {given[name]!r:.80}" if name else "", "")


def numeric_type(make: Callable[..., Any], option: str) -> str:
    """Return the type of an option that can only be numbers, true, false or None. Empty if it is another.

    Only verikit's own annotations count: another author's function may convert a string itself.
    """
    if not str(getattr(make, "__module__", "")).startswith("verikit."):
        return ""
    try:
        declared = signature(make).parameters[option].annotation
    except (TypeError, ValueError, KeyError):
        return ""
    told = declared.__name__ if isinstance(declared, type) else str(declared)
    return told if {part.strip() for part in told.split("|")} <= {"int", "float", "bool", "None"} else ""


def _of_kinds(taken: Mapping[str, Parameter], *kinds: Any) -> list[str]:
    return [name for name, parameter in taken.items() if parameter.kind in kinds]


def _missing(taken: Mapping[str, Parameter], named: Sequence[str], given: set[str]) -> tuple[str, str]:
    missing = [name for name in named if taken[name].default is Parameter.empty and name not in given]
    return (f"it needs {' and '.join(missing)}", "`verikit list`") if missing else ("", "")
