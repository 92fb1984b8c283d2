"""`verikit list`."""

from __future__ import annotations

import inspect
import json
from typing import Any, get_args

import click

from verikit.errors import VerikitError
from verikit.registry import Kind, find, registered


@click.command("list")
@click.argument("kind", type=click.Choice(get_args(Kind)), required=False)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def list_(kind: Kind | None, as_json: bool) -> None:
    """List the verifiers and selectors that can stand in a spec: each name with its options and one line of help.

    A name's full text: `python -c "from verikit import registry; help(registry.find('verifiers', 'exact'))"`.
    """
    kinds: tuple[Kind, ...] = (kind,) if kind else get_args(Kind)
    table = {one: {name: _entry(one, name) for name in registered(one)} for one in kinds}
    if as_json:
        click.echo(json.dumps(table, indent=2))
        return
    for title, entries in table.items():
        click.secho(title, bold=True)
        for entry in entries.values():
            click.echo(f"  {entry['call']}")
            click.echo(f"      {entry['help']}")


def _entry(kind: Kind, name: str) -> dict[str, str]:
    try:
        made = find(kind, name)
    except VerikitError as error:
        return {"call": name, "help": str(error)}
    return {"call": name + _options(made), "help": (inspect.getdoc(made) or "").partition("\n\n")[0].replace("\n", " ")}


def _options(made: Any) -> str:
    try:
        signature = inspect.signature(made)
    except (TypeError, ValueError):
        return ""
    parts = []
    for option in signature.parameters.values():
        star = "*" if option.kind is option.VAR_POSITIONAL else ""
        if not option.name.startswith("_"):
            empty = option.default is option.empty or not isinstance(
                option.default, (str, int, float, bool, type(None))
            )
            parts.append(star + option.name + ("" if empty else f"={option.default!r}"))
    return f"({', '.join(parts)})"
