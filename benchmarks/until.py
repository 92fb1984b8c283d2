"""Sampling that stops early, replayed on stored candidates: `python benchmarks/until.py DATA` prints a table.

The candidates of each prompt are taken in the stored order and in 20 seeded shuffles. A rule sees them one after the
other; what the majority chooses of those it let come is held against what it chooses of all n. Intervals are over
prompts. Sets: 8 samples of Qwen2.5-Math for MATH problems, with their own verdicts; solutions of four models (6B and
175B) for GSM8K, with theirs. Answers are read without golds.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from verikit import Sample
from verikit.sampling import StopRule
from verikit.select import clusters
from verikit.stats import Estimate, mean_interval
from verikit.until import MajorityRule, load_rule
from verikit.verifiers.answer import Answer

SHUFFLES = 20
CONFIDENCES = ("0.99", "0.95", "0.9", "0.8", "0.95, form=dirichlet")
RULES = ("majority", *(f"majority({confidence})" for confidence in CONFIDENCES))
READER = Answer(tail_seconds=0)


@dataclass(frozen=True)
class Problem:
    """A problem's candidates, in their stored order."""

    id: str
    samples: tuple[Sample, ...]
    right: tuple[bool, ...]


def sets(data: Path) -> dict[str, list[Problem]]:
    """The stored sets."""
    qwen, four = [], []
    for row in _rows(data / "bon/qwen_math_cot_100.jsonl"):
        held = row["candidates"]
        told = tuple(Sample(row["problem"], c["text"], id=str(row["idx"])) for c in held)
        qwen.append(Problem(str(row["idx"]), told, tuple(bool(c["correct"]) for c in held)))
    for number, row in enumerate(_rows(data / "bon/gsm8k_four_models.jsonl")):
        models = [value for value in row.values() if isinstance(value, dict)]
        told = tuple(Sample(row["question"], m["solution"].replace("\nA: ", "\n#### "), id=str(number)) for m in models)
        four.append(Problem(str(number), told, tuple(bool(m["is_correct"]) for m in models)))
    return {"MATH, n = 8": qwen, "GSM8K, 4 models, n = 4": four}


def _rows(path: Path) -> list[dict]:  # type: ignore[type-arg]
    return [json.loads(line) for line in path.read_text("utf-8").splitlines() if line.strip()]


def chosen(answers: Sequence[str | None]) -> int:
    """The index of the majority's first candidate; ties to the answer that came first."""
    voted = clusters(answers, READER.equal, READER.keys)
    counts = {number: voted.count(number) for number in voted if number is not None}
    if not counts:
        return 0
    leader = min(counts, key=lambda number: (-counts[number], number))
    return voted.index(leader)


def replay(
    problem: Problem, order: Sequence[int], rule: StopRule, held: Sequence[str | None]
) -> tuple[int, bool, float]:
    """Samples taken, whether the same answer is chosen as of all, and the change of truth (1, 0, -1)."""
    told = [problem.samples[i] for i in order]
    n = len(told)
    taken = next((m for m in range(1, n) if rule.stop(told[:m], n)), n)
    answers = [held[i] for i in order]
    early, late = chosen(answers[:taken]), chosen(answers)
    first, second = answers[early], answers[late]
    same = early == late or (first is not None and second is not None and READER.equal(first, second) is True)
    return taken, same, problem.right[order[early]] - problem.right[order[late]]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    print("| set | rule | samples saved | same answer | points gained or lost |\n|---|---|---|---|---|")
    for name, problems in sets(arguments.data).items():
        answers = [MajorityRule().answers(problem.samples) for problem in problems]
        for spec in RULES:
            rule, saved, same, gained = load_rule(spec), [], [], []
            for problem, held in zip(problems, answers, strict=True):
                n, draw = len(problem.samples), random.Random(f"{arguments.seed}:{problem.id}")
                orders = [list(range(n)), *(draw.sample(range(n), n) for _ in range(SHUFFLES))]
                runs = [replay(problem, order, rule, held) for order in orders]
                saved.append(1 - fmean(taken for taken, _, _ in runs) / n)
                same.append(fmean(alike for _, alike, _ in runs))
                gained.append(fmean(change for _, _, change in runs))
            points = mean_interval(gained, bounds=(-1, 1))
            print(
                f"| {name} | `{spec}` | {told(mean_interval(saved))} | {told(mean_interval(same))} | {told(points)} |"
            )


def told(found: Estimate) -> str:
    return f"{found.value:.1%} ({found.low:.1%} to {found.high:.1%})"


if __name__ == "__main__":
    main()
