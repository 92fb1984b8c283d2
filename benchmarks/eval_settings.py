"""Settings of the figures of `eval` that are no plain mean over documents, for `intervals.py`."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from statistics import NormalDist, fmean

from simulated import Interval, Setting, beta_chance, logistic, told

from verikit.evals.instructions import inst_level
from verikit.evals.pairs import length_controlled_rate
from verikit.evals.prmbench import StepCounts, prmscore, prmscore_of
from verikit.evals.processbench import auc_of, f1_of
from verikit.evals.rewardbench import Ranked, score_of, ties_score
from verikit.evals.simpleqa import f1 as simpleqa_f1
from verikit.stats import mean_interval
from verikit.stats.parts import mean_of_parts


def of_ratios() -> Iterator[Setting]:
    """Figures of benchmark tasks that are ratios or harmonic means over questions."""
    for rate in (0.3, 0.8, 0.95):
        for questions in (20, 50, 200):

            def follows(rng: random.Random, rate: float = rate, n: int = questions) -> list[Interval]:
                counts = [(beta_chance(rng, rate, 3.0), rng.randint(1, 3)) for _ in range(n)]
                rows = [[sum(rng.random() < chance for _ in range(among)), among] for chance, among in counts]
                return [told(inst_level.estimate(rows))]

            def attempts(rng: random.Random, rate: float = rate, n: int = questions) -> list[Interval]:
                letters = rng.choices("ABC", (rate, (1 - rate) / 2, (1 - rate) / 2), k=n)
                return [told(simpleqa_f1.estimate([[float(said == "A"), float(said == "B")] for said in letters]))]

            def errors(rng: random.Random, rate: float = rate, n: int = questions) -> list[Interval]:
                return [told(f1_of.estimate([(i % 2 == 0, float(rng.random() < rate)) for i in range(n)]))]

            yield Setting(f"instructions followed {rate}, {questions}", [rate], follows)
            yield Setting(f"SimpleQA F1 {rate}, {questions}", [2 * rate / (1 + rate + (1 - rate) / 2)], attempts)
            yield Setting(f"ProcessBench F1 {rate}, {questions}", [rate], errors)


def of_steps() -> Iterator[Setting]:
    """PRMScore and AUC over the steps of solutions; steps of one solution are alike."""
    for solutions in (20, 50):
        for keeps, finds in ((0.9, 0.5), (0.97, 0.9)):

            def counted(
                rng: random.Random, n: int = solutions, judge: tuple[float, float] = (keeps, finds)
            ) -> list[Interval]:
                rows = []
                for _ in range(n):
                    right, wrong = rng.randint(2, 7), rng.randint(1, 3)
                    kept, found = (beta_chance(rng, rate, 3.0) for rate in judge)
                    steps = [rng.random() < kept for _ in range(right)]
                    caught = [rng.random() < found for _ in range(wrong)]
                    rows.append(StepCounts(sum(steps), wrong - sum(caught), sum(caught), right - sum(steps)))
                return [told(prmscore_of.estimate(rows))]

            truth = prmscore(StepCounts(4.5 * keeps, 2 * (1 - finds), 2 * finds, 4.5 * (1 - keeps)))
            yield Setting(f"PRMScore, right kept {keeps}, wrong found {finds}, {solutions} solutions", [truth], counted)
        for gap in (1.0, 3.0):

            def ranked(rng: random.Random, n: int = solutions, gap: float = gap) -> list[Interval]:
                rows = []
                for _ in range(n):
                    level, right = rng.gauss(0, 0.5), rng.randint(1, 6)
                    steps = [(gap + level + rng.gauss(0, 1), True) for _ in range(right)]
                    rows.append([*steps, (level + rng.gauss(0, 1), False)])
                return [told(auc_of.estimate(rows))]

            area = NormalDist(0, math.sqrt(2 * (1 + 0.5**2))).cdf(gap)
            yield Setting(f"AUC, gap {gap}, {solutions} solutions", [area], ranked)


def of_parts() -> Iterator[Setting]:
    """Plain means over tasks or subsets of their own sizes: RewardBench's score, means of groups."""
    for rates in ((0.3, 0.6, 0.9), (0.9, 0.95, 0.98)):
        for prompts in (20, 50):

            def group(rng: random.Random, rates: tuple[float, ...] = rates, n: int = prompts) -> list[Interval]:
                parts = ((n * size, rate) for size, rate in enumerate(rates, 1))
                return [told(mean_of_parts([mean_interval(rng.random() < p for _ in range(k)) for k, p in parts]))]

            def subsets(rng: random.Random, rates: tuple[float, ...] = rates, n: int = prompts) -> list[Interval]:
                best = [
                    (f"subset {rate}", f"{number}", 1, [float(rng.random() < rate), 0.5, 0.5, 0.5])
                    for rate in rates
                    for number in range(n)
                ]
                return [told(score_of.estimate([*best, *tied_prompts(rng, n)]))]

            yield Setting(f"group of rates {rates}, {prompts} questions and more", [fmean(rates)], group)
            truth = (sum(rates) + TIED) / (len(rates) + 1)
            yield Setting(f"RewardBench, rates {rates} and Ties, {prompts} prompts each", [truth], subsets)


def tied_prompts(rng: random.Random, n: int) -> list[Ranked]:
    found: list[Ranked] = []
    for number in range(n):
        lift = rng.choice((0.2, 1.0))
        found.append(("Ties", f"ref:{number}", 1, [rng.random() + lift, rng.random()]))
        right = [rng.random() / 2 + lift for _ in range(3)]
        found.append(("Ties", f"tied:{number}", len(right), [*right, rng.random(), rng.random()]))
    return found


TIED = ties_score(tied_prompts(random.Random("population"), 40_000))
"""What the subset Ties comes to over many prompts."""


def of_lengths() -> Iterator[Setting]:
    """Length-controlled win rates: longer answers win more often."""
    for strength in (0.0, 2.0):
        for documents in (20, 50):

            def draw(rng: random.Random, strength: float = strength, n: int = documents) -> list[Interval]:
                rows = []
                for _ in range(n):
                    longer = rng.gauss(0, 1)
                    won = float(rng.random() < logistic(strength + math.tanh(longer)))
                    rows.append([(won, 2000 + 400 * longer, 2000.0)])
                return [told(length_controlled_rate.estimate(rows))]

            yield Setting(f"strength {strength}, {documents} documents", [logistic(strength)], draw)
