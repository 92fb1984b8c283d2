"""Estimators: agreement with brute force, the time of the closed forms, and how often the intervals cover the truth.

    python benchmarks/estimators.py [DATA.jsonl]

DATA has rows with `candidates: [{correct, rm, pred}]` (eight stored answers to each problem); without it only the times
are taken. Brute force enumerates subsets with `itertools.combinations` and elects with rational numbers. Coverage is
measured on a fresh seed each time; the ideal width is that of an interval which knows the true variance.
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
from itertools import combinations, product
from pathlib import Path
from typing import Any

import numpy as np

from verikit.select import clusters
from verikit.stats import Estimate, Summary, best_of_ranked, mean_interval, pass_at_k, ranked_truth, subsets, vote_at_k
from verikit.types import Score

Subset = tuple[tuple[float, float, int | None], ...]
KS = (1, 4, 16, 64, 256, 1024)


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


def oracle_width(mean: float, variance: float, true_mean: float, true_variance: float, prompts: int) -> float:
    """The width of Wilson's interval at the effective number of prompts that the true variance gives."""
    z = 1.959963984540054
    n = prompts * true_mean * (1 - true_mean) / true_variance
    return float(2 * z * math.sqrt(mean * (1 - mean) / n + z * z / (4 * n * n)) / (1 + z * z / n))


def by_right(metric: str, candidates: int, k: int) -> Any:
    """A prompt's value by how many of its candidates are right; all wrong ones agree on one answer."""
    if metric == "pass":
        return np.array([pass_at_k(candidates, right, k) for right in range(candidates + 1)])
    lists = [[1.0] * right + [0.0] * (candidates - right) for right in range(candidates + 1)]
    return np.array([vote_at_k(truth, [int(right) for right in truth], k).value for truth in lists])


def drawn_values(rng: Any, metric: str, mean: float, concentration: float, shape: tuple[int, int]) -> Any:
    """Values of prompts with 8 candidates at k = 4, their difficulty from a beta distribution."""
    chance = rng.beta(mean * concentration, (1 - mean) * concentration, shape)
    right = rng.binomial(8, chance)
    if metric != "bon":
        return by_right(metric, 8, 4)[right]
    truth = np.arange(8) < right[..., None]
    # A reward model that puts a right answer one standard deviation above a wrong one.
    order = np.argsort(-(truth + rng.standard_normal(truth.shape)), axis=-1)
    return np.take_along_axis(truth, order, -1) @ [math.comb(7 - rank, 3) / math.comb(8, 4) for rank in range(8)]


def coverage(runs: int, seed: int) -> None:
    """How often 95 % intervals cover, and how wide they are beside the ideal, in 54 settings."""
    rng = np.random.default_rng(seed)
    methods: dict[str, Callable[[Any], Estimate]] = {
        "beta": mean_interval,
        "bootstrap": lambda values: mean_interval(values, interval="bootstrap"),
    }
    settings = list(product(("pass", "maj", "bon"), (0.02, 0.5, 0.98), (0.5, 4.0), (30, 100, 300)))
    print(f"coverage of 95 % intervals in {len(settings)} settings, {runs} runs each (bootstrap: a tenth), seed {seed}")
    covered: dict[str, list[float]] = {name: [] for name in methods}
    widths: dict[str, list[float]] = {name: [] for name in (*methods, "ideal")}
    for metric, accuracy, concentration, prompts in settings:
        whole = drawn_values(rng, metric, accuracy, concentration, (1000, 1000))
        mean, variance = float(whole.mean()), float(whole.var())
        sets = drawn_values(rng, metric, accuracy, concentration, (runs, prompts))
        ideal = [oracle_width(some.mean(), some.var(), mean, variance, prompts) for some in sets]
        widths["ideal"].append(sum(ideal) / runs)
        for name, method in methods.items():
            found = [method(some.tolist()) for some in (sets if name == "beta" else sets[: runs // 10])]
            covered[name].append(sum(estimate.low <= mean <= estimate.high for estimate in found) / len(found))
            widths[name].append(sum(estimate.high - estimate.low for estimate in found) / len(found))
        cells = (f"{name} {covered[name][-1]:.3f} ({widths[name][-1]:.4f})" for name in methods)
        label = f"{metric}@4 {accuracy:4.2f}, difficulty beta x {concentration}, {prompts:3d} prompts, mean {mean:.4f}"
        print(f"  {label}: {'   '.join(cells)}   ideal ({widths['ideal'][-1]:.4f})")
    for name in methods:
        rates, wider = covered[name], sum(widths[name]) / sum(widths["ideal"]) - 1
        low = sum(rate < 0.93 for rate in rates)
        print(
            f"{name}: mean {sum(rates) / len(rates):.3f}, least {min(rates):.3f}, {low} settings under 0.93", end="; "
        )
        print(f"{wider:+.1%} wider than the ideal (bars: none under 0.93, at most 15 % wider)")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        agreement(Path(sys.argv[1]))
    speed()
    streaming()
    coverage(runs=1000, seed=int(time.time()))
