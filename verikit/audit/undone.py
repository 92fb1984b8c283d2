"""Rows with workspaces: checks whether the reward accepts a workspace in which the task was not done.

One agent does nothing and leaves the given files. Another deletes them. A third leaves files with the right names but
without the work in them, or a file that claims a reward. None of these may be rewarded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice
from typing import Any

from verikit.audit.findings import CheckCount, Finding, ProbeCount, counted
from verikit.audit.reward import WHAT, Probe, ScoredProbe, counts_of
from verikit.audit.rows import AuditRow
from verikit.base import Verifier, walk
from verikit.errors import AgentFault, WorkspaceError
from verikit.scoring.tally import LOST
from verikit.types import Sample, Score
from verikit.workspaces import Workspace
from verikit.workspaces.grading import WorkspaceVerifier
from verikit.workspaces.names import has_wildcards, matches

ROWS = 50
"""Number of rows that are tried together. Each workspace from a tar keeps a file open."""
MOST_OUTPUTS = 20
"""Maximum output files per row that an attempt writes."""
_NAMING = ("file", "exist", "content", "sha256", "same_as")
"""Options of verifiers that name required files."""
_REWARDS = {"reward.txt": b"1.0\n", "reward.json": b'{"reward": 1.0}\n', "logs/verifier/reward.txt": b"1.0\n"}


@dataclass(frozen=True, slots=True)
class _Attempt:
    """One workspace that solves nothing."""

    row: AuditRow
    name: str
    workspace: Workspace

    @property
    def sample(self) -> Sample:
        return replace(self.row.sample(""), workspace=self.workspace)


class UndoneTrial:
    """Tries a reward on workspaces that solve nothing, and fills `checks`, `findings`, `probes` and `unscored`.

    Args:
        verifier: The reward.
        rows: Rows of the dataset. Those without a workspace are skipped.
        mark: Minimum value that counts as rewarded.
        tick: Called with the number of rows tried since the last call.
        begun: Called with the name of the check and the number of rows.
    """

    def __init__(
        self,
        verifier: Verifier,
        rows: Sequence[AuditRow],
        mark: float,
        tick: Callable[[int], None],
        begun: Callable[[str, int], None],
    ) -> None:
        self._verifier, self._mark, self._tick, self._begun = verifier, mark, tick, begun
        self._graders = [part for part in walk(verifier) if isinstance(part, WorkspaceVerifier)]
        self.rows = [row for row in rows if row.workspace is not None and reads_files(verifier)]
        self.checks: list[CheckCount] = []
        self.probes: list[ProbeCount] = []
        self.findings: list[Finding] = []
        self.unscored: dict[int, Finding] = {}
        """Findings by line that explain why a workspace could not be scored."""

    def run(self) -> None:
        """Try all."""
        if not self.rows:
            return
        self._begun("undone", len(self.rows))
        batches = [self.rows[start : start + ROWS] for start in range(0, len(self.rows), ROWS)]
        scored = list(chain.from_iterable(map(self._score, batches)))
        paid = [item for item in scored if self._is_paid(item.score)]
        self.findings = [_finding("undone", item, f"rewarded ({item.score.value:.4g})") for item in paid]
        lines = {item.probe.row.line for item in scored if item.score.scored}
        self._note_lost([item for item in scored if item.probe.row.line not in lines])
        self.checks = [counted("undone", len(lines), self.findings)]
        self.probes = counts_of("undone", scored, self._mark)

    def _attempts(self, row: AuditRow) -> Iterator[_Attempt]:
        """The workspaces that are tried; none if the row's own can't be read, which is noted."""
        found = row.workspace
        try:
            workspace = found.make() if found is not None else Workspace()
        except WorkspaceError as error:
            self.unscored[row.line] = Finding("unscored", row.line, row.id, f"no workspace: {error}"[:WHAT])
            return
        names = self._outputs(row, workspace)
        prompt = row.question.encode("utf-8", "replace")
        if workspace.knows_before:
            yield _Attempt(row, "what the agent was given", workspace.untouched({}))
        yield _Attempt(row, "nothing", workspace.untouched({}, empty=True))
        if claims := {path: data for path, data in _REWARDS.items() if workspace.declares(path)}:
            yield _Attempt(row, "a file that claims a reward", workspace.untouched(claims))
        if names:
            yield _Attempt(row, "empty files of the right names", workspace.untouched(dict.fromkeys(names, b"")))
            yield _Attempt(row, "the task's text in the files", workspace.untouched(dict.fromkeys(names, prompt)))

    def _is_paid(self, score: Score) -> bool:
        return score.value is not None and score.value >= self._mark

    def _note_lost(self, items: Sequence[ScoredProbe]) -> None:
        for item in items:
            if item.score.status in LOST:
                self.unscored.setdefault(item.probe.row.line, _finding("unscored", item, "no score"))

    def _outputs(self, row: AuditRow, workspace: Workspace) -> list[str]:
        """Return the paths that the task requires, as named by the row, its agent and the reward."""
        named = [output for output in workspace.outputs or () if not has_wildcards(output)]
        named += self._named_by_graders(row)
        named += islice(_left(workspace), MOST_OUTPUTS)
        clean = dict.fromkeys(name.strip("/") for name in named)
        return list(islice((name for name in clean if name and workspace.declares(name)), MOST_OUTPUTS))

    def _named_by_graders(self, row: AuditRow) -> Iterator[str]:
        for path in named_paths(self._graders, row.meta):
            if not has_wildcards(path):
                yield path

    def _score(self, rows: Sequence[AuditRow]) -> Iterator[ScoredProbe]:
        attempts = [attempt for row in rows for attempt in self._attempts(row)]
        scores = self._verifier.score([attempt.sample for attempt in attempts])
        self._tick(len(rows))
        for attempt, score in zip(attempts, scores, strict=True):
            yield ScoredProbe(Probe(attempt.row, "undone", attempt.name, "", False), score)


def reads_files(verifier: Verifier) -> bool:
    """Whether a reward reads the files that an agent left."""
    return any(
        isinstance(part, WorkspaceVerifier) or getattr(part, "shows", "") == "workspace" for part in walk(verifier)
    )


def named_paths(verifiers: Iterable[Verifier], row: Mapping[str, Any]) -> Iterator[str]:
    """Yield the required files, and patterns of them, that verifiers name and the row's own options for them."""
    for one in verifiers:
        own = row.get(one.name)
        for options in (vars(one), own if isinstance(own, Mapping) else {}):
            yield from (path for option in _NAMING for path in _paths(options.get(option)))


def _paths(told: object) -> list[str]:
    """Return the paths and patterns that an option names."""
    if isinstance(told, str):
        told = [told]
    named = list(told) if isinstance(told, list | tuple | Mapping) else []
    return [path for path in named if isinstance(path, str)]


def _left(workspace: Workspace) -> Iterator[str]:
    """Yield the output files that the row's own agent left. Nothing is yielded if they can't be read."""
    try:
        files = [path for path, entry in workspace.after.manifest.items() if entry.kind == "file"]
    except (AgentFault, WorkspaceError):
        return
    outputs = workspace.outputs if workspace.outputs is not None else ["**"]
    yield from (path for path in files if any(matches(output.lstrip("/"), path) for output in outputs))


def _finding(check: str, item: ScoredProbe, told: str) -> Finding:
    probe = item.probe
    what = f"{told}: {probe.transform}" + (f"; {item.score.reason}" if item.score.reason else "")
    return Finding(check, probe.row.line, probe.row.id, what[:WHAT], probe.transform, value=item.score.value)
