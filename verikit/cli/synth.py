"""`verikit synth`: data made offline on the code that training uses."""

from __future__ import annotations

import click

from verikit.cli import LazyGroup

MAKERS = {
    "absolute-zero": (
        "verikit.trainers.recipes.absolute_zero.synth:absolute_zero",
        "Programming problems that a model proposes and the sandbox verifies.",
    ),
    "spice": ("verikit.trainers.recipes.spice.synth:spice", "Questions that a model asks from documents."),
}


@click.group(cls=LazyGroup, table=MAKERS)
def synth() -> None:
    """Make training data: verified tasks, labelled steps, rationales, opponents' answers."""
