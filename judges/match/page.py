"""A judge run's folder as an HTML report: win rates, the judge's reliability, and every verdict."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from verikit.errors import UsageError
from verikit.judges.bias import Judged, bias
from verikit.judges.evidence import as_text
from verikit.judges.match.entrants import Bout, judged_bouts
from verikit.judges.match.rows import from_row
from verikit.judges.match.run import CONFIG, SUMMARY, VERDICTS
from verikit.judges.match.show import BIAS, shown_kappa, warnings
from verikit.judges.match.sliced import slices_of, table_rows
from verikit.report.curves import estimate, forest, share
from verikit.report.items import shown, spread
from verikit.report.kinds import read_json
from verikit.report.model import UNSCORED, Cell, Chart, Metric, Options, Run, SampleItem, Series, Table, Text
from verikit.report.slice_tables import ROWS
from verikit.scoring.rows import read_rows
from verikit.stats import mean_interval

Row = Mapping[str, Any]
Sliced = Mapping[str, Sequence[tuple[str, Row]]]
"""By key: its values, each with a pair's summary."""
FAIR = 0.5
LEAST = 10
"""Minimum comparisons in a bin of length differences."""
BINS = 8


def collect(run: Path, options: Options) -> Run:
    """Read a judge run.

    Raises:
        UsageError: It is unfinished or damaged, or the files of `options.data` are not the judged files.
    """
    summary, config = read_json(run, SUMMARY), read_json(run, CONFIG)
    rows = list(read_rows(run / VERDICTS))
    page = Run(run.name, "judge", config["judge"], settings=config)
    page.facts = [
        ("judge", config["judge"]),
        ("models", ", ".join(summary["models"])),
        ("comparisons", f"{summary['comparisons']:,}"),
        ("without a verdict", f"{summary['comparisons'] - summary['judged']:,}"),
    ]
    page.notices = warnings(summary)
    page.notices += [f"{count:,} without a verdict: {reason}" for reason, count in summary["reasons"].items()]
    judged = list(map(from_row, rows))
    page.metrics = list(_metrics(summary))
    page.charts = list(_charts(summary, judged))
    sliced = dict(table_rows(slices_of(run, summary, config, options)))
    page.charts += _sliced_charts(sliced)
    page.tables = [*_sliced_tables(sliced), *_tables(summary)]
    bouts = _bouts(run, rows, config, options, page.notices)
    every = spread(len(rows), options.samples)
    if every > 1:
        page.notices.append(f"the samples below are every {every}th comparison; figures and charts are of all of them")
    page.items = [_item(row, bouts[row["line"] - 1] if bouts else None) for row in rows[::every]]
    return page


def _metrics(summary: Row) -> Iterator[Metric]:
    for pair in summary["pairs"]:
        if "win_rate" in pair:
            yield estimate(f"{pair['a']} against {pair['b']}", pair["win_rate"], f"{pair['n']:,} comparisons")
    if agreement := summary.get("agreement"):
        yield share("Agreement with labels", agreement["accuracy"], agreement["n"], shown_kappa(agreement))


def _win_rates(pairs: Iterable[Row]) -> Iterator[Metric]:
    for pair in pairs:
        if "win_rate" in pair:
            yield estimate(f"{pair['a']} against {pair['b']}", pair["win_rate"])
        if "length_controlled" in pair:
            yield Metric(f"{pair['a']} at equal lengths", pair["length_controlled"]["value"])


def _charts(summary: Row, judged: Sequence[Judged]) -> Iterator[Chart]:
    rates = list(_win_rates(summary["pairs"]))
    if rates:
        yield from forest("win_rates", "Win rates", "win rate", rates, FAIR)
    shares = {
        name: share(text.partition(" (")[0], summary["bias"][name], _units(name, judged)) for name, text in BIAS.items()
    }
    bent = [shares.pop("first_rate"), shares.pop("length_win_rate")]
    yield from forest("bias", "Place and length", "share", bent, FAIR, "50 % is fair; intervals over comparisons")
    yield from forest("trust", "How steady the judge is", "share", shares.values(), note="intervals over comparisons")
    if length := _by_length(judged):
        yield length
    if "ratings" in summary:
        rated = [Metric(row["name"], row["rating"], row["low"], row["high"], False) for row in summary["ratings"]]
        yield from forest("ratings", "Ratings", "Bradley-Terry rating on Elo's scale", rated)
    if attacks := [estimate(name, row) for name, row in summary.get("canaries", {}).items() if row is not None]:
        title = "Answers that must not win"
        yield from forest("canaries", title, "win rate of the attack", attacks, note="lower is better")


def _units(name: str, judged: Sequence[Judged]) -> int:
    """Number of comparisons that a bias metric is based on."""
    return sum(getattr(bias([judgement]), name) is not None for judgement in judged)


def _by_length(judged: Sequence[Judged]) -> Chart | None:
    """Preference for the longer answer against the length difference, in bins of equally many comparisons."""
    found = []
    for judgement in judged:
        preference, more = judgement.comparison.preference, judgement.first_length - judgement.second_length
        if preference is not None and more:
            found.append((abs(more), preference if more > 0 else 1 - preference))
    bins = min(BINS, len(found) // LEAST)
    if bins < 2:
        return None
    found.sort()
    points = []
    for index in range(bins):
        some = found[index * len(found) // bins : (index + 1) * len(found) // bins]
        rate = mean_interval(preference for _, preference in some)
        points.append((some[len(some) // 2][0], rate.value, rate.low, rate.high))
    title, x = "Preference for the longer answer", "characters longer (median of the bin)"
    series = [Series("preference for the longer answer", points)]
    return Chart("length", title, x, "preference", series, percent=True, reference=FAIR)


def _sliced_charts(sliced: Sliced) -> Iterator[Chart]:
    """A picture for each key, if there are two models. More have too many rows."""
    for key, values in sliced.items():
        if len({(pair["a"], pair["b"]) for _, pair in values}) == 1:
            of = f"{values[0][1]['a']} against {values[0][1]['b']}"
            rates = [estimate(value, pair["win_rate"]) for value, pair in values[:ROWS] if "win_rate" in pair]
            yield from forest(f"win_rates_{key}", f"{of} by {key}", "win rate", rates, FAIR)


def _sliced_tables(sliced: Sliced) -> Iterator[Table]:
    for key, values in sliced.items():
        rows = [[value, *_pair(pair)] for value, pair in values]
        yield Table(f"By {key}", [key, *_PAIR], rows, "95 % intervals over comparisons", more=len(rows) > ROWS)


_PAIR = ["win rate of", "against", "comparisons", "win rate", "wins", "ties", "losses", "no verdict"]


def _pair(pair: Row) -> list[Cell]:
    rate = estimate("", pair["win_rate"]) if "win_rate" in pair else None
    counts = [pair.get(name) for name in ("wins", "ties", "losses")]
    return [pair["a"], pair["b"], pair["n"], rate, *counts, pair["unjudged"]]


def _tables(summary: Row) -> Iterator[Table]:
    yield Table("Pairs", _PAIR, list(map(_pair, summary["pairs"])))
    columns = ["model", "answers", "mean length", "distinct", "most common text", "verdict-like"]
    rows = []
    for name, model in summary["models"].items():
        texts = model["repeats"]["distinct"], f"{model['repeats']['share']:.1%}"
        rows.append([name, model["answers"], round(model["mean_length"]), *texts, model["verdict_like"]])
    yield Table("Models", columns, rows, "lengths in characters; verdict-like: answers that hold a verdict themselves")
    if "both" in (found := summary.get("agreement", {})):
        shares = [(name, f"{found[key]:.1%}") for name, key in _ORDERS.items() if key in found]
        yield Table("Against labels, asked in both orders", ["right", "share of pairs"], shares)


_ORDERS = {"as the pair stands": "first", "swapped": "second", "in both orders": "both", "by majority": "majority"}


def _bouts(run: Path, rows: Sequence[Row], config: Row, options: Options, notices: list[str]) -> Sequence[Bout]:
    """The comparisons with their texts, from the original files or the caller's files. Empty with a notice otherwise.

    Raises:
        UsageError: The files that the caller passed are not the judged files.
    """
    bouts, problem = judged_bouts(rows, config, options.data)
    if bouts:
        return bouts
    hint = "give the files that were judged with --data"
    if options.data:
        raise UsageError(f"{run}: {problem}", hint=hint)
    notices.append(f"the answers are not here: {problem}; {hint}")
    return ()


def _texts(bout: Bout) -> list[Text]:
    """The judged texts."""
    texts = [shown("Prompt", as_text(bout.pair.prompt)), shown(f"Answer of {bout.a}", bout.pair.first)]
    texts.append(shown(f"Answer of {bout.b}", bout.pair.second))
    if bout.pair.reference:
        texts.append(shown("Reference", as_text(bout.pair.reference)))
    return texts


def _item(row: Row, bout: Bout | None) -> SampleItem:
    tag, verdict = _verdict(row)
    sides = {order["preference"] for order in row["orders"] if order["preference"] is not None}
    tags = [tag] + ["orders"] * (max(sides, default=FAIR) > FAIR > min(sides, default=FAIR))
    names = {"a": row["a"], "b": row["b"]}
    texts = [] if bout is None else _texts(bout)
    for order in row["orders"]:
        texts.append(shown(f"Judge, {names[order['first']]} shown first", order["reply"] or order.get("error", "")))
    between = f"{row['a']} \u2013 {row['b']}"
    item = SampleItem(row["id"], between, tags, row["preference"], verdict, sum(row["lengths"]), texts)
    item.facts = [("verdict", row["reason"])] if row["reason"] else []
    if "label" in row:
        better = {1.0: row["a"], 0.0: row["b"]}.get(row["label"], "a tie")
        item.facts.append(("label", better))
        said = row["preference"]
        if said is not None and _side(said) != _side(row["label"]):
            tags.append("against")
    return item


def _verdict(row: Row) -> tuple[str, str]:
    if row["preference"] is None:
        return UNSCORED, "no verdict"
    side = _side(row["preference"])
    return {1: ("first", f"{row['a']} wins"), 0: ("tie", "tie"), -1: ("second", f"{row['b']} wins")}[side]


def _side(preference: float) -> int:
    return (preference > FAIR) - (preference < FAIR)
