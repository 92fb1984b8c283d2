"""Findings from candidates: gold answers that most candidates contradict, and rewards that contradict labels."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from statistics import fmean, pstdev
from typing import Any

from verikit.audit.findings import Finding, LabelCount, NoiseCount
from verikit.audit.reward import SHOWN, WHAT
from verikit.audit.rows import AuditRow
from verikit.base import Verifier
from verikit.scoring.tally import LOST
from verikit.select import clusters, equality
from verikit.types import Sample, Score
from verikit.verifiers.answer import Answer

LEAST = 3
"""Minimum number of candidates with an answer for a row's majority to count."""
AGREED = 0.6
"""Minimum fraction of them that agree on one answer."""

Candidates = Sequence[tuple[AuditRow, Sequence[Score]]]
"""Rows with the scores of their candidates."""


def score_candidates(verifier: Verifier, rows: Sequence[AuditRow]) -> list[tuple[AuditRow, list[Score]]]:
    """Score every candidate of the rows that have any."""
    held = [row for row in rows if row.completions]
    scores = iter(verifier.score([row.sample(text) for row in held for text in row.completions]))
    return [(row, [next(scores) for _ in row.completions]) for row in held]


def check_unscored(candidates: Candidates) -> Iterator[Finding]:
    """Yield each row's first candidate that the reward could not score. Invalid gold answers have their own check."""
    for row, scores in candidates:
        lost = next((index for index, score in enumerate(scores) if score.status in LOST), None)
        if lost is not None and row.sound:
            what = f"no score: candidate {lost}; {scores[lost].reason}"
            yield Finding("unscored", row.line, row.id, what[:WHAT], "", row.completions[lost][-SHOWN:])


def check_suspects(verifier: Verifier, candidates: Candidates, mark: float) -> tuple[int, list[Finding]]:
    """Count the rows with enough candidates, and find those whose majority contradicts the gold answer.

    If a reward extracts no answers, `answer` extracts them. The majority must be clear (`LEAST`, `AGREED`) and
    unrewarded, and at most a quarter as many candidates may be rewarded.
    """
    looked, found = 0, []
    reader = Answer(tail_seconds=0)
    for row, scores in candidates:
        read, by = scores, verifier
        if not any(score.answer for score in scores):
            read, by = reader.score([row.sample(text) for text in row.completions]), reader
        answers = [score.answer for score in read]
        voted = clusters(answers, *equality(by, read))
        votes = sum(number is not None for number in voted)
        if votes < LEAST:
            continue
        looked += 1
        told = _majority_against(scores, answers, voted, mark)
        if told:
            found.append(Finding("suspect", row.line, row.id, f"{told} {str(row.golds[:1] or '')[1:-1][-60:]}"))
    return looked, found


def _majority_against(scores: Sequence[Score], answers: Sequence[Any], voted: Sequence[int | None], mark: float) -> str:
    """A clear majority of candidates whose answer is not rewarded, as one line. Empty if there is none."""
    votes = Counter(number for number in voted if number is not None)
    ((top, count),) = votes.most_common(1)
    right = sum(score.filled(0.0) >= mark for score in scores)
    theirs = [score.filled(0.0) for score, number in zip(scores, voted, strict=True) if number == top]
    if count < AGREED * votes.total() or 4 * right > count or max(theirs) >= mark:
        return ""
    return (
        f"{count} of {votes.total()} candidates agree on {str(answers[voted.index(top)])[:60]!r}, {right} on the gold"
    )


def check_labels(candidates: Candidates, mark: float) -> tuple[list[LabelCount], list[Finding], int]:
    """Return the reward's counts on labelled candidates by kind, its errors, and the number of rows with labels."""
    tallies: defaultdict[str, Counter[str]] = defaultdict(Counter)
    found: list[Finding] = []
    lines = set()
    for row, index, label, score in _labelled(candidates):
        tally = tallies[str(row.meta.get("kind") or row.kind)]
        lines.add(row.line)
        if score.value is None:
            tally["unscored"] += 1
            continue
        paid = score.value >= mark
        tally["right" if label else "wrong"] += 1
        if paid != label:
            tally["missed" if label else "passed"] += 1
            told = "right by its label, not rewarded" if label else "wrong by its label, rewarded"
            text = row.completions[index]
            what = f"candidate {index}: {told} ({score.value:.4g}); {score.reason}"[:WHAT]
            found.append(Finding("label", row.line, row.id, what, "", text[-SHOWN:], score.value))
    names = ("right", "wrong", "missed", "passed", "unscored")
    counts = [LabelCount(kind, *(tally[name] for name in names)) for kind, tally in sorted(tallies.items())]
    return counts, found, len(lines)


def _labelled(candidates: Candidates) -> Iterator[tuple[AuditRow, int, bool, Score]]:
    for row, scores in candidates:
        for index, (label, score) in enumerate(zip(row.labels, scores, strict=True)):
            if label is not None:
                yield row, index, label, score


def _repeated(verifier: Verifier, samples: Sequence[Sample], repeats: int) -> list[list[float]]:
    """Return each sample's values, scored in forward and reverse order by turns."""
    values: list[list[float]] = [[] for _ in samples]
    for repeat in range(repeats):
        order = list(range(len(samples)))[:: -1 if repeat % 2 else 1]
        scores = verifier.score([samples[i] for i in order])
        for i, score in zip(order, scores, strict=True):
            if score.value is not None:
                values[i].append(score.value)
    return values


def check_noise(
    verifier: Verifier, samples: Sequence[tuple[AuditRow, Sample]], repeats: int, mark: float
) -> tuple[NoiseCount, list[Finding]]:
    """Score the same samples several times, each time as a new batch in another order."""
    values = _repeated(verifier, [sample for _, sample in samples], repeats)
    found = []
    flipped = changed = 0
    spreads = []
    for (row, _), held in zip(samples, values, strict=True):
        if len(held) < 2:
            continue
        spreads.append(pstdev(held))
        if min(held) != max(held):
            changed += 1
            flipped += min(held) < mark <= max(held)
            told = f"the same text got {', '.join(f'{value:.4g}' for value in held[:6])}"
            found.append(Finding("noise", row.line, row.id, told))
    return NoiseCount(repeats, len(spreads), changed, flipped, fmean(spreads) if spreads else 0.0), found
