"""`verikit report`."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import click

from verikit.cli.command import GroupedCommand, next_note, next_step
from verikit.cli.options import by_key_option
from verikit.errors import UsageError, VerikitError, with_hint
from verikit.platform.folders import refuse_links
from verikit.report import SAMPLES, Options
from verikit.report import report as page
from verikit.report.compare import SideBySide, collect_all
from verikit.report.export import TABLES, files, text
from verikit.report.kinds import inspect_logs, kind_of, read_json, runs_in, slices_of
from verikit.report.model import Run
from verikit.scoring.show import show
from verikit.scoring.sums import verify


@click.command(
    cls=GroupedCommand,
    usual="--html --by-key --out --markdown --svg --json",
    purposes={
        "Input": "--data --samples",
        "Output": "--inspect --inspect-format",
    },
)
@click.argument("runs", nargs=-1, required=True, metavar="RUN...", type=click.Path(path_type=Path))
@click.option("--html", metavar="FILE", type=click.Path(path_type=Path, dir_okay=False), help="Write one HTML page.")
@click.option("--data", multiple=True, metavar="FILE", help="Files with the scored text, if they were moved.")
@click.option(
    "--samples",
    type=click.IntRange(1),
    default=SAMPLES,
    show_default=True,
    help="Samples per run on the page.",
)
@by_key_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON: a summary per run.")
@click.option("--csv", is_flag=True, help="Write tables and the numbers behind charts as CSV.")
@click.option("--latex", is_flag=True, help="Write tables in LaTeX, for booktabs.")
@click.option("--markdown", is_flag=True, help="Write tables in Markdown, for a CI job summary.")
@click.option("--svg", is_flag=True, help="Write charts as SVG, for a paper.")
@click.option("--pdf", is_flag=True, help="Write charts as PDF. Requires the extra pdf.")
@click.option(
    "--inspect",
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="Write runs of eval as inspect logs, one per task.",
)
@click.option(
    "--inspect-format",
    type=click.Choice(["json", "eval"]),
    default="json",
    show_default=True,
    help="Format of these logs.",
)
@click.option(
    "-o",
    "--out",
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="Folder for the files. Default: print the tables.",
)
def report(
    runs: tuple[Path, ...],
    html: Path | None,
    data: tuple[str, ...],
    samples: int,
    by_key: tuple[str, ...],
    as_json: bool,
    inspect: Path | None,
    inspect_format: str,
    out: Path | None,
    **wanted: bool,
) -> None:
    """Show finished runs: score and judge runs in the terminal, runs of all kinds as an HTML page.

    The page is a single file and works offline. Several runs appear side by side. Files for a paper are named by run
    and content: candidates-metrics.tex, candidates-over-k.pdf. Without -o, --csv prints the headline metrics.

    \b
    verikit report runs/candidates
    verikit report runs/before runs/after --html compare.html --by-key category
    verikit report runs/before runs/after --latex --pdf -o paper/
    """  # noqa: D301 - click reads \b as "don't wrap"
    formats = [name for name, chosen in wanted.items() if chosen]
    if out is not None and not formats:
        raise click.UsageError("-o requires a file format: --csv, --latex, --markdown, --svg or --pdf")
    options = Options(data, samples, by_key)
    if html is not None:
        _write(html, page(runs, options))
        next_note(f"open {html} in a browser")
    if formats:
        _export(*collect_all(runs, options), formats, out)
    if inspect is not None:
        _write_logs([run for path in runs for run in runs_in(path)], inspect, archives=inspect_format == "eval")
    if formats or html is not None or inspect is not None:
        return
    found = dict(_summaries(runs, ("score", "judge"), options))
    if as_json:
        click.echo(json.dumps({name: summary for name, (summary, _) in found.items()}, indent=2, ensure_ascii=False))
        return
    for name, (summary, config) in found.items():
        click.secho(name, dim=True)
        click.echo("\n".join(_lines(summary, config)))
    next_step("verikit", "report", *runs, "--html", "report.html")


def _lines(summary: dict[str, Any], config: dict[str, Any]) -> Iterator[str]:
    """Return a run as its command shows it. The core finds the layer of judges by name."""
    if "verifier" in config:
        return show(summary, config)
    lines: Iterator[str] = import_module("verikit.judges.match.show").show(summary)
    return lines


def _summaries(paths: Sequence[Path], kinds: Sequence[str], options: Options) -> Iterator[tuple[str, tuple[Any, Any]]]:
    """Yield each run's folder with its summary and configuration. Unusable runs in a folder of runs are only reported.

    Raises:
        UsageError: A folder is not a finished run of these kinds, or can't be sliced by the keys of the options.
    """
    for path in paths:
        for run in runs_in(path):
            try:
                refuse_links(run)
                verify(run)
                kind = kind_of(run)
                if kind is not None and kind.name not in kinds:
                    raise UsageError(
                        f"{run} is a run of `verikit {kind.name}`, which is shown as a page",
                        hint=f"verikit report {shlex.quote(str(run))} --html report.html",
                    )
                summary, config = read_json(run, "summary.json"), read_json(run, "config.json")
                if options.keys:
                    summary["slices"] = slices_of(run, summary, config, options)
                yield str(run), (summary, config)
            except UsageError as error:
                if run == path:
                    raise
                click.echo(with_hint(str(error), error.hint), err=True)


def _export(runs: Sequence[Run], together: Sequence[SideBySide], formats: Sequence[str], out: Path | None) -> None:
    """Write files to a folder, or print the tables of one text format.

    Raises:
        UsageError: It is not one text format that would be printed.
    """
    if out is None:
        if len(formats) > 1 or formats[0] not in TABLES:
            raise click.UsageError("--svg, --pdf and multiple formats require -o DIR")
        click.echo(text(runs, together, formats[0]), nl=False)
        return
    count = 0
    try:
        out.mkdir(parents=True, exist_ok=True)
        for name, content in files(runs, together, formats):
            (out / name).write_bytes(content)
            count += 1
    except OSError as error:
        raise VerikitError(f"can't write {error.filename or out}: {error.strerror}") from None
    click.echo(f"{count} files written to {out}", err=True)
    next_note(f"use the tables and pictures in {out}. They need no other files")


def _write_logs(runs: Sequence[Path], out: Path, *, archives: bool) -> None:
    """Write the logs of each run into a folder, in a folder per run if there are several."""
    for run in runs:
        target = out / run.resolve().name if len(runs) > 1 else out
        try:
            target.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise VerikitError(f"can't write {target}: {error.strerror}") from None
        for name, content in inspect_logs(run, archives):
            _write(target / name, content)
    next_step("inspect", "view", "--log-dir", out)


def _write(path: Path, content: bytes) -> None:
    try:
        path.write_bytes(content)
    except OSError as error:
        raise VerikitError(f"can't write {path}: {error.strerror}") from None
    click.echo(f"written to {path} ({len(content) / 2**20:.1f} MB)", err=True)
