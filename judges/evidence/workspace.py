"""A run and the files that it left, as evidence: its steps, a list of all files, and the state of each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from verikit.errors import AgentFault, VerikitError, WorkspaceError
from verikit.judges.evidence.cited import Citable
from verikit.judges.evidence.content import Evidence
from verikit.judges.evidence.digest import DigestBudget, digest
from verikit.judges.evidence.entries import entries
from verikit.judges.evidence.left import left_files
from verikit.judges.evidence.opening import OpenFiles
from verikit.judges.evidence.shown import NotShown
from verikit.messages import CompletionMessage, last_said
from verikit.types import WORKSPACE, Sample
from verikit.workspaces.grading import workspace_of
from verikit.workspaces.workspace import Workspace

_KEYS = 12


def workspace_evidence(
    sample: Sample, scope: Sequence[str], budget: DigestBudget, reply: Callable[[str], str] = str
) -> Evidence:
    """The evidence of a sample's steps and workspace. An agent that left nothing is distinguished from a failure.

    Args:
        sample: A row with a workspace.
        scope: Paths and patterns of the files whose content is shown. Empty: all changed files and the outputs.
        budget: How much is shown.
        reply: Selects the part of a turn's text that is shown.
    """
    try:
        workspace = _workspace(sample)
        files = left_files(workspace, scope)
        steps = _steps(sample, workspace)
        digests = workspace.digest
    except AgentFault as fault:
        return Evidence(error=NotShown(str(fault), nothing="answer"))
    except NotShown as problem:
        return Evidence(error=problem)
    except VerikitError as error:
        return Evidence(error=NotShown(str(error), hint=error.hint))
    made = digest(entries(steps, None, reply, files.entries), budget)
    listed = Citable((), dict.fromkeys(files.paths, ()))
    return replace(made, citable=listed + made.citable, workspace=digests, files=OpenFiles(workspace))


def _workspace(sample: Sample) -> Workspace:
    if sample.workspace is None and sample.meta.get(WORKSPACE) is None:
        keys = ", ".join(list(map(str, sample.meta))[:_KEYS])
        problem = "the row has no workspace to show" + (f"; its keys are {keys}" if keys else "")
        raise WorkspaceError(problem, hint='"workspace": {"after": …}, of an opponent "opponent_workspace"')
    return workspace_of(sample)


def _steps(sample: Sample, workspace: Workspace) -> list[CompletionMessage]:
    """The messages that the harness recorded, or the sample's messages. The completion comes last."""
    recorded = workspace.messages()
    steps = list(sample.messages if recorded is None else recorded)
    if sample.completion.strip() and last_said(steps) != sample.completion:
        steps.append({"role": "assistant", "content": sample.completion})
    return steps
