"""One run against its labels: confusion, corrected rates, and drift from an earlier run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from verikit.errors import UsageError
from verikit.judges.calibration.confusion import Confusion, Pair, confusion
from verikit.judges.calibration.corrected import Corrected, corrected_rates, labels_missing
from verikit.judges.calibration.labels import Key, Label
from verikit.judges.calibration.verdicts import JUDGE, RunVerdicts, common
from verikit.stats import Estimate, mean_interval
from verikit.stats.paired import Difference, Outcomes, paired_difference

WIDTH = 0.1
"""The widest interval of a corrected rate that a gate is decided by."""
CLASSES = 20
"""Categories that are told one by one."""


@dataclass(frozen=True)
class Calibration:
    """What labels say of a run's judge."""

    rate: Estimate
    """As the judge has it, ties half."""
    unscored: int
    labelled: int
    without_verdict: int
    """Labels of what the judge gave no verdict on."""
    unknown: int
    """Labels of what is not in the run."""
    confusion: Confusion
    classes: dict[str, Confusion]
    """By the labels' category, and by length."""
    corrected: list[Corrected]
    """The first is the one to use where the labels were drawn from this run."""
    missing: int | None
    """How many more labels make the first interval as narrow as wanted; None if no number does."""
    drift: Difference | None = None
    notes: list[str] = field(default_factory=list)


def calibrate(
    run: RunVerdicts, labels: Mapping[Key, Label], *, earlier: RunVerdicts | None = None, width: float = WIDTH
) -> Calibration:
    """Measure a run's judge by labels.

    Args:
        run: Its verdicts.
        labels: By id and index of the candidate or comparison.
        earlier: A run of an earlier judge on the same candidates, to tell what changed.
        width: Of the interval that is wanted.

    Raises:
        UsageError: no label is of a verdict of the run.
    """
    if not (shared := common(labels, run.values)):
        raise UsageError("no label is of a candidate with a verdict", hint="rows are joined by id and index")
    pairs = [(run.values[key], labels[key].value) for key in shared]
    verdicts = Counter(run.values.values())
    of_both = run.models if run.kind == JUDGE else run.values
    unknown = sum(key not in of_both for key in labels)
    rates = corrected_rates(verdicts, pairs)
    return Calibration(
        rate=mean_interval(run.values.values()),
        unscored=run.unscored,
        labelled=len(shared),
        without_verdict=len(labels) - len(shared) - unknown,
        unknown=unknown,
        confusion=confusion(pairs),
        classes=_classes(run, labels, shared),
        corrected=rates,
        missing=labels_missing(verdicts, pairs, width),
        drift=None if earlier is None else _drift(earlier, run),
        notes=list(_notes(verdicts, pairs, rates)),
    )


def _classes(run: RunVerdicts, labels: Mapping[Key, Label], shared: Sequence[Key]) -> dict[str, Confusion]:
    """The confusion by category, and by thirds of length or by which answer is the longer."""
    groups: dict[str, list[Pair]] = {}
    lengths = sorted(label.length for key in shared if (label := labels[key]).length is not None)
    thirds = [lengths[len(lengths) * i // 3] for i in (1, 2)] if len(lengths) >= 3 else []
    for key in shared:
        label, pair = labels[key], (run.values[key], labels[key].value)
        if label.category:
            groups.setdefault(f"category {label.category}", []).append(pair)
        if key in run.longer:
            groups.setdefault(f"the {'first' if run.longer[key] else 'second'} answer is longer", []).append(pair)
        elif label.length is not None and thirds:
            place = sum(label.length >= limit for limit in thirds)
            groups.setdefault(("shortest third", "middle third", "longest third")[place], []).append(pair)
    largest = sorted(groups, key=lambda name: -len(groups[name]))[:CLASSES]
    return {name: confusion(groups[name]) for name in groups if name in largest} if len(groups) > 1 else {}


def _drift(earlier: RunVerdicts, run: RunVerdicts) -> Difference | None:
    first, second = (
        Outcomes("verdicts", "rate", {f"{id}#{index}": value for (id, index), value in each.values.items()}, {})
        for each in (earlier, run)
    )
    return paired_difference(first, second)


def _notes(verdicts: Mapping[float, int], pairs: Sequence[Pair], rates: Sequence[Corrected]) -> list[str]:
    found = []
    unlabelled = [verdict for verdict in verdicts if all(said != verdict for said, _ in pairs)]
    if unlabelled:
        words = {1.0: "right", 0.0: "wrong", 0.5: "a tie"}
        told = " or ".join(words[verdict] for verdict in unlabelled)
        found.append(f"nothing that the judge calls {told} is labelled: no rate can be corrected by verdict")
    by_name = {rate.method: rate for rate in rates}
    first, second = by_name.get("by verdict"), by_name.get("Rogan-Gladen")
    if first and second and (first.low > second.high or second.low > first.high):
        found.append("the corrected rates disagree: the labels are no random sample of the run's candidates")
    return found
