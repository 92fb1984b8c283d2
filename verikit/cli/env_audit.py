"""`verikit env audit`."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from importlib.metadata import version
from pathlib import Path

import click

from verikit.cli.command import GroupedCommand, NameChoice, next_note, next_step
from verikit.cli.gates import GateResult, gate_code
from verikit.cli.options import json_option, limit_option, parse_share, quiet_option, resume_option
from verikit.env.audit import AuditSums, TaskRecord, audit_tasks
from verikit.env.audit.checks import EVERY_CHECK, kinds
from verikit.env.audit.fix import fix_environments
from verikit.env.audit.formats import FORMATS
from verikit.env.audit.page import AuditPage
from verikit.env.audit.report import REPORT, Examples, ReportFile, report_lines, terminal_lines
from verikit.env.audit.seal import seal_audit
from verikit.errors import UsageError, nearest, with_hint
from verikit.platform.folders import refuse_links
from verikit.platform.terminal import Watch, pace, pass_or_fail, printable


def _parse_limits(context: click.Context, parameter: click.Parameter, value: tuple[str, ...]) -> dict[str, float]:
    """Read `--fail-on CHECK[.KIND][=SHARE]` options (a click callback)."""
    limits: dict[str, float] = {}
    for text in value:
        name, _, share = text.partition("=")
        if not kinds(name) and name not in ("error", "not_run"):
            known = ["all", "error", "not_run", *EVERY_CHECK]
            raise click.BadParameter(with_hint(f"check {name!r} not found", nearest(name, known)))
        limits[name] = parse_share(context, parameter, share or "0")
    return limits


@click.command(
    "audit",
    cls=GroupedCommand,
    usual="--run --out --fail-on --format --examples --json",
    purposes={"Running checks": "--seconds", "Rows": "--spec", "Signature": "--sign"},
)
@click.argument("folder", type=click.Path(exists=True))
@click.option("--run", is_flag=True, help="Also run each task's solution and tests in the sandbox.")
@click.option(
    "--seconds",
    default=60.0,
    show_default=True,
    type=click.FloatRange(1, 3600),
    help="Time limit of each check of --run on each task.",
)
@click.option("--spec", metavar="SPEC", default="", help="Spec that grades rows, instead of their `checks`.")
@click.option(
    "-o", "--out", metavar="FOLDER", type=click.Path(path_type=Path), help="Folder for the report, needed to resume."
)
@click.option(
    "--fail-on",
    "limits",
    multiple=True,
    metavar="CHECK[.KIND][=SHARE]",
    callback=_parse_limits,
    help="Exit with 4 if more tasks than SHARE (0%) fail: a check, a kind of finding, all, error, not_run. Repeat it.",
)
@click.option("--format", "only", type=NameChoice(FORMATS), help="Look for this format only.")
@click.option(
    "--junit", metavar="FILE", type=click.Path(path_type=Path, dir_okay=False), help="Write the gates as JUnit XML."
)
@click.option("--html", metavar="FILE", type=click.Path(path_type=Path, dir_okay=False), help="Write one HTML page.")
@click.option(
    "--sign",
    metavar="KEY",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="Sign the manifest of --out with an ssh key, as `verikit verify --sign` does.",
)
@click.option("--examples", default=5, show_default=True, type=click.IntRange(0), help="Findings shown per check.")
@partial(limit_option, told="Audit only the first N tasks.")
@resume_option
@json_option
@quiet_option
def audit_(
    folder: str,
    run: bool,
    seconds: float,
    spec: str,
    out: Path | None,
    limits: dict[str, float],
    only: str | None,
    junit: Path | None,
    html: Path | None,
    sign: Path | None,
    examples: int,
    limit: int | None,
    resume: bool,
    as_json: bool,
    quiet: bool,
) -> int:
    """Check the environments in FOLDER for problems. Without --run, none of their files is imported or run.

    Formats: Harbor tasks, OpenEnv, verifiers packages, NeMo-Gym servers, and rows with workspaces (FOLDER may be their
    file). The spec of rows is in their key checks, unless --spec gives one.

    schema: fields and files of the format. declared: paths that the tests read are collected. mode: place and order
    of grading. reach: expected values visible to the agent. pins: versions and digests. judge: the judge model is
    pinned. alike: duplicate tasks, also between the folders train and test. A check that can't decide is "not run",
    and the report names the missing input.

    With --run, the solution and the tests of Harbor tasks run in two sandbox boxes, offline. For rows, a spec grades
    the files of the key oracle instead. Verifiers packages and NeMo-Gym servers grade their expected values. oracle:
    the solution gets the full reward. nop, floor: unsolved tasks get no reward. replay, portable: rewards repeat, also
    on another machine. tamper: forged files get no reward. mutants: wrong outputs lose the reward. honest: equivalent
    outputs keep it. resources: time and memory.

    \b
    verikit env audit tasks/
    verikit env audit tasks/ --run --seconds 120 -o runs/audit
    verikit env audit tasks/ -o runs/audit --fail-on schema --fail-on mode.exit --fail-on pins=10%
    verikit env audit rows.jsonl --run --spec "files(exist=['total.txt'])"
    """  # noqa: D301 - click reads \b as "don't wrap"
    if sign and not out:
        raise UsageError("--sign signs the manifest of --out", hint="-o FOLDER")
    if out:
        refuse_links(out)  # the manifest at the end refuses them too
    sums, shown, page = AuditSums(), Examples(examples), AuditPage()
    with ExitStack() as stack:
        seen = TaskProgress()
        stack.enter_context(Watch(quiet=quiet)).start(seen.describe)
        report = stack.enter_context(ReportFile(out)) if out else None
        found = audit_tasks(
            folder, keep=out, resume=resume, only=only or "", run=run, seconds=seconds, spec=spec, limit=limit,
            begun=seen.begin,
        )  # fmt: skip
        records = _seen(found, seen, [shown, page] if html else [shown])
        try:
            for piece in report_lines(folder, records, sums, version("verikit")):
                if report:
                    report.write(piece)
                if as_json:
                    sys.stdout.write(piece)
        except KeyboardInterrupt:
            click.echo(_interrupted(out), err=True)
            raise
    if html:
        page.write(html, folder, sums)
    if not as_json:
        click.echo("\n".join(terminal_lines(sums, shown)))
        if out:
            click.echo(f"The report is {out / REPORT}")
    code = gate_code(list(_gates(sums, limits, shown)), junit, "env audit")
    if out:  # at the end, because --html and --junit may write into the folder
        seal_audit(out, folder, sums.digest, sign, [page for page in (html, junit) if page])
    if not (quiet or as_json):
        _suggest(folder, sums, run=run)
    return code


def _suggest(folder: str, sums: AuditSums, *, run: bool) -> None:
    if sums.unsettled["error"] and not sums.failing:
        next_note("correct the tasks that could not be checked")
    elif run and sums.statuses["oracle"]["not_run"] and not sums.failing:
        next_note("no check fails. The report names what the checks that were not run need")
    elif not sums.failing:
        next_note("nothing to do: no check fails")
    elif _fixable(folder, sums):
        next_step("verikit", "env", "fix", folder, "-o", "fix.patch")
    else:
        next_note("correct the tasks that fail, then check them again")


def _fixable(folder: str, sums: AuditSums) -> bool:
    """Whether `verikit env fix` would write a patch. It is looked for only if a check fails that it could correct."""
    if not Path(folder).is_dir() or not any(sums.statuses[name]["fail"] for name in ("declared", "mode", "pins")):
        return False
    try:
        return any(patch.diff for patch in fix_environments(folder))
    except OSError:
        return False


def _interrupted(out: Path | None) -> str:
    if out is None:
        return "Interrupted: use -o FOLDER to save tasks"
    return f"Interrupted: audited tasks are saved in {out}. Run the command again to resume"


def _seen(
    records: Iterator[TaskRecord], progress: TaskProgress, takers: Sequence[Examples | AuditPage]
) -> Iterator[TaskRecord]:
    for record in records:
        progress.done += 1
        for taker in takers:
            taker.add(record)
        yield record


class TaskProgress:
    """The number of tasks that were audited."""

    def __init__(self) -> None:
        self.done, self._of, self._began = 0, 0, time.monotonic()

    def begin(self, tasks: int) -> None:
        """Start an audit of `tasks` tasks."""
        self._of, self._began = tasks, time.monotonic()

    def describe(self, seconds: float) -> str:
        """One line: `120 of 480 tasks (25%), 95/s, 0:03 left`."""
        return pace(self.done, self._of or None, "tasks", time.monotonic() - self._began)


def _gates(sums: AuditSums, limits: dict[str, float], shown: Examples) -> Iterator[GateResult]:
    """Each `--fail-on` as a gate, and one for tasks that could not be read. JUnit also gets the examples."""
    for name, share in ({"error": 0.0} | limits).items():
        found = _counted(sums, name)
        allowed = f"{100 * share:.4g}%"
        told = f"{name}: {found} of {sums.tasks} tasks, --fail-on allows {allowed}"
        passed = found <= share * sums.tasks
        if not passed:  # without the examples, which are above
            click.echo(pass_or_fail(printable(told), 0.0), err=True)
        yield GateResult(f"{name} at most {allowed}", told, passed, () if passed else shown.of(name), said=True)


def _counted(sums: AuditSums, name: str) -> int:
    """How many tasks fail a check, have a kind of finding or have a check with a status."""
    if name in sums.unsettled:
        return sums.unsettled[name]
    if name == "all":
        return sums.failing
    check, _, kind = name.partition(".")
    return sums.kinds[check, kind] if kind else sums.statuses[check]["fail"]
