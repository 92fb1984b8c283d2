"""The named checks of an environment audit: of a task's files, of pairs (`alike`), and of runs."""

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
    """None for a check that compares tasks or runs them."""


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
    "alike": EnvCheck("no task occurs twice", ("duplicate", "leak")),
}
"""The checks of files, in the order of the report."""

RUNNING_CHECKS: Mapping[str, EnvCheck] = {
    "oracle": EnvCheck("the solution has the full reward", ("unsolved", "none")),
    "nop": EnvCheck("work that was not done has no reward", ("paid", "none")),
    "floor": EnvCheck("rewards are numbers from 0 to 1, far apart", ("range", "malformed", "margin")),
    "replay": EnvCheck("the same files have the same reward", ("reward", "solution")),
    "portable": EnvCheck("rewards do not depend on date, user and locale", ("clock", "user", "locale")),
    "tamper": EnvCheck("forged files have no reward and cost none", ("paid", "broken")),
    "mutants": EnvCheck("wrong outputs lose the reward", ("empty", "number", "line", "keyed")),
    "honest": EnvCheck("other forms of right outputs keep the reward", ("crlf", "newline", "json")),
    "resources": EnvCheck("time and memory are within the declared limits", ("time", "memory")),
}
"""The checks that run a task's solution and tests. `running/run.py` has their functions."""
EVERY_CHECK: Mapping[str, EnvCheck] = {**ENV_CHECKS, **RUNNING_CHECKS}


def kinds(name: str) -> list[tuple[str, str]]:
    """The pairs of check and kind for a name: `all`, a check, or `CHECK.KIND`. Empty if the name is unknown."""
    every = [(check, kind) for check, told in EVERY_CHECK.items() for kind in told.kinds]
    return [pair for pair in every if name in ("all", pair[0], ".".join(pair))]
