"""`verikit list`."""

from __future__ import annotations

import inspect
import json
import re
import textwrap
from collections.abc import Mapping
from typing import Any, get_args

import click

from verikit.cli.options import json_option
from verikit.errors import SpecError, UsageError, VerikitError
from verikit.names.option_docs import options
from verikit.names.registry import Kind, find, registered, tables
from verikit.names.spec import import_object, names_object


@click.command("list")
@click.argument("what", metavar="[KIND|NAME]", required=False)
@json_option
def list_(what: str | None, as_json: bool) -> None:
    """List what there is, by kind: verifiers, selectors, engines, recipes, retrievers, tasks, adapters.

    With a KIND only that; with a NAME (or `package.module:Name`, `file.py:Name`) all it says of itself, and what each
    of its options means.
    """
    kinds: tuple[str, ...] = get_args(Kind)
    if what is None:
        _print({kind: _kind(kind) for kind in (*kinds, "retrievers", "tasks", "adapters")}, as_json)
    elif what in kinds or what in tables():
        _print({what: _kind(what)}, as_json)
    else:
        found = _named(what)
        if as_json:
            click.echo(json.dumps([_explained(kind, made) for kind, made in found], indent=2))
            return
        click.echo("\n\n".join(_page(what, kind, made) for kind, made in found))


def _print(shown: dict[str, dict[str, dict[str, str]]], as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps(shown, indent=2))
        return
    for kind, entries in shown.items():
        click.secho(_heading(kind, entries), bold=True)
        for entry in entries.values():
            click.echo(f"  {entry['call']}")
            click.echo(f"      {entry['help']}")


def _heading(kind: str, names: Mapping[str, object]) -> str:
    """A kind; of verifiers also how many score by themselves, and how many combine or guard others."""
    if kind != "verifiers":
        return kind
    combining = sum(combines(name) for name in names)
    return f"verifiers ({len(names) - combining}, and {combining} that combine or guard verifiers)"


def combines(name: str) -> bool:
    """Whether a registered verifier is made from others: a function that takes verifiers."""
    try:
        made = find("verifiers", name)
    except VerikitError:
        return False
    if inspect.isclass(made) or not inspect.isfunction(made):
        return False
    return any(re.search(r"\b(?:Part|Verifier)\b", str(taken)) for taken in inspect.signature(made).parameters.values())


def _kind(kind: Any) -> dict[str, dict[str, str]]:
    if kind in get_args(Kind):
        return {name: _entry(kind, name) for name in registered(kind)}
    try:
        return {name: {"call": name, "help": line} for name, line in tables()[kind].load()().items()}
    except ImportError as error:
        return {
            kind: {
                "call": f"({kind})",
                "help": f"needs {(error.name or kind).partition('.')[0]}: pip install 'verikit[eval]'",
            }
        }


def _entry(kind: Kind, name: str) -> dict[str, str]:
    try:
        made = find(kind, name)
    except VerikitError as error:
        return {"call": name, "help": str(error)}
    help_ = _doc(made).partition("\n\n")[0].replace("\n", " ")
    if kind == "recipes":  # they are configured, not called
        return {"call": name, "help": help_}
    taken = (option.name + (f"={option.default}" if option.default else "") for option in options(made))
    return {"call": f"{name}({', '.join(taken)})", "help": help_}


def _named(name: str) -> list[tuple[str, Any]]:
    """Everything that goes by a name: a verifier and a selector may share one."""
    if names_object(name):
        return [("", import_object(name))]
    kinds: tuple[Kind, ...] = get_args(Kind)
    found: list[tuple[str, Any]] = [(kind, find(kind, name)) for kind in kinds if name in registered(kind)]
    if not found:
        try:
            find("verifiers", name)
        except SpecError as error:
            hint = error.hint if "did you mean" in (error.hint or "") else "`verikit list` shows all names"
            raise UsageError(f"nothing is called {name!r}", hint=hint) from None
    return found


def _doc(made: Any) -> str:
    owner = getattr(made, "__self__", made)  # of OpenAI.from_spec: the class
    return inspect.getdoc(owner) or ""


def _explained(kind: str, made: Any) -> dict[str, Any]:
    listed = [option._asdict() for option in options(_takes(made))]
    return {"kind": kind, "help": _doc(made), "options": listed}


def _takes(made: Any) -> Any:
    """What an object's options are those of: a recipe's are its settings' table."""
    return getattr(made, "Options", made)


def _page(name: str, kind: str, made: Any) -> str:
    lines = [f"{name} ({kind})" if kind else name, "", _doc(made)]
    if listed := options(_takes(made)):
        lines += ["", "options:"]
        for option in listed:
            lines += [f"  {option}", *([textwrap.indent(option.meaning, "      ")] if option.meaning else [])]
    return "\n".join(lines)
