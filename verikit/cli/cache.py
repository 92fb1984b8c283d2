"""`verikit cache`."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path
from typing import Any

import click

from verikit.cli.command import GroupedCommand, next_note
from verikit.cli.options import json_option
from verikit.engines.cache import Cache, default_path


@click.group(invoke_without_command=True)
@click.option(
    "--path", type=click.Path(path_type=Path), help="Cache file. Default: VERIKIT_CACHE or the user's cache folder."
)
@json_option
@click.pass_context
def cache(context: click.Context, path: Path | None, as_json: bool) -> None:
    """Show the contents of the generation cache, by engine."""
    context.obj = Cache(path or default_path())
    if context.invoked_subcommand is None:
        found = examine(context.obj)
        if as_json:
            click.echo(json.dumps(found, indent=2))
            return
        click.echo(f"{found['path']}: {found['entries']} generations, {found['bytes'] / 2**20:.1f} MB")
        for engine, count in found["engines"].items():
            click.echo(f"  {count:>8}  {engine}")
        next_note("nothing to do" if found["entries"] else "nothing to do: the cache is empty. --cache fills it")


@cache.command(cls=GroupedCommand)
@click.option("--engine", default="", metavar="NAME", help="Only this engine's, as `verikit cache` names it.")
@click.option(
    "--unused-days", type=click.FloatRange(0), default=0.0, help="Delete only entries that were unused for N days."
)
@click.pass_obj
def clear(stored: Cache, engine: str, unused_days: float) -> None:
    """Delete generations."""
    count = 0
    if Path(stored.path).exists():
        with closing(stored.connect()) as connection:
            count = stored.clear(connection, engine=engine, unused_days=unused_days)
    click.echo(f"{count} generation{'s' * (count != 1)} deleted")
    none = "nothing to do: no generation matched. Without `clear`, the command lists the engines"
    next_note("nothing to do" if count else none)


def examine(stored: Cache) -> dict[str, Any]:
    """Return path, number of entries, bytes in use, and entries by engine; a missing file is an empty cache."""
    if not Path(stored.path).exists():
        return {"path": str(stored.path), "entries": 0, "bytes": 0, "engines": {}}
    with closing(stored.connect()) as connection:
        engines = dict(connection.execute("SELECT engine, count(*) FROM generations GROUP BY engine ORDER BY engine"))
        size = stored.size(connection)
    return {"path": str(stored.path), "entries": sum(engines.values()), "bytes": size, "engines": engines}
