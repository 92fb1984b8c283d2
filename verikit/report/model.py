"""What a page is made of: runs, each with metrics, charts, tables and samples. Plain data; only `page` knows HTML."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

Number = float | int | None
RIGHT, WRONG, UNSCORED = "right", "wrong", "unscored"
DISAGREE, SELECTED, DIFFERS = "disagree", "selected", "differs"


SAMPLES = 10_000
MOST_DRAWN = 1e100
"""Larger values, infinities among them, are shown as missing."""


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
"""Name of a sample's score that orders candidates and says nothing of right and wrong."""


def _check_texts(*texts: object) -> None:
    for text in texts:
        if not isinstance(text, str):
            raise TypeError(f"a text is {type(text).__name__}")


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
    """`line`: x, y, and the band's low and high or None; `histogram`: from, to, count; `forest`: value, low, high."""

    def __post_init__(self) -> None:
        """Take what no axis has a place for as missing.

        Raises:
            TypeError: a point holds what is no number, as in a folder that was changed by hand.
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
    """Folded away until asked for."""


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
    """A text of a sample under its heading; of a very long one, the beginning and the end."""

    title: str
    head: str
    tail: str = ""
    omitted: int = 0
    """Characters between head and tail that are not in the page."""

    def __post_init__(self) -> None:
        """Refuse what is no text, as in a folder that was changed by hand.

        Raises:
            TypeError: it is none.
        """
        _check_texts(self.title, self.head, self.tail)


@dataclass(slots=True)
class SampleItem:
    """One sample of the browser."""

    id: str
    """Of the prompt."""
    label: str
    """What tells it from the others of the same prompt."""
    tags: list[str]
    """What filters find it by; keys of `FILTERS`."""
    value: Number
    verdict: str
    """A word or two: what came out."""
    length: int
    texts: Sequence[Text] = ()
    """The first is the prompt, the second what was scored."""
    scores: Mapping[str, Any] = field(default_factory=dict)
    """By name: scores in the form of scores.jsonl, with their parts and steps."""
    facts: list[tuple[str, str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Refuse what is no name and no number, as in a folder that was changed by hand.

        Raises:
            TypeError: there is one.
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
    """What was run, in a few lines."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """The whole configuration; what differs between runs is shown."""
    notices: list[str] = field(default_factory=list)
    """What a reader must know before believing the metrics."""
    metrics: Sequence[Metric] = ()
    charts: Sequence[Chart] = ()
    tables: Sequence[Table] = ()
    items: list[SampleItem] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Options:
    """What the caller wants of a page."""

    data: Sequence[str] = ()
    """Files that hold the texts, in place of those that a run's configuration names."""
    samples: int = SAMPLES
    """Samples of one run that are in the page, at most."""
    keys: Sequence[str] = ()
    """Keys of the rows to slice runs by."""


FILTERS: Mapping[str, tuple[str, str]] = {
    RIGHT: ("Right", "value of at least 0.5"),
    WRONG: ("Wrong", "value below 0.5"),
    "first": ("First wins", "the judge prefers the first model's answer"),
    "tie": ("Tie", "no preference, or the two orders disagree"),
    "second": ("Second wins", "the judge prefers the second model's answer"),
    UNSCORED: ("Unscored", "no value: our fault or the data's, or the verifier does not apply"),
    DISAGREE: ("Verifiers disagree", "one part says right, another says wrong"),
    "orders": ("Orders disagree", "the verdict depends on which answer was shown first"),
    "against": ("Against the label", "the verdict is not that of the label"),
    DIFFERS: ("Runs differ", "another run says otherwise of the same candidate"),
    SELECTED: ("Selected", "the candidate that the selector kept"),
    "unfinished": ("Unfinished", "cut off at the length limit"),
}
"""Every tag: its name in the page, and what it means."""
VERDICTS = (RIGHT, WRONG, "first", "tie", "second", UNSCORED)
"""Tags of which a sample has one."""
