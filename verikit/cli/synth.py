"""`verikit synth`: data generated offline by the code that training uses."""

from __future__ import annotations

import click

from verikit.cli import LazyGroup

MAKERS = {
    "genprm": (
        "verikit.judges.genprm.cli:genprm",
        "Step labels and rationales for a generative process reward model.",
    ),
    "absolute-zero": (
        "verikit.trainers.recipes.absolute_zero.synth:absolute_zero",
        "Programming problems that a model proposes and the sandbox verifies.",
    ),
    "reasoning-gym": ("verikit.cli.reasoning_gym:reasoning_gym", "Problems of reasoning_gym's generators."),
    "spice": ("verikit.trainers.recipes.spice.synth:spice", "Questions that a model writes from documents."),
    "rubric": (
        "verikit.judges.rubric_synth.cli:rubric",
        "Criteria that separate right from wrong candidates, with points.",
    ),
    "search": (
        "verikit.trainers.recipes.r1_searcher.synth:search_data",
        "Two-hop questions from a corpus, and transcripts of searches.",
    ),
    "difficulty": (
        "verikit.trainers.recipes.r1_searcher.grading:grade",
        "Number of rollouts that a searching model needs per question.",
    ),
    "opponents": ("verikit.trainers.recipes.elo_evolve.cli:opponents", "Answers of a pool of models to play against."),
}


@click.group(cls=LazyGroup, table=MAKERS)
def synth() -> None:
    """Make training data: verified tasks, labelled steps, rationales, opponents' answers."""
