"""`verikit env`."""

from __future__ import annotations

import json
import os
import shlex
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import islice
from pathlib import Path
from typing import IO, Any

import click

from verikit.cli.command import GroupedCommand, next_note, next_step, stdout_as_none
from verikit.cli.env_audit import audit_
from verikit.cli.env_changes import compare_, fix_
from verikit.cli.options import Command, json_option, limit_option, map_option, parse_share
from verikit.env import Agreement, Rollout, check, play, play_ors, read, tasks
from verikit.env.agreement import TOLERANCE, Disagreement
from verikit.env.harbor import is_task
from verikit.errors import SchemaError, UsageError, with_hint
from verikit.platform.terminal import pass_or_fail, printable
from verikit.readers import rows

WORSE = 4
"""Exit code if fewer results are equal than required."""


def _share(context: click.Context, parameter: click.Parameter, value: str | None) -> float | None:
    return None if value is None else parse_share(context, parameter, value)


def _out_option(command: Command) -> Command:
    """Add `-o`, `--out`: a file instead of stdout."""
    return click.option(
        "-o",
        "--out",
        metavar="FILE",
        type=click.Path(path_type=Path),
        callback=stdout_as_none,
        help="JSON lines file. Default: stdout.",
    )(command)


def _answer_option(command: Command) -> Command:
    """Add `--answer`, as `gold`."""
    return click.option(
        "--answer", "gold", metavar="KEY", help="Field with the gold answer. Default: the usual names."
    )(command)


@click.group()
def env() -> None:
    """Read and audit environments of other stacks, and check a verifier against their rewards."""


env.add_command(audit_)
env.add_command(compare_)
env.add_command(fix_)


@env.command("read", cls=GroupedCommand)
@click.argument("source")
@_out_option
@click.option("--force", is_flag=True, help="Overwrite an existing file.")
@click.option("--tasks", "only_tasks", is_flag=True, help="Import only the tasks of a file, without rollouts.")
@click.option("--split", metavar="NAME", help="Split of the server's tasks. Default: the server's first.")
@_answer_option
@limit_option
def read_(
    source: str,
    out: Path | None,
    force: bool,
    only_tasks: bool,
    split: str | None,
    gold: str | None,
    limit: int | None,
) -> int:
    """Write the rollouts or the tasks of SOURCE as rows that verikit reads.

    SOURCE is a file of NeMo-Gym's or verifiers' rollouts, a folder of Harbor's tasks or trials, the address of an
    OpenEnv or ORS server, or verifiers:NAME (an installed environment, whose code runs).

    \b
    verikit env read rollouts.jsonl -o rows.jsonl
    verikit env read tasks/hello-world
    verikit env read http://localhost:8000 --split test
    """  # noqa: D301 - click reads \b as "don't wrap"
    return _written(islice(_rows(source, only_tasks, split, gold), limit), out, force)


def _written(items: Iterable[Rollout | dict[str, Any] | SchemaError], out: Path | None, force: bool) -> int:
    """Write rows, report skipped ones, and return the exit code."""
    if out is not None and out.is_file() and not force:
        raise UsageError(f"{out} already exists", hint="--force replaces it")
    count = bad = rewarded = 0
    with _target(out) as target:
        for item in items:
            if isinstance(item, SchemaError):
                bad += 1
                click.echo(printable(f"skipped: {with_hint(str(item), item.hint)}"), err=True)
                continue
            count += 1
            row = item.row() if isinstance(item, Rollout) else item
            rewarded += "reward" in row
            target.write(json.dumps(row, ensure_ascii=True, default=str) + "\n")
    click.echo(f"{count} rows" + (f", {bad} skipped" if bad else "") + (f", in {out}" if out else ""), err=True)
    _suggest(count, rewarded, str(out or "FILE"))
    return 1 if bad and not count else 0


def _suggest(count: int, rewarded: int, file: str) -> None:
    if not count:
        next_note("check that SOURCE contains rollouts or tasks: no row was written")
    elif rewarded:
        next_step("verikit", "env", "check", file, "SPEC")
    else:
        next_step("verikit", "sample", "ENGINE", file)


@contextmanager
def _target(out: Path | None) -> Iterator[IO[str]]:
    """Yield stdout, or a file that gets its name once complete. After a failure the partial file is kept next to it.

    Devices and pipes are opened directly.

    Raises:
        UsageError: The file can't be written.
    """
    if out is None:
        yield sys.stdout
        return
    beside = not out.exists() or out.is_file()
    part = Path(f"{out}.part") if beside else out
    try:
        stream = part.open("w", encoding="utf-8")
    except OSError as error:
        raise UsageError(f"can't write {out}: {(error.strerror or str(error)).lower()}") from None
    try:
        with stream:
            yield stream
        if beside:
            os.replace(part, out)
    except BaseException:
        if not beside:
            pass
        elif part.stat().st_size:
            click.echo(f"rows read so far are in {part}", err=True)
        else:
            part.unlink()
        raise


def _rows(
    source: str, only_tasks: bool, split: str | None, gold: str | None
) -> Iterable[Rollout | dict[str, Any] | SchemaError]:
    path = Path(source)
    elsewhere = source.startswith(("http://", "https://", "verifiers:"))
    if only_tasks or elsewhere or (path.is_dir() and is_task(path)):
        return tasks(source, split=split)
    return read(source, gold=gold)


@env.command("play", cls=GroupedCommand)
@click.argument("address")
@click.argument("file")
@_out_option
@click.option("--force", is_flag=True, help="Overwrite an existing file.")
@click.option("--field", help="Field for the completion. In the action: message. In the tool's input: answer.")
@click.option("--tool", metavar="NAME", help="ADDRESS is an ORS server. Its tool NAME takes the answer.")
@limit_option
def play_(
    address: str,
    file: str,
    out: Path | None,
    force: bool,
    field: str | None,
    tool: str | None,
    limit: int | None,
) -> int:
    """Send the completions of FILE to an OpenEnv or ORS server, and write them with the server's rewards.

    A row has a completion, and index, seed, split, task_id or episode_id for the server's reset. An ORS server uses
    index and split.

    \b
    verikit env play http://localhost:8000 completions.jsonl -o rollouts.jsonl
    verikit env check rollouts.jsonl answer
    """  # noqa: D301 - click reads \b as "don't wrap"
    completions = islice(_completions(file), limit)
    if tool is not None:
        return _written(play_ors(address, completions, tool=tool, field=field or "answer"), out, force)
    return _written(play(address, completions, field=field or "message"), out, force)


def _completions(file: str) -> Iterator[dict[str, Any] | SchemaError]:
    """Yield the rows of a file. An invalid row, or one without a completion, is yielded as its error."""
    for name, line, row in rows(file):
        if isinstance(row, SchemaError) or row.get("completion") is not None:
            yield row
        else:
            hint = f"the row has {', '.join(map(str, list(row)[:12]))}"
            yield SchemaError("is missing", file=name, line=line, field="completion", hint=hint)


@env.command("check", cls=GroupedCommand)
@click.argument("source")
@click.argument("spec")
@_answer_option
@click.option(
    "--with", "with_", metavar="FILE", help="Your rows or NeMo-Gym tasks, for fields missing from the rollouts."
)
@partial(map_option, told="Keys of your rows in --with: prompt=problem, answer=sum, id=uid.")
@click.option(
    "--tolerance",
    default=TOLERANCE,
    show_default=True,
    type=click.FloatRange(0),
    help="Largest reward difference that still counts as equal.",
)
@click.option("--examples", default=5, show_default=True, type=click.IntRange(0), help="Number of differences to show.")
@click.option(
    "--fail-under", metavar="SHARE", callback=_share, help="Exit with 4 if fewer rewards are equal, such as 95%."
)
@limit_option
@json_option
def check_(
    source: str,
    spec: str,
    gold: str | None,
    with_: str | None,
    mapping: dict[str, str],
    tolerance: float,
    examples: int,
    fail_under: float | None,
    limit: int | None,
    as_json: bool,
) -> int:
    """Score the stored rollouts of SOURCE by SPEC, and compare with the rewards of their environment.

    \b
    verikit env check rollouts.jsonl "choice()"
    verikit env check outputs/run/traces.jsonl answer --fail-under 95%
    verikit env check outputs/run answer --with sums.jsonl
    """  # noqa: D301 - click reads \b as "don't wrap"
    if mapping and with_ is None:
        raise UsageError("--map names keys of the file that --with gives", hint="add --with FILE")
    found = check(source, spec, gold=gold, tasks=with_, mapping=mapping, tolerance=tolerance, limit=limit)
    if as_json:
        click.echo(json.dumps(found.as_dict(), ensure_ascii=True))
    else:
        _show(found, examples)
    next_note(_next(source, spec, found), quiet=as_json)
    if as_json and found.share is None:
        click.echo(_NOT_COMPARED, err=True)
    if found.share is None:
        return 1
    return WORSE if fail_under is not None and found.share < fail_under else 0


def _next(source: str, spec: str, found: Agreement) -> str:
    if found.share is None:
        return _NOT_COMPARED
    if found.unreadable:
        return "correct the unreadable rollouts, then compare again"
    if found.share == 1 and not found.unscored:
        return "nothing to do: all rewards are equal"
    rows = f"`verikit env read {shlex.quote(source)} -o rows.jsonl`"
    explain = f"`verikit explain rows.jsonl -v {shlex.quote(spec)}`"
    return f"{rows} writes rows for {explain}, which explains a score"


_NOT_COMPARED = "0 rollouts compared: SOURCE needs rollouts with rewards that SPEC can score"


def _show(found: Agreement, examples: int) -> None:
    share = f" ({100 * found.share:.1f} %)" if found.share is not None else ""
    click.echo(pass_or_fail(f"equal: {found.equal} of {found.compared}{share}", float(found.share == 1)))
    for name, items, mark in (("different", found.differ, 0.0), ("without a score here", found.unscored, None)):
        if items:
            click.echo(pass_or_fail(f"{name}: {len(items)}", mark))
            for item in items[:examples]:
                click.echo(printable(f"  {_told(item)}"))
    if found.unrewarded:
        where, why = found.unrewarded[0]
        click.echo(printable(f"without a reward there: {len(found.unrewarded)} (the first, {where}: {why})"))
    if found.unreadable:
        first = found.unreadable[0]
        told = printable(with_hint(str(first), first.hint))
        click.echo(f"unreadable: {len(found.unreadable)}. First: {told}")


def _told(item: Disagreement) -> str:
    value = item.score.status if item.score.value is None else f"{item.score.value:g}"
    return f"{item.where}: rewarded {item.reward:g}, here {value}: {item.score.reason}"[:300]
