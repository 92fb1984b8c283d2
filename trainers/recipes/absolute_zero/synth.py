"""`verikit synth absolute-zero`: verified programming problems, without training."""

from __future__ import annotations

import random
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import click

from verikit.cli.command import GroupedCommand, next_step
from verikit.engines.load import load_engine
from verikit.trainers.recipe import Setting
from verikit.trainers.recipes.absolute_zero.options import AbsoluteZeroOptions
from verikit.trainers.recipes.absolute_zero.problem import Problem
from verikit.trainers.recipes.absolute_zero.recipe import AbsoluteZero
from verikit.trainers.recipes.offline import Offline, engine_options, fill_file, read_rows, recipe_options


@click.command("absolute-zero", cls=GroupedCommand)
@engine_options
def absolute_zero(engine: str, out: Path, count: int, changes: tuple[str, ...], seed: int, quiet: bool) -> None:
    """Let a model propose programming problems, and keep those that the sandbox finds valid.

    Rows contain the solver's prompt, program, input, output (or pairs), and the model's own solve rate. They work with
    `verikit score -v program` and as `options.held_out` of training. New rows are appended to an existing file.

    \b
    verikit synth absolute-zero -e openai:http://localhost:8000/v1#qwen -n 5000 -o problems.jsonl
    verikit synth absolute-zero -e hf:Qwen/Qwen2.5-Coder-3B -o d.jsonl --set 'tasks=["deduction"]'
    """  # noqa: D301 - click reads \b as "don't wrap"
    options = recipe_options(AbsoluteZeroOptions, changes, chat=True, batch=16)
    with closing(Offline(load_engine(engine), seed)) as sampler:
        maker = Maker(AbsoluteZero(options, Setting(sampler.tokenizer, seed, Path())), sampler, seed)
        rows = read_rows(out)
        maker.take(rows)
        found = fill_file(out, count, maker.round, rows, quiet=quiet)
    click.echo(f"{found} problems in {out}", err=True)
    next_step("verikit", "train", "CONFIG.toml", "--set", f"options.held_out={out}", quiet=quiet)


class Maker:
    """Proposes in rounds. References come from the problems found so far."""

    recipe: AbsoluteZero
    sampler: Offline
    seed: int

    def __init__(self, recipe: AbsoluteZero, sampler: Offline, seed: int) -> None:
        self.recipe, self.sampler, self.seed = recipe, sampler, seed

    def take(self, rows: Sequence[dict[str, Any]]) -> None:
        """Add the problems of an earlier run to the buffers."""
        for row in rows:
            problem = Problem.from_dict({name: row[name] for name in Problem.__slots__})
            self.recipe.buffers[problem.task].problems.append(problem)

    def round(self, number: int) -> list[dict[str, Any]]:
        """Propose a batch for each task, solve the valid problems, and return them as rows."""
        recipe, draw = self.recipe, random.Random(f"{self.seed} {number}")
        self.sampler.at(number)
        asked = [
            recipe.ask(self.sampler, task, number, draw)
            for task in recipe.options.tasks
            for _ in range(recipe.options.batch)
        ]
        proposed = recipe.propose(self.sampler, asked, number, draw)
        found = [proposal.verdict.problem for proposal in proposed if proposal.verdict.problem is not None]
        solved = recipe.solve(
            self.sampler,
            [(problem, recipe.options.estimates) for problem in found],
            "solve",
            recipe.options.temperature,
        )
        rows = []
        for index, (problem, solution) in enumerate(zip(found, solved, strict=True)):
            recipe.buffers[problem.task].add([problem], draw)
            shown = {"id": f"{number}-{index}", "prompt": recipe.prompts.solution(problem)}
            rows.append(shown | problem.as_dict() | {"solve_rate": solution.rate, "round": number})
        return rows
