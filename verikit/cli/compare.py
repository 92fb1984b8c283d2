"""`verikit compare`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from verikit.base import unique_names
from verikit.cli.command import GroupedCommand, next_step
from verikit.cli.gates import Floor, GateResult, floor_gate, gate_code, gate_options
from verikit.cli.options import by_key_option, parse_share
from verikit.errors import UsageError
from verikit.report.comparison import ComparedRuns, compare_folders
from verikit.report.difference_text import (
    change_line,
    markdown_comparison,
    show_comparison,
    show_leaderboard,
    show_slices,
)
from verikit.report.differences import RunDifference, as_json
from verikit.report.floors import SHOWN, check_floors
from verikit.report.kinds import runs_in
from verikit.report.slices import slice_records


@click.command(cls=GroupedCommand, usual="--metric --by-key --examples --fail-if-worse --markdown --json")
@click.argument("runs", nargs=-1, required=True, metavar="RUN...", type=click.Path(path_type=Path))
@click.option(
    "--metric",
    default="",
    metavar="NAME",
    help="Metric with a value per question: selected, pass@4, pass^4. Default: the run's own.",
)
@by_key_option
@click.option("--data", multiple=True, metavar="FILE", help="Scored files, if they were moved.")
@click.option(
    "--examples",
    type=click.IntRange(0),
    default=6,
    show_default=True,
    help="Number of changed rows to show, for two runs.",
)
@click.option(
    "--fail-if-worse",
    metavar="POINTS",
    callback=lambda context, parameter, value: None if value is None else parse_share(context, parameter, value),
    help="Exit with 4 if the last run is worse by more than this, with its whole 95% interval: 1pt, 1%, 0.01.",
)
@gate_options
@click.option("--markdown", is_flag=True, help="Print Markdown, for a pull request.")
@click.option("--json", "json_", is_flag=True, help="Print everything as JSON, with all rows that changed.")
def compare(
    runs: tuple[Path, ...],
    metric: str,
    by_key: tuple[str, ...],
    data: tuple[str, ...],
    examples: int,
    fail_if_worse: float | None,
    floors: list[Floor],
    junit: Path | None,
    markdown: bool,
    json_: bool,
) -> int:
    """Compare runs of score or eval on the same questions: significant differences and changed rows.

    Two runs: paired differences, flips both ways, the smallest difference that the number of questions can detect, and
    the rows that changed. Three or more: a leaderboard with the range of ranks that chance allows. Intervals are over
    questions. p-values come from a sign-flip test, corrected for multiple comparisons. Runs of score are paired by
    prompt id.

    \b
    verikit compare runs/eval-base runs/eval-trained
    verikit compare runs/main runs/mine --fail-if-worse 1pt --fail-under 80% --junit compare.xml
    verikit compare runs/small runs/middle runs/large --metric pass@4
    verikit compare runs/main runs/mine --by-key category
    """  # noqa: D301 - click reads \b as "don't wrap"
    folders = [folder for run in runs for folder in runs_in(run)]
    if len(folders) < 2:
        raise UsageError(f"{runs[0]} is one run", hint="give two or more, or a folder of runs")
    names = unique_names(folder.resolve().name for folder in folders)
    found = compare_folders(dict(zip(names, folders, strict=True)), metric, by_key, data)
    pairs, standings = found.differences, found.standings
    if json_:
        click.echo(json.dumps(_plain(found), indent=2, ensure_ascii=False))
    elif markdown:
        click.echo("\n".join(markdown_comparison(standings, pairs, found.slices)))
    else:
        lines = show_leaderboard(standings, pairs) if standings else show_comparison(pairs, examples)
        click.echo("\n".join([*lines, *show_slices(found.slices)]))
    ends = [pair for pair in pairs if (pair.first, pair.second) == (names[0], names[-1])]
    gates = [_gate(pair, fail_if_worse) for pair in ends]
    for name, least in floors:
        gates += [floor_gate(check, names[-1]) for check in check_floors(folders[-1], least, name or metric)]
    code = gate_code(gates, junit, "compare")
    next_step("verikit", "report", *runs, "--html", "compare.html", quiet=json_ or markdown)
    return code


def _plain(found: ComparedRuns) -> dict[str, Any]:
    board = [row._asdict() | {"estimate": row.estimate.as_row()} for row in found.standings]
    told = [{"first": pair.first, "second": pair.second, **as_json(pair.difference)} for pair in found.differences]
    by_key = {"slices": list(slice_records(found.slices))} if found.slices else {}
    return {"leaderboard": board, "differences": told, **by_key}


def _gate(pair: RunDifference, margin: float | None) -> GateResult:
    """Gate on whether the second run is significantly worse by more than the margin. Uncertain losses are reported."""
    first, second, difference = pair
    by = f"{100 * difference.value:+.2f} points (p {difference.p:.3f}, {difference.docs:,} questions)"
    gate = GateResult(
        f"{second} against {first}: {difference.task}", f"{second} less {first} on {difference.task}: {by}"
    )
    if margin is None or -difference.value <= margin:
        return gate
    loss = f"{second} is worse on {difference.task} by {-100 * difference.value:.2f} points"
    loss += f" (95% interval {-100 * difference.high:.2f} to {-100 * difference.low:.2f})"
    loss += f", more than --fail-if-worse allows ({100 * margin:.4g})"
    # The interval's end, not the p-value: that is of a loss above 0, and this one has to be above the margin.
    if difference.high >= -margin:
        least = f"the true loss may be {100 * margin:.4g} or less"
        click.echo(f"{loss}, but that may be chance: {least}. Use more questions to decide.", err=True)
        return gate
    losses = [change for change in difference.changed if change.after < change.before][:SHOWN]
    rows = [change_line(change) for change in losses]
    return gate._replace(told=loss, passed=False, rows=rows)
