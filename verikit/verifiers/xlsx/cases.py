"""One score of several workbooks, as of a task with several test cases."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

from verikit.errors import WorkspaceError
from verikit.types import Score
from verikit.workspaces.grading import all_hold, part

CountedCases = Literal["all", "share"]
MAX_CASES = 100


def score_of_cases(checks: Sequence[Callable[[], Score]], counted: CountedCases) -> Score:
    """Run the check of each workbook. Their scores are the parts `case 1`, `case 2` and so on.

    Raises:
        WorkspaceError: There are no cases, or too many.
    """
    if not 1 <= len(checks) <= MAX_CASES:
        raise WorkspaceError(f"a row's list under 'xlsx' must have 1 to {MAX_CASES} workbooks, got {len(checks)}")
    parts = {f"case {number}": part(check) for number, check in enumerate(checks, 1)}
    if counted == "all":
        return all_hold(parts)
    unscored = next((name for name, score in parts.items() if not score.scored), None)
    if unscored is not None:
        score = parts[unscored]
        return Score(None, score.status, reason=f"{unscored}: {score.reason}", parts=parts, cause=score.cause)
    passed = sum(score.value == 1.0 for score in parts.values())
    return Score(passed / len(parts), reason=f"{passed} of {len(parts)} workbooks pass", parts=parts)
