"""`verikit adapter`."""

from __future__ import annotations

import json
import shlex
from functools import partial
from pathlib import Path

import click

from verikit.adapters.harbor import HARBOR, IMAGE, write_tasks
from verikit.adapters.packages import PACKAGES, write_package
from verikit.adapters.stacks import STACKS, shim, stack_of
from verikit.cli.command import GroupedCommand, NameChoice, next_note, next_step, stdout_as_none
from verikit.cli.options import limit_option, map_option
from verikit.errors import UsageError, VerikitError
from verikit.platform.terminal import quantity
from verikit.readers.problems import read_problems

_PACKAGES = {**PACKAGES, "harbor": HARBOR}
"""Stacks that need a folder with tasks."""
_STACK = NameChoice([*STACKS, *_PACKAGES], "`verikit list` shows all stacks")


@click.group()
def adapter() -> None:
    """Use a verifier in another stack, as a reward or as an environment."""


@adapter.command(cls=GroupedCommand)
@click.argument("stack", type=_STACK, metavar="STACK")
@click.argument("spec")
@click.option(
    "-o",
    "--out",
    metavar="PATH",
    callback=stdout_as_none,
    help="File to write (default: stdout), or folder of the package.",
)
@click.option("--data", metavar="FILE", help="Tasks for a package: verifiers-env, openenv, nemo-gym, harbor.")
@click.option("--name", default="", help="Name of the package. Default: the folder's name.")
@click.option("--image", default=IMAGE, metavar="IMAGE", help="Base image for tasks of harbor, with its digest.")
@map_option
@partial(limit_option, told="Write only the first N tasks of --data.")
@click.option("--force", is_flag=True, help="Overwrite existing files.")
def write(
    stack: str,
    spec: str,
    out: str | None,
    data: str | None,
    name: str,
    image: str,
    mapping: dict[str, str],
    limit: int | None,
    force: bool,
) -> None:
    """Write the file that STACK's configuration can name, with the reward of SPEC, or a package with tasks.

    `verikit list adapters` shows the stacks.

    \b
    verikit adapter write verl "0.9*answer + 0.1*boxed" -o reward.py
    verikit adapter write verifiers-env answer --data sums.jsonl -o sums_env
    verikit adapter write harbor "files(exist=['a.csv'])" --data rows.jsonl -o tasks
    """  # noqa: D301 - click reads \b as "don't wrap"
    if stack in _PACKAGES and (data is None or out is None):
        raise UsageError(
            f"{stack} is a package", hint="this stack needs --data FILE (its tasks) and -o DIR (its folder)"
        )
    if image != IMAGE and stack != "harbor":
        raise UsageError("--image belongs to harbor")
    if stack == "harbor":
        _write_harbor(spec, str(data), limit, Path(str(out)), name, image, mapping, force)
        return
    if stack in PACKAGES:
        problems = read_problems(str(data), mapping, limit)
        use = write_package(stack, spec, problems, Path(str(out)), name, force=force)
        click.echo(f"written to {out}. To use it:\n{use}", err=True)
        return
    if data or name or mapping or limit:
        raise UsageError(f"--data, --name, --map and --limit belong to a package: {', '.join(_PACKAGES)}")
    text = shim(stack, spec)
    if out is None:
        click.echo(text, nl=False)
        next_note("write it to a file with -o FILE, and name that file in the stack's configuration")
        return
    path = Path(out)
    if path.exists() and not force:
        raise UsageError(f"{path} already exists", hint="--force replaces it")
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise VerikitError(f"can't write {path}: {error.strerror}") from None
    click.echo(f"written to {path}", err=True)
    next_note(f"name it in the stack's configuration: {stack_of(stack).hook_for(path)}")


def _write_harbor(
    spec: str, data: str, limit: int | None, out: Path, name: str, image: str, mapping: dict[str, str], force: bool
) -> None:
    folder = str(Path(data).resolve().parent) if Path(data).is_file() else None
    written = write_tasks(spec, read_problems(data, mapping, limit), folder, out, name, image, force=force)
    told = [quantity(len(written.names), "task"), f"{written.solved} with a solution"]
    if written.repeated:
        told.append(f"{written.repeated} rows are further trials of them")
    hook = HARBOR.hook.replace("DIR", shlex.quote(str(out)))
    click.echo(f"written to {out}: {', '.join(told)}. To use them:\n{hook}", err=True)


@adapter.command(cls=GroupedCommand)
@click.argument("stack", type=_STACK, metavar="STACK")
def show(stack: str) -> None:
    """Show how STACK loads a reward, an example call, the return value, and how unscored samples are reported.

    `verikit list adapters` shows the stacks.
    """
    found = _PACKAGES[stack] if stack in _PACKAGES else stack_of(stack)
    click.echo(f"{found.tested}\n\nnamed as: {found.hook}\n\npasses, for example:")
    click.echo(json.dumps(found.call, indent=2, ensure_ascii=False))
    click.echo(f"\ntakes: {found.returns}")
    if found.no_score:
        click.echo(f"\nunscored: {found.no_score}")
    data = ["--data", "FILE"] if stack in _PACKAGES else []
    next_step("verikit", "adapter", "write", stack, "SPEC", *data, "-o", "FOLDER" if data else _file_of(stack))


def _file_of(stack: str) -> str:
    """An example of a file's name: JSON for a grader that a service runs, otherwise a module."""
    return "grader.json" if stack.startswith("openai-grader") else "reward.py"
