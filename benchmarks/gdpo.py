r"""Is the format kept when answers and format are rewarded together? GDPO against the plain sum, three seeds.

    python benchmarks/gdpo.py RUNS             # trains what is missing, then prints the table; 35 s of CPU a run
    verikit train arithmetic --set recipe=benchmarks/gdpo.py:TwoForms --set options.reward="answer + boxed"

The arithmetic world with two forms of an answer. Most demonstrations end in `Answer: 132`; one in twenty ends in
`\boxed{132}`, the form that is wanted, and those are nearly all wrong: who changes the form pays with the answer at
first. The parts of the reward are the right answer in either form and the box. Arms differ in nothing but the
normalisation and the weight of the box.

Said beforehand: with weights 1 and 1, GDPO ends at 90 % boxes and 85 % right answers on held-out problems in each of
three seeds, and the sum of the same weights either ends below 90 % boxes or reaches them later. With the box at .2 the
sum loses it in each seed (below 5 %); whether GDPO keeps it there is open.
"""

from __future__ import annotations

import json
import random
import sys
from pathlib import Path
from statistics import fmean, median
from typing import Any, ClassVar

from pydantic import BaseModel

import verikit
from verikit.trainers.recipe import Sampler, Trajectory
from verikit.trainers.recipes.arithmetic import BOX, CHARACTERS, Arithmetic, ArithmeticOptions, spoil, working
from verikit.trainers.recipes.base import demonstration
from verikit.trainers.recipes.tiny_model import make_llama, make_tokenizer
from verikit.types import Group

PLAIN = "Answer: "
ARMS: dict[str, tuple[str, str, dict[str, float]]] = {
    "sum, 1 and 1": ("answer + boxed", "grpo", {}),
    "GDPO, 1 and 1": ("answer + boxed", "gdpo", {"answer": 1.0, "boxed": 1.0}),
    "sum, 1 and .2": ("answer + 0.2*boxed", "grpo", {}),
    "GDPO, 1 and .2": ("answer + 0.2*boxed", "gdpo", {"answer": 1.0, "boxed": 0.2}),
}
RECIPE = f"{Path(__file__).resolve()}:TwoForms"
SEEDS = (0, 1, 2)
STEPS = 60
KEPT = 0.9
"""Share of boxes from which on the form is learnt."""


class TwoFormsOptions(ArithmeticOptions):
    """[options] of the world with two forms."""

    spoilt: float = 0.6
    boxes: float = 0.05
    """Share of demonstrations in the wanted form …"""
    spoilt_boxes: float = 0.95
    """… and the share of those with a wrong digit."""


class TwoForms(Arithmetic):
    """Sums whose answers end in one of two forms, of which the wanted one is rare and mostly wrong."""

    name: ClassVar[str] = "two-forms"
    Options: ClassVar[type[BaseModel]] = TwoFormsOptions
    options: TwoFormsOptions

    @classmethod
    def make_model(cls, options: Any, seed: int) -> tuple[Any, Any]:
        """Make the arithmetic world's model, with one more token."""
        tokenizer = make_tokenizer([BOX, PLAIN, *CHARACTERS])
        return make_llama(tokenizer, seed, positions=64, heads=2), tokenizer

    def evaluate(self, sampler: Sampler, step: int) -> dict[str, float]:
        """Return the shares of right answers and of boxes among sampled completions of the held-out problems."""
        requests = self.held_out_requests(sampler, self.options.temperature, self.options.evaluate_samples)
        done = sampler.generate_then(requests, lambda index, found: self.score(self.held_out[index], found))
        scores = [score for _, scores in done for score in scores]
        return {part: fmean(float(score.parts[part]) for score in scores) for part in ("answer", "boxed")}

    def gate(self, sampler: Sampler) -> float:
        """Return the greedy share of right answers in either form."""
        requests = self.held_out_requests(sampler, 0.0, 1)
        done = sampler.generate_then(requests, lambda index, found: self.score(self.held_out[index], found))
        return fmean(float(scores[0].parts["answer"]) for _, scores in done)

    def _demonstration(self, problem: Group, draw: random.Random) -> Trajectory:
        prompt = str(problem.prompt)
        text = working(*map(int, prompt.rstrip("=").split("+")))
        boxed = draw.random() < self.options.boxes
        if draw.random() < (self.options.spoilt_boxes if boxed else self.options.spoilt):
            text = spoil(text, draw)
        if not boxed:
            text = text.replace(BOX, PLAIN).rstrip("}")
        return demonstration(self.setting.tokenizer, prompt, text, problem.id)


def train(folder: Path, arm: str, seed: int) -> None:
    """Train one arm from one seed, or go on with it."""
    if (folder / "metrics.jsonl").exists():
        if (told := curve(folder)) and told[-1][0] == STEPS:
            return
        verikit.train(resume=folder, quiet=True, recipe=RECIPE)
        return
    reward, kind, weights = ARMS[arm]
    verikit.train(
        "arithmetic",
        out=folder,
        quiet=True,
        recipe=RECIPE,
        seed=seed,
        options={"reward": reward},
        advantage={"kind": kind, "weights": weights} if weights else {"kind": kind},
        run={"steps": STEPS, "evaluate_every": 5},
    )


def curve(folder: Path) -> list[tuple[int, float, float]]:
    """Return (step, right answers, boxes) of the held-out problems in training."""
    rows = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    return [(row["step"], row["held-out/answer"], row["held-out/boxed"]) for row in rows if "held-out/boxed" in row]


def cells(curves: list[list[tuple[int, float, float]]]) -> list[str]:
    """Return the cells of an arm: the start, the end, and the step from which boxes are kept."""
    told = []
    for column in (1, 2):
        for index in (0, -1):
            values = [curve[index][column] for curve in curves]
            told.append(f"{median(values):.2f} [{min(values):.2f}, {max(values):.2f}]")
    reached = [next((str(step) for step, _, boxed in curve if boxed >= KEPT), "never") for curve in curves]
    return [*told, ", ".join(reached)]


def main(runs: Path) -> None:
    """Train every arm from every seed and print the table."""
    for seed in SEEDS:
        for number, arm in enumerate(ARMS):
            train(runs / f"{number}-{seed}", arm, seed)
    print("| | right, start | right, end | boxes, start | boxes, end | 90 % boxes at step, by seed |")
    print("|---|---|---|---|---|---|")
    for number, arm in enumerate(ARMS):
        told = cells([curve(runs / f"{number}-{seed}") for seed in SEEDS])
        print(f"| {' | '.join([arm, *told])} |")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
