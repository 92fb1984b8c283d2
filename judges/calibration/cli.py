"""`verikit calibrate`."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

import click

from verikit.base import unique_names
from verikit.cli.command import GroupedCommand, next_step
from verikit.cli.options import GATE, parse_share
from verikit.errors import UsageError
from verikit.judges.calibration.between import judge_agreement, own_preference
from verikit.judges.calibration.measure import WIDTH, Calibration, calibrate
from verikit.judges.calibration.rows import categories, ids_where
from verikit.judges.calibration.show import advice_line, as_json, show_between, show_calibration
from verikit.judges.calibration.verdicts import JUDGE, RunVerdicts, read_verdicts
from verikit.judges.match.labels import Key, Label, read_labels
from verikit.platform.terminal import pass_or_fail

_RUN = click.Path(path_type=Path, exists=True, file_okay=False)


@click.command(
    name="calibrate",
    cls=GroupedCommand,
    usual="--labels --where --earlier --fail-under --width --json",
    purposes={
        "Labels and runs": "--ranking --exchangeable --own --until",
    },
)
@click.argument("runs", nargs=-1, required=True, metavar="RUN...", type=_RUN)
@click.option("--labels", metavar="FILE", help="Rows with id, index and label. Default: the labels of a judge run.")
@click.option("--ranking", is_flag=True, help="With a score run: the verifier that ranked the candidates (--by).")
@click.option("--earlier", metavar="RUN", type=_RUN, help="Run of an earlier judge, to measure drift.")
@click.option(
    "--where",
    multiple=True,
    metavar="KEY=VALUE",
    callback=lambda context, parameter, value: [_condition(text) for text in value],
    help="Only prompts whose row has this value. Several values must all match.",
)
@click.option("--exchangeable", is_flag=True, help="The judge errs alike in all categories: labels of one correct all.")
@click.option(
    "--until",
    metavar="SHARE",
    callback=lambda context, parameter, value: None if value is None else parse_share(context, parameter, value),
    help="Fit the limits of a cascade: verdicts beyond them agree with at least this share of labels.",
)
@click.option("--own", multiple=True, metavar="RUN=MODEL", help="With runs of several judges: a judge's own model.")
@click.option(
    "--fail-under",
    metavar="SHARE",
    callback=lambda context, parameter, value: None if value is None else parse_share(context, parameter, value),
    help="Exit with 4 if the corrected rate may be below this. Requires an interval no wider than --width.",
)
@click.option(
    "--width",
    default=f"{WIDTH:.0%}",
    show_default=True,
    callback=parse_share,
    metavar="SHARE",
    help="Widest interval to decide by. The advice on labels aims at this width.",
)
@click.option("--json", "json_", is_flag=True, help="Print JSON.")
def calibrate_(
    runs: tuple[Path, ...],
    labels: str | None,
    ranking: bool,
    earlier: Path | None,
    where: list[tuple[str, str]],
    exchangeable: bool,
    until: float | None,
    own: tuple[str, ...],
    fail_under: float | None,
    width: float,
    json_: bool,
) -> int:
    """Measure a judge against labels from a person, and correct its rates for its errors.

    RUN is a folder of score (its verifier is the judge) or of judge. Labels are rows with id, index of the candidate
    (default: 0) and label (right or wrong, or 1, 2 or 0 for a comparison). Optional category and completion fields
    break the errors down. Labels of one category correct only the rate of that category. A prompt's category comes
    from its row in the run's input file. With several RUNs of judge on the same comparisons, the command reports how
    far the judges agree, and with --own whether a judge prefers its own model.

    \b
    verikit calibrate runs/answers --labels labels.jsonl
    verikit calibrate runs/answers --labels labels.jsonl --fail-under 80% --width 10%
    verikit calibrate runs/answers --labels labels.jsonl --where category=geometry
    verikit calibrate runs/cheap --labels labels.jsonl --until 95%
    verikit calibrate runs/judge-gpt runs/judge-claude --own judge-gpt=gpt-mini
    """  # noqa: D301 - click reads \b as "don't wrap"
    path, *others = runs
    if others:
        return _between(runs, where, own, json_)
    run = read_verdicts(path, ranking=ranking)
    known = run.labels if labels is None else read_labels(labels, pairs=run.kind == JUDGE)
    if not known:
        raise UsageError(f"{path} has no labels", hint="--labels FILE, rows of id, index and label")
    before = None if earlier is None else read_verdicts(earlier, ranking=ranking)
    if where:
        every, ids = run.ids, ids_where(path, where)
        run, known = run.of(ids), _labels_of(known, ids, every)
    found = calibrate(
        run,
        known,
        earlier=before,
        width=width,
        categories=categories(path),
        exchangeable=exchangeable,
        until=until,
    )
    click.echo(json.dumps(as_json(found), indent=2) if json_ else "\n".join(show_calibration(found, width)))
    code = 0 if fail_under is None else _gate(found, fail_under, width)
    next_step("verikit", "report", path, "--html", f"{path.resolve().name}.html", quiet=json_)
    return code


def _labels_of(labels: Mapping[Key, Label], ids: Collection[str], every: Collection[str]) -> dict[Key, Label]:
    """The labels of some prompts of a run. Labels of prompts that are not in the run stay, to be reported."""
    return {key: label for key, label in labels.items() if key[0] in ids or key[0] not in every}


def _condition(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not key or not equals:
        raise click.BadParameter(f"{text!r} is not KEY=VALUE, such as category=geometry")
    return key, value


def _gate(found: Calibration, least: float, width: float) -> int:
    """The exit code.

    Raises:
        UsageError: There is no corrected rate, it covers only part of the run, or its interval is wider than `width`.
    """
    if found.advice is None:
        raise UsageError(f"can't decide, the rate is unknown: {found.notes[0]}")
    if found.covered < found.verdicts:
        raise UsageError(
            f"the labels correct {found.covered:,} of {found.verdicts:,} verdicts: {found.notes[0]}",
            hint="--where KEY=VALUE decides by one category",
        )
    if found.corrected[0].width > width:
        raise UsageError(
            f"too few labels to decide: {advice_line(found.advice, width)}",
            hint="label more, or widen --width",
        )
    rate = found.corrected[0]
    if rate.low >= least:
        return 0
    told = f"the corrected rate is {100 * rate.value:.1f} % [{100 * rate.low:.1f}, {100 * rate.high:.1f}]"
    click.echo(pass_or_fail(f"{told}, so it may be below --fail-under ({100 * least:g}%)", 0.0), err=True)
    return GATE


def _between(paths: Sequence[Path], where: Sequence[tuple[str, str]], own: Sequence[str], json_: bool) -> int:
    runs = _verdicts(paths, where)
    if bad := [text for text in own if "=" not in text]:
        raise UsageError(f"{bad[0]!r} is not RUN=MODEL")
    agreements = judge_agreement(runs)
    if not agreements:
        raise UsageError("the runs have no comparison in common", hint="run the judges on the same files")
    preferences = [own_preference(runs, *text.split("=", 1)) for text in own]
    if json_:
        plain = {"agreement": [asdict(row) for row in agreements], "own": [asdict(row) for row in preferences]}
        click.echo(json.dumps(plain, indent=2))
    else:
        click.echo("\n".join(show_between(agreements, preferences)))
    next_step("verikit", "calibrate", paths[0], "--labels", "FILE", quiet=json_)
    return 0


def _verdicts(paths: Sequence[Path], where: Sequence[tuple[str, str]]) -> dict[str, RunVerdicts]:
    """The verdicts of runs by their folders' names, of the rows that `where` selects."""
    names = unique_names(path.resolve().name for path in paths)
    runs = {name: read_verdicts(path) for name, path in zip(names, paths, strict=True)}
    if not where:
        return runs
    return {name: run.of(ids_where(path, where)) for (name, run), path in zip(runs.items(), paths, strict=True)}
