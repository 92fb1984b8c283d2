"""One run against its labels: confusion, corrected rates, and drift from an earlier run."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean
from types import MappingProxyType

from verikit.errors import UsageError
from verikit.judges.calibration.confusion import Confusion, Pair, confusion
from verikit.judges.calibration.corrected import (
    BY_VERDICT,
    ROGAN_GLADEN,
    Advice,
    Corrected,
    Labelled,
    advise,
    corrected_rates,
)
from verikit.judges.calibration.limits import CascadeLimits, fit_limits
from verikit.judges.calibration.verdicts import JUDGE, RunVerdicts, common
from verikit.judges.match.labels import Key, Label
from verikit.stats import Estimate, mean_interval
from verikit.stats.paired import Difference, Outcomes, paired_difference
from verikit.types import PASS_MARK

WIDTH = 0.1
"""Maximum width of a corrected rate's interval that a gate may use."""
CLASSES = 20
"""Maximum categories that are listed individually."""
TOLD = 10
"""Maximum categories without labels that are named."""
NO_CATEGORIES: Mapping[str, str] = MappingProxyType({})
_WORDS: Mapping[float, str] = {1.0: "right", 0.0: "wrong", 0.5: "a tie"}
_REMEDY = "Label some of each, or use --exchangeable if the judge errs alike in all categories"
_ONLY = (
    "all labels are of category {category}, and the category of the other verdicts is not known. No rate is corrected. "
    "Label candidates of all kinds, or use --exchangeable if the judge errs alike in all categories"
)


@dataclass(frozen=True)
class Calibration:
    """What labels show about a run's judge."""

    rate: Estimate
    """The judge's own rate, with ties as half: the mean over prompts."""
    verdicts: int
    unscored: int
    labelled: int
    without_verdict: int
    """Labels of candidates or comparisons without a verdict."""
    unknown: int
    """Labels of candidates or comparisons that are not in the run."""
    confusion: Confusion
    classes: dict[str, Confusion]
    """Confusion by category and by length."""
    corrected: list[Corrected]
    """Corrected rates. Use the first if the labels were sampled from this run."""
    covered: int
    """Number of verdicts behind the corrected rates: those in categories that the labels cover."""
    by_category: dict[str, Corrected]
    """The rate by verdict of each category that the labels cover, from its own labels. Empty for a single category."""
    advice: Advice | None
    """How to narrow the first interval to the target width. None if there is no rate by verdict."""
    limits: CascadeLimits | None = None
    """Limits of the judge in a cascade, if a target is given."""
    drift: Difference | None = None
    notes: list[str] = field(default_factory=list)


def calibrate(
    run: RunVerdicts,
    labels: Mapping[Key, Label],
    *,
    earlier: RunVerdicts | None = None,
    width: float = WIDTH,
    categories: Mapping[str, str] = NO_CATEGORIES,
    exchangeable: bool = False,
    until: float | None = None,
) -> Calibration:
    """Measure a run's judge by labels. All intervals are over prompts.

    Args:
        run: The run's verdicts.
        labels: Labels by id and index of the candidate or comparison.
        earlier: A run of an earlier judge on the same candidates, to report what changed.
        width: The target width of the interval.
        categories: Categories of the run's prompts, by id, if they have any. Labels of one category correct only its
            rate.
        exchangeable: Whether the judge errs alike in all categories, and labels of one also correct the others.
        until: Fit the limits of a cascade: verdicts beyond them agree with at least this fraction of the labels.

    Raises:
        UsageError: No label matches a verdict of the run.
    """
    if not (shared := common(labels, run.values)):
        raise UsageError("the labels cover no candidate with a verdict", hint="rows are joined by id and index")
    of_both = run.models if run.kind == JUDGE else {*run.values, *run.without}
    unknown = sum(key not in of_both for key in labels)
    by_row = {key: categories[key[0]] for key in run.values if key[0] in categories}
    known = Labelled(run.values, {key: labels[key].value for key in shared}, {} if exchangeable else by_row)
    if only := "" if exchangeable or by_row else _only_category(known, labels):
        spoken, notes = None, [_ONLY.format(category=only)]
    else:
        spoken, notes = _spoken_for(known)
    rates = [] if spoken is None else corrected_rates(spoken)
    by_verdict = rates[0] if rates and rates[0].method == BY_VERDICT else None
    return Calibration(
        rate=mean_interval(_by_prompt(run.values).values()),
        verdicts=len(run.values),
        unscored=run.unscored,
        labelled=len(shared),
        without_verdict=len(labels) - len(shared) - unknown,
        unknown=unknown,
        confusion=confusion(_pairs(known, shared)),
        classes=_classes(run, labels, known, by_row),
        corrected=rates,
        covered=0 if spoken is None else len(spoken.verdicts),
        by_category={} if spoken is None else _each(spoken),
        advice=None if spoken is None or by_verdict is None else advise(spoken, by_verdict, width),
        limits=None if until is None else fit_limits(run, labels, until),
        drift=None if earlier is None else _drift(earlier, run),
        notes=[*notes, *_disagreement(rates)],
    )


def _only_category(known: Labelled, labels: Mapping[Key, Label]) -> str:
    """The single category of all labels, if some verdicts are unlabelled and so have no known category."""
    named = {labels[key].category for key in known.labels}
    return named.pop() if len(named) == 1 and len(known.labels) < len(known.verdicts) else ""


def _spoken_for(known: Labelled) -> tuple[Labelled | None, list[str]]:
    """The part of a run in categories whose verdicts all have labels, and a note on the rest."""
    missing = known.unlabelled()
    if not missing:
        return known, []
    if len({known.cell(key)[0] for key in known.verdicts}) == 1:
        told = " or ".join(_WORDS[verdict] for _, verdict in sorted(missing))
        return known, [f"nothing that the judge calls {told} is labelled: no rate can be corrected by verdict"]
    part = known.without({category for category, _ in missing})
    shown = [f"{category or 'none'} ({_WORDS[verdict]})" for category, verdict in sorted(missing)]
    told = ", ".join(shown[:TOLD]) + (f", … ({len(shown)} in all)" if len(shown) > TOLD else "")
    told = f"no label is of these categories and verdicts: {told}"
    if not part.verdicts:
        return None, [f"{told}. No rate is corrected. {_REMEDY}"]
    some = f"{len(part.verdicts):,} of {len(known.verdicts):,} verdicts"
    return part, [f"{told}. The corrected rates are of the other categories, {some}. {_REMEDY}"]


def _each(spoken: Labelled) -> dict[str, Corrected]:
    """The corrected rate of each category, the largest first. Empty for a single category."""
    sizes = Counter(spoken.categories.get(key, "") for key in spoken.verdicts)
    if len(sizes) < 2:
        return {}
    parts = {name: spoken.without(sizes.keys() - {name}) for name, _ in sizes.most_common(CLASSES)}
    return {name: corrected_rates(part)[0] for name, part in parts.items()}


def _by_prompt(values: Mapping[Key, float]) -> dict[str, float]:
    """The mean of each prompt's verdicts."""
    held: defaultdict[str, list[float]] = defaultdict(list)
    for (id, _), value in values.items():
        held[id].append(value)
    return {id: fmean(some) for id, some in held.items()}


def _pairs(known: Labelled, keys: Iterable[Key]) -> list[list[Pair]]:
    """Verdict and label of some labelled keys, by prompt."""
    held: defaultdict[str, list[Pair]] = defaultdict(list)
    for key in keys:
        held[key[0]].append((known.verdicts[key], known.labels[key]))
    return list(held.values())


def _classes(
    run: RunVerdicts, labels: Mapping[Key, Label], known: Labelled, by_row: Mapping[Key, str]
) -> dict[str, Confusion]:
    """The confusion by category, by evidence shown, and by thirds of length or by which answer is longer."""
    groups: defaultdict[str, list[Key]] = defaultdict(list)
    thirds = _thirds([labels[key].length for key in known.labels])
    several_shown = len(set(run.shown.values())) > 1
    for key in known.labels:
        if category := labels[key].category or by_row.get(key):
            groups[f"category {category}"].append(key)
        if several_shown:
            groups[f"shown {run.shown[key]}"].append(key)
        if length := _length_class(run, key, labels[key].length, thirds):
            groups[length].append(key)
    largest = sorted(groups, key=lambda name: -len(groups[name]))[:CLASSES]
    told = {name: confusion(_pairs(known, groups[name])) for name in groups if name in largest}
    return told if len(groups) > 1 else {}


def _thirds(lengths: Sequence[int | None]) -> list[int]:
    """The lengths at which the second and the last third begin. Empty if there are fewer than three."""
    known = sorted(length for length in lengths if length is not None)
    return [known[len(known) * i // 3] for i in (1, 2)] if len(known) >= 3 else []


def _length_class(run: RunVerdicts, key: Key, length: int | None, thirds: Sequence[int]) -> str:
    if key in run.longer:
        return f"the {'first' if run.longer[key] else 'second'} answer is longer"
    if length is None or not thirds:
        return ""
    return ("shortest third", "middle third", "longest third")[sum(length >= limit for limit in thirds)]


def _drift(earlier: RunVerdicts, run: RunVerdicts) -> Difference | None:
    """The paired difference over prompts. Gains and losses are counted in verdicts."""
    shared = common(earlier.values, run.values)
    pairs = [(earlier.values[key], run.values[key]) for key in shared]
    first, second = (
        Outcomes("verdicts", "rate", _by_prompt({key: each.values[key] for key in shared}), {})
        for each in (earlier, run)
    )
    found = paired_difference(first, second)
    gained = sum(before < PASS_MARK <= after for before, after in pairs)
    lost = sum(after < PASS_MARK <= before for before, after in pairs)
    return None if found is None else replace(found, gained=gained, lost=lost)


def _disagreement(rates: Sequence[Corrected]) -> list[str]:
    by_name = {rate.method: rate for rate in rates}
    first, second = by_name.get(BY_VERDICT), by_name.get(ROGAN_GLADEN)
    if first and second and (first.low > second.high or second.low > first.high):
        return ["the corrected rates disagree: the labels are not a random sample of the run's candidates"]
    return []
