"""Are the files on the agent's machine as an OSWorld task's evaluator expects?"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from verikit.errors import UsageError, WorkspaceError
from verikit.types import Sample, Score
from verikit.verifiers.osworld.checks import CHECKS
from verikit.workspaces import Workspace
from verikit.workspaces.grading import WorkspaceVerifier, all_hold, part, part_of

KEY = "osworld"
MAX_FUNCTIONS = 100
_SHAPE = '"osworld": {"conj": "and", "functions": [{"func": "compare_csv", "checks": [{"kind": "lines", …}]}]}'


@dataclass(frozen=True, eq=False)
class OSWorldChecks(WorkspaceVerifier):
    """1.0 if the files on the agent's machine pass the comparers of an OSWorld task.

    The row's key `osworld` has the checks, as `verikit data osworld` writes them. Comparers that need a running machine
    have no value.
    """

    name = "osworld"

    def check(self, workspace: Workspace, sample: Sample) -> Score:
        """Run each comparer's checks, and join them by the row's `conj`."""
        told = sample.meta.get(KEY)
        told = told if isinstance(told, Mapping) else {}
        functions = told.get("functions")
        if not isinstance(functions, list) or not 1 <= len(functions) <= MAX_FUNCTIONS:
            raise WorkspaceError("the row has no checks of OSWorld", hint=_SHAPE)
        named = {
            f"{number} {_name(function)}": part_of(
                workspace, _name(function), partial(_function, function, workspace, sample)
            )
            for number, function in enumerate(functions, 1)
        }
        return any_holds(named) if told.get("conj") == "or" else all_hold(named)


def _name(function: Any) -> str:
    return str(function.get("func"))[:80] if isinstance(function, Mapping) else "?"


def _function(function: Any, workspace: Workspace, sample: Sample) -> Score:
    checks = function.get("checks") if isinstance(function, Mapping) else None
    if not isinstance(checks, list) or not checks:
        raise WorkspaceError("a comparer of the row has no checks", hint=_SHAPE)
    return all_hold({
        f"{number} {_kind(check)}": part(partial(_bound(check), workspace, sample))
        for number, check in enumerate(checks, 1)
    })  # fmt: skip


def _kind(check: Any) -> str:
    if not isinstance(check, Mapping):
        raise WorkspaceError("a check of the row must be an object", hint=_SHAPE)
    return str(check.get("kind"))[:80]


def _bound(check: Mapping[str, Any]) -> Callable[[Workspace, Sample], Score]:
    """A check with its options.

    Raises:
        WorkspaceError: The kind is unknown, or has other options.
    """
    kind, options = _kind(check), {key: value for key, value in check.items() if key != "kind"}
    if kind not in CHECKS:
        raise WorkspaceError(f"the row has an unknown kind of check: {kind!r:.80}", hint=", ".join(CHECKS))
    function = CHECKS[kind]
    try:
        inspect.signature(function).bind(None, None, **options)
    except TypeError as problem:
        raise WorkspaceError(f"the options of a check {kind!r} are wrong: {problem}") from None
    return partial(_run, kind, partial(function, **options))


def _run(kind: str, check: Callable[[Workspace, Sample], Score], workspace: Workspace, sample: Sample) -> Score:
    """The score of one check.

    Raises:
        WorkspaceError: The values of its options can't be used. A row must not end the whole run.
    """
    try:
        return check(workspace, sample)
    except (UsageError, TypeError, KeyError, AttributeError) as problem:
        raise WorkspaceError(f"the options of a check {kind!r} can't be used: {problem!s:.200}") from None


def any_holds(parts: Mapping[str, Score]) -> Score:
    """1.0 if one check passes. Otherwise an unscored check leaves the result unscored."""
    passed = next((name for name, score in parts.items() if score.value == 1.0), None)
    if passed is not None:
        return Score(1.0, reason=f"{passed}: {parts[passed].reason}", parts=parts)
    unscored = next((name for name, score in parts.items() if not score.scored), None)
    if unscored is not None:
        score = parts[unscored]
        return Score(None, score.status, reason=f"{unscored}: {score.reason}", parts=parts, cause=score.cause)
    return Score(0.0, reason=f"none of {len(parts)} comparers accepts the files", parts=parts)
