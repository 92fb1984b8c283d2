"""A verikit reward beside TRL's own accuracy_reward (math-verify) on the same completions, called as GRPOTrainer calls.

    python benchmarks/trl_reward.py [--steps 100] [--show]

Steps of 64 completions (8 prompts by 8 samples of MATH, 16 by 4 of GSM8K, whose final `A: 160` is written as a box
for both, since accuracy_reward reads LaTeX alone); none comes twice, so no cache helps. The sides take turns within a
step; times are CPU seconds of the process and of its helpers. What loads at the first answers of a kind is timed
separately, since a training run loads it once. The bar is printed beside the ratio over all steps.
`--show` lists the completions on which they differ, each with the data's own verdict. Needs trl and math-verify.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from verikit.adapters import to_trl

DATA = Path(os.environ.get("VERIKIT_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))
MODELS = ("6b_finetuning", "6b_verification", "175b_finetuning", "175b_verification")
STEP, BAR = 64, 50.0
FIRST = [
    ("1", "1"),
    ("\\frac{1}{2}", "0.5"),
    ("x^2+1", "1+x^2"),
    ("(1,2)", "(1,2)"),
    ("4:30 p.m.", "4:30 pm"),
    ("two", "2"),
]
"""Answers and golds of the usual kinds, so that both sides have loaded what they need before the steps are timed."""


@dataclass(frozen=True)
class Solution:
    """A completion with its gold and the data's own verdict."""

    source: str
    completion: str
    gold: str
    right: bool


def rows() -> Iterator[Solution]:
    for line in (DATA / "bon/qwen_math_cot_100.jsonl").read_text("utf-8").splitlines():
        row = json.loads(line)
        for candidate in row["candidates"]:
            yield Solution(f"MATH {row['idx']}", candidate["text"], row["gold"], bool(candidate["correct"]))
    for number, line in enumerate((DATA / "bon/gsm8k_four_models.jsonl").read_text("utf-8").splitlines()):
        row = json.loads(line)
        gold = row["ground_truth"].rpartition("A: ")[2].strip()
        for model in MODELS:
            text, _, answer = row[model]["solution"].rpartition("A: ")
            yield Solution(f"GSM8K {number}", f"{text}\\boxed{{{answer.strip()}}}", gold, row[model]["is_correct"])


def cpu() -> float:
    """CPU seconds of this process and of those it started."""
    below = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
    return sum(_tree(int(child)) for child in below) + time.process_time()


def _tree(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    below = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK") + sum(_tree(int(child)) for child in below)


def timed(reward: Callable[..., list[float | None]], step: list[Solution]) -> tuple[float, float, list[float | None]]:
    call: dict[str, Any] = {
        "prompts": [[{"role": "user", "content": "?"}] for _ in step],
        "completions": [[{"role": "assistant", "content": row.completion}] for row in step],
        "completion_ids": [[0] for _ in step],
        "solution": [row.gold for row in step],
        "trainer_state": None,
        "log_extra": lambda column, values: None,
        "log_metric": lambda name, value: None,
    }
    before, begun = cpu(), time.perf_counter()
    rewards = reward(**call)
    return cpu() - before, time.perf_counter() - begun, rewards


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=100, help="at most so many")
    parser.add_argument("--show", action="store_true", help="list the completions on which they differ")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    from trl.rewards import accuracy_reward

    given = list(rows())
    steps = [given[at : at + STEP] for at in range(0, len(given) - STEP + 1, STEP)][: options.steps]
    ours = to_trl("answer")
    first = [Solution("", f"\\boxed{{{answer}}}", gold, True) for answer, gold in FIRST]
    loads = {"verikit": timed(ours, first)[0], "accuracy_reward": timed(accuracy_reward, first)[0]}
    spent: dict[str, list[float]] = {"verikit": [], "accuracy_reward": []}
    wall: dict[str, list[float]] = {"verikit": [], "accuracy_reward": []}
    differ: list[tuple[Solution, float | None, float | None]] = []
    agrees = {"verikit": 0, "accuracy_reward": 0}
    for number, step in enumerate(steps):
        sides = {"verikit": ours, "accuracy_reward": accuracy_reward}
        found: dict[str, list[float | None]] = {}
        for name in sorted(sides, reverse=bool(number % 2)):
            seconds, clock, found[name] = timed(sides[name], step)
            spent[name].append(seconds)
            wall[name].append(clock)
            agrees[name] += sum(value == float(row.right) for value, row in zip(found[name], step, strict=True))
        pairs = zip(step, found["verikit"], found["accuracy_reward"], strict=True)
        differ += [(row, a, b) for row, a, b in pairs if a != b]
    for name in spent:
        print(
            f"{name}: {statistics.mean(spent[name]) * 1000:.2f} ms CPU a step of {STEP} "
            f"(wall {statistics.mean(wall[name]) * 1000:.2f} ms), "
            f"loads for {loads[name] * 1000:.0f} ms once, agrees with the data on {agrees[name]} of {len(steps) * STEP}"
        )
    for source in ("MATH", "GSM8K", ""):
        at = [number for number, step in enumerate(steps) if step[0].source.startswith(source)]
        ratio = sum(spent["accuracy_reward"][i] for i in at) / sum(spent["verikit"][i] for i in at)
        print(
            f"{source or 'all'}, {len(at)} steps: {ratio:.1f}x in CPU seconds"
            + ("" if source else f" (bar {BAR:.0f}x)")
        )
    print(f"they differ on {len(differ)} completions")
    if options.show:
        show(differ)


def show(differ: list[tuple[Solution, float | None, float | None]]) -> None:
    """List each different answer once."""
    verifier = to_trl("answer").verifier
    told: set[tuple[str, str]] = set()
    for row, a, b in differ:
        score = verifier(row.completion, row.gold)
        right = "verikit" if a == float(row.right) else "accuracy_reward" if b == float(row.right) else "neither"
        key = (row.source, f"{score.answer}")
        if key not in told:
            told.add(key)
            print(f"  {row.source}: gold {row.gold!r}, answer {score.answer!r}: verikit {a} ({score.reason}),", end=" ")
            print(f"accuracy_reward {b}; the data sides with {right}")


if __name__ == "__main__":
    main()
