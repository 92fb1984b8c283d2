"""Tries a reward on texts with a known verdict: gold answers, their spellings, near misses, other answers, hacks."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from statistics import fmean

from verikit.audit.findings import CheckCount, Finding, ProbeCount, counted
from verikit.audit.hacks import hacks, surroundings
from verikit.audit.rows import AuditRow
from verikit.audit.spellings import FORMS, near_misses, spellings
from verikit.base import Verifier
from verikit.scoring.tally import LOST
from verikit.types import Sample, Score
from verikit.verifiers.answer import Answer

FORM_ROWS = 40
"""Rows per kind of gold answer that are used to choose its format."""
BATCH = 256
TRIES = 30
"""Attempts at sampling a gold answer that differs from the row's own."""
SHOWN = 400
"""Maximum characters of a text in a finding."""
WHAT = 300
"""Maximum characters of a finding's description."""
_SOLUTION, _PROGRAM = "the row's solution", "the row's solution, fenced"

Tick = Callable[[int], None]
"""Receives the number of texts scored since the last call."""


@dataclass(frozen=True, slots=True)
class Probe:
    """A text for a row, and whether it should be rewarded."""

    row: AuditRow
    check: str
    transform: str
    text: str
    right: bool


@dataclass(frozen=True, slots=True)
class ScoredProbe:
    """A probe and its score."""

    probe: Probe
    score: Score


class RewardTrial:
    """Tries one reward on rows. `mark` is the minimum value that counts as rewarded."""

    def __init__(
        self, verifier: Verifier, rows: Sequence[AuditRow], mark: float, tick: Tick, begun: Callable[[str, int], None]
    ) -> None:
        self.verifier = verifier
        self.rows = [row for row in rows if row.read is not None or row.solution]
        self.mark = mark
        self.forms: dict[str, str] = {}
        self.findings: list[Finding] = []
        self.checks: list[CheckCount] = []
        self.probes: list[ProbeCount] = []
        self.unscored: dict[int, Finding] = {}
        """Findings by line, each for the row's first text that the reward could not score."""
        self._tick = tick
        self._begun = begun

    def run(self, *, programs: bool, seed: int) -> None:
        """Try all; fills `forms`, `findings`, `checks` and `probes`."""
        self._choose_forms()
        honest = self._judge("itself", list(map(self._honest, self.rows)))
        if honest and not any(item.score.scored for item in honest):
            # A reward that abstains on every gold answer was not tried either.
            self.unscored = {item.probe.row.line: _unscored(item) for item in honest}
        paid = [scored.probe.row for scored in honest if self._paid(scored.score)]
        self._judge("rewriting", self._stated_in(paid, "rewriting", True))
        self._judge("near_miss", self._stated_in(self.rows, "near_miss", False))
        self._judge("other_gold", list(_other_golds(self.rows, self.forms, seed)))
        known = surroundings(self.rows, self.forms)
        attacks = ((row, name, text) for row in self.rows for name, text in hacks(row, known, programs=programs))
        self._judge("hack", [Probe(row, "hack", name, text, False) for row, name, text in attacks])

    def _choose_forms(self) -> None:
        """Choose for each kind of gold answer the format that is rewarded most often. Ties go to the first."""
        by_kind: defaultdict[str, list[AuditRow]] = defaultdict(list)
        for row in self.rows:
            if row.read is None or not row.read.problem:
                by_kind[row.kind].append(row)
        for kind, rows in by_kind.items():
            tried = [Probe(row, "form", name, text, True) for row in rows[:FORM_ROWS] for name, text in _forms(row)]
            scored = list(self._score(tried))
            counts = counts_of("form", scored, self.mark)
            self.probes += [_named(count, f"{kind}: {count.transform}") for count in counts]
            best = max(counts, key=lambda count: (count.share, count.mean or 0.0), default=None)
            if best is not None and best.paid:
                self.forms[kind] = best.transform

    def honest(self, row: AuditRow) -> Sample:
        """Return the sample that states a row's gold answer in the format that is rewarded."""
        return row.sample(self._honest(row).text)

    def _honest(self, row: AuditRow) -> Probe:
        form = self.forms.get(row.kind, "boxed" if row.read else _PROGRAM)
        text = dict(_forms(row)).get(form) or next(iter(dict(_forms(row)).values()), "")
        return Probe(row, "itself", form, text, True)

    def _stated_in(self, rows: Sequence[AuditRow], check: str, right: bool) -> list[Probe]:
        return [probe for row in rows for probe in self._stated(row, check, right)]

    def _stated(self, row: AuditRow, check: str, right: bool) -> Iterator[Probe]:
        read, form = row.read, FORMS.get(self.forms.get(row.kind, ""), "{}")
        if read is None or read.problem:
            return
        make = spellings if right else near_misses
        accepted = {gold.strip() for gold in row.golds}
        for name, text in make(row, read):
            if right or text not in accepted:
                yield Probe(row, check, name, form.format(text), right)

    def _judge(self, check: str, tried: Sequence[Probe]) -> list[ScoredProbe]:
        """Score probes of a check, count them, and keep as findings those whose verdict is wrong."""
        self._begun(check, len(tried))
        scored = list(self._score(tried))
        found = [_finding(item) for item in scored if item.score.scored and self._paid(item.score) != item.probe.right]
        rows = {item.probe.row.line for item in scored if item.score.scored}
        rows -= self.unscored.keys() - {finding.line for finding in found}  # not all of their texts were scored
        self.checks.append(counted(check, len(rows), found))
        self.probes += counts_of(check, scored, self.mark)
        self.findings += found
        return scored

    def _score(self, tried: Iterable[Probe]) -> Iterator[ScoredProbe]:
        waiting = iter(tried)
        while batch := list(islice(waiting, BATCH)):
            scores = self.verifier.score([probe.row.sample(probe.text) for probe in batch])
            self._tick(len(batch))
            for item in map(ScoredProbe, batch, scores):
                if item.score.status in LOST and item.probe.row.sound:
                    self.unscored.setdefault(item.probe.row.line, _unscored(item))
                yield item

    def _paid(self, score: Score) -> bool:
        return score.value is not None and score.value >= self.mark


def _forms(row: AuditRow) -> Iterator[tuple[str, str]]:
    """Yield the texts in which an honest completion states a row's gold answer."""
    read = row.read
    if read is not None:
        for name, form in FORMS.items():
            yield name, form.format(read.text)
    if row.solution:
        yield _SOLUTION, row.solution
        yield _PROGRAM, f"```python\n{row.solution}\n```"


def _golds_by_kind(rows: Sequence[AuditRow]) -> dict[str, list[str]]:
    """Return the gold answers that can be read, by the kind of answer."""
    by_kind: defaultdict[str, list[str]] = defaultdict(list)
    for row in rows:
        if (read := row.read) is not None and not read.problem:
            by_kind[row.kind].append(read.text)
    return by_kind


def _other_golds(rows: Sequence[AuditRow], forms: Mapping[str, str], seed: int) -> Iterator[Probe]:
    """For each row the gold of another one of its kind that is shown to differ."""
    draw, equality = random.Random(seed), Answer(policy="lenient", tail_seconds=0)
    by_kind = _golds_by_kind(rows)
    for row in rows:
        golds, read = by_kind.get(row.kind, []), row.read
        if read is None or read.problem or len(golds) < 2:
            continue
        drawn = (draw.choice(golds) for _ in range(TRIES))
        other = next((text for text in drawn if all(equality.equal(gold, text) is False for gold in row.golds)), None)
        if other is not None:
            text = FORMS.get(forms.get(row.kind, ""), "{}").format(other)
            yield Probe(row, "other_gold", "another row's gold", text, False)


def _finding(item: ScoredProbe) -> Finding:
    probe, value = item.probe, item.score.value
    told = "not rewarded" if probe.right else "rewarded"
    what = f"{told} ({value:.4g}): {probe.transform}" + (f"; {item.score.reason}" if item.score.reason else "")
    return Finding(probe.check, probe.row.line, probe.row.id, what[:WHAT], probe.transform, probe.text[:SHOWN], value)


def _unscored(item: ScoredProbe) -> Finding:
    probe = item.probe
    what = f"no score: {probe.transform}; {item.score.reason}"
    return Finding("unscored", probe.row.line, probe.row.id, what[:WHAT], probe.transform, probe.text[:SHOWN])


def counts_of(check: str, scored: Sequence[ScoredProbe], mark: float) -> list[ProbeCount]:
    """The sums of each transform, in order of first appearance."""
    by_name: defaultdict[str, list[Score]] = defaultdict(list)
    for item in scored:
        by_name[item.probe.transform].append(item.score)
    found = []
    for name, scores in by_name.items():
        values = [score.value for score in scores if score.value is not None]
        paid = sum(value >= mark for value in values)
        mean, highest = (fmean(values), max(values)) if values else (None, None)
        found.append(ProbeCount(check, name, len(values), paid, mean, highest, len(scores) - len(values)))
    return found


def _named(count: ProbeCount, name: str) -> ProbeCount:
    return ProbeCount(count.check, name, count.rows, count.paid, count.mean, count.highest, count.unscored)
