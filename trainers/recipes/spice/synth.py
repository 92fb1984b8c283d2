"""`verikit synth spice`: questions from documents, without training."""

from __future__ import annotations

import random
from contextlib import closing
from itertools import chain
from pathlib import Path
from typing import Any

import click

from verikit.cli.command import GroupedCommand, next_step
from verikit.engines.load import load_engine
from verikit.engines.rollouts import Rollout
from verikit.trainers.recipe import Setting
from verikit.trainers.recipes.offline import Offline, engine_options, fill_file, read_rows, recipe_options
from verikit.trainers.recipes.spice.formats import QuestionKind
from verikit.trainers.recipes.spice.options import SpiceOptions
from verikit.trainers.recipes.spice.recipe import Spice
from verikit.trainers.recipes.spice.rounds import AnsweredQuestion


@click.command("spice", cls=GroupedCommand)
@click.argument("corpus", nargs=-1, required=True)
@engine_options
def spice(
    corpus: tuple[str, ...], engine: str, out: Path, count: int, changes: tuple[str, ...], seed: int, quiet: bool
) -> None:
    """Let a model write questions from the documents of CORPUS (.jsonl, .parquet, text files). Keep the valid ones.

    Rows contain the question as `prompt`, its answer and type, the quotes that support it, and the model's solve rate
    without the document. New rows are appended to an existing file.

    \b
    verikit synth spice -e openai:http://localhost:8000/v1#qwen -n 5000 -o questions.jsonl documents.jsonl
    """  # noqa: D301 - click reads \b as "don't wrap"
    options = recipe_options(SpiceOptions, changes, corpus=list(corpus), documents=16, attempts=16)
    with closing(Offline(load_engine(engine), seed)) as sampler:
        recipe = Spice(options, Setting(sampler.tokenizer, seed, Path()))

        def make(number: int) -> list[dict[str, Any]]:
            return synth_round(recipe, sampler, seed, number)

        found = fill_file(out, count, make, read_rows(out), quiet=quiet)
    click.echo(f"{found} questions in {out}", err=True)
    next_step("verikit", "sample", "ENGINE", out, quiet=quiet)


def synth_round(recipe: Spice, sampler: Offline, seed: int, number: int) -> list[dict[str, Any]]:
    """Generate questions from a batch of documents, answer the valid ones, and return them as rows."""
    draw = random.Random(f"{seed} {number}")
    sampler.at(number)
    documents = [recipe.draw_document(draw) for _ in range(recipe.options.documents)]
    kinds = recipe.drawn_kinds(documents, draw)

    def play(number: int, document: str, kind: QuestionKind) -> Rollout[list[AnsweredQuestion]]:
        challenge = yield from recipe.begin(sampler, number, document, kind)
        found = yield from recipe.ask(sampler, number, challenge.valid)
        return [answered for answered in found if answered is not None]

    rounds = sampler.roll_out([play(at, *pair) for at, pair in enumerate(zip(documents, kinds, strict=True))])
    rows: list[dict[str, Any]] = []
    for answered in chain.from_iterable(rounds):
        question = answered.question
        rows.append(
            {
                "id": f"{number}-{len(rows)}",
                "prompt": question.text,
                "answer": question.answer,
                "answer_type": question.answer_type,
                "options": list(question.options),
                "quotes": list(question.quotes),
                "solve_rate": answered.rate,
                "round": number,
            }
        )
    return rows
