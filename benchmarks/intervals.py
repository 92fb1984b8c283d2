"""Intervals: how often those that the commands print cover the truth, and how wide they are.

    python benchmarks/intervals.py [--runs 400] [--only NAME] [--settings]

Each family of intervals is simulated in many settings: number of prompts, difficulty, samples, size of an effect. A
setting gives the fraction of runs whose 95 % interval holds the true value. The lowest of many fractions is low by
chance, so the three lowest settings of a family are simulated again with five times the runs, and the least of those
counts. The width is that of an interval of the estimate's own normal distribution: 3.92 times its standard deviation
over the runs. `--settings` prints each setting. All of it takes some minutes on one core.
"""

from __future__ import annotations

import argparse
import math
import random
from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import partial
from statistics import fmean, median

from eval_settings import of_lengths, of_parts, of_ratios, of_steps
from simulated import (
    Both,
    Interval,
    Setting,
    Value,
    beta_chance,
    logistic,
    population,
    simulate,
    told,
)

from verikit.judges.calibration.confusion import kappa_interval
from verikit.judges.calibration.corrected import Labelled, corrected_rates
from verikit.judges.rates.agreement import cohen_kappa
from verikit.judges.rates.bradley_terry import SCALE, Game, bradley_terry
from verikit.stats import all_at_k, best_at_k, mean_interval, pass_at_k, vote_at_k
from verikit.stats.clustered import clustered_mean
from verikit.stats.paired import Outcomes, paired_difference
from verikit.types import UNIT

PROMPTS = (20, 50, 200)
CANDIDATES = 8
AGAIN, MORE = 3, 5


def of_score() -> Iterator[Setting]:
    """Mean, pass@4, pass^4, maj@4, best of 4 of eight candidates a prompt."""
    rights = range(CANDIDATES + 1)
    elected = [vote_at_k([1.0] * c + [0.0] * (8 - c), [0] * c + [1] * (8 - c), 4).value for c in rights]
    tables = {
        "mean": [c / CANDIDATES for c in rights],
        "pass@4": [pass_at_k(CANDIDATES, c, 4) for c in rights],
        "pass^4": [all_at_k(CANDIDATES, c, 4) for c in rights],
        "maj@4": elected,
    }

    def best(rng: random.Random, rate: float, concentration: float) -> float:
        chance = beta_chance(rng, rate, concentration)
        truth = [float(rng.random() < chance) for _ in range(CANDIDATES)]
        return best_at_k(truth, [value + rng.gauss(0, 1) for value in truth], 4)

    def counted(rng: random.Random, rate: float, concentration: float, values: list[float]) -> float:
        chance = beta_chance(rng, rate, concentration)
        return values[sum(rng.random() < chance for _ in range(CANDIDATES))]

    for rate in (0.03, 0.5, 0.95):
        for concentration in (0.5, 4.0):
            for metric in (*tables, "bon@4"):

                def value(rng: random.Random, a: float = rate, b: float = concentration, metric: str = metric) -> float:
                    return best(rng, a, b) if metric == "bon@4" else counted(rng, a, b, tables[metric])

                truth = population(value)
                for prompts in PROMPTS:
                    name = f"{metric}, rate {rate}, difficulty beta x {concentration}, {prompts} prompts"
                    yield Setting(name, [truth], partial(mean_of, prompts, value, UNIT))


def mean_of(n: int, value: Value, bounds: tuple[float, float], rng: random.Random) -> list[Interval]:
    return [told(mean_interval([value(rng) for _ in range(n)], bounds=bounds))]


def of_shares() -> Iterator[Setting]:
    """Accuracies of one reply a question, and win rates with ties."""
    for rate in (0.02, 0.1, 0.5, 0.9, 0.99):
        for ties in (0.0, 0.3):

            def value(rng: random.Random, rate: float = rate, ties: float = ties) -> float:
                return 0.5 if rng.random() < ties else float(rng.random() < rate)

            for prompts in PROMPTS:
                name = f"rate {rate}, ties {ties}, {prompts} prompts"
                yield Setting(name, [0.5 * ties + (1 - ties) * rate], partial(mean_of, prompts, value, UNIT))


def of_sums() -> Iterator[Setting]:
    """Weighted sums by the bounds of their spec, with penalties that are rare or never seen."""
    for right in (0.05, 0.5, 0.95):
        for rate in (0.01, 0.1, 0.5):
            for low, graded in ((-1.0, False), (-1.0, True), (-0.3, True)):

                def value(
                    rng: random.Random, of: tuple[float, float, float, bool] = (right, rate, low, graded)
                ) -> float:
                    penalty = (rng.random() if of[3] else 1.0) * (rng.random() < of[1])
                    return float(rng.random() < of[0]) + of[2] * penalty

                truth = right + low * rate * (0.5 if graded else 1.0)
                kind = "graded" if graded else "whole"
                for prompts in PROMPTS:
                    name = f"right {right}, {kind} penalty {low} in {rate}, {prompts} prompts"
                    yield Setting(name, [truth], partial(mean_of, prompts, value, (low, 1.0)))


def of_differences() -> Iterator[Setting]:
    """Differences of two runs, one or several samples a question; see `agreement` for their p-values."""
    for samples in (1, 4, 32):
        for concentration in (0.6, 4.0):
            for shift, spread in ((0.0, 0.0), (0.3, 0.3), (1.0, 1.0)):

                def both(
                    rng: random.Random, concentration: float = concentration, shift: float = shift, sd: float = spread
                ) -> tuple[float, float]:
                    before = min(max(beta_chance(rng, 0.5, concentration), 1e-6), 1 - 1e-6)
                    return before, logistic(math.log(before / (1 - before)) + shift + rng.gauss(0, sd))

                def gain(rng: random.Random, both: Both = both) -> float:
                    before, after = both(rng)
                    return after - before

                truth = population(gain) if shift else 0.0
                for questions in PROMPTS:
                    name = f"{samples} samples, difficulty beta x {concentration}, shift {shift}, {questions} questions"
                    yield Setting(name, [truth], partial(compared, questions, samples, both))


def compared(questions: int, samples: int, both: Both, rng: random.Random) -> list[Interval]:
    values: tuple[dict[str, float], dict[str, float]] = ({}, {})
    for question in range(questions):
        for run, chance in zip(values, both(rng), strict=True):
            run[f"{question}"] = sum(rng.random() < chance for _ in range(samples)) / samples
    found = paired_difference(*(Outcomes("t", "m", run, {}) for run in values))
    assert found is not None
    AGREE.append((found.p < 0.05) != (found.low <= 0 <= found.high))
    return [(found.value, found.low, found.high)]


AGREE: list[bool] = []
"""Whether the interval of each simulated difference agrees with its p-value."""


def of_ratings() -> Iterator[Setting]:
    """Bradley-Terry ratings: all pairs on each prompt, all against one, or one pair a prompt."""
    for strengths in ((0.5, 0.0, -0.5), (2.0, 0.0, -2.0), (1.5, 0.5, 0.0, -2.0)):
        for design in ("all", "one against all", "a pair"):
            for prompts in (20, 60, 200):

                def draw(
                    rng: random.Random, s: tuple[float, ...] = strengths, design: str = design, n: int = prompts
                ) -> list[Interval] | None:
                    games = []
                    for prompt in range(n):
                        pairs = [(i, j) for i in range(len(s)) for j in range(i)]
                        if design == "one against all":
                            pairs = [pair for pair in pairs if pair[1] == 0]
                        elif design == "a pair":
                            pairs = [rng.choice(pairs)]
                        for i, j in pairs:
                            won = float(rng.random() < logistic(s[i] - s[j]))
                            games.append(Game(f"{i}", f"{j}", won, f"{prompt}"))
                    table = {row.name: row for row in bradley_terry(games)}
                    rows = [table.get(f"{i}") for i in range(len(s))]
                    return [(row.rating, row.low, row.high) for row in rows if row] if all(rows) else None

                centred = [1000 + SCALE * (one - fmean(strengths)) for one in strengths]
                yield Setting(f"strengths {strengths}, {design}, {prompts} prompts", centred, draw)


def of_calibration() -> Iterator[Setting]:
    """Rates of the judge, corrected rates and kappa of `verikit calibrate`: a third of the candidates is labelled."""
    for prompts, candidates, concentration in ((40, 1, 1.0), (60, 4, 1.0), (60, 8, 0.5), (100, 8, 4.0)):
        for hit, false in ((0.95, 0.05), (0.8, 0.3)):
            said = 0.6 * hit + 0.4 * false
            agreed, chance = 0.6 * hit + 0.4 * (1 - false), 0.6 * said + 0.4 * (1 - said)

            def draw(
                rng: random.Random,
                shape: tuple[int, int, float] = (prompts, candidates, concentration),
                judge: tuple[float, float] = (hit, false),
            ) -> list[Interval] | None:
                verdicts, labels = {}, {}
                pairs = defaultdict[str, list[tuple[float, float]]](list)
                for prompt in map(str, range(shape[0])):
                    rate = beta_chance(rng, 0.6, shape[2])
                    for index in range(shape[1]):
                        right = rng.random() < rate
                        verdicts[prompt, index] = float(rng.random() < judge[not right])
                        if rng.random() < 1 / 3:
                            labels[prompt, index] = float(right)
                            pairs[prompt].append((verdicts[prompt, index], float(right)))
                rates = corrected_rates(Labelled(verdicts, labels), draws=SIMULATED_DRAWS)
                hits = [[verdict for verdict, label in some if label] for some in pairs.values()]
                kappa = cohen_kappa(*zip(*(pair for some in pairs.values() for pair in some), strict=True))
                if len(rates) < CORRECTED or math.isnan(kappa):
                    return None
                low, high = kappa_interval(pairs.values(), draws=SIMULATED_DRAWS)
                found = [(rate.value, rate.low, rate.high) for rate in rates]
                return [*found, (kappa, low, high), told(clustered_mean(hits))]

            name = f"{prompts} prompts x {candidates}, difficulty beta x {concentration}, judge {hit}/{false}"
            yield Setting(name, [*[0.6] * CORRECTED, (agreed - chance) / (1 - chance), hit], draw)


CORRECTED = 3
"""Forms of the corrected rate."""
SIMULATED_DRAWS = 300
"""Of each interval of `calibrate`, where the command takes 2,000."""


FAMILIES: dict[str, tuple[str, Callable[[], Iterator[Setting]], float]] = {
    "score": ("`score`: mean, pass@4, pass^4, maj@4, bon@4", of_score, 1.0),
    "shares": ("accuracies of `eval`, win rates of `judge`, shares of `audit`", of_shares, 1.0),
    "sums": ("weighted sums with penalties", of_sums, 1.0),
    "differences": ("differences of `compare`", of_differences, 0.25),
    "ratings": ("Bradley-Terry ratings of `judge`", of_ratings, 0.25),
    "ratios": ("instruction level, SimpleQA F1, ProcessBench F1 of `eval`", of_ratios, 0.5),
    "steps": ("PRMScore and AUC over steps of `eval`", of_steps, 0.5),
    "parts": ("RewardBench score and means of groups of `eval`", of_parts, 0.5),
    "lengths": ("length-controlled win rates of `eval`", of_lengths, 0.25),
    "calibrate": ("corrected rates, kappa and sensitivity of `calibrate`", of_calibration, 0.25),
}
"""What a family is, its settings, and what fraction of the runs it gets, since some are slow."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=400)
    parser.add_argument("--only", choices=FAMILIES)
    parser.add_argument("--settings", action="store_true")
    options = parser.parse_args()
    print("| interval | settings | coverage: mean | least | median width beside the ideal |\n|---|---|---|---|---|")
    for name, (label, settings, share) in FAMILIES.items():
        if options.only not in (None, name):
            continue
        runs = max(20, round(options.runs * share))
        results = sorted((simulate(one, runs, "first") for one in settings()), key=lambda found: found.coverage)
        again = [simulate(found.setting, MORE * runs, "again") for found in results[:AGAIN]]
        least = min(again, key=lambda found: found.coverage)
        widths = [found.width for found in results if not math.isnan(found.width)]
        cells = (label, len(results), f"{fmean(found.coverage for found in results):.3f}", f"{least.coverage:.3f}")
        print(f"| {' | '.join(map(str, cells))} | {median(widths):.2f} |", flush=True)
        for found in (*results, *again) if options.settings else [least]:
            print(f"  <!-- {found.coverage:.3f} {found.width:.2f} {found.setting.name} -->", flush=True)
    if AGREE:
        print(f"  <!-- {sum(not agrees for agrees in AGREE)} of {len(AGREE)} intervals disagree with their p -->")


if __name__ == "__main__":
    main()
