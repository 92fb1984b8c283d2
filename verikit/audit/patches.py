"""Rows of patches: checks that the row's own patch passes its tests and that an empty patch fails them.

If a row's own patch fails, no patch can be rewarded. If the tests pass on the unchanged repository, every patch is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from verikit.audit.findings import CheckCount, Finding, counted
from verikit.audit.kept import KeptScores
from verikit.audit.rows import AuditRow
from verikit.base import Verifier, walk
from verikit.errors import UsageError
from verikit.types import Sample, Score
from verikit.verifiers.patch.task import WANTED, gold_of
from verikit.verifiers.patch.verifier import Patch

WHAT = 300
"""Maximum characters of a finding's description."""


def is_patch_row(row: AuditRow) -> bool:
    """Whether a row has a repository and names tests of it."""
    return "repository" in row.meta and any(row.meta.get(key) for key in WANTED)


def patch_of(verifier: Verifier) -> Patch | None:
    """Return the patch verifier of a reward, or None."""
    return next((part for part in walk(verifier) if isinstance(part, Patch)), None)


class PatchSweep:
    """Runs each row's own patch and the empty patch, and fills `checks`, `findings` and `unscored`."""

    def __init__(
        self,
        verifier: Patch,
        rows: Sequence[AuditRow],
        tick: Callable[[int], None],
        begun: Callable[[str, int], None],
        kept: KeptScores,
    ) -> None:
        self._verifier = verifier
        self.rows = [row for row in rows if is_patch_row(row)]
        self._tick = tick
        self._begun = begun
        self._kept = kept
        self.checks: list[CheckCount] = []
        self.findings: list[Finding] = []
        self.unscored: dict[int, Finding] = {}
        """Findings by line that explain why a row could not be run."""

    def run(self) -> None:
        """Run every row."""
        self._own([row for row in self.rows if gold_of(row.meta)])
        self._empty(self.rows)

    def _own(self, rows: Sequence[AuditRow]) -> None:
        samples = [row.sample(gold_of(row.meta)) for row in rows]
        found, looked = [], 0
        scores = self._scores("gold_patch", samples, self._verifier.score_as_they_end)
        for row, score in zip(rows, scores, strict=True):
            if not _decided(score):
                self._not_run(row, score)
                continue
            looked += 1
            if score.value is None or score.value < 1.0:
                found.append(Finding("gold_patch", row.line, row.id, score.reason[:WHAT], value=score.value))
        self._count("gold_patch", looked, found)

    def _empty(self, rows: Sequence[AuditRow]) -> None:
        samples = [row.sample("") for row in rows]
        found, looked = [], 0
        scores = self._scores("empty_patch", samples, self._verifier.score_unchanged)
        for row, score in zip(rows, scores, strict=True):
            if score.value is None:
                self._not_run(row, score)
                continue
            looked += 1
            if score.value == 1.0:
                what = "all tests pass on the unchanged repository"
                found.append(Finding("empty_patch", row.line, row.id, what, value=score.value))
        self._count("empty_patch", looked, found)

    def _scores(
        self, check: str, samples: Sequence[Sample], run: Callable[[Sequence[Sample]], Iterator[tuple[int, Score]]]
    ) -> list[Score]:
        """Return the samples' scores: stored ones, and those of new runs, each stored as soon as it is available."""
        keys = [self._key(check, sample) for sample in samples]
        scores = [self._kept.get(key) if key else None for key in keys]
        waiting = [i for i, score in enumerate(scores) if score is None]
        self._begun(check, len(waiting))
        for ended, score in run([samples[i] for i in waiting]):
            at = waiting[ended]
            scores[at] = score
            if (key := keys[at]) and _decided(score):
                self._kept.add(key, score)
            self._tick(1)
        return [score for score in scores if score is not None]

    def _key(self, check: str, sample: Sample) -> str:
        """Return the key under which a score is stored. "" if the row can't be read, which its score reports."""
        try:
            return f"{check} {self._verifier.key(sample)}"
        except (ValueError, TypeError, UsageError, RecursionError):
            return ""

    def _count(self, check: str, looked: int, found: list[Finding]) -> None:
        self.checks.append(counted(check, looked, found))
        self.findings += found

    def _not_run(self, row: AuditRow, score: Score) -> None:
        self.unscored.setdefault(row.line, Finding("unscored", row.line, row.id, f"no score: {score.reason}"[:WHAT]))


def _decided(score: Score) -> bool:
    """Whether a patch was run. A failure that is specific to this machine or moment is retried."""
    return score.value is not None or score.reason.startswith("the row's own patch")


def has_patch_rows(rows: Sequence[AuditRow]) -> bool:
    """Whether a dataset has rows of patches."""
    return any(map(is_patch_row, rows))
