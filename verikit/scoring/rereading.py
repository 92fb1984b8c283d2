"""Reads the input of a finished run again: the run's folder contains scores, the input everything else."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from verikit.errors import VerikitError
from verikit.readers import Paths, Reader, RowSource
from verikit.scoring.input import Input
from verikit.scoring.plan import ScoringPlan
from verikit.scoring.sums import PROGRESS, read_commits
from verikit.types import Group


def plan_of(config: Mapping[str, Any]) -> ScoringPlan:
    """Return the plan stored in config.json."""
    return ScoringPlan(**{name: config[name] for name in ScoringPlan.model_fields if name in config})


def find_input(run: Path, config: Mapping[str, Any], others: Sequence[str] = ()) -> tuple[str | list[str] | None, str]:
    """Find the input that a run was scored from, by the checksum of its rows. None if there is none, with the reason.

    Args:
        run: The run's folder.
        config: Content of its config.json. `input` is the file's original location.
        others: Files to try after that one.
    """
    problem = "the run read its input from stdin, or does not state its path"
    paths = list(filter(None, (config.get("input"), *others)))
    if paths and not (run / PROGRESS).exists():
        return None, f"the folder was copied without {PROGRESS}, which identifies them"
    plan = plan_of(config)
    for path in paths:
        try:
            Input(path, plan).skip(read_commits(run)[0][-1])
        except VerikitError as error:
            problem = str(error)
        else:
            return (path if isinstance(path, list) else str(path)), ""
    return None, problem


def read_groups(source: Paths | RowSource | None, plan: ScoringPlan) -> Iterator[tuple[int, Group]]:
    """The groups of an input with the number of their last row, as a run of this plan numbers them."""
    if source is not None:
        reader = Reader(source, plan.format, plan.mapping, plan.gold)
        for line, item in reader.items(reader.rows()):
            if isinstance(item, Group):
                yield line, item
