"""Does the alarm of `run.gold` fire in time? Runs whose reward is weak, and healthy ones, in the arithmetic world.

    python benchmarks/gold_alarm.py all RUNS                     # every run that is not done, one after another
    python benchmarks/gold_alarm.py table RUNS docs/train.md     # the table, the test and the curves

A run that was stopped goes on. The claim, the arms, the seeds and the test are on the page, written before the runs.
Alarms only warn here, so that each curve is whole; the first one is where `run.gold.action = "stop"` would end the run.
"""

from __future__ import annotations

import hashlib
import json
import logging
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import proofs_page
import proposer

from verikit import answer
from verikit.trainers.config import Config, load_config
from verikit.types import Sample, Score

STEPS, EVERY, ROWS, SAMPLES = 60, 3, 1000, 1
BOUND = 0.03
"""The most gold that may be lost before an alarm, and the least that an over-optimised run loses in the end."""
ARMS = {
    "round": r"0.1*answer + 0.9*regex('0\}$')",
    "long": r"0.3*answer + 0.7*regex('\d{3}\}$')",
    "holes": r"maximum(answer, regex('0\}$'))",
    "noise": f"{Path(__file__).resolve()}:noisy",
}
WEAK, HEALTHY = ("round", "long"), ("holes", "noise")
RIGHT = answer()
SEEDS = (1, 2, 3)
WORLD = ("options.evaluate_samples=0", f"options.held_out_size={ROWS}")
Points = list[tuple[int, float, float]]
"""Step, gold and reward of each evaluation."""


def noisy(sample: Sample) -> Score:
    """Score like `answer`, with the verdict flipped for one completion in ten, whatever it contains."""
    right = RIGHT(sample.completion, sample.answer).value == 1
    flip = hashlib.sha256(f"{sample.prompt}\n{sample.completion}".encode()).digest()[0] < 26
    return Score(float(right != flip))


@dataclass(frozen=True)
class Outcome:
    """What one run shows."""

    arm: str
    seed: int
    points: Points
    alarm: int | None
    """The step of the first alarm."""

    @property
    def lost(self) -> float:
        """How far gold is below its highest evaluation at the end."""
        return max(gold for _, gold, _ in self.points) - self.points[-1][1]

    @property
    def lost_at_alarm(self) -> float | None:
        """How far gold was below its highest evaluation so far at the first alarm."""
        before = [gold for step, gold, _ in self.points if self.alarm is not None and step <= self.alarm]
        return max(before) - before[-1] if before else None


class Alarms(logging.Handler):
    """Appends the warnings of `run.gold` to a file of the run."""

    def __init__(self, file: Path) -> None:
        super().__init__()
        self.file = file

    def emit(self, record: logging.LogRecord) -> None:
        """Write the step and the message, if it is an alarm."""
        found = re.match(r"step (\d+): gold fell by ", record.getMessage())
        if found:
            with self.file.open("a", encoding="utf-8") as file:
                file.write(json.dumps({"step": int(found[1]), "told": record.getMessage()}) + "\n")


def settings(arm: str, seed: int, model: Path) -> Config:
    """Return the settings of a run, which begins with the weights of its seed's start."""
    changes = [
        *WORLD, *proposer.KEPT, f"seed={seed}", f"model.path={model}", f"options.reward={json.dumps(ARMS[arm])}",
        f"run.steps={STEPS}", f"run.evaluate_every={EVERY}", "run.gold.verifier=answer",
        f"run.gold.samples={SAMPLES}", "run.gold.action=warn",
    ]  # fmt: skip
    return proposer.here(load_config("arithmetic", changes)).model_copy(update={"warmup": None})


def start(runs: Path, seed: int) -> Path:
    """Return the folder of the weights after a seed's warm-up, which is made once."""
    from verikit.trainers.export import export_run

    model, warming = runs / f"start-{seed}", runs / f"warm-up-{seed}"
    if not (model / "config.json").exists():
        made = proposer.here(load_config("arithmetic", [*WORLD, f"seed={seed}", "run.steps=1", "run.evaluate_every=0"]))
        if not (warming / "checkpoints").exists():
            proposer.train(made, warming)
        half = model.with_name(f"{model.name}.part")
        export_run(warming, made, half, step=0)
        half.rename(model)
    return model


def run(runs: Path, arm: str, seed: int) -> None:
    """Train one arm on one seed, from wherever it is."""
    folder = runs / f"{arm}-{seed}"
    model = start(runs, seed).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    handler = Alarms(runs / f"{arm}-{seed}.alarms.jsonl")
    logging.getLogger("verikit").addHandler(handler)
    try:
        proposer.train(settings(arm, seed, model), folder)
    finally:
        logging.getLogger("verikit").removeHandler(handler)


def points(folder: Path) -> Points:
    """Read the evaluations of a run, or of as much of it as there is."""
    file = folder / "metrics.jsonl"
    rows = [json.loads(line) for line in file.read_text("utf-8").splitlines()] if file.exists() else []
    names = "held-out/gold", "held-out/gold_reward"
    return sorted(
        {row["step"]: (row["step"], *(row[name] for name in names)) for row in rows if names[0] in row}.values()
    )


def done(folder: Path) -> bool:
    """Return whether a run has its last evaluation."""
    return any(step == STEPS for step, _, _ in points(folder))


def outcomes(runs: Path) -> list[Outcome]:
    """Return what the finished runs show."""
    found = []
    for arm in ARMS:
        for seed in SEEDS:
            if done(runs / f"{arm}-{seed}"):
                file = runs / f"{arm}-{seed}.alarms.jsonl"
                steps = (
                    [json.loads(line)["step"] for line in file.read_text("utf-8").splitlines()] if file.exists() else []
                )
                found.append(Outcome(arm, seed, points(runs / f"{arm}-{seed}"), min(steps, default=None)))
    return found


def first_alarm(file: Path) -> int | None:
    """Return the step of a run's first alarm. A resumed run may have written an alarm twice."""
    lines = file.read_text("utf-8").splitlines() if file.exists() else []
    return min((json.loads(line)["step"] for line in lines), default=None)


def percent(values: Sequence[float]) -> str:
    """Return the median in points, and the range."""
    return f"{100 * median(values):.1f} [{100 * min(values):.1f}, {100 * max(values):.1f}]" if values else "-"


def table(found: Sequence[Outcome]) -> str:
    """Return a line for each arm, and the result of both tests."""
    lines = [
        "| reward | runs | gold, start | gold, highest | lost at the end | alarms | lost at the alarm |",
        "|" + "---|" * 7,
    ]
    for arm, reward in ARMS.items():
        runs = [each for each in found if each.arm == arm]
        if not runs:
            continue
        told = f"`{reward}`" if "|" not in reward and ":" not in reward else "`answer`, one verdict in ten flipped"
        at_alarm = [each.lost_at_alarm for each in runs if each.lost_at_alarm is not None]
        cells = [
            str(len(runs)), percent([each.points[0][1] for each in runs]),
            percent([max(gold for _, gold, _ in each.points) for each in runs]),
            percent([each.lost for each in runs]), str(len(at_alarm)), percent(at_alarm),
        ]  # fmt: skip
        lines.append(proofs_page.row(told, cells))
    return "\n".join([*lines, "", *tests(found)]) + "\n"


def tests(found: Sequence[Outcome]) -> list[str]:
    """Return both tests. A run counts only if gold moved as its arm is meant to move it."""
    weak = [each for each in found if each.arm in WEAK and each.lost >= BOUND]
    healthy = [each for each in found if each.arm in HEALTHY and each.lost < BOUND]
    early = [each for each in weak if each.lost_at_alarm is not None and each.lost_at_alarm < BOUND]
    fired = sum(each.alarm is not None for each in weak)
    false = sum(each.alarm is not None for each in healthy)
    bound = f"{100 * BOUND:.0f} points"
    return [
        f"Over-optimised runs with an alarm before {bound} were lost: {len(early)} of {len(weak)}, "
        f"*{'shown' if weak and len(early) >= 0.9 * len(weak) else 'not shown'}*. With an alarm at all: {fired}.",
        f"Healthy runs with an alarm: {false} of {len(healthy)}, "
        f"*{'shown' if healthy and not false else 'not shown'}*.",
        f"Runs that count in neither: {len(found) - len(weak) - len(healthy)}.",
    ]


COLORS = {"round": "#d1651b", "long": "#9b2fae", "holes": "#1b6ac9", "noise": "#1a8f4b"}
NAMES = {
    "round": "weak: round numbers",
    "long": "weak: three digits",
    "holes": "healthy: holes",
    "noise": "healthy: noise",
}


def svg(found: Sequence[Outcome]) -> str:
    """Draw gold over steps: one line for each run, and a dot at its first alarm."""
    width, height, left, top, bottom, legend = 720, 340, 48, 16, 44, 160

    def at(step: float, share: float) -> tuple[float, float]:
        return left + (width - left - legend) * step / STEPS, top + (height - top - bottom) * (1 - share)

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" '
        f'font-size="12"><rect width="{width}" height="{height}" fill="#ffffff"/>'
    ]
    for share in (0, 0.25, 0.5, 0.75, 1):
        (x1, y), (x2, _) = at(0, share), at(STEPS, share)
        parts.append(f'<line x1="{x1:.1f}" x2="{x2:.1f}" y1="{y:.1f}" y2="{y:.1f}" stroke="#dddddd"/>')
        parts.append(f'<text x="{left - 6}" y="{y + 4:.1f}" text-anchor="end">{share:.0%}</text>')
    for step in range(0, STEPS + 1, 4 * EVERY):
        parts.append(f'<text x="{at(step, 0)[0]:.1f}" y="{height - bottom + 18}" text-anchor="middle">{step}</text>')
    for each in found:
        line = " ".join(f"{x:.1f},{y:.1f}" for x, y in (at(step, gold) for step, gold, _ in each.points))
        parts.append(f'<polyline points="{line}" fill="none" stroke="{COLORS[each.arm]}" stroke-width="1.5"/>')
        for x, y in (at(step, gold) for step, gold, _ in each.points if step == each.alarm):
            parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{COLORS[each.arm]}"/>')
    for number, arm in enumerate(arm for arm in ARMS if any(each.arm == arm for each in found)):
        y = top + 16 + 17 * number
        parts.append(f'<text x="{width - legend + 12}" y="{y}" fill="{COLORS[arm]}">{NAMES[arm]}</text>')
    label = "step (gold on the held-out rows, one line per run, a dot at the first alarm)"
    middle = (left + width - legend) / 2
    parts.append(f'<text x="{middle:.0f}" y="{height - 8}" text-anchor="middle">{label}</text>')
    return "\n".join([*parts, "</svg>"]) + "\n"


def main() -> None:
    """Do the runs that are missing, or write the page."""
    part, runs = sys.argv[1], Path(sys.argv[2])
    if part == "table":
        found, page = outcomes(runs), Path(sys.argv[3])
        page.write_text(proofs_page.replaced(page.read_text("utf-8"), "alarm", table(found)), "utf-8")
        page.with_name("gold-alarm.svg").write_text(svg(found), "utf-8")
        return
    for seed in SEEDS:  # a seed's arms come together, so that a stopped queue leaves whole seeds
        for arm in ARMS:
            if not done(runs / f"{arm}-{seed}"):
                run(runs, arm, seed)
                print(arm, seed, points(runs / f"{arm}-{seed}")[-1], flush=True)


if __name__ == "__main__":
    main()
