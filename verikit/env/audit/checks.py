"""The checks of an environment audit by name. Each looks at one task's files; `alike` compares tasks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from verikit.env.audit.declared import check_declared
from verikit.env.audit.judged_tests import check_judge
from verikit.env.audit.mode import check_mode
from verikit.env.audit.pins import check_pins
from verikit.env.audit.reach import check_reach
from verikit.env.audit.records import CheckRecord
from verikit.env.audit.schema import check_schema
from verikit.env.audit.task import AuditedTask


class EnvCheck(NamedTuple):
    """A check: its title, the kinds of its findings, and the function that looks at one task."""

    title: str
    kinds: tuple[str, ...]
    look: Callable[[AuditedTask], CheckRecord] | None = None
    """None for a check that compares tasks."""


ENV_CHECKS: Mapping[str, EnvCheck] = {
    "schema": EnvCheck(
        "fields and files of the format", ("unknown", "deprecated", "wrong", "missing", "outside"), check_schema
    ),
    "declared": EnvCheck("paths that the tests read are declared", ("undeclared",), check_declared),
    "mode": EnvCheck(
        "place and order of grading", ("shared", "owned", "claimed", "exit", "none", "evaluates"), check_mode
    ),
    "reach": EnvCheck(
        "expected values out of the agent's reach",
        ("copy", "value", "hash", "image", "prompt", "history", "observation"),
        check_reach,
    ),
    "pins": EnvCheck("dependencies have versions or digests", ("image", "package", "download", "data"), check_pins),
    "judge": EnvCheck("judges have a settled model and no chance", ("model", "sampling"), check_judge),
    "alike": EnvCheck("no task is there twice", ("duplicate", "leak")),
}
"""Every check, in the order of the report."""


def kinds(name: str) -> list[tuple[str, str]]:
    """The pairs of check and kind that a name stands for: `all`, a check, or `CHECK.KIND`; an empty list if none."""
    every = [(check, kind) for check, told in ENV_CHECKS.items() for kind in told.kinds]
    return [pair for pair in every if name in ("all", pair[0], ".".join(pair))]
