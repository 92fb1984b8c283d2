"""Cascades of simulated judges: cost against agreement with the truth, under limits fitted from labels.

    python -m benchmarks.cascade

A judge sees the truth (1 or -1) with noise, and its value is the chance of a right answer given what it saw. `shared`
is the part of the noise that all judges have in common: judges that err on the same rows gain least. With `hard`, some
rows have 1.8 times the noise and some half of it, which no value reflects, so that judges are often sure and wrong.

No model is asked. The table shows the mechanism, and how often fitted limits keep their target. It does not show what a
pair of real judges would reach.
"""

from __future__ import annotations

import argparse
import itertools
import math
import random
from collections.abc import Sequence
from statistics import fmean
from typing import NamedTuple

import verikit
from verikit import Sample, Score, Verifier
from verikit.judges.calibration.limits import CascadeLimits, fit_limits
from verikit.judges.calibration.verdicts import SCORE, RunVerdicts
from verikit.judges.match.labels import Label
from verikit.types import PASS_MARK

NOISE = {"cheap": 0.8, "middle": 0.6, "dear": 0.4}
"""Standard deviations of the judges' noise. Right and wrong rows are 2 apart."""
PRICE = {"cheap": 1.0, "middle": 5.0, "dear": 25.0}
"""Of a call, relative to the cheap judge's."""


class Simulated(Verifier):
    """Reads its value in the row, and costs its price."""

    def __init__(self, name: str) -> None:
        self.name = name

    def score_batch(self, samples: Sequence[Sample]) -> list[Score]:
        """The judge's values."""
        return [Score(sample.meta[self.name], usage={"cost": PRICE[self.name]}) for sample in samples]


class World(NamedTuple):
    """How the judges err."""

    shared: float
    hard: bool


def drawn(rng: random.Random, world: World) -> tuple[float, Sample]:
    """The truth of a row, and the judges' values of it."""
    truth, factor = float(rng.random() < 0.5), rng.choice([0.5, 1.0, 1.8]) if world.hard else 1.0
    common = rng.gauss(0, 1)
    values = {}
    for name, noise in NOISE.items():
        own = math.sqrt(world.shared) * common + math.sqrt(1 - world.shared) * rng.gauss(0, 1)
        seen = (1 if truth else -1) + noise * factor * own
        values[name] = 1 / (1 + math.exp(-2 * seen / noise**2))
    return truth, Sample("?", "", meta=values)


def limits_of(name: str, rows: Sequence[tuple[float, Sample]], target: float) -> CascadeLimits:
    """A judge's limits, fitted as `verikit calibrate --until` does."""
    raw = {(str(i), 0): sample.meta[name] for i, (_, sample) in enumerate(rows)}
    run = RunVerdicts(SCORE, {key: float(value >= PASS_MARK) for key, value in raw.items()}, raw)
    return fit_limits(run, {(str(i), 0): Label(truth) for i, (truth, _) in enumerate(rows)}, target)


def limits_in_turn(rng: random.Random, world: World, target: float, labels: int) -> list[list[float | None]]:
    """Limits of the cheap and of the middle judge, each from labelled rows that reach it."""
    cheap = limits_of("cheap", [drawn(rng, world) for _ in range(labels)], target)
    low, high = cheap.until
    passed = (
        row
        for row in iter(lambda: drawn(rng, world), None)
        if (low is None or row[1].meta["cheap"] > low) and (high is None or row[1].meta["cheap"] < high)
    )
    middle = limits_of("middle", list(itertools.islice(passed, labels)), target)
    return [cheap.until, middle.until]


def agreement(rows: Sequence[tuple[float, Sample]], scores: Sequence[Score]) -> float:
    """How often the score passes where the truth is right."""
    return fmean(score.passed == bool(truth) for (truth, _), score in zip(rows, scores, strict=True))


def line(name: str, verifier: Verifier, rows: Sequence[tuple[float, Sample]]) -> str:
    """Agreement, cost relative to the dear judge on every row, and the share of rows that reach each later judge."""
    scores = verifier.score([sample for _, sample in rows])
    cost = fmean(score.usage["cost"] for score in scores) / PRICE["dear"]
    reached = [
        f"{who} {fmean(f'{who} cost' in score.usage for score in scores):.1%}"
        for who in getattr(verifier, "spenders", ())[1:]
    ]
    return f"  {name:34} agreement {agreement(rows, scores):.1%}  cost {cost:.2f}  {', '.join(reached)}"


def broken(rng: random.Random, world: World, target: float, labels: int, fits: int) -> str:
    """How often a side is fitted, and how often its clear verdicts truly agree less often than the target."""
    rows = [drawn(rng, world) for _ in range(4000)]
    found = below = 0
    for _ in range(fits):
        fitted = limits_of("cheap", [drawn(rng, world) for _ in range(labels)], target)
        for right, side in ((0.0, fitted.low), (1.0, fitted.high)):
            if side is not None:
                sign, found = 2 * right - 1, found + 1
                clear = [truth == right for truth, row in rows if sign * row.meta["cheap"] >= sign * side.limit]
                below += fmean(clear) < target
    return f"{found} of {2 * fits} sides fitted, {below} of them truly below {target:.0%}"


def main() -> None:
    """Print a table for each world."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=5_000)
    parser.add_argument("--labels", type=int, default=1_000)
    parser.add_argument("--fits", type=int, default=100)
    args = parser.parse_args()
    judges = {name: Simulated(name) for name in NOISE}
    for world in (World(0.0, False), World(0.5, False), World(0.5, True)):
        rng = random.Random(37)
        rows = [drawn(rng, world) for _ in range(args.rows)]
        print(f"{world}; limits from {args.labels} labels per judge")
        for name, judge in judges.items():
            print(line(name, judge, rows))
        for target in (0.95, 0.98):
            until = limits_in_turn(rng, world, target, args.labels)
            two = verikit.cascade(judges["cheap"], judges["dear"], until=until[:1])
            three = verikit.cascade(*judges.values(), until=until)
            print(line(f"cheap, dear until {target:.0%}", two, rows))
            print(line(f"cheap, middle, dear until {target:.0%}", three, rows))
            print(f"    {broken(rng, world, target, args.labels, args.fits)}")


if __name__ == "__main__":
    main()
