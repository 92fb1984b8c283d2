"""Verifiers of workspaces: from a sample to its workspace, and from the cause of an error to a score.

A verifier of files is a subclass of `WorkspaceVerifier` with a method `check`. It reads the files it needs from the
workspace and returns a score. `AgentFault` becomes 0.0 with its message as the reason. `WorkspaceError` becomes an
unscored result.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

from verikit.base import Verifier
from verikit.errors import AgentFault, WorkspaceError, with_hint
from verikit.replies.split import Reads
from verikit.types import WORKSPACE, Sample, Score
from verikit.workspaces.readings import OPENED, file_tree, recorded
from verikit.workspaces.row import TaskWorkspace
from verikit.workspaces.workspace import Workspace

SHOWN_DIGITS, NOTES = 16, 5


def workspace_of(sample: Sample) -> Workspace:
    """A sample's workspace. If only the sample's keys define it, it may contain contents and tars, but not paths.

    Raises:
        WorkspaceError: There is no workspace, or the row's `workspace` is invalid.
    """
    found = attached(sample).workspace
    if found is None:
        raise WorkspaceError("the row has no workspace", hint='"workspace": {"after": …}')
    return found if isinstance(found, Workspace) else found.make()


def attached(sample: Sample) -> Sample:
    """The sample with its workspace, if only its keys define one. All checks then read the same workspace."""
    told = sample.meta.get(WORKSPACE)
    if sample.workspace is not None or told is None:
        return sample
    return replace(sample, workspace=TaskWorkspace(told, None))


def graded(sample: Sample, check: Callable[[Workspace, Sample], Score], name: str = OPENED) -> Score:
    """The score of a check of a sample's workspace. It starts with the digest of the files that the agent left."""

    def told() -> Score:
        workspace = workspace_of(sample)
        digest = f"workspace {workspace.digest[:SHOWN_DIGITS]}"
        score = part_of(workspace, name, lambda: check(workspace, sample))
        return replace(
            score, text="\n".join(filter(None, (digest, *workspace.after.manifest.notes[:NOTES], score.text)))
        )

    return part(told)


def part(check: Callable[[], Score]) -> Score:
    """The score of one check of several. An error affects only this check, and the others keep their scores."""
    try:
        return check()
    except AgentFault as fault:
        return Score(0.0, reason=str(fault))
    except WorkspaceError as error:
        return Score.error(with_hint(str(error), error.hint))


def part_of(workspace: Workspace, name: str, check: Callable[[], Score]) -> Score:
    """As `part`, and the files that the check reads are recorded under its name."""
    return recorded(workspace, name, lambda: part(check))


def tree_of(sample: Sample) -> dict[str, Any]:
    """The files of a sample's workspace, with the checks that read them. Empty if no check collected them."""
    found = sample.workspace.made if isinstance(sample.workspace, TaskWorkspace) else sample.workspace
    return {} if found is None else file_tree(found)


def all_hold(parts: Mapping[str, Score]) -> Score:
    """The lowest value of the checks. A certain 0.0 decides; otherwise an unscored check leaves the result unscored."""
    scored = {name: score.filled(0.0) for name, score in parts.items() if score.scored}
    least = min(scored, key=lambda name: scored[name], default="")
    unscored = next((name for name, score in parts.items() if not score.scored), None)
    if unscored is not None and (not scored or scored[least] > 0.0):
        score = parts[unscored]
        return Score(None, score.status, reason=f"{unscored}: {score.reason}", parts=parts, cause=score.cause)
    if scored[least] < 1.0 or len(parts) == 1:
        return Score(scored[least], reason=f"{least}: {parts[least].reason}", parts=parts)
    return Score(1.0, reason=f"all {len(parts)} checks hold", parts=parts)


class WorkspaceVerifier(Verifier):
    """A verifier of the files that an agent left, one sample at a time."""

    reads: ClassVar[Reads | None] = None

    def __eq__(self, other: object) -> bool:
        """Compare by class and all options. Some are mappings and lists, which have no hash (hence `eq=False`)."""
        return type(self) is type(other) and repr(self) == repr(other)

    def __hash__(self) -> int:
        return hash(repr(self))

    @abstractmethod
    def check(self, workspace: Workspace, sample: Sample) -> Score:
        """Score one workspace.

        Raises:
            AgentFault: The score is 0.0.
            WorkspaceError: It has no value.
        """

    def score_batch(self, samples: Sequence[Sample]) -> list[Score]:
        """Score each sample's workspace."""
        return [graded(sample, self.check, self.name) for sample in samples]
