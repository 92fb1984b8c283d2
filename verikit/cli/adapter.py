"""`verikit adapter`."""

from __future__ import annotations

import json
from pathlib import Path

import click

from verikit.adapters.packages import PACKAGES, write_package
from verikit.adapters.stacks import STACKS, shim, stack_of
from verikit.cli.command import GroupedCommand
from verikit.cli.options import map_option
from verikit.errors import UsageError, VerikitError
from verikit.readers.problems import read_problems

_STACK = click.Choice([*STACKS, *PACKAGES])


@click.group()
def adapter() -> None:
    """Use a verifier in another stack, as a reward or as an environment."""


@adapter.command(cls=GroupedCommand)
@click.argument("stack", type=_STACK)
@click.argument("spec")
@click.option("-o", "--out", metavar="PATH", help="File to write (default: stdout), or folder of the package.")
@click.option("--data", metavar="FILE", help="Tasks for a package: verifiers-env, openenv, nemo-gym.")
@click.option("--name", default="", help="Name of the package. Default: the folder's name.")
@map_option
@click.option("--force", is_flag=True, help="Overwrite existing files.")
def write(
    stack: str, spec: str, out: str | None, data: str | None, name: str, mapping: dict[str, str], force: bool
) -> None:
    """Write the file that STACK's configuration can name, with the reward of SPEC, or a package with tasks.

    \b
    verikit adapter write verl "0.9*answer + 0.1*boxed" -o reward.py
    verikit adapter write verifiers-env answer --data sums.jsonl -o sums_env
    """  # noqa: D301 - click reads \b as "don't wrap"
    if stack in PACKAGES:
        if data is None or out is None:
            raise UsageError(
                f"{stack} is a package", hint="this stack needs --data FILE (its tasks) and -o DIR (its folder)"
            )
        next_step = write_package(stack, spec, read_problems(data, mapping), Path(out), name, force=force)
        click.echo(f"written to {out}. To use it:\n{next_step}", err=True)
        return
    if data or name or mapping:
        raise UsageError(f"--data, --name and --map belong to a package: {', '.join(PACKAGES)}")
    text = shim(stack, spec)
    if out is None:
        click.echo(text, nl=False)
        return
    path = Path(out)
    if path.exists() and not force:
        raise UsageError(f"{path} already exists", hint="--force replaces it")
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise VerikitError(f"can't write {path}: {error.strerror}") from None
    click.echo(f"wrote {path}. Its name in the configuration: {stack_of(stack).hook_for(path)}", err=True)


@adapter.command(cls=GroupedCommand)
@click.argument("stack", type=_STACK)
def show(stack: str) -> None:
    """Show how STACK loads a reward, an example call, the return value, and how unscored samples are reported."""
    found = PACKAGES[stack] if stack in PACKAGES else stack_of(stack)
    click.echo(f"{found.tested}\n\nnamed as: {found.hook}\n\npasses, for example:")
    click.echo(json.dumps(found.call, indent=2, ensure_ascii=False))
    click.echo(f"\ntakes: {found.returns}")
    if found.no_score:
        click.echo(f"\nunscored: {found.no_score}")
