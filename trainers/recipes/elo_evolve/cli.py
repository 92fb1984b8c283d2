"""`verikit synth opponents`."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import click

from verikit.cli.command import GroupedCommand
from verikit.cli.options import limit_option, map_option, quiet_option
from verikit.engines.load import load_engine
from verikit.judges.opponents import Opponents
from verikit.platform.terminal import Watch, printable
from verikit.readers.problems import read_problems

AT_ONCE = 256
"""Prompts between two writes to the file."""
EXAMPLE = """\b
Example:
  verikit synth opponents prompts.jsonl -m openai:http://localhost:8000/v1#qwen2.5-14b -o opponents.jsonl
"""


@click.command(epilog=EXAMPLE, cls=GroupedCommand)
@click.argument("prompts", type=click.Path(path_type=Path))
@click.option("-m", "--model", "engine", required=True, metavar="SPEC", help="Engine that answers.")
@click.option("-n", "--name", help="Name of the opponent in the file and in options.pool. Default: the engine's spec.")
@click.option(
    "-o", "--out", required=True, metavar="FILE", type=click.Path(path_type=Path), help="Output file with the answers."
)
@map_option
@partial(limit_option, told="Read only the first N prompts.")
@click.option(
    "--max-tokens", type=click.IntRange(1), default=2048, show_default=True, help="Maximum tokens per answer."
)
@quiet_option
def opponents(
    prompts: Path,
    engine: str,
    name: str | None,
    out: Path,
    mapping: dict[str, str],
    limit: int | None,
    max_tokens: int,
    quiet: bool,
) -> int:
    """Let a model answer the PROMPTS of a training file greedily, as an opponent for `elo-evolve`.

    Answers are appended to the file under the opponent's name and a hash of the prompt. Several opponents can share a
    file. Prompts that have an answer are skipped. If a prompt changes, its old answer no longer applies.
    """
    problems = read_problems(prompts, mapping, limit)
    name, answers = name or engine, Opponents(out, max_tokens=max_tokens)
    missing = [problem.prompt for problem in problems if not answers.has(name, problem.prompt)]
    failed: dict[str, Exception] = {}
    done = 0
    with load_engine(engine) as model, Watch(quiet=quiet) as watch:
        watch.start(lambda seconds: f"{done:,} of {len(missing):,} answers in {seconds:,.0f} s")
        for start in range(0, len(missing), AT_ONCE):
            part = missing[start : start + AT_ONCE]
            failed |= answers.fill(name, part, model)
            done += len(part)
        watch.note(f"{name}: {len(problems) - len(failed):,} of {len(problems):,} prompts are answered in {out}")
    if failed:
        reason = printable(str(next(iter(failed.values()))))
        click.echo(
            f"{len(failed):,} prompts are still unanswered: {reason}. Run the command again to resume.", err=True
        )
    return 1 if failed else 0
