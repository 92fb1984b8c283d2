"""Data of a page: runs, each with metrics, charts, tables and samples. The data are plain. Only `page` emits HTML."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

Number = float | int | None
RIGHT, WRONG, UNSCORED = "right", "wrong", "unscored"
DISAGREE, SELECTED, DIFFERS = "disagree", "selected", "differs"


SAMPLES = 10_000
MOST_DRAWN = 1e100
"""Larger values, including infinities, are shown as missing."""


@dataclass(frozen=True, slots=True)
class Metric:
    """A headline number with its 95 % interval."""

    label: str
    value: Number
    low: Number = None
    high: Number = None
    percent: bool = True
    note: str = ""


Cell = str | float | int | Metric | None
RANKED_BY = "ranked by"
"""Name of a score that only orders candidates and does not decide whether they are right."""


def _check_texts(*texts: object) -> None:
    for text in texts:
        if not isinstance(text, str):
            raise TypeError(f"{type(text).__name__} instead of a string")


def _drawn(value: Number) -> Number:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(f"a value is {type(value).__name__}, not a number")
    return value if abs(value) < MOST_DRAWN else None  # NaN is not either


@dataclass(frozen=True, slots=True)
class Series:
    """One line, one set of bars, or one row of a chart."""

    name: str
    points: Sequence[tuple[Number, ...]]
    """`line`: x, y, and the band's low and high or None; `histogram`: from, to, count; `forest`: value, low, high.

    A forest with `rows` has a point for each of them, otherwise a single point.
    """

    def __post_init__(self) -> None:
        """Replace values that can't be plotted with missing values.

        Raises:
            TypeError: A point has a value that is not a number, for example in a folder that was edited by hand.
        """
        object.__setattr__(self, "points", [tuple(map(_drawn, point)) for point in self.points])


@dataclass(frozen=True, slots=True)
class Chart:
    """One chart; charts of one `key` in several runs are laid over each other."""

    key: str
    title: str
    x: str
    y: str
    series: Sequence[Series]
    kind: Literal["line", "histogram", "forest"] = "line"
    percent: bool = False
    """The values are shares, shown in percent."""
    log: bool = False
    """x is on a scale of powers of two."""
    reference: Number = None
    """A value to compare with, drawn as a line."""
    note: str = ""
    more: bool = False
    """Whether it is collapsed by default."""
    rows: Sequence[str] = ()
    """The rows of a forest that compares series in each. Without rows each series is a row."""


@dataclass(frozen=True, slots=True)
class Table:
    """A table; numbers are right-aligned."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    note: str = ""
    more: bool = False


@dataclass(frozen=True, slots=True)
class Text:
    """A text of a sample with its heading. A very long text has only its start and end."""

    title: str
    head: str
    tail: str = ""
    omitted: int = 0
    """Characters between head and tail that are not in the page."""

    def __post_init__(self) -> None:
        """Reject values that are not strings, for example in a folder that was edited by hand.

        Raises:
            TypeError: A value is not a string.
        """
        _check_texts(self.title, self.head, self.tail)


@dataclass(frozen=True, slots=True)
class LeftFile:
    """A file of an agent's workspace, with the checks that read it."""

    path: str
    size: str
    change: str = ""
    """Whether the agent added, changed or removed it."""
    problem: str = ""
    checks: Sequence[tuple[str, Number, str]] = ()
    """Name, value and status of each check."""

    def __post_init__(self) -> None:
        """Reject values of other types, for example in a folder that was edited by hand.

        Raises:
            TypeError: There is such a value.
        """
        _check_texts(
            self.path,
            self.size,
            self.change,
            self.problem,
            *(text for name, _, status in self.checks for text in (name, status)),
        )
        object.__setattr__(self, "checks", [(name, _drawn(value), status) for name, value, status in self.checks])


@dataclass(slots=True)
class SampleItem:
    """One sample of the browser."""

    id: str
    """Id of the prompt."""
    label: str
    """Distinguishes the sample from the others of the same prompt."""
    tags: list[str]
    """Tags by which filters find it, which are keys of `FILTERS`."""
    value: Number
    verdict: str
    """The outcome in a word or two."""
    length: int
    texts: Sequence[Text] = ()
    """The prompt, the scored text, then any others."""
    scores: Mapping[str, Any] = field(default_factory=dict)
    """Scores by name, in the format of scores.jsonl with parts and steps."""
    facts: list[tuple[str, str]] = field(default_factory=list)
    files: Sequence[LeftFile] = ()
    """The files that an agent left."""
    more_files: int = 0
    """Number of further files."""

    def __post_init__(self) -> None:
        """Reject names that are not strings and values that are not numbers, for example from a hand-edited folder.

        Raises:
            TypeError: There is such a value.
        """
        _check_texts(self.id, self.label, self.verdict, *self.tags)
        self.value = _drawn(self.value)


@dataclass(slots=True)
class Run:
    """One run's part of the page."""

    name: str
    kind: str
    title: str
    facts: Sequence[tuple[str, str]] = ()
    """A few lines that describe the run."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """The whole configuration; what differs between runs is shown."""
    notices: list[str] = field(default_factory=list)
    """Warnings to read before trusting the metrics."""
    metrics: Sequence[Metric] = ()
    charts: Sequence[Chart] = ()
    tables: Sequence[Table] = ()
    items: list[SampleItem] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Options:
    """The caller's options for a page."""

    data: Sequence[str] = ()
    """Files with the texts, instead of the files named in a run's configuration."""
    samples: int = SAMPLES
    """Maximum samples of one run on the page."""
    keys: Sequence[str] = ()
    """Keys of the rows to slice runs by."""


FILTERS: Mapping[str, tuple[str, str]] = {
    RIGHT: ("Right", "value of at least 0.5"),
    WRONG: ("Wrong", "value below 0.5"),
    "first": ("First wins", "the judge prefers the first model's answer"),
    "tie": ("Tie", "no preference, or the two orders disagree"),
    "second": ("Second wins", "the judge prefers the second model's answer"),
    UNSCORED: ("Unscored", "no value: an error of the machine or the data, or the verifier does not apply"),
    DISAGREE: ("Verifiers disagree", "one part is right, another wrong"),
    "orders": ("Orders disagree", "the verdict depends on which answer was shown first"),
    "against": ("Against the label", "the verdict differs from the label"),
    DIFFERS: ("Runs differ", "another run has another verdict on the same candidate"),
    SELECTED: ("Selected", "the candidate that the selector kept"),
    "unfinished": ("Unfinished", "cut off at the length limit"),
}
"""Every tag with its label on the page and its meaning."""
VERDICTS = (RIGHT, WRONG, "first", "tie", "second", UNSCORED)
"""Mutually exclusive tags, one per sample."""
