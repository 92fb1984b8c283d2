"""Verifiers of workspaces: from a sample to its workspace, from who is to blame to a score.

A verifier of files is a subclass of `WorkspaceVerifier` with a method `check`. It asks the workspace for what it needs
and returns a score. `AgentFault` becomes 0.0 with its message as the reason, `WorkspaceError` a score without a value.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import ClassVar

from verikit.base import Verifier
from verikit.errors import AgentFault, WorkspaceError, with_hint
from verikit.replies.split import Reads
from verikit.types import WORKSPACE, Sample, Score
from verikit.workspaces.row import TaskWorkspace
from verikit.workspaces.workspace import Workspace

SHOWN_DIGITS = 16


def workspace_of(sample: Sample) -> Workspace:
    """A sample's workspace; one that only its keys name may hold texts and tars, and no paths.

    Raises:
        WorkspaceError: it has none, or its row's `workspace` is none.
    """
    found = sample.workspace
    if found is None:
        told = sample.meta.get(WORKSPACE)
        if told is None:
            raise WorkspaceError("the row has no workspace", hint='"workspace": {"after": …}')
        found = TaskWorkspace(told, None)
    return found if isinstance(found, Workspace) else found.make()


def graded(sample: Sample, check: Callable[[Workspace, Sample], Score]) -> Score:
    """The score of a check of a sample's workspace; its text begins with the digest of what the agent left."""
    digest = ""
    try:
        workspace = workspace_of(sample)
        digest = workspace.digest
        score = check(workspace, sample)
    except AgentFault as fault:
        score = Score(0.0, reason=str(fault))
    except WorkspaceError as error:
        score = Score.error(with_hint(str(error), error.hint))
    told = f"workspace {digest[:SHOWN_DIGITS]}" if digest else ""
    return replace(score, text="\n".join(filter(None, (told, score.text))))


class WorkspaceVerifier(Verifier):
    """A verifier of the files that an agent left, one sample at a time."""

    reads: ClassVar[Reads | None] = None

    @abstractmethod
    def check(self, workspace: Workspace, sample: Sample) -> Score:
        """Score one workspace.

        Raises:
            AgentFault: the score is 0.0.
            WorkspaceError: it has no value.
        """

    def score(self, samples: Sequence[Sample]) -> list[Score]:
        """Score each sample's workspace."""
        return [graded(sample, self.check) for sample in samples]
