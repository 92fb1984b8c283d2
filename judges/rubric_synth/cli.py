"""`verikit synth rubric`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import click

from verikit.cli.command import GroupedCommand, next_step
from verikit.cli.options import limit_option, map_option, quiet_option, read_options
from verikit.engines.load import load_engine
from verikit.errors import SchemaError
from verikit.judges.match.labels import Label, read_labels
from verikit.judges.rubric_synth.pipeline import REPORT, RUBRIC, RubricSynthesis, synthesise_rubric
from verikit.names.spec import load
from verikit.platform.terminal import stages_shown
from verikit.readers import read
from verikit.types import Group


@click.command(
    cls=GroupedCommand,
    usual="--engine --judge --verifier --labels --out --limit",
    purposes={"Criteria": "--most --temperature --judge-option"},
)
@click.argument("candidates", type=click.Path(path_type=Path))
@click.option("-e", "--engine", required=True, metavar="ENGINE", help="Model that proposes criteria.")
@click.option("--judge", required=True, metavar="ENGINE", help="Model that decides which candidates meet a criterion.")
@click.option(
    "-v",
    "--verifier",
    "spec",
    default="answer",
    show_default=True,
    help="Verifier that decides which candidates are right.",
)
@click.option("--labels", metavar="FILE", help="Rows of id, index and label, used instead of a verifier.")
@click.option("-o", "--out", required=True, type=click.Path(path_type=Path), metavar="DIR", help="Output folder.")
@click.option(
    "--most", type=click.IntRange(1), default=24, show_default=True, help="Maximum number of criteria to judge."
)
@click.option(
    "--temperature", type=click.FloatRange(0), default=0.7, show_default=True, help="Temperature of proposals."
)
@click.option(
    "--judge-option", "options", multiple=True, metavar="KEY=VALUE", help="Option of the verifier rubric: asks=3, …"
)
@click.option("--seed", type=int, default=0, show_default=True, help="Random seed.")
@map_option
@partial(limit_option, told="Read only the first N questions.")
@click.option("--batch", type=click.IntRange(1), default=32, show_default=True, help="Questions per call.")
@quiet_option
def rubric(
    candidates: Path,
    engine: str,
    judge: str,
    spec: str,
    labels: str | None,
    out: Path,
    options: tuple[str, ...],
    mapping: dict[str, str],
    limit: int | None,
    quiet: bool,
    **settings: Any,
) -> None:
    """Make a rubric from CANDIDATES of which some are right and some wrong.

    A model proposes criteria from a third of the questions. A judge applies them to the candidates of the other
    questions. On the second third, criteria are kept that separate right from wrong candidates, and get their points.
    On the last third the rubric is measured. OUT/rubric.json is for the verifier rubric, OUT/report.json has the
    results. Run the command again to resume.

    \b
    verikit synth rubric sampled.jsonl -e openai:http://localhost:8000/v1#big --judge openai:http://localhost:8000/v1#judge -o made
    verikit score new.jsonl -v "rubric('openai:http://localhost:8000/v1#judge', rubric='made/rubric.json')"
    """  # noqa: D301, E501 - click reads \b as "don't wrap"
    groups, bad = _groups(candidates, mapping, limit)
    truth: Any = load(spec) if labels is None else read_labels(labels, pairs=False)
    proposer = load_engine(engine)
    parts = RubricSynthesis(proposer, judge, truth, read_options(options), **settings)
    config = {
        "candidates": str(candidates), "count": len(groups), "proposer": proposer.identity, "judge": judge,
        "options": dict(parts.options), "truth": _truth(truth, labels), "seed": parts.seed,
        "most": parts.most, "temperature": parts.temperature,
    }  # fmt: skip
    with stages_shown(quiet=quiet) as progress:
        report = synthesise_rubric(groups, out, parts, config, progress)
    click.echo(json.dumps(report, indent=2))
    kept = report["criteria"]["kept"]
    skipped = f" {bad} bad rows were skipped." if bad else ""
    click.echo(f"{kept} criteria in {out / RUBRIC}. Results in {out / REPORT}.{skipped}", err=True)
    next_step("verikit", "score", "FILE", "-v", f"rubric({judge!r}, rubric={str(out / RUBRIC)!r})", quiet=quiet)


def _groups(path: Path, mapping: Mapping[str, str], limit: int | None) -> tuple[list[Group], int]:
    """The questions of a file, and the number of bad rows among them, each of which is named on stderr."""
    groups: list[Group] = []
    bad = 0
    for found in read(str(path), mapping=mapping):
        if isinstance(found, SchemaError):
            bad += 1
            click.echo(str(found), err=True)
        elif limit is None or len(groups) < limit:
            groups.append(found)
        else:
            break
    return groups, bad


def _truth(truth: Any, labels: str | None) -> Any:
    """What decides which candidates are right, as the folder remembers it."""
    if labels is None:
        return truth.fingerprint
    known: Mapping[tuple[str, int], Label] = truth
    return [labels, len(known), sum(label.value for label in known.values())]
