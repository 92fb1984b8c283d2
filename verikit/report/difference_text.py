"""Differences and leaderboards as tables and sentences."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from verikit.platform.terminal import in_percent, markdown_table, pass_or_fail, printable, table
from verikit.report.differences import RunDifference
from verikit.report.leaderboard import Standing
from verikit.report.slices import Slice
from verikit.scoring.show import SLICES
from verikit.stats.paired import LEVEL, Change, Difference, holm

_HEADER = ("task", "metric", "first", "second", "difference", "95% interval", "p", "gained", "lost", "n")
STANDINGS = ("rank", "run", "task", "metric", "value", "95% interval", "n")
QUESTION = 90
"""Maximum characters of a question in a line."""
MOST_PLACES = 6
"""Decimal places of two values that would look alike with fewer."""
TOLD = 0.01
"""A difference of one point. The report states the number of questions needed to detect it."""


def difference_header(count: int) -> tuple[str, ...]:
    """The columns of a table of differences. The header of p names its correction, which the intervals don't have."""
    return tuple(p_header(count) if name == "p" else name for name in _HEADER)


def p_header(count: int) -> str:
    """The header of the p-values of a number of differences."""
    return "p (Holm)" if count > 1 else "p"


def show_comparison(pairs: Sequence[RunDifference], examples: int) -> Iterator[str]:
    """Yield lines on two runs' differences, the differences that are detectable, and the rows that changed most."""
    differences = [pair.difference for pair in pairs]
    yield from table(difference_header(len(differences)), difference_cells(differences))
    yield ""
    yield pass_or_fail(verdict(pairs), _direction(pairs)) if _significant(pairs) else verdict(pairs)
    for difference in differences:
        yield f"{difference.task}: {power_line(difference)}"
        if difference.left_out:
            yield f"{difference.task}: {difference.left_out:,} questions have no value in both runs and are left out"
        if examples and difference.changed:
            yield f"{difference.task}: {len(difference.changed):,} questions changed"
            for change in _ends(difference.changed, examples):
                yield "  " + pass_or_fail(change_line(change), float(change.after > change.before))


def change_line(change: Change) -> str:
    """Describe a question whose value changed: both values, its id, and its text if known."""
    asked = f": {change.question[:QUESTION]}" if change.question not in ("", change.id) else ""
    places = 2
    while f"{change.before:.{places}f}" == f"{change.after:.{places}f}" and places < MOST_PLACES:
        places += 1
    return printable(f"{change.before:.{places}f} -> {change.after:.{places}f}  {change.id}{asked}")


def slice_tables(slices: Sequence[Slice]) -> Iterator[tuple[str, Sequence[str], list[tuple[str, ...]]]]:
    """For each key and task a title, a header and rows: of two runs their difference, of more each run's value.

    p-values are corrected for the values of the key.
    """
    for key, task in dict.fromkeys((found.key, found.task) for found in slices):
        several = [found for found in slices if (found.key, found.task) == (key, task)]
        runs = list(several[0].estimates)
        title = f"{task} by {key}"
        if len(runs) == 2:
            cells = difference_cells([found.differences[0].difference for found in several])
            rows = [(found.value, *cell[2:]) for found, cell in zip(several, cells, strict=True)]
            yield title, (key, *runs, *difference_header(len(rows))[4:]), rows
        else:
            yield title, (key, *runs, "n"), [(found.value, *_values(found), str(found.n)) for found in several]


def _values(found: Slice) -> Iterator[str]:
    for row in found.estimates.values():
        yield f"{100 * row.value:.2f} [{100 * row.low:.2f}, {100 * row.high:.2f}]"


def show_slices(slices: Sequence[Slice]) -> Iterator[str]:
    """Yield lines that compare the runs on each value of each key."""
    for title, header, rows in slice_tables(slices):
        yield from ("", printable(f"{title}:"))
        kept = [[printable(cell) for cell in row] for row in rows[:SLICES]]
        yield from table([printable(name) for name in header], kept)
        if len(rows) > SLICES:
            yield f"and {len(rows) - SLICES:,} more, with --json"


def show_leaderboard(standings: Sequence[Standing], pairs: Sequence[RunDifference]) -> Iterator[str]:
    """Yield lines with several runs' ranks and the significant differences."""
    yield from table(STANDINGS, standing_cells(standings))
    yield ""
    yield verdict(pairs)


def markdown_comparison(
    standings: Sequence[Standing], pairs: Sequence[RunDifference], slices: Sequence[Slice] = ()
) -> Iterator[str]:
    """The same as Markdown, for a pull request."""
    if standings:
        yield from markdown_table(STANDINGS, standing_cells(standings))
        yield ""
    yield from markdown_differences(pairs)
    yield from ("", verdict(pairs))
    for title, header, rows in slice_tables(slices):
        yield from ("", printable(title), "", *markdown_table(header, rows))


def difference_cells(differences: Sequence[Difference]) -> list[tuple[str, ...]]:
    """Rows of the table of differences. The p-values are corrected for multiple comparisons."""
    return [
        (
            difference.task,
            difference.metric,
            f"{100 * difference.before:.2f}",
            f"{100 * difference.after:.2f}",
            in_percent(difference.value, 2, "+"),
            f"{in_percent(difference.low, 2, '+')} to {in_percent(difference.high, 2, '+')}",
            f"{p:.4f}{' *' if p < LEVEL else ''}",
            str(difference.gained),
            str(difference.lost),
            str(difference.docs),
        )
        for difference, p in zip(differences, holm([difference.p for difference in differences]), strict=True)
    ]


def standing_cells(standings: Sequence[Standing]) -> list[tuple[str, ...]]:
    """Rows of the leaderboard. A rank is a range if differences that are not significant leave it open."""
    return [
        (
            str(row.first_rank) if row.first_rank == row.last_rank else f"{row.first_rank}-{row.last_rank}",
            row.run,
            row.task,
            row.metric,
            f"{100 * row.estimate.value:.2f}",
            f"{100 * row.estimate.low:.2f} to {100 * row.estimate.high:.2f}",
            str(row.estimate.n),
        )
        for row in standings
    ]


def markdown_differences(pairs: Sequence[RunDifference]) -> list[str]:
    """A table of the differences of several pairs."""
    cells = difference_cells([pair.difference for pair in pairs])
    named = [(f"{pair.second} - {pair.first}", row[0], *row[4:]) for pair, row in zip(pairs, cells, strict=True)]
    return markdown_table(("runs", "task", *difference_header(len(pairs))[4:]), named)


def verdict(pairs: Sequence[RunDifference]) -> str:
    """State the significant differences: which run is better, and by how much."""
    real = list(map(_beats, _significant(pairs)))
    told = f"real at {LEVEL:.0%}: {'; '.join(real)}" if real else f"no difference is real at {LEVEL:.0%}"
    corrected = f"sign-flip test, p by Holm over {len(pairs)}, intervals not corrected"
    return f"{told} ({corrected if len(pairs) > 1 else 'sign-flip test'})"


def _significant(pairs: Sequence[RunDifference]) -> list[RunDifference]:
    ps = holm([pair.difference.p for pair in pairs])
    return [pair for pair, p in zip(pairs, ps, strict=True) if p < LEVEL]


def _direction(pairs: Sequence[RunDifference]) -> float | None:
    """1 if the second run gains in all significant differences, 0 if it loses in all, otherwise None."""
    gains = {float(pair.difference.value > 0) for pair in _significant(pairs)}
    return gains.pop() if len(gains) == 1 else None


def power_line(difference: Difference) -> str:
    """Describe the differences that a comparison of this size can detect."""
    detectable = difference.detectable
    if not detectable:
        return f"the runs agree on all {difference.docs:,} questions"
    needed = math.ceil(difference.docs * (detectable / TOLD) ** 2)
    return (
        f"these {difference.docs:,} questions show a difference of {100 * detectable:.1f} points 4 times in 5; "
        f"one of {100 * TOLD:.0f} point takes about {needed:,}"
    )


def _beats(pair: RunDifference) -> str:
    difference = pair.difference
    winner, loser = (pair.second, pair.first) if difference.value > 0 else (pair.first, pair.second)
    return f"{winner} beats {loser} by {in_percent(abs(difference.value), 2)} on {difference.task}"


def _ends(changes: Sequence[Change], most: int) -> list[Change]:
    """The largest losses and the largest gains, half and half."""
    if len(changes) <= most:
        return list(changes)
    return [*changes[: (most + 1) // 2], *changes[len(changes) - most // 2 :]]
