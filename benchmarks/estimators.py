"""Estimators: agreement with brute force, the time of the closed forms, and how often the intervals cover the truth.

    python benchmarks/estimators.py [DATA.jsonl]

DATA has rows with `candidates: [{correct, rm, pred}]` (eight stored answers to each problem); without it only the times
are taken. Brute force enumerates subsets with `itertools.combinations` and elects with rational numbers.
"""

from __future__ import annotations

import json
import math
import random
import sys
import time
from array import array
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import combinations
from pathlib import Path
from typing import get_args

from verikit.select import clusters
from verikit.stats import Interval, Summary, best_of_ranked, mean_interval, pass_at_k, ranked_truth, subsets
from verikit.types import Score

Subset = tuple[tuple[float, float, int | None], ...]
KS = (1, 4, 16, 64, 256, 1024)
INTERVALS: tuple[Interval, ...] = get_args(Interval)


def elected(subset: Subset, weigh: Callable[[float], float]) -> Fraction:
    votes: dict[int, list[tuple[Fraction, Fraction]]] = {}
    for truth, score, name in subset:
        if name is not None:
            votes.setdefault(name, []).append((Fraction(weigh(score)), Fraction(truth)))
    if not votes:
        return Fraction(sum(truth for truth, _, _ in subset)) / len(subset)
    totals = {name: sum(weight for weight, _ in cast) for name, cast in votes.items()}
    top = max(totals.values())
    leaders = [votes[name] for name, total in totals.items() if math.isclose(total, top, rel_tol=1e-12)]
    return Fraction(sum(Fraction(sum(truth for _, truth in cast)) / len(cast) for cast in leaders)) / len(leaders)


def best(subset: Subset) -> Fraction:
    top = max(score for _, score, _ in subset)
    tied = [Fraction(truth) for truth, score, _ in subset if score == top]
    return Fraction(sum(tied)) / len(tied)


def agreement(path: Path) -> None:
    groups: list[Subset] = []
    for line in path.read_text().splitlines():
        rows = json.loads(line)["candidates"]
        names = clusters([row["pred"] or None for row in rows])
        groups.append(tuple((float(r["correct"]), float(r["rm"]), name) for r, name in zip(rows, names, strict=True)))
    summary = Summary(range(1, 9))
    for group in groups:
        truth, rm, names_ = zip(*group, strict=True)
        summary.add([Score(t) for t in truth], [Score(r) for r in rm], names_)
    estimates = summary.estimates()
    worst = 0.0
    print(f"{len(groups)} problems, {len(groups[0])} candidates; percent, with 95 % intervals over prompts")
    for k in range(1, 9):
        brute: dict[str, Callable[[Subset], Fraction]] = {
            "pass": lambda s: Fraction(max(t for t, _, _ in s)),
            "maj": lambda s: elected(s, lambda _: 1.0),
            "bon": best,
            "wmaj": lambda s: elected(s, lambda score: 1 / (1 + math.exp(-score))),
        }
        cells = []
        for name, value in brute.items():
            exact = Fraction(0)
            for group in groups:
                exact += sum((value(subset) for subset in combinations(group, k)), Fraction(0)) / math.comb(
                    len(group), k
                )
            ours = estimates[f"{name}@{k}"]
            worst = max(worst, abs(ours.value - float(exact / len(groups))))
            cells.append(f"{name}@{k} {100 * ours.value:8.4f} [{100 * ours.low:5.1f}, {100 * ours.high:5.1f}]")
        print("  ".join(cells))
    print(f"largest difference from brute force: {worst:.2e} (bar 1e-9)\n")


def closed_forms(problems: Sequence[tuple[Sequence[float], Sequence[float]]]) -> float:
    start = time.perf_counter()
    for truth, scores in problems:
        n, right = len(truth), int(sum(truth))
        ranked = ranked_truth(truth, scores)
        for k in KS:
            pass_at_k(n, right, k)
            best_of_ranked(ranked, k)
    return time.perf_counter() - start


def speed(problems: int = 1000, candidates: int = 10_000, kinds: int = 50) -> None:
    rng = random.Random(0)
    data = [
        (
            array("d", (float(rng.random() < 0.01 * kind) for _ in range(candidates))),
            array("d", (rng.gauss(0, 1) for _ in range(candidates))),
        )
        for kind in range(kinds)
    ] * (problems // kinds)
    print(f"{problems} problems x {candidates} candidates, pass@k and best-of-k at k = {KS}")
    lists = [(list(truth), list(scores)) for truth, scores in data[:kinds]] * (problems // kinds)
    closed_forms(data[:2])
    print(f"  with numpy   {min(closed_forms(data) for _ in range(3)):6.2f} s from arrays (best of 3; bar 1 s)")
    print(f"  with numpy   {min(closed_forms(lists) for _ in range(3)):6.2f} s from lists (best of 3)")
    with_numpy, subsets._numpy = subsets._numpy, lambda: None  # type: ignore[assignment]
    print(f"  pure Python  {closed_forms(data):6.2f} s")
    subsets._numpy = with_numpy


def streaming(groups: int = 5_000, n: int = 8) -> None:
    rng = random.Random(0)
    data = []
    for _ in range(groups):
        p = rng.betavariate(0.3, 0.3)
        truth = [float(rng.random() < p) for _ in range(n)]
        names = [0 if t else rng.choice([1, 1, 2, 3]) for t in truth]
        data.append(([Score(t) for t in truth], [Score(rng.gauss(t, 1)) for t in truth], names))
    start = time.perf_counter()
    summary = Summary([1, 2, 4, 8])
    for group in data:
        summary.add(*group)
    added = time.perf_counter() - start
    summary.estimates()
    each = added / groups
    print(f"Summary: {each * 1e6:.0f} us for a group of {n} at k = 1, 2, 4, 8 (all metrics)")


def coverage(runs: int = 1000, candidates: int = 4) -> None:
    """How often a 95 % interval covers, for prompts whose difficulty is drawn from a beta distribution."""
    print(f"coverage of 95 % intervals in {runs} runs, {candidates} candidates to a prompt (mean width)")
    rng = random.Random(0)
    for shape in ((1, 2), (9, 1), (0.5, 0.05), (0.05, 2)):
        mean = shape[0] / sum(shape)
        for prompts in (32, 100):
            covered, width = dict.fromkeys(INTERVALS, 0), dict.fromkeys(INTERVALS, 0.0)
            for _ in range(runs):
                chances = [rng.betavariate(*shape) for _ in range(prompts)]
                values = [sum(rng.random() < p for _ in range(candidates)) / candidates for p in chances]
                for interval in INTERVALS:
                    found = mean_interval(values, interval=interval)
                    covered[interval] += found.low <= mean <= found.high
                    width[interval] += found.high - found.low
            cells = (f"{kind} {covered[kind] / runs:.3f} ({width[kind] / runs:.3f})" for kind in INTERVALS)
            print(f"  mean {mean:.3f}, {prompts:3d} prompts: " + "   ".join(cells))


if __name__ == "__main__":
    if len(sys.argv) > 1:
        agreement(Path(sys.argv[1]))
    speed()
    streaming()
    coverage()
