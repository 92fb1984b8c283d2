"""`verikit list`."""

from __future__ import annotations

import inspect
import json
import re
import shutil
import sys
import textwrap
from collections.abc import Sequence
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any, NotRequired, TypedDict, cast, get_args

import click

from verikit.cli.command import GroupedCommand, next_note
from verikit.cli.options import json_option
from verikit.errors import SpecError, UsageError, VerikitError, nearest
from verikit.names.option_docs import options
from verikit.names.registry import Foreign, Kind, find, foreign, registered, tables
from verikit.names.spec import import_object, names_object

LISTED = Path(__file__).with_name("listed.json")
"""The lines of verikit's own names, as `python -m tests.stubs` writes them: to load all of them takes seconds."""


class ListedName(TypedDict):
    """The list's entry for a name."""

    call: str
    help: str
    job: NotRequired[str]
    """Purpose of a built-in verifier, a heading of docs/verifiers.md."""
    combines: NotRequired[bool]
    """Whether a verifier combines other verifiers."""


@click.command("list", cls=GroupedCommand)
@click.argument("what", metavar="[KIND|NAME]", required=False)
@json_option
def list_(what: str | None, as_json: bool) -> None:
    """List parts of verikit by kind: verifiers, selectors, engines, recipes, retrievers, tasks, adapters.

    With a KIND, list only that. With a NAME (or `package.module:Name`, `file.py:Name`), explain it and each of its
    options.
    """
    kinds: tuple[str, ...] = get_args(Kind)
    if what is None:
        others = foreign()
        _print({kind: lines(kind, others) for kind in (*kinds, "retrievers", "tasks", "adapters")}, as_json)
    elif what in kinds or what in tables():
        _print({what: lines(what)}, as_json)
    else:
        _explain(what, as_json)


def _explain(name: str, as_json: bool) -> None:
    """Print the documentation of a name. A task, an adapter or a retriever has only its line."""
    tabled = {kind: {name: listed[name]} for kind in tables() if name in (listed := lines(kind))}
    if tabled and not any(name in registered(kind) for kind in get_args(Kind)):
        _print(tabled, as_json, _USES.get(next(iter(tabled)), "`verikit list` shows all names").format(name=name))
        return
    found = _named(name)
    if as_json:
        click.echo(json.dumps([_explained(kind, made) for kind, made in found], indent=2))
        return
    click.echo("\n\n".join(_page(name, kind, made) for kind, made in found))
    next_note("`verikit list` shows all names. `verikit COMMAND --help` shows where a spec goes")


_USES = {
    "tasks": "verikit eval {name} --model MODEL",
    "adapters": "verikit adapter show {name}",
    "retrievers": "verikit index search {name} QUERY",
}
"""The command that uses a name of a table."""


def _print(
    shown: dict[str, dict[str, ListedName]],
    as_json: bool,
    note: str = "`verikit list NAME` explains one, with its options",
) -> None:
    if as_json:
        click.echo(json.dumps(shown, indent=2))
        return
    for kind, listed in shown.items():
        click.secho(_heading(kind, listed), bold=True)
        for job, names in _by_job(listed).items():
            indent = "  "
            if job:
                click.echo(f"  {job}")
                indent = "    "
            width = max(map(len, names))
            for name in names:
                click.echo(_fitting(f"{indent}{name:{width}}  {listed[name]['help']}"))
    next_note(note)


def _by_job(listed: dict[str, ListedName]) -> dict[str, list[str]]:
    """Group names by purpose, in the order of docs/verifiers.md. Those of other packages come last."""
    groups: dict[str, list[str]] = {job: [] for job in _listed()["jobs"]}
    for name, line in listed.items():
        groups.setdefault(line.get("job", ""), []).append(name)
    return {job: names for job, names in groups.items() if names}


def _fitting(line: str) -> str:
    """Cut a line to the terminal's width, or return it whole if the output is not a terminal."""
    width = shutil.get_terminal_size().columns
    terminal = sys.stdout is not None and sys.stdout.isatty()
    return f"{line[: width - 1]}…" if terminal and len(line) > width else line


def _heading(kind: str, listed: dict[str, ListedName]) -> str:
    """Return a kind's heading. For verifiers it counts those that score and those that combine or guard others."""
    if kind != "verifiers":
        return kind
    combining = sum(line.get("combines", False) for line in listed.values())
    return f"verifiers ({len(listed) - combining}, and {combining} that combine or guard verifiers)"


def combines(name: str) -> bool:
    """Whether a registered verifier combines others: a function that takes verifiers."""
    try:
        made = find("verifiers", name)
    except VerikitError:
        return False
    if inspect.isclass(made) or not inspect.isfunction(made):
        return False
    return any(re.search(r"\b(?:Part|Verifier)\b", str(taken)) for taken in inspect.signature(made).parameters.values())


@cache
def _listed() -> dict[str, Any]:
    return cast("dict[str, Any]", json.loads(LISTED.read_text("utf-8")))


def lines(kind: str, others: Sequence[Foreign] | None = None) -> dict[str, ListedName]:
    """The line of each name of a kind. Only what other packages register is loaded.

    Args:
        kind: A kind of names, or a table.
        others: What `foreign` returns, which reads the metadata of every installed package.
    """
    ours: dict[str, ListedName] = _listed().get(kind, {})
    if kind not in get_args(Kind):
        return ours if tables()[kind].value.startswith("verikit.") else _table(kind)
    refused = {name.name for name in (foreign() if others is None else others) if name.others}
    return {
        name: ours[name]
        if name in ours and entry.value.startswith("verikit.") and name not in refused
        else line_of(cast("Kind", kind), name)
        for name, entry in registered(cast("Kind", kind)).items()
    }


def _table(kind: str) -> dict[str, ListedName]:
    try:
        return {name: {"call": name, "help": line} for name, line in tables()[kind].load()().items()}
    except ImportError as error:
        return {kind: {"call": f"({kind})", "help": f"can't be imported: {error}"}}


def line_of(kind: Kind, name: str) -> ListedName:
    """The line of a name, from the object itself."""
    try:
        made = find(kind, name)
    except VerikitError as error:
        return {"call": name, "help": str(error)}
    help_ = _doc(made).partition("\n\n")[0].replace("\n", " ")
    if kind == "recipes":  # they are configured, not called
        return {"call": name, "help": help_}
    taken = (option.name + (f"={option.default}" if option.default else "") for option in options(made))
    line: ListedName = {"call": f"{name}({', '.join(taken)})", "help": help_}
    if kind == "verifiers":
        line["combines"] = combines(name)
    return line


def _named(name: str) -> list[tuple[str, Any]]:
    """Return everything that has a name. A verifier and a selector may share one."""
    if names_object(name):
        return [("", import_object(name))]
    kinds: tuple[Kind, ...] = get_args(Kind)
    found: list[tuple[str, Any]] = [(kind, find(kind, name)) for kind in kinds if name in registered(kind)]
    if not found:
        try:
            find("verifiers", name)
        except SpecError as error:
            hint = error.hint if "did you mean" in (error.hint or "") else "`verikit list` shows all names"
            names = [*kinds, *tables(), *chain.from_iterable(map(registered, kinds)), *chain(*map(lines, tables()))]
            raise UsageError(f"name {name!r} not found", hint=nearest(name, names, hint)) from None
    return found


def _doc(made: Any) -> str:
    owner = getattr(made, "__self__", made)  # of OpenAI.from_spec: the class
    return inspect.getdoc(owner) or ""


def _explained(kind: str, made: Any) -> dict[str, Any]:
    listed = [option._asdict() for option in options(_takes(made))]
    return {"kind": kind, "help": _doc(made), "options": listed}


def _takes(made: Any) -> Any:
    """Return the object whose options are listed. For a recipe it is the table of its settings."""
    return getattr(made, "Options", made)


def _page(name: str, kind: str, made: Any) -> str:
    lines = [f"{name} ({kind})" if kind else name, "", _doc(made)]
    if listed := options(_takes(made)):
        lines += ["", "options:"]
        for option in listed:
            lines += [f"  {option}", *([textwrap.indent(option.meaning, "      ")] if option.meaning else [])]
    return "\n".join(lines)
