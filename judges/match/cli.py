"""`verikit judge`."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

import click

from verikit.cli.command import GroupedCommand, next_step
from verikit.cli.options import (
    by_key_option,
    data_options,
    gold_option,
    limit_option,
    prices_option,
    run_options,
    spent,
    track_option,
    unscored_code,
)
from verikit.judges.match.run import BATCH
from verikit.judges.match.session import MatchSession, MatchSettings
from verikit.judges.match.show import show
from verikit.names.spec import load
from verikit.platform.terminal import Watch, pace, spending
from verikit.tracking import TrackerSpec, track_run

EXAMPLES = """\b
Examples:
  verikit judge ours.jsonl theirs.jsonl -j "pairwise('openai:http://localhost:8000/v1#judge')"
  verikit judge a.json b.json c.json -j "jury(pairwise('openai:…'), pairwise('openai:…'))" --length-control
  verikit judge pairs.jsonl -j "pairwise('replay:judge.jsonl', prompt='pairwise-label')"
"""


@click.command(
    epilog=EXAMPLES,
    cls=GroupedCommand,
    usual="--judge --out --by-key --gold --map --limit",
    purposes={
        "Judge's reliability": "--labels --canaries",
        "AlpacaEval": "--length-control --gamed --instructions",
    },
)
@click.argument("files", nargs=-1, required=True)
@click.option("-j", "--judge", "spec", required=True, metavar="SPEC", help="A judge, a jury, or any verifier.")
@click.option("-o", "--out", metavar="DIR", help="Output folder. Default: runs/judge-A-B.")
@gold_option
@data_options
@click.option(
    "--labels",
    metavar="FILE",
    help="Known preferences for some prompts: rows with id and label (1, 2, or 0 for a tie).",
)
@partial(limit_option, told="Judge only the first N comparisons.")
@click.option("--batch", type=click.IntRange(1), default=BATCH, show_default=True, help="Comparisons per call.")
@click.option("--length-control", is_flag=True, help="Also win rates at equal lengths.")
@click.option("--gamed", metavar="FILE", help="alpaca_eval's df_gamed.csv, for its form of length control.")
@click.option("--instructions", metavar="FILE", help="AlpacaEval's instructions as a JSON list, to go with --gamed.")
@click.option("--canaries", type=click.IntRange(0), default=0, metavar="N", help="Try ten attacks on N prompts.")
@by_key_option
@prices_option
@track_option
@run_options
def judge(
    files: tuple[str, ...],
    spec: str,
    out: str | None,
    gold: str | None,
    mapping: dict[str, str],
    format_: str | None,
    labels: str | None,
    limit: int | None,
    batch: int,
    length_control: bool,
    gamed: str | None,
    instructions: str | None,
    canaries: int,
    by_key: tuple[str, ...],
    prices: str | None,
    track: list[TrackerSpec],
    fail_over: float,
    resume: bool,
    as_json: bool,
    quiet: bool,
) -> int:
    """Compare the answers of models in FILES: win rates with intervals, and how far the judge can be trusted.

    With several FILES, each contains one model's answers to the same prompts. Three or more models are all compared
    and rated. A single FILE contains pairs (output_1, output_2) or rows with several completions. The folder contains
    verdicts.jsonl (each comparison with the judge's replies in both orders), summary.json and config.json. Run the
    command again to resume an interrupted run and to retry comparisons that failed because of the engine.
    """
    settings = MatchSettings(
        format_, mapping, labels, limit, batch, length_control, gamed, instructions, canaries, gold=gold, keys=by_key
    )
    match = MatchSession(files, load(spec), spec, settings)
    folder = Path(out or f"runs/judge-{'-'.join(match.entrants.answers)}"[:200])
    state: list[tuple[int, int, Mapping[str, float]]] = [(0, len(match.bouts), {})]
    with Watch(quiet=quiet) as watch:
        for note in match.entrants.notes:
            watch.note(note)
        watch.start(lambda seconds: _line(state, seconds))
        summary = match.run(
            folder, restart=not resume, progress=lambda done, of, usage: state.append((done, of, usage))
        )
        if told := spent(state[-1][2], prices, spec):
            watch.note(f"this session: {told}")
        track_run(folder, track, restart=not resume, warn=watch.warn)
        watch.note(f"written to {folder}")
    if as_json:
        click.echo(json.dumps(summary, indent=2, ensure_ascii=False))
    else:
        click.echo("\n".join(show(summary)))
    code = unscored_code(summary["comparisons"] - summary["judged"], summary["comparisons"], fail_over, "verdict")
    next_step("verikit", "report", folder, "--html", f"{folder.resolve().name}.html", quiet=quiet or as_json)
    return code


def _line(state: Sequence[tuple[int, int, Mapping[str, float]]], seconds: float) -> str:
    """The progress line. The second entry of `state` is the earlier session's finished and failed comparisons."""
    done, of, usage = state[-1]
    new = done - state[min(1, len(state) - 1)][0]
    told = spending(usage)
    return pace(done, of, "comparisons", seconds, new=new) + (f", {told}" if told else "")
