"""One chunk of rows: read, score, rank, and write out as bytes. Runs in this process or in a worker."""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace

from verikit.errors import SchemaError, VerikitError
from verikit.readers import RawRow, RowParser
from verikit.scoring.plan import Plan
from verikit.scoring.rows import to_line, to_row
from verikit.scoring.tally import Tally
from verikit.types import Group, Sample, Score
from verikit.verifier import describe, score_all

SCORES, SELECTED, ERRORS = "scores.jsonl", "selected.jsonl", "errors.jsonl"


@dataclass(frozen=True, slots=True)
class Chunk:
    """Consecutive rows of the input, read or still raw."""

    rows: Sequence[tuple[int, RawRow | Group | SchemaError]]
    """Line number and row."""
    parser: RowParser | None = None
    """Reads the raw ones."""

    @property
    def last_line(self) -> int:
        """Line of the last row."""
        return self.rows[-1][0]


@dataclass(slots=True)
class Result:
    """What scoring a chunk gives."""

    tally: Tally
    written: dict[str, bytes] = field(default_factory=dict)
    """Bytes to append, by file."""
    ids: list[tuple[str, int]] = field(default_factory=list)
    """The id and line of each group."""
    seconds: float = 0.0


class Scorer:
    """Scores chunks under a plan; one per process."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.verifier, self.by, self.selector = plan.load()

    def __call__(self, chunk: Chunk, repeated: AbstractSet[int] = frozenset(), dead: str = "") -> Result:
        """Score a chunk.

        `repeated` are lines whose id occurred before: errors, not groups. `dead` is why these rows can't be scored at
        all (they killed a worker): every candidate gets it as its error.
        """
        result = Result(Tally(self.plan, self.verifier))
        groups: list[Group] = []
        errors: list[SchemaError] = []
        for line, row in chunk.rows:
            item = chunk.parser.parse(line, row) if chunk.parser is not None and isinstance(row, RawRow) else row
            if isinstance(item, Group) and line in repeated:
                item = SchemaError(f"the id {item.id!r} occurred before", line=line, field="id", hint="make ids unique")
            if isinstance(item, Group):
                groups.append(item)
                result.ids.append((item.id, line))
            elif isinstance(item, SchemaError):
                errors.append(item)
        self._score(groups, dead, result)
        result.written[ERRORS] = b"".join(map(_error_line, errors))
        for _ in errors:
            result.tally.bad_row()
        return result

    def _score(self, groups: Sequence[Group], dead: str, result: Result) -> None:
        samples = [group.samples() for group in groups]
        flat = [sample for group in samples for sample in group]
        truth, ranking = self._scores(flat, dead)
        scores, selections, start = [], [], 0
        for group in groups:
            end = start + len(group.completions)
            right, ranks = truth[start:end], None if ranking is None else ranking[start:end]
            start = end
            for i, score in enumerate(right):
                row = {"id": group.id, "index": i} | to_row(score)
                scores.append(to_line(row if ranks is None else row | {"by": to_row(ranks[i])}))
            chosen, line = self._select(group, right, ranks)
            selections.append(line)
            result.tally.add(right, ranks, chosen)
        result.written[SCORES] = b"".join(scores)
        result.written[SELECTED] = b"".join(selections)

    def _scores(self, samples: Sequence[Sample], dead: str) -> tuple[list[Score], list[Score] | None]:
        if dead:
            failed = [Score.error(dead)] * len(samples)
            return failed, failed if self.by is not None else None
        return score_all(self.verifier, samples), None if self.by is None else score_all(self.by, samples)

    def _select(
        self, group: Group, truth: Sequence[Score], ranks: Sequence[Score] | None
    ) -> tuple[int | None, bytes]:
        """Rank a group by its ranking scores (the answers are the verifier's); the chosen index and its output line."""
        if self.selector is None:
            return None, b""
        by = truth if ranks is None else [replace(r, answer=t.answer) for r, t in zip(ranks, truth, strict=True)]
        try:
            ranking = self.selector.select(group, by)
        except VerikitError as error:
            return None, to_line({"id": group.id, "selected": None, "reason": describe(error)})
        best = ranking[0]
        row = {"id": group.id, "selected": best, "ranking": ranking, "value": truth[best].value}
        return best, to_line(row | {"completion": group.completions[best]})


def _error_line(error: SchemaError) -> bytes:
    return to_line({"line": error.line, "field": error.field, "error": error.problem, "hint": error.hint})
