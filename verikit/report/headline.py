"""The first screen of compared runs: sentences with intervals, a picture, flips, and replies to the same question."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from verikit.platform.terminal import in_percent
from verikit.report.differences import RunDifference
from verikit.report.items import cut
from verikit.report.model import SELECTED, Cell, Chart, Run, SampleItem, Series, Table, Text
from verikit.report.slice_tables import difference
from verikit.report.slices import RunOutcomes, Slice, estimates_on, on_task, tasks_of_all
from verikit.stats import Estimate
from verikit.stats.paired import LEVEL, Difference, holm
from verikit.types import PASS_MARK, JsonObject

SENTENCES = 6
ROWS = 12
"""Maximum rows of the picture, most questions first."""
WORST = 6
"""Number of questions with replies."""
LONGEST = 1200
"""Maximum characters of a question or reply."""
ALL = "all questions"


class RunReply(NamedTuple):
    """A run's reply to a question. The text is None if the page does not have it."""

    run: str
    value: float
    text: Text | None


class DifferingQuestion(NamedTuple):
    """A question on which the runs differ, with their replies."""

    id: str
    about: str
    """The metric and the row's keys."""
    question: Text
    replies: Sequence[RunReply]


def sentences(pairs: Sequence[RunDifference]) -> list[str]:
    """Return a sentence for each pair of runs and metric: the difference with its interval. The clearest come first."""
    adjusted = holm([pair.difference.p for pair in pairs])
    several = len({pair.difference.task for pair in pairs}) > 1
    told = [_sentence(pair, p, several, len(pairs)) for pair, p in zip(pairs, adjusted, strict=True)]
    order = sorted(range(len(pairs)), key=lambda at: adjusted[at])
    left = len(order) - SENTENCES
    more = [f"The table of differences has {left:,} more."] if left > 0 else []
    return [told[at] for at in order[:SENTENCES]] + more


def _sentence(pair: RunDifference, p: float, several: bool, comparisons: int) -> str:
    found, metric = pair.difference, difference(pair)
    on = (f" on {found.task}" if several else "") + _questions(found)
    if not found.changed:
        return f"{pair.second} and {pair.first} have equal values{on}."
    start = f"{pair.second} {_beside(found.value, metric.percent, pair.first)}{on}"
    if metric.low is None or metric.high is None:
        return f"{start}. The interval is unknown, because the values have no bounds."
    low, high = (found.low, found.high) if found.value >= 0 else (-found.high, -found.low)
    between = f"95 % interval {_range(low, high, metric.percent)}"
    if p < LEVEL:
        return f"{start}, {between}."
    why = f" after correction for {comparisons} comparisons" if found.p < LEVEL else ""
    return f"{start}, {between}: not significant{why}."


def _beside(value: float, percent: bool, first: str) -> str:
    """How the second run's mean stands beside the first's."""
    if not value:
        return f"has the same mean as {first}"
    size = in_percent(abs(value)) + " points" if percent else f"{abs(value):.3g}"
    return f"is {size} {'below' if value < 0 else 'above'} {first}"


def _questions(found: Difference) -> str:
    """On which questions the runs are compared, if those are not all or if nothing else is said."""
    if found.left_out:
        return f" on the {found.docs:,} of {found.docs + found.left_out:,} questions that both have a value for"
    if found.changed:
        return ""
    return f" on all {found.docs:,} questions" if found.docs > 1 else " on the one question"


def _range(low: float, high: float, percent: bool) -> str:
    """An interval as the page's tables show it: an end that would round to 0 has more places."""
    if not percent:
        return f"{low:.3g} to {high:.3g}"
    places = 0 if high - low >= 0.05 else 1
    return f"{in_percent(low, places)} to {in_percent(high, places)}"


def pictures(outcomes: RunOutcomes, slices: Sequence[Slice]) -> Iterator[Chart]:
    """Yield the runs' values side by side: by key value if there are slices, otherwise by metric."""
    runs, tasks = tuple(outcomes), tasks_of_all(outcomes)
    whole = {task: _shared(outcomes, task) for task in tasks}
    if not slices:
        found = [(task if len(tasks) > 1 else ALL, values) for task, values in whole.items()]
        yield from _forest("Runs side by side", runs, found)
    for key, task in dict.fromkeys((some.key, some.task) for some in slices):
        same = [(some.value, some.estimates) for some in slices if (some.key, some.task) == (key, task)]
        title = f"{task}, runs side by side by {key}" if len(tasks) > 1 else f"Runs side by side by {key}"
        yield from _forest(title, runs, [(ALL, whole[task]), *same])


def _shared(outcomes: RunOutcomes, task: str) -> Mapping[str, Estimate]:
    runs = on_task(outcomes, task)
    return estimates_on(runs, next(iter(runs.values())).values)[0]


def _forest(title: str, runs: Sequence[str], rows: Sequence[tuple[str, Mapping[str, Estimate]]]) -> Iterator[Chart]:
    """Yield a picture of the rows whose values are fractions. Other values have no common scale."""
    shown = [(name, values) for name, values in rows if _are_fractions(values)][:ROWS]
    if not shown:
        return
    series = [
        Series(run, [(row.value, row.low, row.high) for row in (values[run] for _, values in shown)]) for run in runs
    ]
    note = "95 % intervals, on the questions that all runs have"
    if len(shown) < len(rows):
        note += f". {len(shown)} of {len(rows):,} rows"
    names = [name for name, _ in shown]
    yield Chart("side-by-side", title, "value", "", series, "forest", percent=True, note=note, rows=names)


def _are_fractions(values: Mapping[str, Estimate]) -> bool:
    return bool(values) and all(0 <= row.low <= row.high <= 1 for row in values.values())


def flips(pairs: Sequence[RunDifference], outcomes: RunOutcomes) -> Table:
    """Count, for each pair of runs, the questions that both, one or none answer right."""
    names = (
        [f"only {run} right" for run in outcomes]
        if len(outcomes) == 2
        else ["only the first right", "only the second right"]
    )
    several = len({pair.difference.task for pair in pairs}) > 1
    rows: list[Sequence[Cell]] = []
    for pair in pairs:
        found = pair.difference
        values = [on_task(outcomes, found.task)[run].values for run in (pair.first, pair.second)]
        both = sum(value >= PASS_MARK and values[1].get(id, 0.0) >= PASS_MARK for id, value in values[0].items())
        neither = found.docs - both - found.gained - found.lost
        label = f"{pair.first}, {pair.second}"
        rows.append((f"{label}: {found.task}" if several else label, both, found.lost, found.gained, neither))
    note = f"questions with a value in both runs. Right is a value of at least {PASS_MARK}"
    return Table("Paired flips", ("", "both right", *names, "both wrong"), rows, note)


def worst(records: Iterator[JsonObject], runs: Sequence[Run]) -> list[DifferingQuestion]:
    """Return the questions on which runs differ most, with each run's reply.

    Of two runs, the losses of the second come first. If there are more losses than fit, gains get half of the places.
    So a run that gains does not look as if it only lost.

    Args:
        records: Those of `slices.row_records`.
        runs: The runs with their samples.
    """
    by_run = {run.name: _by_id(run.items) for run in runs}
    known = sorted((record for record in records if _spread(record) > 0), key=_spread, reverse=True)
    once: dict[tuple[str, str], JsonObject] = {}
    for record in known:
        once.setdefault((record["id"], record["question"] or record["metric"]), record)
    chosen = list(once.values())
    if len(runs) == 2:
        chosen = _both_ways(chosen, *(run.name for run in runs))
    return [_question(record, by_run) for record in chosen[:WORST]]


def _both_ways(records: Sequence[JsonObject], first: str, second: str) -> list[JsonObject]:
    """The losses of the second run that are shown, and all its gains."""
    gains = [record for record in records if record["values"][second] > record["values"][first]]
    losses = [record for record in records if record["values"][second] < record["values"][first]]
    return [*losses[: max(WORST - WORST // 2, WORST - len(gains))], *gains]


def _by_id(items: Sequence[SampleItem]) -> dict[str, list[SampleItem]]:
    found: dict[str, list[SampleItem]] = {}
    for item in items:
        if item.value is not None:
            found.setdefault(item.id, []).append(item)
    return found


def _spread(record: JsonObject) -> float:
    """The largest distance between two runs' values. 0 if a run has none."""
    values = list(record["values"].values())
    return 0.0 if None in values else max(values) - min(values)


def _question(record: JsonObject, by_run: Mapping[str, Mapping[str, Sequence[SampleItem]]]) -> DifferingQuestion:
    values: Mapping[str, float] = record["values"]
    replies, asked = [], Text("Question", record["question"])
    for run, value in values.items():
        text = None
        if several := _candidates(record, by_run[run]):
            # The lowest run shows its worst candidate, the others their best: these explain the difference.
            choose = min if value == min(values.values()) else max
            item = choose(several, key=lambda item: item.value or 0.0)
            if item.texts:
                asked = Text("Question", *_body(item.texts[0]))
                text = cut(Text(run, *_body(item.texts[:2][-1])), LONGEST)
        replies.append(RunReply(run, value, text))
    keys = [
        str(value) for name, value in record.items() if name not in ("id", "question", "metric", "values") and value
    ]
    return DifferingQuestion(record["id"], ", ".join([record["metric"], *keys]), cut(asked, LONGEST), replies)


def _candidates(record: JsonObject, items: Mapping[str, Sequence[SampleItem]]) -> Sequence[SampleItem]:
    """Return a run's replies to a question: those that its value is made of."""
    id, metric = record["id"], record["metric"]
    found = items.get(id) or items.get(f"{metric} {id}") or _of_members(metric, id, items)
    return [item for item in found if SELECTED in item.tags] if metric == "selected" else found


def _of_members(group: str, id: str, items: Mapping[str, Sequence[SampleItem]]) -> Sequence[SampleItem]:
    """Return the replies to a question of a group of tasks. They have the name of their task, such as `group_part`."""
    found = [some for name, some in items.items() if name.startswith(group) and name.endswith(f" {id}")]
    return found[0] if len(found) == 1 else ()


def _body(text: Text) -> tuple[str, str, int]:
    return text.head, text.tail, text.omitted
