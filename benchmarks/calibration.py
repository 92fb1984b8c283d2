"""How often the intervals of corrected rates cover the truth: 64 settings of rate, judge, labels and verdicts.

python benchmarks/calibration.py [RUNS]        # of each setting, 100 by default; about 5 minutes on one core
"""

from __future__ import annotations

import random
import sys
from collections import Counter, defaultdict
from itertools import product
from statistics import fmean

from verikit.judges.calibration.corrected import corrected_rates

SENSITIVITY, SPECIFICITY = (0.7, 0.95), (0.6, 0.9)
RATES, LABELS, VERDICTS = (0.03, 0.3, 0.5, 0.9), (60, 200), (400, 4000)
DRAWS = 400
LEAST = 0.94


def main(runs: int) -> None:
    """Simulate every setting, and tell coverage and width by method."""
    shares: dict[str, list[float]] = defaultdict(list)
    widths: dict[str, list[float]] = defaultdict(list)
    for setting in product(SENSITIVITY, SPECIFICITY, RATES, LABELS, VERDICTS):
        covered, seen, width = _simulate(setting, runs)
        for method, times in seen.items():
            shares[method].append(covered[method] / times)
            widths[method].append(width[method] / times)
    print(f"{runs} runs of each setting; the ideal share is 0.95")
    for method, found in shares.items():
        above = f"{sum(share >= LEAST for share in found)} of {len(found)} settings at {LEAST} or more"
        told = f"coverage {fmean(found):.3f}, least {min(found):.3f}, {above}"
        print(f"{method}: {told}, mean width {fmean(widths[method]):.3f}")


def _simulate(
    setting: tuple[float, float, float, int, int], runs: int
) -> tuple[Counter[str], Counter[str], dict[str, float]]:
    sensitivity, specificity, rate, labels, n = setting
    rng = random.Random(repr(setting))
    covered, seen, width = Counter[str](), Counter[str](), defaultdict[str, float](float)
    for _ in range(runs):
        truth = [float(rng.random() < rate) for _ in range(n)]
        said = [float(rng.random() < (sensitivity if right else 1 - specificity)) for right in truth]
        pairs = [(said[i], truth[i]) for i in rng.sample(range(n), labels)]
        for found in corrected_rates(Counter(said), pairs, draws=DRAWS):
            seen[found.method] += 1
            covered[found.method] += found.low <= rate <= found.high
            width[found.method] += found.width
    return covered, seen, width


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100)
