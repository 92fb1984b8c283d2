"""`verikit explain`."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import redirect_stdout

import click

from verikit.base import Verifier, walk
from verikit.cli.command import GroupedCommand, next_step
from verikit.cli.marks import marked
from verikit.cli.options import data_options, data_words, gold_option, json_option
from verikit.errors import UsageError
from verikit.names.spec import load
from verikit.platform.terminal import pass_or_fail, printable
from verikit.readers import Reader, read
from verikit.types import Group, Sample, Score
from verikit.verifiers.echo import echo_guard
from verikit.workspaces.grading import attached, tree_of
from verikit.workspaces.readings import tree_lines


@click.command(cls=GroupedCommand, usual="--verifier --id --index --completion --answer --prompt")
@click.argument("file", required=False)
@click.option("-v", "--verifier", default="answer", show_default=True, metavar="SPEC", help="Verifier to explain.")
@click.option("--id", "row", help="Row of FILE. Default: the first.")
@click.option("--index", type=click.IntRange(0), default=0, show_default=True, help="Number of the row's candidate.")
@click.option("--completion", help="The candidate's text, instead of FILE.")
@click.option("--answer", multiple=True, help="With --completion: the gold answer. Repeat it for several.")
@click.option("--prompt", default="", help="With --completion: the prompt.")
@gold_option
@data_options
@json_option
def explain(
    file: str | None,
    verifier: str,
    row: str | None,
    index: int,
    completion: str | None,
    answer: tuple[str, ...],
    prompt: str,
    gold: str | None,
    mapping: dict[str, str],
    format_: str | None,
    as_json: bool,
) -> None:
    """Explain the score of one candidate: the extracted answer and its place, the deciding rule, each part's score.

    The candidate's text comes last. Thoughts and reply are separated, and the extracted answer is underlined.

    Choose a candidate of FILE with --id and --index, or pass it with --completion and --answer.
    """
    if (file is None) == (completion is None):
        raise UsageError("give either FILE or --completion")
    if file is not None and (answer or prompt):
        raise UsageError(
            "--answer and --prompt go with --completion", hint="FILE contains its own completions and answers"
        )
    if file is not None:
        sample = _find(read(file, format=format_, mapping=mapping, gold=gold), row, index)
    else:
        sample = Sample(prompt, completion or "", answer[0] if len(answer) == 1 else (answer or None))
    with redirect_stdout(sys.stderr):  # the verifier's own output is not a result
        score, lines = explained(load(verifier), sample)
    if as_json:
        click.echo(json.dumps(score.as_dict(), indent=2, ensure_ascii=False).encode(errors="replace"))
        return
    click.echo(pass_or_fail(lines[0], score.value))
    for line in lines[1:]:
        click.echo(line)
    scored = "FILE" if file in (None, "-") else file
    next_step("verikit", "score", scored, "-v", verifier, *data_words(mapping, format_, gold))


def explained(verifier: Verifier, sample: Sample) -> tuple[Score, list[str]]:
    """Return a sample's score, and lines that explain it: parts, each verifier's explanation, the marked text."""
    sample = attached(sample)
    score = verifier.score([sample])[0]
    files = tree_lines(tree_of(sample))
    more = [text for part in walk(verifier) if (text := part.explain(sample))]
    marks = "\n".join(marked(sample.completion, score.answer, verifier.reads or "reply"))
    rewarded = echo_guard(verifier).guarded(sample, score)
    refused = [] if rewarded is score else [f"as a reward for training: 0  ({rewarded.reason}; see echo_guard)"]
    texts = (*tree(verifier.name, score), *refused, *files, *more, *filter(None, [marks]))
    return score, [printable(line) for text in texts for line in text.expandtabs(4).split("\n")]


def _find(reader: Reader, row: str | None, index: int) -> Sample:
    for item in reader:
        if isinstance(item, Group) and row in (None, item.id):
            samples = item.samples()
            if index >= len(samples):
                raise UsageError(f"row {item.id!r} has {len(samples)} candidates", hint="--index counts from 0")
            return samples[index]
        if row is None and not isinstance(item, Group):
            raise item
    raise UsageError(f"{reader.name} has no row {row!r}")


def tree(name: str, score: Score, indent: str = "") -> Iterator[str]:
    """The lines of a score and, below it, of its parts and steps."""
    value = score.status if score.value is None else f"{score.value:.6g}"
    yield f"{indent}{name}: {value}" + (f"  ({score.reason})" if score.reason else "")
    if score.answer is not None:
        yield f"{indent}  extracted: {score.answer if len(score.answer) <= 200 else score.answer[:199] + '…'}"
    if score.text:
        yield from (f"{indent}  | {line}".rstrip() for line in score.text.rstrip("\n").split("\n"))
    for part, below in score.parts.items():
        yield from tree(part, below, indent + "  ")
    for number, step in enumerate(score.steps, 1):
        yield from tree(f"step {number}", step, indent + "  ")
