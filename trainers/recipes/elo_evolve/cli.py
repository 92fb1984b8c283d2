"""`verikit synth opponents`."""

from __future__ import annotations

from pathlib import Path

import click

from verikit.cli.command import GroupedCommand
from verikit.cli.options import map_option, quiet_option
from verikit.engines.load import load_engine
from verikit.judges.opponents import Opponents
from verikit.platform.terminal import Watch, printable
from verikit.readers.problems import read_problems

AT_ONCE = 256
"""Prompts between two writes of the file."""
EXAMPLE = """\b
Example:
  verikit synth opponents prompts.jsonl -m openai:http://localhost:8000/v1#qwen2.5-14b -o opponents.jsonl
"""


@click.command(epilog=EXAMPLE, cls=GroupedCommand)
@click.argument("prompts", type=click.Path(path_type=Path))
@click.option("-m", "--model", "engine", required=True, metavar="SPEC", help="The engine that answers.")
@click.option("-n", "--name", help="The opponent's name in the file and in options.pool; default: the engine's spec.")
@click.option(
    "-o", "--out", required=True, metavar="FILE", type=click.Path(path_type=Path), help="The file of answers."
)
@map_option
@click.option("--limit", type=click.IntRange(1), help="Only the first so many prompts.")
@click.option("--max-tokens", type=click.IntRange(1), default=2048, show_default=True, help="Most tokens of an answer.")
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
    """Let a model answer the PROMPTS of a training file greedily, for `elo-evolve` to compare with.

    Answers are appended to the file by the opponent's name and a hash of the prompt: several opponents share one file,
    a prompt that has an answer is not asked again, and an answer to a prompt that was changed since is not found.
    """
    problems = read_problems(prompts, mapping)[:limit]
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
        click.echo(f"{len(failed):,} prompts stay without an answer: {reason}. The same command goes on.", err=True)
    return 1 if failed else 0
