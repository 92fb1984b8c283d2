"""How often the intervals of corrected rates cover the truth: settings of rate, judge, labels, candidates a prompt.

python benchmarks/calibration.py [RUNS]        # of each setting, 40 by default; about 6 minutes on one core
"""

from __future__ import annotations

import random
import sys
from collections import Counter, defaultdict
from itertools import product
from statistics import fmean

from verikit.judges.calibration.corrected import Labelled, corrected_rates

SENSITIVITY, SPECIFICITY = (0.7, 0.95), (0.6, 0.9)
RATES, LABELS = (0.03, 0.3, 0.5, 0.9), (60, 200)
PROMPTS = ((400, 1), (4000, 1), (60, 8), (200, 8))
"""Prompts, and candidates of each."""
ALIKE = 0.5
"""Correlation of the truth of two candidates of a prompt."""
DRAWS = 200
LEAST = 0.93


def main(runs: int) -> None:
    """Simulate every setting, and tell coverage and width by method."""
    print(f"{runs} runs of each setting; the ideal share is 0.95")
    for prompts, candidates in PROMPTS:
        shares: dict[str, list[float]] = defaultdict(list)
        widths: dict[str, list[float]] = defaultdict(list)
        for setting in product(SENSITIVITY, SPECIFICITY, RATES, LABELS):
            covered, seen, width = _simulate(setting, prompts, candidates, runs)
            for method, times in seen.items():
                shares[method].append(covered[method] / times)
                widths[method].append(width[method] / times)
        print(f"{prompts} prompts of {candidates}")
        for method, found in shares.items():
            above = f"{sum(share >= LEAST for share in found)} of {len(found)} settings at {LEAST} or more"
            told = f"coverage {fmean(found):.3f}, least {min(found):.3f}, {above}"
            print(f"  {method}: {told}, mean width {fmean(widths[method]):.3f}")


def _simulate(
    setting: tuple[float, float, float, int], prompts: int, candidates: int, runs: int
) -> tuple[Counter[str], Counter[str], dict[str, float]]:
    sensitivity, specificity, rate, labels = setting
    rng = random.Random(repr((setting, prompts)))
    covered, seen, width = Counter[str](), Counter[str](), defaultdict[str, float](float)
    for _ in range(runs):
        truth = _truth(rate, prompts, candidates, rng)
        said = {key: float(rng.random() < (sensitivity if right else 1 - specificity)) for key, right in truth.items()}
        known = {key: truth[key] for key in rng.sample(list(truth), labels)}
        for found in corrected_rates(Labelled(said, known), draws=DRAWS):
            seen[found.method] += 1
            covered[found.method] += found.low <= rate <= found.high
            width[found.method] += found.width
    return covered, seen, width


def _truth(rate: float, prompts: int, candidates: int, rng: random.Random) -> dict[tuple[str, int], float]:
    """Which candidates are right; those of a prompt are alike."""
    weight = 1 / ALIKE - 1
    levels = [rate if candidates == 1 else rng.betavariate(rate * weight, (1 - rate) * weight) for _ in range(prompts)]
    return {(str(i), j): float(rng.random() < level) for i, level in enumerate(levels) for j in range(candidates)}


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 40)
