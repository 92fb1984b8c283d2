"""`verikit synth difficulty`: the number of rollouts that a model needs for the first right answer per question."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

import click

from verikit.cli.command import GroupedCommand, next_step
from verikit.cli.options import limit_option, map_option, quiet_option
from verikit.engines.load import load_engine
from verikit.errors import SchemaError, UsageError
from verikit.platform.terminal import Watch
from verikit.readers.problems import read_problems
from verikit.replies.text import accepted
from verikit.retrieval.load import load_retriever
from verikit.search import EVALUATION, search_messages, search_prompt
from verikit.trainers.recipes.offline import append_rows
from verikit.trainers.recipes.r1_searcher.difficulty import by_searching, graded
from verikit.types import Group

BEGINNING = b'{"id": '
"""First bytes of a written row."""
AT_ONCE = 256
"""Questions between two writes to the file."""


@click.command(
    "difficulty",
    cls=GroupedCommand,
    usual="--engine --retriever --out -k --prompt --limit",
    purposes={
        "Rows": "--source",
    },
)
@click.argument("questions", type=click.Path(path_type=Path))
@click.option("-e", "--engine", required=True, metavar="SPEC", help="Model that answers: openai:URL#MODEL, hf:PATH, …")
@click.option(
    "-r", "--retriever", required=True, metavar="SPEC", help="Retriever to search with: bm25:DIR, an address, …"
)
@click.option("-o", "--out", required=True, metavar="FILE", type=click.Path(path_type=Path), help="Output file.")
@click.option("-k", default=EVALUATION.k, show_default=True, type=click.IntRange(1), help="Passages per search.")
@click.option(
    "--prompt", type=click.Choice(("base", "instruct")), default="instruct", show_default=True, help="Prompt style."
)
@click.option("--source", help="Value of `source` in the rows, such as hotpotqa.")
@map_option
@partial(limit_option, told="Read only the first N questions.")
@click.option("--seed", default=0, show_default=True, help="Random seed.")
@quiet_option
def grade(
    questions: Path, engine: str, retriever: str, out: Path, k: int, prompt: Literal["base", "instruct"],
    source: str | None, mapping: dict[str, str], limit: int | None, seed: int, quiet: bool,
) -> None:  # fmt: skip
    """Grade the QUESTIONS of a file by the number of rollouts until a searching model answers correctly (cover-EM).

    Below 10 is easy, 10 to 20 medium, more hard (R1-Searcher, section 3.1, grades with Qwen-2.5-7B-Instruct). Rows are
    written with `difficulty` and `rollouts`, for `r1-searcher` and its options.mix. Rerun the command to resume.

    \b
    verikit synth difficulty hotpot.jsonl --source hotpotqa -r bm25:wiki \\
        -e openai:http://localhost:8000/v1#Qwen2.5-7B-Instruct -o graded.jsonl
    """  # noqa: D301 - click reads \b as "don't wrap"
    asked = read_problems(questions, mapping, limit)
    if bad := next((question for question in asked if not accepted(question.answer)), None):
        hint = "without one every question would look hard; --map answer=KEY names another key"
        raise SchemaError(f"question {bad.id!r} has no answer", file=questions, field="answer", hint=hint)
    done = finished(out)
    missing = [question for question in asked if (question.id, str(question.prompt)) not in done]
    ask, found = (search_prompt if prompt == "base" else search_messages), 0
    with load_engine(engine) as model, Watch(quiet=quiet) as watch:
        attempt = by_searching(model, load_retriever(retriever), ask, replace(EVALUATION, k=k), seed)
        watch.start(lambda seconds: f"{found:,} of {len(missing):,} questions in {seconds:,.0f} s")
        for start in range(0, len(missing), AT_ONCE):
            part = graded(missing[start : start + AT_ONCE], attempt)
            append_rows(out, [as_graded_row(question, source) for question in part])
            found += len(part)
    click.echo(f"{len(asked):,} questions in {out}", err=True)
    next_step("verikit", "train", "CONFIG.toml", "--set", f"options.data={out}", quiet=quiet)


def as_graded_row(question: Group, source: str | None = None) -> dict[str, Any]:
    """Return a graded question as a row of JSON."""
    row = {"id": question.id, "prompt": question.prompt, "answer": question.answer, **question.meta}
    return row | ({"source": source} if source else {})


def finished(path: Path) -> set[tuple[str, str]]:
    """Return the ids and prompts already in a file, and truncate an incomplete last row.

    Raises:
        UsageError: It can't be read.
        SchemaError: It contains something other than graded questions.
    """
    if not path.exists():
        return set()
    try:
        text = path.read_bytes()
    except OSError as error:
        raise UsageError(f"can't write {path}: {(error.strerror or str(error)).lower()}") from None
    end = text.rfind(b"\n") + 1
    whole, rest = text[:end], text[end:]
    found = set()
    for number, line in enumerate(whole.splitlines() + ([] if _cut_off(rest) else [rest]), 1):
        try:
            row = json.loads(line)
            found.add((str(row["id"]), str(row["prompt"])))
            row["rollouts"] + 0
        except (ValueError, TypeError, KeyError, RecursionError):
            raise SchemaError("this row is not from `verikit synth difficulty`", file=path, line=number) from None
    os.truncate(path, len(whole))
    return found


def _cut_off(text: bytes) -> bool:
    """Whether the end of a file is an incomplete row of this command. Other files must not be truncated."""
    if not text.startswith(BEGINNING[: len(text)]):
        return False
    try:
        return "rollouts" in json.loads(text)
    except (ValueError, TypeError, RecursionError):
        return True
