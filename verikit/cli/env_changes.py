"""`verikit env compare` and `verikit env fix`."""

from __future__ import annotations

import json
import shlex
from collections import Counter
from pathlib import Path

import click

from verikit.cli.command import GroupedCommand, next_note, stdout_as_none
from verikit.cli.gates import GateResult, gate_code
from verikit.cli.options import json_option
from verikit.env.audit.checks import EVERY_CHECK, kinds
from verikit.env.audit.compare import AuditChange, compare_reports, counts_for, read_report
from verikit.env.audit.fix import fix_environments
from verikit.errors import UsageError, VerikitError, nearest, with_hint
from verikit.platform.secrets import strike
from verikit.platform.terminal import pass_or_fail, printable, quantity

_ORDER = ("worse", "new", "better", "gone")
_VALUES = {"worse": 0.0, "new": 0.0, "better": 1.0, "gone": None}
"""The value whose colour a direction has."""


def _parse_names(context: click.Context, parameter: click.Parameter, value: tuple[str, ...]) -> tuple[str, ...]:
    """Check the names of `--fail-on` (a click callback)."""
    for name in value:
        if not kinds(name) and name not in ("new", "gone"):
            hint = nearest(name, ["all", "new", "gone", *EVERY_CHECK])
            raise click.BadParameter(with_hint(f"check {name!r} not found", hint))
    return value


@click.command("compare", cls=GroupedCommand)
@click.argument("old", type=click.Path(exists=True))
@click.argument("new", type=click.Path(exists=True))
@click.option(
    "--fail-on",
    "names",
    multiple=True,
    metavar="CHECK[.KIND]",
    callback=_parse_names,
    help="Exit with 4 if this got worse or fails in a new task: a check, a kind of finding, all, new, gone. Repeat it.",
)
@click.option("--examples", default=20, show_default=True, type=click.IntRange(0), help="Changes shown per type.")
@json_option
def compare_(old: str, new: str, names: tuple[str, ...], examples: int, as_json: bool) -> int:
    """Compare two reports of `verikit env audit`: OLD and NEW are env-audit.json files or their folders.

    A check is worse if it has a new finding, or if it passed and does not pass now. Changed line numbers do not matter.

    \b
    verikit env compare runs/audit-1 runs/audit-2 --fail-on all
    """  # noqa: D301 - click reads \b as "don't wrap"
    changes = list(compare_reports(read_report(old), read_report(new)))
    counts: Counter[str] = Counter(change.direction for change in changes)
    if as_json:
        told = {name: counts[name] for name in _ORDER}
        click.echo(strike(json.dumps({**told, "changes": [change.as_dict() for change in changes]})))
    else:
        _show(changes, counts, examples)
    found = [(name, sum(counts_for(change, name) for change in changes)) for name in names]
    gates = [
        GateResult(f"{name} is not worse", f"{name}: {quantity(count, 'change')} for the worse", not count)
        for name, count in found
    ]
    code = gate_code(gates, None, "env compare")
    done = "nothing to do: no check got worse and no new task fails"
    next_note("fix the checks that got worse" if counts["worse"] or counts["new"] else done, quiet=as_json)
    return code


def _show(changes: list[AuditChange], counts: Counter[str], examples: int) -> None:
    for direction in _ORDER:
        held = [change for change in changes if change.direction == direction]
        for change in held[:examples]:
            told = ": ".join(part for part in (change.task, change.check, change.what) if part)
            click.echo(pass_or_fail(printable(strike(f"{direction:6} {told}")), _VALUES[direction]))
        if len(held) > examples:
            click.echo(f"{direction:6} {len(held) - examples} more")
    click.echo(", ".join(f"{counts[name]} {name}" for name in _ORDER))


@click.command("fix", cls=GroupedCommand)
@click.argument("folder", type=click.Path(exists=True, file_okay=False))
@click.option(
    "-o",
    "--out",
    metavar="FILE",
    type=click.Path(path_type=Path, dir_okay=False),
    callback=stdout_as_none,
    help="Write the patch here. Default: stdout.",
)
def fix_(folder: str, out: Path | None) -> None:
    """Write a patch for problems in FOLDER that have exactly one fix. FOLDER is not changed.

    The patch declares paths that the tests read, gives the tests a separate box, corrects the reward's path, and pins
    versions from lock files. Review it, then apply it with `patch`.

    \b
    verikit env fix tasks/ -o fix.patch && patch -p1 -d tasks < fix.patch
    """  # noqa: D301 - click reads \b as "don't wrap"
    try:
        patches = [patch for patch in fix_environments(folder) if patch.diff]
    except OSError as error:
        raise UsageError(f"{folder} can't be read: {error.strerror}") from None
    for patch in patches:
        for line in patch.fixed:
            click.echo(printable(f"{patch.task}: {line}"), err=True)
    diff = "".join(patch.diff for patch in patches)
    if out is None:
        click.echo(diff, nl=False)
    else:
        try:
            out.write_text(diff, encoding="utf-8", newline="")
        except OSError as error:
            raise VerikitError(f"can't write {out}: {error.strerror}") from None
    click.echo(f"Patches for {quantity(len(patches), 'environment')}. The folder is unchanged.", err=True)
    next_note(_next(folder, diff, out))


def _next(folder: str, diff: str, out: Path | None) -> str:
    if not diff:
        return "nothing to do: no problem has exactly one fix"
    if out is None:
        return "write the patch to a file with -o FILE, and review it"
    # In a subfolder of a repository, `git apply` would silently skip files that the patch names from there.
    return f"review {out}, then run `patch -p1 -d {shlex.quote(folder)} < {shlex.quote(str(out))}`"
