"""One chunk of rows: read, score, rank, and write out as bytes. Runs in this process or in a worker."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from verikit.errors import SchemaError, VerikitError
from verikit.readers import RawRow, RowParser, placed, repeated
from verikit.scoring.plan import Plan
from verikit.scoring.rows import to_line, to_row
from verikit.scoring.tally import Tally
from verikit.types import Group, Sample, Score
from verikit.verifier import describe, score_all

NO_REPEATS: Mapping[int, int] = MappingProxyType({})
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

    def __call__(self, chunk: Chunk, repeats: Mapping[int, int] = NO_REPEATS, dead: str = "") -> Result:
        """Score a chunk.

        `repeats` are lines whose id occurred before, and where: errors, not groups. `dead` is why these rows can't be
        scored at all (they killed a worker): every candidate gets it as its error.
        """
        result = Result(Tally(self.plan, self.verifier))
        groups: list[tuple[int, Group]] = []
        errors: list[SchemaError] = []
        for line, row in chunk.rows:
            item = chunk.parser.parse(line, row) if chunk.parser is not None and isinstance(row, (bytes, dict)) else row
            if isinstance(item, Group) and line in repeats:
                item = placed(repeated(item.id, repeats[line]), "", line)
            if isinstance(item, Group):
                groups.append((line, item))
                result.ids.append((item.id, line))
            elif isinstance(item, SchemaError):
                errors.append(item)
        self._score(groups, dead, result)
        result.written[ERRORS] = b"".join(map(_error_line, errors))
        for _ in errors:
            result.tally.bad_row()
        return result

    def _score(self, groups: Sequence[tuple[int, Group]], dead: str, result: Result) -> None:
        truth, ranking = self._scores([sample for _, group in groups for sample in group.samples()], dead)
        scores, selections, start = [], [], 0
        for line, group in groups:
            end = start + len(group.completions)
            right, ranks = truth[start:end], None if ranking is None else ranking[start:end]
            start = end
            for i, score in enumerate(right):
                row = {"id": group.id, "line": line, "index": i} | to_row(score)
                scores.append(to_line(row if ranks is None else row | {"by": to_row(ranks[i])}))
            chosen, selection = self._select(line, group, right, ranks)
            selections.append(selection)
            result.tally.add(right, ranks, chosen)
        result.written[SCORES] = b"".join(scores)
        result.written[SELECTED] = b"".join(selections)

    def _scores(self, samples: Sequence[Sample], dead: str) -> tuple[list[Score], list[Score] | None]:
        if dead:
            failed = [Score.error(dead)] * len(samples)
            return failed, failed if self.by is not None else None
        return score_all(self.verifier, samples), None if self.by is None else score_all(self.by, samples)

    def _select(
        self, line: int, group: Group, truth: Sequence[Score], ranks: Sequence[Score] | None
    ) -> tuple[int | None, bytes]:
        """Rank a group by its ranking scores (the answers are the verifier's); the chosen index and its output line."""
        if self.selector is None:
            return None, b""
        by = truth if ranks is None else [replace(r, answer=t.answer) for r, t in zip(ranks, truth, strict=True)]
        try:
            ranking = self.selector.select(group, by)
        except VerikitError as error:
            return None, to_line({"id": group.id, "line": line, "selected": None, "reason": describe(error)})
        best = ranking[0]
        row = {"id": group.id, "line": line, "selected": best, "ranking": ranking, "value": truth[best].value}
        return best, to_line(row | {"completion": group.completions[best]})


def _error_line(error: SchemaError) -> bytes:
    return to_line({"line": error.line, "field": error.field, "error": error.problem, "hint": error.hint})
