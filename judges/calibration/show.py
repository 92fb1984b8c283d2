"""Format a calibration as text for people and as JSON."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

import click

from verikit.judges.calibration.between import JudgeAgreement, OwnPreference
from verikit.judges.calibration.confusion import Confusion
from verikit.judges.calibration.corrected import Advice
from verikit.judges.calibration.limits import CascadeLimits, SideLimit
from verikit.judges.calibration.measure import Calibration
from verikit.platform.terminal import printable, table
from verikit.stats import Estimate

_CLASSES = ("", "n", "accuracy", "sensitivity", "specificity", "kappa")


def show_calibration(found: Calibration, width: float) -> Iterator[str]:
    """Lines that show a judge's error, and the rates corrected for it."""
    run = f"{found.verdicts:,} verdicts on {found.rate.n:,} prompts ({found.unscored:,} without one)"
    yield f"{run}, {found.labelled:,} of them labelled"
    for count, what in ((found.without_verdict, "without a verdict"), (found.unknown, "of nothing in the run")):
        if count:
            yield click.style(f"  {count:,} labels are {what}", fg="yellow")
    rows = [_class("all labels", found.confusion), *(_class(name, part) for name, part in found.classes.items())]
    yield from ("  " + line for line in table(_CLASSES, rows))
    rates = [("as the judge has it", _percent(found.rate.value, found.rate.low, found.rate.high))]
    part = f" (of {found.covered:,} verdicts)" if found.covered < found.verdicts else ""
    rates += [
        (f"corrected, {rate.method}{part}", _percent(rate.value, rate.low, rate.high)) for rate in found.corrected
    ]
    rates += [
        (printable(f"corrected, category {name or 'none'}"), _percent(rate.value, rate.low, rate.high))
        for name, rate in found.by_category.items()
    ]
    yield from ("  " + line for line in table(("rate", "% and 95 % interval"), rates))
    if found.advice is not None:
        yield "  " + advice_line(found.advice, width)
    if found.limits is not None:
        yield from ("  " + line for line in _limit_lines(found.limits))
    if found.drift is not None:
        moved = found.drift
        told = f"{100 * moved.value:+.1f} points [{100 * moved.low:+.1f}, {100 * moved.high:+.1f}], p {moved.p:.4f}"
        yield f"  drift from the earlier run: {told}; {moved.gained:,} verdicts turned right, {moved.lost:,} wrong"
    for note in found.notes:
        yield "  " + click.style(printable(note), fg="yellow")


def advice_line(advice: Advice, width: float) -> str:
    """A line on how to reach the target interval: more labels, or more prompts if the run has too few verdicts."""
    wanted = f"an interval of {100 * width:g} points"
    if not advice.more and advice.width <= width:
        return f"the labels give {wanted}"
    if advice.width <= width:
        return f"{wanted} needs about {advice.more:,} more labels"
    about = f"about {100 * advice.width:.0f} points"
    done = f"all {advice.more:,} verdicts without a label would give {about}" if advice.more else "all are labelled"
    return f"{wanted} needs more prompts, about {advice.prompts:,} with every verdict labelled; {done}"


def _limit_lines(limits: CascadeLimits) -> Iterator[str]:
    """The limits of a cascade, and how much they decide."""
    target = f"{100 * limits.target:g} %"
    if limits.low is None and limits.high is None:
        yield f"cascade: the labels show an agreement of {target} beyond no limit; use more labels or a lower --until"
        return
    decided = f"decides {limits.clear:,} of {limits.of:,} ({limits.clear / limits.of:.1%}) at {target} agreement"
    yield f"cascade(THIS JUDGE, …, until={limits.until}): {decided}"
    yield from _limit_line("at most", limits.low)
    yield from _limit_line("at least", limits.high)


def _limit_line(word: str, side: SideLimit | None) -> Iterator[str]:
    if side is not None:
        agreed = _percent(side.agreement.value, side.agreement.low, side.agreement.high)
        yield f"  values of {word} {side.limit:.4g} agree with {agreed} % of {side.labels:,} labels"


def show_between(agreements: Sequence[JudgeAgreement], own: Sequence[OwnPreference]) -> Iterator[str]:
    """Lines that show how far several judges agree, and how much each prefers its own model."""
    rows = [
        (printable(row.first), printable(row.second), str(row.n), f"{100 * row.agree:.1f}", _kappa(row.kappa))
        for row in agreements
    ]
    yield from table(("judge", "other", "n", "agree %", "kappa"), rows)
    for preference in own:
        value = preference.difference
        told = f"{100 * value.value:+.1f} points [{100 * value.low:+.1f}, {100 * value.high:+.1f}]"
        yield printable(f"{preference.judge} prefers {preference.model} by {told} more than the other judges do")


def as_json(found: Calibration) -> dict[str, Any]:
    """A calibration as JSON data."""
    plain = asdict(found)
    plain["confusion"] = _plain(found.confusion)
    plain["classes"] = {name: _plain(part) for name, part in found.classes.items()}
    plain["rate"] = found.rate.as_row()
    if found.limits is not None:
        plain["limits"]["until"] = found.limits.until
    if found.drift is not None:
        plain["drift"] = {key: value for key, value in asdict(found.drift).items() if key != "changed"}
    return plain


def _plain(part: Confusion) -> dict[str, Any]:
    counts = [{"verdict": verdict, "label": label, "count": n} for (verdict, label), n in sorted(part.counts.items())]
    estimates = {
        name: None if value is None else value.as_row()
        for name, value in (
            ("accuracy", part.accuracy),
            ("sensitivity", part.sensitivity),
            ("specificity", part.specificity),
        )
    }
    return {"counts": counts, **estimates, "kappa": [part.kappa, part.kappa_low, part.kappa_high]}


def _class(name: str, part: Confusion) -> tuple[str, ...]:
    kappa = _kappa(part.kappa)
    if part.kappa_low is not None and part.kappa_high is not None:
        kappa += f" [{part.kappa_low:.2f}, {part.kappa_high:.2f}]"
    shares = (part.accuracy, part.sensitivity, part.specificity)
    return printable(name), str(part.n), *map(_share, shares), kappa


def _share(value: Estimate | None) -> str:
    return "-" if value is None else _percent(value.value, value.low, value.high)


def _percent(value: float, low: float, high: float) -> str:
    return f"{100 * value:.1f} [{100 * low:.1f}, {100 * high:.1f}]"


def _kappa(value: float | None) -> str:
    return "-" if value is None or math.isnan(value) else f"{value:.2f}"
