"""An audit as lines for a terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import click

from verikit.audit.findings import CHECKS, AuditResult, CheckCount, ProbeCount
from verikit.platform.terminal import printable, table

EXAMPLES = 3
"""Findings of a check that are shown."""


def show(result: AuditResult, examples: int = EXAMPLES) -> Iterator[str]:
    """Yield the lines of a result: checks, the rewards of hacks and other spellings, labels, noise, examples."""
    tried = f", {result.by} tried on {result.probed:,}" if result.by else ""
    bad = f", {result.bad_rows:,} that can't be read" if result.bad_rows else ""
    yield f"{result.file}: {result.rows:,} rows{bad}{tried}"
    yield from result.notices
    for kind, form in result.forms.items():
        yield f"answers of kind {kind} are rewarded in the form {form!r}"
    yield ""
    rows = [(count.check, f"{count.found:,}", f"{count.rows:,}", _share(count)) for count in result.checks]
    yield from table(("check", "found", "rows", "share"), rows, list(map(_found, result.checks)))
    yield from _probes(result, "rewriting", "spellings that are not rewarded", lambda count: count.paid < count.rows)
    yield from _probes(result, "near_miss", "near misses that are rewarded", lambda count: count.paid > 0)
    yield from _probes(result, "hack", "hacks", lambda count: True)
    yield from _probes(result, "undone", "workspaces with an undone task", lambda count: True)
    if result.labels:
        yield ""
        yield from table(
            ("labelled candidates", "right", "wrong", "FNR", "FPR", "unscored"),
            [
                (label.kind, f"{label.right:,}", f"{label.wrong:,}", _rate(label.fnr), _rate(label.fpr),
                 f"{label.unscored:,}")
                for label in result.labels
            ],
        )  # fmt: skip
    if result.noise is not None:
        noise = result.noise
        yield ""
        yield (
            f"scored {noise.repeats} times: {noise.changed} of {noise.candidates} texts changed their value, "
            f"{noise.flipped} their verdict; standard deviation {noise.spread:.3g}"
        )
    if examples:
        yield from _examples(result, examples)


def _examples(result: AuditResult, most: int) -> Iterator[str]:
    """The first findings of each check."""
    for count in result.checks:
        if count.found:
            yield ""
            yield click.style(f"{count.check}: {CHECKS[count.check].title}", bold=True)
            for finding in result.of(count.check)[:most]:
                yield printable(f"  line {finding.line}, id {finding.id}: {finding.what}")
            if count.found > most:
                yield f"  and {count.found - most:,} more rows"


def _probes(result: AuditResult, check: str, title: str, shown: Callable[[ProbeCount], bool]) -> Iterator[str]:
    counts = [count for count in result.probes if count.check == check and shown(count)]
    if counts:
        yield ""
        header = (title, "rows", "rewarded", "share", "mean", "highest", "unscored")
        yield from table(header, [_line(count) for count in counts], [_mark(count) for count in counts])


def _found(count: CheckCount) -> float | None:
    """1 if a check found nothing, 0 if it found something, None if it had no rows."""
    return float(not count.found) if count.rows else None


def _mark(count: ProbeCount) -> float | None:
    """1 if each text got the reward that it deserves, 0 if one did not, None if no text was scored."""
    if not count.rows:
        return None
    return float(count.paid == (count.rows if count.check == "rewriting" else 0))


def _line(count: ProbeCount) -> tuple[str, ...]:
    values = ["-" if value is None else f"{value:.3g}" for value in (count.mean, count.highest)]
    share = f"{count.share:.1%}" if count.rows else "-"
    return (count.transform, f"{count.rows:,}", f"{count.paid:,}", share, *values, f"{count.unscored:,}")


def _share(count: CheckCount) -> str:
    return f"{count.share:.2%}" if count.rows else "-"


def _rate(value: float | None) -> str:
    return "-" if value is None else f"{value:.1%}"
