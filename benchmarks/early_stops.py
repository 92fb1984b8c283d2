"""Figures over samples that a rule ended early: `python benchmarks/early_stops.py` prints a table.

Prompts are drawn with a rate of right answers (beta distribution) and three wrong answers; a model's 16 samples of each
are drawn, and a rule lets the first of them come. Each figure is estimated from these samples alone, once as if they
were all that had been asked for and once with what the row tells of the rule. What it should be is the mean over many
more prompts, all 16 samples of which are there. Bias is in points; coverage is that of the 95 % interval.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from statistics import fmean

from verikit import Sample, Score, verifier
from verikit.select import clusters
from verikit.stats import Estimate, Summary
from verikit.stats.early import EarlyStop
from verikit.until import MajorityRule, ScoreRule

N, PROMPTS = 16, 60
WRONG = {"b": 0.6, "c": 0.3, "d": 0.1}
READER = verifier(lambda sample: Score(float(sample.completion == "a"), answer=sample.completion), name="letter")
RULES: Mapping[str, tuple[MajorityRule | ScoreRule, tuple[str, ...]]] = {
    "majority": (MajorityRule(by=READER), ("mean", "pass@8", "maj@16")),
    "majority(0.95)": (MajorityRule(0.95, by=READER), ("mean", "pass@4", "maj@4")),
    "first(SPEC)": (ScoreRule(READER), ("mean", "pass@16")),
}
"""Each rule with figures that can be told of its samples."""


@dataclass
class Found:
    """What the estimates of a figure came to."""

    values: list[float]
    covered: int = 0

    def add(self, estimate: Estimate | None, truth: float) -> None:
        """Count one run; a figure that has no estimate is none of it."""
        if estimate is not None:
            self.values.append(estimate.value)
            self.covered += estimate.low <= truth <= estimate.high

    def told(self, truth: float, runs: int) -> str:
        """Bias and coverage."""
        bias = 100 * (fmean(self.values) - truth)
        return f"{bias:+.1f} | {self.covered / runs:.3f}"


def prompts(draw: random.Random, count: int) -> Iterator[list[Sample]]:
    """All n samples of each prompt."""
    for _ in range(count):
        rate = draw.betavariate(1.2, 1.2)
        weights = [rate, *((1 - rate) * share for share in WRONG.values())]
        yield [Sample("?", answer) for answer in draw.choices(["a", *WRONG], weights, k=N)]


def add(summary: Summary, samples: list[Sample], early: EarlyStop | None) -> None:
    """Count one prompt."""
    answers = [sample.completion for sample in samples]
    truth = [Score(float(answer == "a"), answer=answer) for answer in answers]
    summary.add(truth, clusters=clusters(answers), early=early)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    draw, many = random.Random(arguments.seed), Summary([4, 8, N])
    for samples in prompts(draw, 40_000):
        add(many, samples, None)
    truth = {name: estimate.value for name, estimate in many.estimates().items()}
    print("| rule | samples | figure | of all 16 | as they come: bias | coverage | as printed: bias | coverage |")
    print("|---|---|---|---|---|---|---|---|")
    for name, (rule, figures) in RULES.items():
        plain, told = ({figure: Found([]) for figure in figures} for _ in range(2))
        taken = 0
        for _ in range(arguments.runs):
            some, sound = Summary([4, 8, N]), Summary([4, 8, N])
            for samples in prompts(draw, PROMPTS):
                end = next((m for m in range(1, N) if rule.stop(samples[:m], N)), N)
                taken += end
                why = rule.why(samples[:end], N) if end < N else None
                add(some, samples[:end], None)
                add(sound, samples[:end], EarlyStop(name, N, rule.least(N), rule.least(N), why))
            for summary, found in ((some, plain), (sound, told)):
                estimates = summary.estimates()
                for figure in figures:
                    found[figure].add(estimates.get(figure), truth[figure])
        mean = taken / arguments.runs / PROMPTS
        for figure in figures:
            ends = (entry[figure].told(truth[figure], arguments.runs) for entry in (plain, told))
            print(f"| `{name}` | {mean:.1f} | {figure} | {100 * truth[figure]:.1f} | {' | '.join(ends)} |")


if __name__ == "__main__":
    main()
