"""Answers that must not win: does the judge resist candidates' attacks?

Each canary replaces one model's answer and competes with the other's honest one. If any canary wins more than a few
percent, the judge can be gamed, and so can its win rates.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from verikit.errors import UsageError
from verikit.judges.evidence.canaries import CANARIES
from verikit.judges.match.entrants import Bout
from verikit.judges.pairwise import Comparer
from verikit.stats import Estimate, mean_interval


def canary_win_rates(judge: Comparer, bouts: Sequence[Bout]) -> dict[str, Estimate | None]:
    """Win rate of each canary against the bouts' second answers, in one call of the judge. None: no verdict.

    Raises:
        UsageError: No bouts.
    """
    if not bouts:
        raise UsageError("canaries need honest answers to lose against")
    pairs = [replace(bout.pair, first=text) for text in CANARIES.values() for bout in bouts]
    compared = iter(judge.compare(pairs))
    found: dict[str, Estimate | None] = {}
    for name in CANARIES:
        known = [p for p in (next(compared).preference for _ in bouts) if p is not None]
        found[name] = mean_interval(known) if known else None
    return found
