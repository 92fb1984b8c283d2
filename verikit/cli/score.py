"""`verikit score`."""

from __future__ import annotations

import glob
import json
import os
import re
import shutil
import sys
from collections.abc import Sequence
from contextlib import nullcontext, redirect_stdout
from functools import partial
from itertools import islice, takewhile
from pathlib import Path
from tempfile import TemporaryDirectory

import click

from verikit.cli.command import GroupedCommand, next_note, next_step
from verikit.cli.gates import Floor, GateResult, floor_gate, gate_code, gate_options
from verikit.cli.options import (
    by_key_option,
    format_option,
    gold_option,
    limit_option,
    map_option,
    prices_option,
    run_options,
    spent,
    track_option,
    unscored_code,
)
from verikit.errors import SchemaError, with_hint
from verikit.platform.secrets import strike_all
from verikit.platform.terminal import Watch, printable
from verikit.readers.compressed import ENDINGS
from verikit.report.floors import check_metric, wrong_rows
from verikit.scoring.chunk import ERRORS, SCORES
from verikit.scoring.plan import ScoringPlan
from verikit.scoring.rows import read_rows
from verikit.scoring.run import score_file
from verikit.scoring.show import show
from verikit.scoring.watch import describe
from verikit.tracking import TrackerSpec, track_run

SHOWN = 3
"""Bad rows that are printed."""


def _ks(context: click.Context, parameter: click.Parameter, value: str) -> tuple[int, ...]:
    try:
        ks = tuple(sorted({int(part) for part in value.split(",")}))
    except ValueError:
        ks = (0,)
    if ks[0] < 1:
        raise click.BadParameter(f"must be a list of integers >= 1 such as 1,4,16, got {value!r}")
    return ks


def _jobs(context: click.Context, parameter: click.Parameter, value: str) -> int | str:
    if not value.isdecimal():
        return value
    if int(value) < 1:
        raise click.BadParameter("there must be at least 1")
    return int(value)


@click.command(cls=GroupedCommand, stdout=True, usual="--verifier --by --select --k --out --map")
@click.argument("files", nargs=-1, required=True)
@click.option(
    "-v",
    "--verifier",
    default="answer",
    show_default=True,
    metavar="SPEC",
    help="Verifier that decides which candidates are correct.",
)
@click.option("--by", metavar="SPEC", help="Rank candidates by this score, which ignores the gold answer.")
@click.option(
    "--select", metavar="SPEC", help="Keep one candidate per prompt: best, majority, weighted, first, random."
)
@click.option("--k", "ks", default="1,2,4,8", show_default=True, callback=_ks, help="k of pass@k, maj@k, bon@k.")
@click.option(
    "-o", "--out", metavar="DIR", help="Output folder (default: runs/NAME of the file). - prints scores to stdout."
)
@gold_option
@partial(map_option, told="Key of a field: prompt=problem. In one of several files: FILE:prompt=problem.")
@format_option
@click.option(
    "--jobs", default="1", show_default=True, callback=_jobs, help="Worker processes, or ray, ray:N, or a Ray address."
)
@partial(limit_option, told="Score only the first N rows.")
@click.option("--seed", type=int, default=0, show_default=True, help="Random seed.")
@click.option("--retry-errors", is_flag=True, help="Score unscored candidates again.")
@by_key_option
@prices_option
@track_option
@gate_options
@run_options
def score(
    files: tuple[str, ...],
    verifier: str,
    by: str | None,
    select: str | None,
    ks: tuple[int, ...],
    out: str | None,
    gold: str | None,
    mapping: dict[str, str],
    format_: str | None,
    jobs: int | str,
    limit: int | None,
    seed: int,
    fail_over: float,
    resume: bool,
    retry_errors: bool,
    by_key: tuple[str, ...],
    prices: str | None,
    track: list[TrackerSpec],
    floors: list[Floor],
    junit: Path | None,
    as_json: bool,
    quiet: bool,
) -> int:
    """Score the candidates of FILES (- is stdin), rerank them, and estimate pass@k, maj@k and BoN@k with intervals.

    FILES contain prompts with completions: JSONL, a JSON array, CSV, TSV, parquet or Arrow, plain or compressed. The
    rows are in the format of verikit, lm-eval, OpenAI, TRL, verl or alpaca_eval. Logs of inspect, promptfoo and OpenAI
    evals are read too. Several files, a quoted pattern or a folder are read as one. The run folder contains
    scores.jsonl, summary.json, config.json, errors.jsonl (unreadable rows) and, with --select, selected.jsonl. Run the
    command again to resume an interrupted run.

    \b
    verikit score candidates.jsonl
    verikit score candidates.jsonl -v "0.9*answer + 0.1*boxed" --k 1,4,16 --jobs 8
    verikit score samples.jsonl --by "column('rm')" --select best --map prompt=problem --map completions=candidates
    verikit score batch_output.jsonl --gold problems.jsonl
    verikit score 'shards/*.parquet' --map text=out -o runs/all
    verikit score candidates.jsonl --by-key category --by-key extra_info.level
    verikit score answers.csv chats.jsonl --map answers.csv:prompt=question --map answers.csv:text=reply
    """  # noqa: D301 - click reads \b as "don't wrap"
    plan = ScoringPlan(
        verifier=verifier, by=by, select=select, ks=ks, seed=seed, format=format_, mapping=mapping, gold=gold
    )
    scratch_folder = TemporaryDirectory() if out == "-" else nullcontext("")
    with scratch_folder as scratch, Watch(quiet=quiet) as watch:
        folder = Path(scratch if out == "-" else out or default_folder(files))
        try:
            with redirect_stdout(sys.stderr):  # the verifier's own output is not a result
                summary = score_file(
                    files[0] if len(files) == 1 else files,
                    plan,
                    folder,
                    jobs=jobs,
                    limit=limit,
                    by_key=by_key,
                    restart=not resume,
                    retry_errors=retry_errors,
                    watch=lambda progress: watch.start(partial(describe, progress)),
                    note=watch.note,
                    warn=watch.warn,
                )
        except KeyboardInterrupt:
            kept = "results are not saved with -o -" if out == "-" else f"run the command again to resume from {folder}"
            click.echo(f"Interrupted: {kept}", err=True)
            return 1
        _tell_bad_rows(files[0], folder / ERRORS, summary["bad_rows"])
        checks = [
            check_metric(summary, least, metric or "mean", partial(wrong_rows, folder)) for metric, least in floors
        ]
        track_run(folder, track, kept=out != "-", restart=not resume, warn=watch.warn)
        if out == "-":
            with open(folder / SCORES, "rb") as scores:
                shutil.copyfileobj(scores, sys.stdout.buffer)
        else:
            watch.note(f"written to {folder}")
    if as_json:
        click.echo(json.dumps(summary, indent=2), err=out == "-")
    else:
        click.echo("\n".join(show(summary, strike_all(plan.model_dump()))), err=out == "-")
    if prices and (told := spent(summary.get("usage", {}), prices, f"{verifier} {by or ''}")):
        click.echo(f"  {told}", err=True)
    page = f"{folder.resolve().name}.html"
    lost, total = summary["unscored"] + summary["bad_rows"], summary["candidates"] + summary["bad_rows"]
    code = unscored_code(lost, total, fail_over)
    scored = GateResult("scored", f"{lost:,} of {total:,} candidates have no score", code == 0, said=True)
    code = gate_code([scored, *map(floor_gate, checks)], junit, "score", code)
    quiet = quiet or as_json or out == "-"
    if total and lost == total:
        next_note("remove the reason above and run the command again with --restart", quiet=quiet)
    else:
        next_step("verikit", "report", folder, "--html", page, quiet=quiet)
    return code


def _tell_bad_rows(file: str, errors: Path, count: int) -> None:
    """Print the first rows that could not be read, as file:line: field: problem."""
    file = "<stdin>" if file == "-" else file
    for row in islice(read_rows(errors), SHOWN):
        name, _, line = row["at"].rpartition(":") if "at" in row else (file, "", row["line"])
        error = SchemaError(row["error"], file=name, line=int(line), field=row["field"])
        click.echo(printable(with_hint(str(error), row["hint"])), err=True)
    if count > SHOWN:
        click.echo(f"and {count - SHOWN:,} more bad rows, in {errors.name}", err=True)


def default_folder(files: Sequence[str]) -> str:
    """Return the default folder of scores: runs/ and the file's name without its extension.

    With several files, the common prefix of their names is used. With a pattern, it is the part before its first
    wildcard. If that is empty, the name of their folder is used.
    """
    stems = [_stem(file) for file in files]
    pairs = zip(min(stems), max(stems), strict=False)
    common = "".join(a for a, _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
    if len(set(stems)) > 1:
        common = common.rstrip("0123456789").rstrip("-_.")
    folder = Path(files[0]).absolute().parent.name
    return f"runs/{common or folder or 'files'}"


def _stem(file: str) -> str:
    if file == "-":
        return "stdin"
    name = Path(file).name
    for ending in ENDINGS:
        name = name.removesuffix(ending)
    if glob.has_magic(name) and not os.path.lexists(file):
        return re.split(r"[*?\[]", name)[0].rstrip("-_.0123456789")
    return name if os.path.isdir(file) else Path(name).stem
