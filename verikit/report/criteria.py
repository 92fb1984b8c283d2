"""Criteria that a judge decided: its agreement with people, and with itself over repeated calls.

A criterion's part may have a part `label` (people's verdicts, 0 to 1) and a part `asks` (the verdict of each call).
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations

from verikit.report.curves import share
from verikit.report.model import Metric, Table
from verikit.stats.intervals import Mean
from verikit.types import ASKS, LABEL, PASS_MARK, JsonObject

MOST = 500
"""Maximum number of criteria listed separately, the first of a run. The metrics cover all of them."""
_ALL = "all criteria"
_SHOWN = re.compile(r"; shown (\d{1,9}) of (\d{1,9}) entries(?: with workspace \w+)?$")


def evidence_of(reason: str) -> str:
    """What a judge was shown of a run, by the end of its score's reason."""
    found = _SHOWN.search(reason[-100:])
    if found is None:
        return "no entries"
    return "all entries" if found[1] == found[2] else "some of the entries"


def is_criterion(part: JsonObject) -> bool:
    """Whether a part's own parts are verdicts about it, not verifiers that it combines."""
    return bool(part.get("parts")) and part["parts"].keys() <= {LABEL, ASKS}


class CriteriaSeen:
    """Counts over all rows of a run."""

    def __init__(self) -> None:
        self._labels: dict[str, Counter[tuple[bool, bool]]] = {}
        self._asks: dict[str, tuple[Mean, Mean]] = {}
        self._shown: dict[str, Counter[tuple[bool, bool]]] = {}

    def add(self, row: JsonObject) -> None:
        """Count the criteria of one score row."""
        for name, part in row.get("parts", {}).items():
            if is_criterion(part):
                self._criterion(name, part, evidence_of(row.get("reason", "")))
            else:
                self.add(part)

    def _criterion(self, name: str, part: JsonObject, shown: str) -> None:
        label = part["parts"].get(LABEL)
        if label is not None and part["value"] is not None:
            pair = part["value"] >= PASS_MARK, label["value"] >= PASS_MARK
            for key in self._keys(name, self._labels):
                self._labels.setdefault(key, Counter())[pair] += 1
            self._shown.setdefault(shown, Counter())[pair] += 1
        asks = part["parts"].get(ASKS, {}).get("parts", {}).values()
        known = [ask["value"] for ask in asks if ask["value"] is not None]
        if len(known) > 1:
            apart = [float((a >= PASS_MARK) != (b >= PASS_MARK)) for a, b in combinations(known, 2)]
            for key in self._keys(name, self._asks):
                differ, asked = self._asks.setdefault(key, (Mean(), Mean()))
                differ.add(math.fsum(apart) / len(apart))
                asked.add(len(known))

    @staticmethod
    def _keys(name: str, counted: Mapping[str, object]) -> Sequence[str]:
        return (_ALL, name) if name in counted or len(counted) <= MOST else (_ALL,)

    def metrics(self) -> Iterator[Metric]:
        """Yield agreement with people and consistency, over all criteria."""
        if counts := self._labels.get(_ALL):
            kappa = _kappa(counts)
            note = f"{counts.total():,} verdicts" + ("" if math.isnan(kappa) else f", kappa {kappa:.2f}")
            yield share("Agreement with labels", _agreed(counts), counts.total(), note)
        if found := self._asks.get(_ALL):
            yield _differ("Two askings differ", found)

    def tables(self) -> Iterator[Table]:
        """Both by criterion, the least agreement and the most noise first."""
        columns = ("criterion", "verdicts", "agree", "kappa", "met: judge", "met: people")
        if self._labels:
            rows = sorted(self._labels.items(), key=lambda item: (item[0] != _ALL, _agreed(item[1]), item[0]))
            note = "of verdicts with a label; a label of several people counts as most of them say"
            yield Table("Criteria against labels", columns, [_labelled(*row) for row in rows], note)
        if len(self._shown) > 1:
            yield Table(
                "Criteria by evidence",
                ("shown", *columns[1:]),
                [_labelled(*row) for row in sorted(self._shown.items())],
            )
        if self._asks:
            noise = {name: _differ(name, found) for name, found in self._asks.items()}
            order = sorted(noise, key=lambda name: (name != _ALL, -(noise[name].value or 0.0), name))
            heads = ("criterion", "answers", "askings", "two askings differ")
            cells = [(name, self._asks[name][0].n, self._asks[name][1].estimate().value, noise[name]) for name in order]
            yield Table("Noise of criteria", heads, cells, "share of pairs of askings with different verdicts")


def _differ(name: str, found: tuple[Mean, Mean]) -> Metric:
    row = found[0].estimate().as_row()
    return Metric(name, row["value"], row["low"], row["high"], note=f"{found[0].n:,} criteria asked about again")


def _agreed(counts: Counter[tuple[bool, bool]]) -> float:
    return sum(n for (judge, people), n in counts.items() if judge == people) / counts.total()


def _kappa(counts: Counter[tuple[bool, bool]]) -> float:
    """Cohen's kappa (1960). NaN if the expected chance agreement is 1."""
    n = counts.total()
    judge = sum(k for (said, _), k in counts.items() if said) / n
    people = sum(k for (_, said), k in counts.items() if said) / n
    chance = judge * people + (1 - judge) * (1 - people)
    return (_agreed(counts) - chance) / (1 - chance) if chance < 1 else math.nan


def _labelled(name: str, counts: Counter[tuple[bool, bool]]) -> tuple[str | int | float | Metric | None, ...]:
    n, kappa = counts.total(), _kappa(counts)
    judge = sum(k for (said, _), k in counts.items() if said) / n
    people = sum(k for (_, said), k in counts.items() if said) / n
    shown = None if math.isnan(kappa) else round(kappa, 3)
    return name, n, share(name, _agreed(counts), n), shown, f"{judge:.1%}", f"{people:.1%}"
