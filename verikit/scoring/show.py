"""A summary as readable text."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

import click

from verikit.platform.terminal import printable, spending, table
from verikit.scoring.plan import DEFAULT_KS
from verikit.stats import at_k
from verikit.stats.summary import METRICS

_COLUMNS = {
    "pass@": "pass@k: any of k candidates is right",
    "pass^": "pass^k: all of k candidates are right",
    "bon@": "bon@k: the best of k by {by} is right",
    "maj@": "maj@k: the majority answer of k is right",
    "wmaj@": "wmaj@k: the majority answer of k, votes weighted by {by}, is right",
}
_GRADED = {
    "pass@": "pass@k: any of k candidates scores 0.5 or more",
    "pass^": "pass^k: all of k candidates score 0.5 or more",
    "bon@": "bon@k: mean score of the best of k by {by}",
    "maj@": "maj@k: mean score of the majority answer of k",
    "wmaj@": "wmaj@k: mean score of the majority answer of k, votes weighted by {by}",
}
"""Descriptions of the columns if scores can lie between right and wrong, such as those of a weighted sum."""

SLICES = 30
"""Number of printed slices per key."""
_NO_INTERVAL = "no interval: all prompts have one value, and nothing bounds those not seen; clip(SPEC, low, high) does"


def show(summary: Mapping[str, Any], config: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines of a summary: counts, then the metrics over k, each with its 95 % interval, and their meaning.

    Metrics are in percent. One that leaves the range of 0 to 1 is printed unscaled.
    """
    yield from _count_lines(summary, config)
    yield from _mean_lines(summary, config)
    yield from _metric_table(summary, config)
    if any(estimate["low"] is None for estimate in summary["metrics"].values()):
        yield click.style("  " + _NO_INTERVAL, dim=True)
    for key, values in summary.get("slices", {}).items():
        yield from ("", *("  " + line for line in _sliced(key, values)))


def _count_lines(summary: Mapping[str, Any], config: Mapping[str, Any]) -> Iterator[str]:
    """Yield the number of candidates, the number with a score, and the counts of verifiers."""
    counts = ", ".join(f"{count:,} {name}" for name, count in _counts(summary).items())
    head = click.style(config["verifier"], bold=True)
    candidates = _many(summary["candidates"], "candidate")
    yield f"{head}: {_many(summary['prompts'], 'prompt')}, {candidates}: {counts}"
    for reason, count in summary["unscored_reasons"].items():
        yield f"  {click.style(f'{count:,} unscored:', fg='yellow')} {printable(reason)}"
    for name, rate in summary.get("rates", {}).items():
        yield f"  {name.replace('_', ' ')}: {rate['value']:.1%} ({rate['count']:,} of {rate['of']:,})"
    for name, count in tallied_alone(summary).items():
        share = count / max(1, summary["candidates"])
        yield f"  {name.replace('_', ' ')}: {count:,} of {candidates} ({share:.1%})"
    if cut := cut_share(summary):
        yield click.style(f"  {cut}", fg="yellow")


def _mean_lines(summary: Mapping[str, Any], config: Mapping[str, Any]) -> Iterator[str]:
    """Yield the means of one candidate and the selected one, early stopping, spending, and unselected prompts."""
    metrics, prompts = summary["metrics"], summary["prompts"]
    for name, label in (("mean", "mean of one candidate"), ("selected", f"selected by {config['select']}")):
        if name in metrics:
            n = metrics[name]["n"]
            among = f", {n:,} of {_many(prompts, 'prompt')}" if n != prompts else ""
            yield f"  {label}: {_percent(metrics[name])}{among}"
    yield from (f"  {line}" for line in stopped_early(summary))
    if spent := spending(summary.get("usage", {})):
        yield f"  spent: {spent}"
    for name, usage in summary.get("usage_by", {}).items():
        yield printable(f"    by {name}: {spending(usage)}")
    chosen = metrics.get("selected", {"n": 0})["n"] if config["select"] else prompts
    if lost := prompts - chosen:
        yield click.style(f"  {_many(lost, 'prompt')} without a scored selection: see selected.jsonl", fg="yellow")


def _metric_table(summary: Mapping[str, Any], config: Mapping[str, Any]) -> Iterator[str]:
    """Yield a row for each k, a column for each metric, and descriptions of the columns."""
    metrics = summary["metrics"]
    ks = sorted(_ks_of(metrics, _COLUMNS) - {1})
    columns = [metric for metric in _COLUMNS if any(f"{metric}{k}" in metrics for k in ks)]
    unproven = _ks_of(summary.get("early_stop", {}).get("unproven", ()))
    for k in sorted(set(config["ks"]) - set(ks) - set(DEFAULT_KS) - unproven):
        yield f"  no metrics for k={k}: no prompt has {k} scored candidates"
    if ks:
        yield from _rows_over_k(summary, columns, ks)
    meanings = _GRADED if summary.get("graded") else _COLUMNS
    for metric in columns:
        yield click.style("  " + meanings[metric].format(by=config["by"]), dim=True)


def _ks_of(names: Iterable[str], kinds: Collection[str] = METRICS) -> set[int]:
    """The ks of the metrics of these kinds."""
    return {found[1] for name in names if (found := at_k(name)) and found[0] in kinds}


def _rows_over_k(summary: Mapping[str, Any], columns: Sequence[str], ks: Sequence[int]) -> Iterator[str]:
    """Yield a row for each k, with the number of prompts that reach it if that differs."""
    metrics = summary["metrics"]
    heads = ["k", *(f"{metric}k" for metric in columns)]
    rows = [[str(k), *(_percent(metrics.get(f"{metric}{k}")) for metric in columns)] for k in ks]
    if reached := prompts_by_k(summary, columns, ks):
        heads, rows = [*heads, "prompts"], [[*row, count] for row, count in zip(rows, reached, strict=True)]
    yield from ("  " + line for line in table(heads, rows))


def slice_metrics(values: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Return the metrics shown in a table of slices: one candidate, the selected one, and the largest k."""
    names = dict.fromkeys(name for row in values.values() for name in row["metrics"])
    largest = max((found[1] for name in names if (found := at_k(name))), default=1)
    over_k = [f"{kind}{largest}" for kind in _COLUMNS if largest > 1]
    return [name for name in ("mean", "selected", *over_k) if name in names]


def _sliced(key: str, values: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """A table of a key's values, at most `SLICES` of them."""
    metrics = slice_metrics(values)
    unscored = ["unscored"] if any(row["unscored"] for row in values.values()) else []
    rows = [
        [
            printable(value),
            f"{row['prompts']:,}",
            f"{row['candidates']:,}",
            *(f"{row[name]:,}" for name in unscored),
            *(_counted(row["metrics"].get(name), row["prompts"]) for name in metrics),
        ]
        for value, row in islice(values.items(), SLICES)
    ]
    left = (
        [click.style(f"and {len(values) - SLICES:,} more, in summary.json", dim=True)] if len(values) > SLICES else []
    )
    return [*table([printable(key), "prompts", "candidates", *unscored, *metrics], rows), *left]


def _counted(estimate: Mapping[str, Any] | None, prompts: int) -> str:
    """Format an estimate, with its own number of prompts if it differs from the slice's."""
    told = _percent(estimate)
    return told if estimate is None or estimate["n"] == prompts else f"{told} (n {estimate['n']:,})"


def tallied_alone(summary: Mapping[str, Any]) -> dict[str, int]:
    """Return the counts of tallied events that no rate covers."""
    told = {key for rate in summary.get("rates", {}).values() for key in rate["keys"]}
    return {name: count for name, count in summary.get("tallied", {}).items() if name not in told}


def cut_share(summary: Mapping[str, Any]) -> str:
    """Return how many candidates the token limit cut off, or "" if none was or no candidate reports it."""
    cut = summary.get("cut", {"count": 0})
    if not cut["count"]:
        return ""
    return f"cut off at the token limit: {cut['count']:,} of {_many(cut['of'], 'candidate')} ({cut['value']:.1%})"


def stopped_early(summary: Mapping[str, Any]) -> Iterator[str]:
    """Yield lines on how early stopping affects the metrics. Empty if no rule could stop sampling."""
    early = summary.get("early_stop")
    if early is None:
        return
    why = ", ".join(f"{count:,} {reason}" for reason, count in early["why"].items())
    head = f"stopped early ({'; '.join(early['rules'])}): {early['stopped']:,} of {_many(early['prompts'], 'prompt')}"
    yield head + (f" ({why})" if why else "")
    least = early["least"]
    if least == 1:
        yield "the mean uses the first sample of each prompt: the rule can stop after it"
    else:
        yield f"the mean and each k up to {least} use the first {least} samples of each prompt: no rule stops before"
    if early["unproven"]:
        yield f"no {', '.join(early['unproven'])}: the samples of stopped prompts do not settle it"


def prompts_by_k(summary: Mapping[str, Any], kinds: Sequence[str], ks: Sequence[int]) -> list[str]:
    """Return the numbers of prompts behind the metrics of each k, without duplicates.

    Empty if it is always the run's number.
    """
    metrics = summary["metrics"]
    counts = [dict.fromkeys(metrics[name]["n"] for kind in kinds if (name := f"{kind}{k}") in metrics) for k in ks]
    if all(list(found) == [summary["prompts"]] for found in counts):
        return []
    return ["/".join(f"{n:,}" for n in found) for found in counts]


def _many(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def _counts(summary: Mapping[str, Any]) -> dict[str, int]:
    counts = {"scored": summary["status"]["ok"], **summary["status"], "bad rows": summary["bad_rows"]}
    del counts["ok"]
    return {name: count for name, count in counts.items() if count or name == "scored"}


def _percent(estimate: Mapping[str, Any] | None) -> str:
    if estimate is None:
        return "-"
    value, low, high = (estimate[key] for key in ("value", "low", "high"))
    if low is None:
        return f"{value:.4g} [no interval]"
    if low < 0 or high > 1:
        return f"{value:.4g} [{low:.4g}, {high:.4g}]"
    value, low, high = 100 * value, 100 * low, 100 * high
    digits = 0 if high - low >= 5 else 1  # a wide interval's tenths are meaningless, and five columns have to fit
    return f"{value:.1f} [{low:.{digits}f}, {high:.{digits}f}]"
