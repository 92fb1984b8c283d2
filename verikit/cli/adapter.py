"""`verikit adapter`."""

from __future__ import annotations

import json
from pathlib import Path

import click

from verikit.adapters.stacks import STACKS, shim, stack_of
from verikit.errors import UsageError, VerikitError

_STACK = click.Choice(list(STACKS))


@click.group()
def adapter() -> None:
    """Use a verifier in another stack, as a reward or as an environment."""


@adapter.command()
@click.argument("stack", type=_STACK)
@click.argument("spec")
@click.option("-o", "--out", metavar="FILE", help="The file to write; default: stdout.")
@click.option("--force", is_flag=True, help="Replace a file that is there.")
def write(stack: str, spec: str, out: str | None, force: bool) -> None:
    """Write the file that STACK's configuration can name, with the reward of SPEC.

    \b
    verikit adapter write verl "0.9*answer + 0.1*boxed" -o reward.py
    """  # noqa: D301 - click reads \b as "don't wrap"
    text = shim(stack, spec)
    if out is None:
        click.echo(text, nl=False)
        return
    path = Path(out)
    if path.exists() and not force:
        raise UsageError(f"{path} is there already", hint="--force replaces it")
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise VerikitError(f"can't write {path}: {error.strerror}") from None
    click.echo(f"written to {path}; name it as {stack_of(stack).hook}", err=True)


@adapter.command()
@click.argument("stack", type=_STACK)
def show(stack: str) -> None:
    """Show how STACK names a reward, what it then passes, by example, what it takes back, and what has no score."""
    found = stack_of(stack)
    click.echo(f"{found.tested}\n\nnamed as: {found.hook}\n\npasses, for example:")
    click.echo(json.dumps(found.call, indent=2, ensure_ascii=False))
    click.echo(f"\ntakes: {found.returns}")
    if found.no_score:
        click.echo(f"\nno score: {found.no_score}")
