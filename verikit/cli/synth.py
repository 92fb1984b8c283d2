"""`verikit synth`: data made offline on the code that training uses."""

from __future__ import annotations

import click

from verikit.cli import LazyGroup

MAKERS = {
    "genprm": ("verikit.judges.genprm.cli:genprm", "Step labels and rationales for a generative process reward model."),
}


@click.group(cls=LazyGroup, table=MAKERS)
def synth() -> None:
    """Make training data: verified tasks, labelled steps, rationales, opponents' answers."""
