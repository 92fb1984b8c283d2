"""One chunk of rows: read, score, rank, and write out as bytes. Runs in this process or in a worker."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from verikit.base import Verifier, walk
from verikit.errors import EngineError, SchemaError, VerikitError, raise_if_gone
from verikit.platform.raised import describe
from verikit.readers import FileParsers, Places, RawRow, RowParser
from verikit.replies.split import finish_reason
from verikit.scoring.plan import ScoringPlan
from verikit.scoring.rows import FINISH, to_line, to_row
from verikit.scoring.tally import LOST, Tally
from verikit.select import Selector, comparing, equality
from verikit.stats.early import EARLY_STOP, EarlyStop
from verikit.stats.intervals import LARGEST
from verikit.types import Group, Sample, Score
from verikit.workspaces.grading import attached, tree_of

SCORES, SELECTED, ERRORS = "scores.jsonl", "selected.jsonl", "errors.jsonl"
TREES = "workspaces.jsonl"


@dataclass(frozen=True, slots=True)
class Chunk:
    """Consecutive rows of the input, read or still raw."""

    rows: Sequence[tuple[int, RawRow | Group | SchemaError]]
    """Line number and row."""
    parser: RowParser | FileParsers | None = None
    """Parses the raw rows."""
    places: Places = field(default_factory=Places)
    """File and line of each row."""
    again: bool = False
    """Whether the rows were scored before, and failed."""

    @property
    def last_line(self) -> int:
        """Line of the last row."""
        return self.rows[-1][0]

    def halves(self) -> tuple[Chunk, Chunk] | None:
        """Return the same rows in two chunks, or None if they all have one number."""
        numbers = [line for line, _ in self.rows]
        cuts = [i for i in range(1, len(numbers)) if numbers[i - 1] != numbers[i]]
        if not cuts:
            return None
        cut = min(cuts, key=lambda i: abs(2 * i - len(numbers)))
        return replace(self, rows=self.rows[:cut]), replace(self, rows=self.rows[cut:])


@dataclass(slots=True)
class ChunkResult:
    """The result of scoring a chunk."""

    tally: Tally
    written: dict[str, bytes] = field(default_factory=dict)
    """Bytes to append, by file."""
    ids: list[tuple[str, int]] = field(default_factory=list)
    """The id and line of each group."""
    seconds: float = 0.0


class Scorer:
    """Scores chunks under a plan; one per process."""

    def __init__(self, plan: ScoringPlan) -> None:
        self.plan = plan
        verifier, by, selector = plan.load()
        self.verifier: Verifier = verifier
        self.by: Verifier | None = by
        self.selector: Selector | None = selector

    def parts(self) -> Iterator[Verifier]:
        """Yield every verifier in use, and all their parts."""
        for verifier in filter(None, (self.verifier, self.by)):
            yield from walk(verifier)

    def tally(self) -> Tally:
        """Return an empty tally of a run."""
        return Tally(self.plan, self.verifier)

    def __call__(self, chunk: Chunk, dead: str = "") -> ChunkResult:
        """Score a chunk. If `dead` is given (it killed a worker), it becomes every candidate's error.

        Raises:
            EngineError: The engine of a verifier or of one of its parts is unreachable.
            UsageError: A verifier was set up incorrectly.
        """
        result = ChunkResult(self.tally().part())
        groups: list[tuple[int, Group]] = []
        errors: list[SchemaError] = []
        for line, row in chunk.rows:
            item = chunk.parser.parse(line, row) if chunk.parser is not None and isinstance(row, (bytes, dict)) else row
            if isinstance(item, Group):
                groups.append((line, item))
                result.ids.append((item.id, line))
            elif isinstance(item, SchemaError):
                errors.append(item)
        self._score(groups, dead, result, chunk.again)
        result.written[ERRORS] = b"".join(to_line(error_row(error, chunk.places)) for error in errors)
        for _ in errors:
            result.tally.bad_row()
        return result

    def _score(self, groups: Sequence[tuple[int, Group]], dead: str, result: ChunkResult, again: bool) -> None:
        samples = [attached(sample) for _, group in groups for sample in group.samples()]
        truth, ranking = self._scores(samples, dead, again)
        scores, selections, trees, start = [], [], [], 0
        for line, group in groups:
            end = start + len(group.completions)
            right, ranks = truth[start:end], None if ranking is None else ranking[start:end]
            finished = [finish_reason(sample.meta) for sample in samples[start:end]]
            early = EarlyStop.of(group.meta)
            for i, score in enumerate(right):
                row = {"id": group.id, "line": line, "index": i} | to_row(score)
                row |= {FINISH: finished[i]} if finished[i] else {}
                row |= {EARLY_STOP: early.as_row()} if early else {}
                scores.append(to_line(row if ranks is None else row | {"by": to_row(ranks[i])}))
            trees += _trees(line, group, samples[start:end])
            start = end
            chosen, selection = self._select(line, group, right, ranks)
            selections.append(selection)
            result.tally.add(right, ranks, chosen, finished, early)
        result.written[SCORES] = b"".join(scores)
        result.written[SELECTED] = b"".join(selections)
        result.written[TREES] = b"".join(trees)

    def _scores(self, samples: Sequence[Sample], dead: str, again: bool) -> tuple[list[Score], list[Score] | None]:
        if dead:
            failed = [Score.error(dead)] * len(samples)
            return failed, failed if self.by is not None else None
        truth = _scored(self.verifier, samples)
        check_engines(truth, again=again)
        ranking = None if self.by is None else _scored(self.by, samples)
        check_engines(ranking or (), again=again)
        return truth, ranking

    def _select(
        self, line: int, group: Group, truth: Sequence[Score], ranks: Sequence[Score] | None
    ) -> tuple[int | None, bytes]:
        """Rank a group by its ranking scores (the answers are the verifier's).

        Return the chosen index and its output line.
        """
        if self.selector is None:
            return None, b""
        by = truth if ranks is None else [replace(r, answer=t.answer) for r, t in zip(ranks, truth, strict=True)]
        failure = {"id": group.id, "line": line, "selected": None}
        if all(score.status in LOST for score in by):
            return None, to_line(failure | {"reason": "no candidate could be scored"})
        try:
            ranking = comparing(self.selector, *equality(self.verifier, truth)).select(group, by)
        except VerikitError as error:
            return None, to_line(failure | {"reason": describe(error)})
        best = ranking[0]
        row = {"id": group.id, "line": line, "selected": best, "ranking": ranking, "value": truth[best].value}
        return best, to_line(row | {"completion": group.completions[best]})


def _trees(line: int, group: Group, samples: Sequence[Sample]) -> list[bytes]:
    """A line for each candidate with a workspace: the files that the agent left."""
    return [
        to_line({"id": group.id, "line": line, "index": i} | tree_of(sample))
        for i, sample in enumerate(samples) if sample.workspace is not None
    ]  # fmt: skip


def _scored(verifier: Verifier, samples: Sequence[Sample]) -> list[Score]:
    return [score if _fit(score) else _fitted(score) for score in verifier.score(samples)]


def check_engines(scores: Sequence[Score], *, again: bool = False) -> None:
    """Stop if an engine is unreachable: none of the requests by a verifier, or by one of its parts, was answered.

    If the same samples failed before (`again`), they may be the cause themselves.

    Raises:
        EngineError: It is unreachable. Do not store these scores.
    """
    if all(score.status not in LOST for score in scores):
        return
    asked: dict[tuple[str, ...], list[EngineError | None]] = {}
    below: list[tuple[tuple[str, ...], Score]] = [((), score) for score in scores]
    while below:
        path, score = below.pop()
        if score.scored or score.cause is not None:  # abstained and otherwise failed scores may not have called it
            asked.setdefault(path, []).append(score.cause)
        below += [((*path, name), part) for name, part in score.parts.items()]
        below += [((*path, "steps"), step) for step in score.steps]
    for errors in asked.values():
        raise_if_gone(errors, again=again)


def _fit(score: Score) -> bool:
    """Whether a score can be averaged, and read back unchanged from a file."""
    answer = score.answer
    return (score.value is None or -LARGEST <= score.value <= LARGEST) and (
        answer is None or (type(answer) is str and (answer.isascii() or _to_utf8(answer) == answer))
    )


def _fitted(score: Score) -> Score:
    if score.value is not None and abs(score.value) > LARGEST:
        return Score.error(f"a value of {score.value!r} can't be averaged")
    return replace(score, answer=_to_utf8(str(score.answer)))


def _to_utf8(text: str) -> str:
    return text.encode(errors="replace").decode()


def error_row(error: SchemaError, places: Places) -> dict[str, str | int]:
    """Return a bad row as a JSON object.

    With several files, `line` counts across all, and `at` is its file and line.
    """
    row: dict[str, str | int] = {"line": places.number(error)}
    row |= {"field": error.field, "error": error.problem, "hint": error.hint}
    return row | {"at": f"{error.file}:{error.line}"} if places.several else row
