"""Does the proposer matter? Self-play's ablations, each in the smallest world where its paper's argument should show.

    python benchmarks/proposer.py all RUNS                      # every arm and seed that is not done, one after another
    python benchmarks/proposer.py run spice/frozen 11 RUNS      # one of them; goes on where it was stopped
    python benchmarks/proposer.py table RUNS                    # what is done, tested as said below
    python benchmarks/proposer.py table RUNS --docs docs/recipes.md      # … written into the page
    python benchmarks/proposer.py list                          # the arms with the settings that make them

Each world is one of the shipped tiny ones with other settings, so that an arm is also `verikit train CONFIG --set …`.
All arms of a world and seed start from the same weights, made once, and differ in nothing but what is named.

Absolute Zero. A trained proposer moves to what the solver is learning just now; a frozen one goes on asking what it
asked at the start, which teaches nothing once it is solved. So proposals start trivial: nine of ten demonstrated ones
have one line, which the solver gets right nine times in ten, while it is weak on two and three lines, which are held
out.

SPICE. A Challenger paid for questions that are answered half of the time asks for less where the Reasoner guesses and
for more where it knows; a frozen one stays at its own level, and other rewards aim elsewhere: 1 - p pays most for what
is never known, a threshold pays a lucky guess like a half-known fact. So questions start too hard: three of four ask
for the sum of three facts, which is a guess and teaches nothing until two of them are known.

Elo-Evolve. Wins against an opponent far below or above are all alike, and a group of equal rewards has no gradient; an
opponent near the policy's rating tells outputs apart all along. So the climb is long (five results to get right, of
which the start gets two) and the pool is the paper's: three players of about the start's rating, 300 above and 600
above. T = 20 meets one of them at a time, T = 2000 any.

Said beforehand. The metric is the held-out one at the last step (`Family.metric`), the seeds are SEEDS; settings were
tuned on others. A comparison is the mean over seeds of first arm less second, paired by seed, with its 95 % interval by
Student's t; p is one-sided and Holm's over the comparisons of a family. *Shown*: p <= .05 in the paper's direction.
*The other way round*: the same in the opposite one. Else *not shown*, and the interval says how much was missed at
most. The mean over all evaluations after the start is given beside it, as what is learnt early, and decides nothing.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import copysign, inf, sqrt
from pathlib import Path
from statistics import fmean, stdev

from verikit.errors import ConfigError
from verikit.stats.beta import beta_probability, beta_quantile
from verikit.stats.paired import holm
from verikit.trainers.config import Config, differences, load_config

SEEDS = (11, 12, 13, 14, 15)
LEVEL = 0.05
KEPT = ("run.save_every=20", "run.keep=1", "run.max_idle_steps=0")
"""What all arms' runs share: an opponent too far above leaves first steps without a gradient, which is the point."""
BEGIN, END = "<!-- proposer: python benchmarks/proposer.py table RUNS --docs docs/recipes.md -->", "<!-- /proposer -->"


@dataclass(frozen=True)
class Family:
    """The arms of one recipe in one world."""

    config: str
    metric: str
    """Of the held-out rows."""
    world: tuple[str, ...]
    """Changes to the shipped config that all arms share."""
    arms: Mapping[str, tuple[str, ...]]
    """The changes of each; START stands for the folder of the start's weights."""
    comparisons: tuple[tuple[str, str, str], ...]
    """(Arm, rival, what the paper says of the first); the first should end ahead."""


FAMILIES = {
    "absolute-zero": Family(
        "absolute-zero-tiny",
        "held-out/accuracy",
        (
            'options.tasks=["deduction","abduction"]', "options.lengths=[1,2,3]", "options.proposed=[0.9,0.08,0.02]",
            "options.spoilt_by_lines=[0.1,0.6,0.6]", "options.held_out_lengths=[2,3]", "options.held_out_size=48",
            "options.evaluate_samples=2", "warmup.gate=0.5", "run.steps=80", "run.evaluate_every=20",
        ),
        {
            "trained": (),
            "frozen": ("options.train_proposer=false",),
            "trained-inverse": ('options.learnability="paper"',),
            "trained-replay": ('options.mix="learnable"',),
            "frozen-replay": ('options.mix="learnable"', "options.train_proposer=false"),
        },
        (
            ("trained", "frozen", "a trained proposer beats a frozen one, 4 r (1 - r)"),
            ("trained-inverse", "frozen", "the same with the paper's 1 - r"),
            ("trained-replay", "frozen-replay", "the same where both replay what still teaches"),
            ("trained-replay", "trained", "a buffer drawn by difficulty adds to it (ours)"),
        ),
    ),
    "spice": Family(
        "spice-tiny",
        "held-out/accuracy",
        ("options.facts=[0.1,0.15,0.75]", "run.steps=160", "run.evaluate_every=40"),
        {
            "variance": (),
            "frozen": ('options.challenger="hf:START"',),
            "absolute-zero": ('options.reward="absolute-zero"',),
            "threshold": ('options.reward="threshold"',),
            "r-zero": ('options.reward="r-zero"',),
        },
        (
            ("variance", "frozen", "a trained Challenger beats a frozen one"),
            ("variance", "absolute-zero", "the variance reward beats 1 - p"),
            ("variance", "threshold", "… a threshold"),
            ("variance", "r-zero", "… R-Zero's 1 - 2 abs(p - 1/2)"),
        ),
    ),
    "elo-evolve": Family(
        "elo-evolve-tiny",
        "held-out/win_rate",
        (
            "options.digits=4", "options.max_tokens=48", "options.spoilt=0.5", "options.rating=720",
            "options.prompts=24", "options.samples=8", "options.players={p40=0.4, p70=0.7, p95=0.95}",
            "options.strangers={s40=0.4, s60=0.6, s80=0.8, s95=0.95}",
            "warmup.gate=0.7", "run.steps=80", "run.evaluate_every=20",
        ),
        {
            "T200": (),
            "level": ("options.players={p40=0.4}",),
            "above": ("options.players={p70=0.7}",),
            "far": ("options.players={p95=0.95}",),
            "T20": ("options.draw_temperature=20",),
            "T2000": ("options.draw_temperature=2000",),
        },
        (
            ("T200", "level", "opponents by rating beat one of the start's strength"),
            ("T200", "above", "… one about 300 above it"),
            ("T200", "far", "… one about 600 above it"),
            ("T200", "T20", "T = 200 beats T = 20"),
            ("T200", "T2000", "T = 200 beats T = 2000"),
        ),
    ),
}  # fmt: skip


@dataclass(frozen=True)
class Paired:
    """What the paired differences of some seeds say."""

    differences: tuple[float, ...]
    mean: float = field(init=False)
    low: float = field(init=False)
    high: float = field(init=False)
    p: float = field(init=False)
    """One-sided: that the mean is above 0 by chance alone."""

    def __post_init__(self) -> None:
        n, mean = len(self.differences), fmean(self.differences)
        error = stdev(self.differences) / sqrt(n) if n > 1 else inf
        half = student_quantile(1 - LEVEL / 2, n - 1) * error if n > 1 else inf
        p = upper_tail(mean / error, n - 1) if 0 < error < inf else 0.5 if not mean or n < 2 else float(mean < 0)
        for name, value in {"mean": mean, "low": mean - half, "high": mean + half, "p": p}.items():
            object.__setattr__(self, name, value)


def upper_tail(t: float, freedom: int) -> float:
    """The probability that Student's t is above `t`."""
    beyond = beta_probability(freedom / (freedom + t * t), freedom / 2, 0.5) / 2
    return beyond if t > 0 else 1 - beyond


def student_quantile(p: float, freedom: int) -> float:
    """The t up to which Student's distribution has the probability p."""
    x = beta_quantile(2 * min(p, 1 - p), freedom / 2, 0.5)
    return copysign(sqrt(freedom * (1 - x) / x), p - 0.5)


def verdicts(found: Sequence[Paired | None]) -> list[str]:
    """Say of each comparison of a family whether it is shown, by Holm's p-values in either direction."""
    known = [paired for paired in found if paired is not None]
    ahead, behind = (holm(ps) for ps in ([paired.p for paired in known], [1 - paired.p for paired in known]))
    said = iter(
        "shown" if up <= LEVEL else "the other way round" if down <= LEVEL else "not shown"
        for up, down in zip(ahead, behind, strict=True)
    )
    return ["not run" if paired is None else next(said) for paired in found]


def curve(folder: Path, metric: str) -> dict[int, float]:
    """The held-out metric by step, of what a run has logged so far."""
    path = folder / "metrics.jsonl"
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()] if path.exists() else []
    return {row["step"]: row[metric] for row in rows if metric in row}


def last_step(family: Family) -> int:
    """The step at which a family's runs end."""
    return int(next(change for change in family.world if change.startswith("run.steps=")).partition("=")[2])


def start(name: str, seed: int, runs: Path) -> Path:
    """Make the weights that a world's arms start from, if they are not there, and return their folder.

    They are what the warm-up leaves, before the first step.
    """
    from verikit.trainers.checkpoint import checkpoints, read_state
    from verikit.trainers.export import export_run
    from verikit.trainers.run import CHECKPOINTS

    family, model = FAMILIES[name], runs / name / f"start-{seed}"
    if not (model / "config.json").exists():
        warming = runs / name / f"warm-up-{seed}"
        changes = [*family.world, f"seed={seed}", "run.steps=1", "run.evaluate_every=0", "options.evaluate_samples=1"]
        settings = here(load_config(family.config, changes))
        if not any(read_state(path)["step"] == 0 for path in checkpoints(warming / CHECKPOINTS)):
            train(settings, warming)
        half = model.with_name(f"{model.name}.part")
        export_run(warming, settings, half, step=0)
        half.rename(model)
    return model


def train(settings: Config, folder: Path) -> None:
    """Train into a folder, or go on with what is there.

    Raises:
        ConfigError: what is there has other settings.
    """
    from verikit.trainers.run import read_settings
    from verikit.trainers.session import run_training

    begun = (folder / "config.json").exists()
    if begun and (changes := list(differences(read_settings(folder), settings))):
        raise ConfigError(f"{folder} was run with other settings: {'; '.join(changes)}", hint="choose another RUNS")
    run_training(settings, folder, resume=begun, quiet=True)


def arm_settings(name: str, arm: str, seed: int, model: Path) -> Config:
    """Return an arm's settings, which begin with the weights of `start` and have no warm-up."""
    family = FAMILIES[name]
    own = [change.replace("START", str(model)) for change in family.arms[arm]]
    changes = [*family.world, *own, f"seed={seed}", f"model.path={model}", *KEPT]
    return here(load_config(family.config, changes)).model_copy(update={"warmup": None})


def here(settings: Config) -> Config:
    """Return settings that are the same from whatever folder the queue is started."""
    return settings.model_copy(update={"folder": ""})


def run(name: str, arm: str, seed: int, runs: Path) -> None:
    """Train one arm on one seed, from wherever it is."""
    folder = runs / name / f"{arm}-{seed}"
    if last_step(FAMILIES[name]) not in curve(folder, FAMILIES[name].metric):
        train(arm_settings(name, arm, seed, start(name, seed, runs).resolve()), folder)


def queue(runs: Path, families: Sequence[str], seeds: Sequence[int]) -> Iterator[tuple[str, str, int]]:
    """Yield what is not done; a seed's arms come together, so that a queue that is stopped leaves whole pairs."""
    for seed in seeds:
        for name in families:
            family = FAMILIES[name]
            for arm in family.arms:
                if last_step(family) not in curve(runs / name / f"{arm}-{seed}", family.metric):
                    yield name, arm, seed


def run_all(runs: Path, families: Sequence[str], seeds: Sequence[int]) -> int:
    """Run the queue, each in a process of its own; return how many failed. CPU seconds go to RUNS/times.jsonl."""
    failed = 0
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    for name, arm, seed in queue(runs, families, seeds):
        before = os.times()
        command = [sys.executable, __file__, "run", f"{name}/{arm}", str(seed), str(runs)]
        code = subprocess.run(command, env=environment, check=False).returncode
        after = os.times()
        cpu = after.children_user + after.children_system - before.children_user - before.children_system
        told = {"arm": f"{name}/{arm}", "seed": seed, "code": code, "cpu": round(cpu, 1),
                "wall": round(after.elapsed - before.elapsed, 1)}  # fmt: skip
        runs.mkdir(parents=True, exist_ok=True)
        with (runs / "times.jsonl").open("a", encoding="utf-8") as file:
            file.write(json.dumps(told) + "\n")
        print(told, flush=True)
        failed += code != 0
    return failed


def compared(name: str, first: str, second: str, runs: Path) -> tuple[Paired, Paired, float, float] | None:
    """The paired differences at the end and over the run, and both arms' means at the end; None where no seed is done.

    Only seeds of which both arms are done count.
    """
    family, ends, means, levels = FAMILIES[name], [], [], []
    last = last_step(family)
    for seed in SEEDS:
        ours, rivals = (curve(runs / name / f"{arm}-{seed}", family.metric) for arm in (first, second))
        if last in ours and last in rivals:
            ends.append(ours[last] - rivals[last])
            levels.append((ours[last], rivals[last]))
            means.append(fmean(ours[step] - rivals[step] for step in ours if step))
    if not ends:
        return None
    return Paired(tuple(ends)), Paired(tuple(means)), fmean(a for a, _ in levels), fmean(b for _, b in levels)


def table(runs: Path) -> str:
    """The table of all comparisons; those without a seed are told as not run."""
    lines = ["| what the paper says | arms | at the end | difference [95 %] | p, Holm's one-sided | over the run | |",
             "|---|---|---|---|---|---|---|"]  # fmt: skip
    for name, family in FAMILIES.items():
        found = [compared(name, first, second, runs) for first, second, _ in family.comparisons]
        adjusted = iter(holm([result[0].p for result in found if result is not None]))
        said = verdicts([result and result[0] for result in found])
        for (first, second, claim), result, verdict in zip(family.comparisons, found, said, strict=True):
            arms = f"{name}: `{first}` − `{second}`"
            if result is None:
                lines.append(f"| {claim} | {arms} | | | | | *not run* |")
                continue
            end, over, level, other = result
            seeds = "" if len(end.differences) == len(SEEDS) else f" ({len(end.differences)} seeds)"
            lines.append(
                f"| {claim} | {arms} | {level:.3f}, {other:.3f} | {end.mean:+.3f} [{end.low:+.3f}, {end.high:+.3f}]"
                f" | {next(adjusted):.3f} | {over.mean:+.3f} [{over.low:+.3f}, {over.high:+.3f}] | *{verdict}*{seeds} |"
            )
    return "\n".join(lines)


def fill(page: Path, text: str) -> None:
    """Put the table between a page's marks."""
    before, rest = page.read_text("utf-8").split(BEGIN)
    page.write_text(f"{before}{BEGIN}\n{text}\n{END}{rest.split(END)[1]}", "utf-8")


def main() -> int:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    single = commands.add_parser("run")
    single.add_argument("arm", choices=[f"{name}/{arm}" for name, family in FAMILIES.items() for arm in family.arms])
    single.add_argument("seed", type=int)
    whole = commands.add_parser("all")
    whole.add_argument("--only", nargs="+", choices=FAMILIES, default=list(FAMILIES))
    whole.add_argument("--seeds", nargs="+", type=int, default=SEEDS)
    shown = commands.add_parser("table")
    for command in (single, whole, shown):
        command.add_argument("runs", type=Path)
    shown.add_argument("--docs", type=Path)
    commands.add_parser("list")
    given = parser.parse_args()
    if given.command == "run":
        name, _, arm = given.arm.partition("/")
        run(name, arm, given.seed, given.runs)
    elif given.command == "all":
        return min(run_all(given.runs, given.only, given.seeds), 100)
    elif given.command == "list":
        for name, family in FAMILIES.items():
            for arm, own in family.arms.items():
                print(f"{name}/{arm}: verikit train {family.config}", *(f"--set '{s}'" for s in (*family.world, *own)))
    elif given.docs:
        fill(given.docs, table(given.runs))
    else:
        print(table(given.runs))
    return 0


if __name__ == "__main__":
    sys.exit(main())
