"""`verikit mcp`."""

from __future__ import annotations

from pathlib import Path

import click

from verikit.cli.command import GroupedCommand
from verikit.errors import MissingExtra, UsageError


@click.command(cls=GroupedCommand)
@click.option(
    "--root",
    metavar="FOLDER",
    type=click.Path(path_type=Path),
    help="Folder with files that may be audited. Default: file audits are off.",
)
@click.option("--spec", "named", multiple=True, metavar="NAME=SPEC", help="Name for a verifier of any kind.")
@click.option("--any-spec", is_flag=True, help="Let clients use any spec. A spec can run code on this machine.")
@click.option(
    "--deadline",
    type=click.FloatRange(0, min_open=True),
    default=60.0,
    show_default=True,
    help="Timeout per call, in seconds.",
)
@click.option(
    "--memory-mb",
    type=click.IntRange(0),
    default=2048,
    show_default=True,
    help="Memory limit of a scoring process. 0: unlimited.",
)
@click.option(
    "--workers", type=click.IntRange(1, 64), default=2, show_default=True, help="Number of scoring processes."
)
@click.option(
    "--max-file-mb",
    type=click.FloatRange(0, min_open=True),
    default=256.0,
    show_default=True,
    help="Largest file to audit, in MiB.",
)
def mcp(
    root: Path | None,
    named: tuple[str, ...],
    any_spec: bool,
    deadline: float,
    memory_mb: int,
    workers: int,
    max_file_mb: float,
) -> None:
    """Offer score, explain, audit and list_verifiers to a coding assistant, by the Model Context Protocol on stdio.

    A client may combine verifiers that only read text. It may use other verifiers (code, judges, custom ones) only if
    --spec names them.

    \b
    verikit mcp --root data
    verikit mcp --spec tests=code --spec house=my_rules.py:house
    """  # noqa: D301 - click reads \b as "don't wrap"
    try:
        from verikit.mcp.server import McpSettings, serve
    except ImportError as error:
        raise MissingExtra(f"the MCP server (no {error.name})", "mcp") from None
    settings = McpSettings(root, _named(named), any_spec, deadline, memory_mb or None, workers, max_file_mb)
    serve(settings, lambda: click.echo("verikit: serving MCP on stdin and stdout", err=True))


def _named(pairs: tuple[str, ...]) -> dict[str, str]:
    """Return the specs by name. A plain name is its own spec.

    Raises:
        UsageError: A pair is invalid, or a name is given twice.
    """
    found: dict[str, str] = {}
    for pair in pairs:
        name, sign, spec = pair.partition("=")
        name, spec = (name.strip(), spec.strip()) if sign and name.strip().isidentifier() else (pair.strip(),) * 2
        if not name.isidentifier() or not spec:
            raise UsageError(f"{pair!r} is not NAME=SPEC", hint="--spec house=my_rules.py:house")
        if name in found:
            raise UsageError(f"--spec names {name!r} twice")
        found[name] = spec
    return found
