"""A score run's folder, for the page. Every score is read once, and the texts come from the scored file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

from verikit.errors import UsageError
from verikit.platform.terminal import spending
from verikit.replies.split import CUT
from verikit.replies.text import accepted
from verikit.report.criteria import CriteriaSeen
from verikit.report.curves import estimate, histogram, over_k
from verikit.report.items import conversation, disagree, lengths, shortened, shown, spread, verdict_of
from verikit.report.kinds import read_json
from verikit.report.left_files import add_files
from verikit.report.model import DISAGREE, RANKED_BY, SELECTED, Chart, Metric, Options, Run, SampleItem, Table
from verikit.report.seen import RunTally
from verikit.report.slice_tables import of_one_run
from verikit.scoring.chunk import ERRORS, SCORES
from verikit.scoring.chunk import SELECTED as SELECTIONS
from verikit.scoring.plan import ScoringPlan
from verikit.scoring.rereading import find_input, plan_of, read_groups
from verikit.scoring.rows import FINISH, read_rows
from verikit.scoring.run import CONFIG, ENVIRONMENT, SUMMARY
from verikit.scoring.show import cut_share, stopped_early, tallied_alone
from verikit.scoring.slices import Slices, slices
from verikit.stats import at_k
from verikit.stats.early import EARLY_STOP
from verikit.types import Group, JsonObject

_OWN = ("id", "line", "index", "by", FINISH, EARLY_STOP)
"""Keys of a row of scores.jsonl that are not part of the score."""
BAD_ROWS = 20
"""Rows that could not be read and are shown."""


def collect(run: Path, options: Options) -> Run:
    """Read a score run.

    Raises:
        UsageError: It is not finished or damaged, or a file of `options.data` is not the one that was scored.
    """
    summary, config = read_json(run, SUMMARY), read_json(run, CONFIG)
    plan = plan_of(config)
    page = Run(run.name, "score", plan.verifier, settings=_settings(run, config))
    page.facts = list(_facts(summary, plan))
    page.notices = [f"{count:,} unscored: {reason}" for reason, count in summary["unscored_reasons"].items()]
    page.notices += filter(None, (cut_share(summary), *stopped_early(summary)))
    if summary["bad_rows"]:
        page.notices.append(f"{summary['bad_rows']:,} rows of the input could not be read and are in no metric")
    source = _source(run, config, options, page.notices)
    seen, judged = RunTally(), CriteriaSeen()
    every = spread(summary["candidates"], options.samples)
    selected = {row["line"]: row["selected"] for row in read_rows(run / SELECTIONS)}
    asked = read_groups(source, plan)
    places: dict[tuple[int, int], SampleItem] = {}
    for number, (line, rows) in enumerate(groupby(read_rows(run / SCORES), key=itemgetter("line"))):
        candidates = list(rows)
        seen.add(candidates)
        for row in candidates:
            judged.add(row)
        if number % every == 0:
            group = next((group for at, group in asked if at == line), None)
            items = list(_items(candidates, group, selected.get(line)))
            page.items += items
            places |= {(line, row["index"]): item for row, item in zip(candidates, items, strict=True)}
    add_files(run, places)
    if every > 1:
        page.notices.append(
            f"the samples below are those of every {every}th prompt, {len(page.items):,} of "
            f"{summary['candidates']:,} candidates; all metrics and charts are of all of them"
        )
    page.metrics = [*_headline(summary, plan), *judged.metrics()]
    page.charts = list(_charts(summary, plan, seen, page.items))
    tables = [*_metrics(summary["metrics"]), *judged.tables(), *seen.tables(), *_bad_rows(run)]
    page.tables = [*of_one_run(_slices(run, summary, options.keys, plan, source)), *tables]
    return page


def _settings(run: Path, config: JsonObject) -> dict[str, Any]:
    environment = read_json(run, ENVIRONMENT) if (run / ENVIRONMENT).exists() else {}
    return {**config, **({"environment": environment} if environment else {})}


def _facts(summary: JsonObject, plan: ScoringPlan) -> Iterator[tuple[str, str]]:
    yield "verifier", plan.verifier
    if plan.by:
        yield "ranked by", plan.by
    if plan.select:
        yield "selector", plan.select
    yield "prompts", f"{summary['prompts']:,}"
    yield "candidates", f"{summary['candidates']:,}"
    yield "unscored", f"{summary['unscored']:,}"
    if spent := spending(summary.get("usage", {})):
        yield "spent", spent
    for name, rate in summary.get("rates", {}).items():
        yield name.replace("_", " "), f"{rate['value']:.1%} ({rate['count']:,} of {rate['of']:,})"
    for name, count in tallied_alone(summary).items():
        yield name.replace("_", " "), f"{count:,}"


def _headline(summary: JsonObject, plan: ScoringPlan) -> Iterator[Metric]:
    metrics = summary["metrics"]
    if "mean" in metrics:
        yield estimate("Mean of one candidate", metrics["mean"], _among(metrics["mean"], summary))
    if "selected" in metrics:
        yield estimate(f"Selected by {plan.select}", metrics["selected"], _among(metrics["selected"], summary))
    ks = [found[1] for name in metrics if (found := at_k(name))]
    for name in ("pass@", "pass^", "bon@", "maj@") if ks and max(ks) > 1 else ():
        if row := metrics.get(f"{name}{max(ks)}"):
            yield estimate(f"{name}{max(ks)}", row, _among(row, summary))


def _among(row: JsonObject, summary: JsonObject) -> str:
    """Describe the number of prompts behind an estimate. "" if it is all of them."""
    return "" if row["n"] == summary["prompts"] else f"{row['n']:,} of {summary['prompts']:,} prompts"


def _charts(summary: JsonObject, plan: ScoringPlan, seen: RunTally, items: Sequence[SampleItem]) -> Iterator[Chart]:
    charts = (
        over_k(summary["metrics"], graded=summary.get("graded", 0) > 0),
        *(steps.chart(name if name != "score" else plan.verifier) for name, steps in seen.steps.items()),
        histogram("by", f"Ranking score: {plan.by}", "ranking score", "candidates", seen.by),
        histogram("values", "Scores", "score", "candidates", {"scored": seen.values}),
        histogram(
            "prompts",
            "How hard the prompts are",
            "share of a prompt's candidates right",
            "prompts",
            seen.prompts,
            within=(0.0, 1.0),
        ),
        histogram("lengths", "Length", "characters", "candidates", lengths(items)),
    )
    yield from filter(None, charts)


def _metrics(metrics: JsonObject) -> Iterator[Table]:
    rows = [
        (name, row["value"], row["low"], row["high"], row["n"], row["left_out"], row["method"])
        for name, row in metrics.items()
    ]
    columns = ("metric", "value", "low", "high", "prompts", "left out", "interval")
    note = "95 % intervals over prompts; left out: prompts with fewer than k scored candidates, or without a ranking"
    yield Table("Every metric", columns, rows, note, more=True)


def _bad_rows(run: Path) -> Iterator[Table]:
    rows = [(row.get("at", row["line"]), row["field"], row["error"]) for row in read_rows(run / ERRORS)]
    if rows:
        note = f"the first {BAD_ROWS} of {len(rows):,}" if len(rows) > BAD_ROWS else ""
        yield Table("Rows that could not be read", ("line", "field", "problem"), rows[:BAD_ROWS], note)


def _items(rows: Sequence[JsonObject], group: Group | None, selected: int | None) -> Iterator[SampleItem]:
    for row in rows:
        score = shortened({key: value for key, value in row.items() if key not in _OWN})
        tags = [verdict_of(row["value"])]
        tags += [DISAGREE] * disagree(row) + [SELECTED] * (row["index"] == selected)
        scores = {"score": score} | ({RANKED_BY: shortened(row["by"])} if "by" in row else {})
        verdict = row["status"] if row["value"] is None else tags[0]
        label = f"#{row['index']}" if len(rows) > 1 else ""
        item = SampleItem(row["id"], label, tags, row["value"], verdict, 0, scores=scores)
        item.facts = [("finish reason", row[FINISH])] if row.get(FINISH) in CUT else []
        if group is not None:
            index: int = row["index"]
            completion = group.completions[index]
            item.length = len(completion)
            item.texts = [shown("Prompt", conversation(group.prompt)), shown("Candidate", completion)]
            if gold := accepted(group.answer):
                item.facts += [("gold answer", " or ".join(gold))]
        yield item


def slices_of(run: Path, summary: JsonObject, config: JsonObject, options: Options) -> Slices:
    """Return a run's slices by the keys it was scored with and by the keys of the options.

    Raises:
        UsageError: See `collect`.
    """
    return _slices(run, summary, options.keys, plan_of(config), _source(run, config, options, []))


def _slices(
    run: Path, summary: JsonObject, keys: Sequence[str], plan: ScoringPlan, source: str | list[str] | None
) -> Slices:
    """Return the slices that the run was scored with, and those of further keys.

    Raises:
        UsageError: There are further keys, and the input no longer exists or lacks them.
    """
    found: Slices = summary.get("slices", {})
    more = [key for key in keys if key not in found]
    if more and source is None:
        raise UsageError(f"{run}: the rows' keys can't be read", hint="give the file that was scored with --data")
    return found if source is None else {**found, **slices(run, more, plan, source)}


def _source(run: Path, config: JsonObject, options: Options, notices: list[str]) -> str | list[str] | None:
    """Return the file with the texts: the original or one of the caller's. Otherwise add a notice and return None.

    Raises:
        UsageError: None of the caller's files is the scored file.
    """
    path, problem = find_input(run, config, options.data)
    hint = "give the file that was scored with --data"
    if path is None and options.data:
        raise UsageError(f"{run}: {problem}", hint=hint)
    if path is None:
        notices.append(f"the candidates' texts are not here: {problem}; {hint}")
    return path
