"""Train a tiny GenPRM and show what it does: python prove.py OUT [--seed 0] [--short].

Everything goes by verikit's own commands and verifiers: reviews written as conversations, `verikit train sft`, `verikit
export`, then `genprm` over held-out solutions, code executed or not, at temperature 0 and over 1, 2, 4 and 8 paths.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tiny import export, make_model, train
from world import RESULT, WORDS, Problem, labels, problem, review, solution

from verikit import Group, Sample, Score, answer
from verikit.engines import load_engine
from verikit.judges.genprm import GenPRM, aggregate
from verikit.select import Majority, Weighted

HERE = Path(__file__).parent
PATHS = (1, 2, 4, 8)
KINDS = ("first", "majority", "min", "product", "weighted")


def reviews(seed: int, count: int) -> Iterator[dict[str, Any]]:
    """Reviews of solutions that slip, to learn from."""
    draw = random.Random(f"{seed} train")
    for _ in range(count):
        asked = problem(draw)
        yield {"messages": review(asked, *solution(asked, draw, slip=0.35, copying=0.65))}


def auc(rewards: list[float], right: list[bool]) -> float:
    """The chance that a right step has a higher reward than a wrong one; ties count half."""
    pairs = [(a > b) + (a == b) / 2 for a, x in zip(rewards, right, strict=True) if x
             for b, y in zip(rewards, right, strict=True) if not y]  # fmt: skip
    return statistics.fmean(pairs)


class Case:
    """Held-out solutions and what each configuration of the reviewer says of their steps."""

    def __init__(self, seed: int, problems: int, each: int) -> None:
        draw = random.Random(f"{seed} held out")
        self.problems = [problem(draw) for _ in range(problems)]
        self.solved = [(asked, *solution(asked, draw, slip=0.1)) for asked in self.problems for _ in range(each)]
        self.each = each

    def samples(self) -> list[Sample]:
        """Each solution as a candidate."""
        return [
            Sample(asked.text, f"the end \\boxed{{{steps[-1].partition('=')[2]}}}", asked.answer, meta={"steps": steps})
            for asked, steps, _ in self.solved
        ]

    def metrics(self, scores: list[Score]) -> dict[str, float]:
        """AUC over all steps, over those up to the first error, and of result errors against right steps."""
        whole, first, results = [], [], []
        for (_, _, wrong), score in zip(self.solved, scores, strict=True):
            right = labels(wrong)
            for index, (step, good) in enumerate(zip(score.steps, right, strict=True)):
                if step.value is None:
                    continue
                whole.append((step.value, good))
                if index == 0 or right[index - 1]:
                    first.append((step.value, good))
                    if good or wrong[index] == RESULT:
                        results.append((step.value, good))
        return {
            "AUC": auc(*map(list, zip(*whole, strict=True))),
            "AUC up to the first error": auc(*map(list, zip(*first, strict=True))),
            "AUC of result errors": auc(*map(list, zip(*results, strict=True))),
        }

    def best_of(self, scores: list[Score], kind: str) -> float:
        """Share of problems whose chosen candidate is right."""
        chosen = 0
        for index, asked in enumerate(self.problems):
            cut = slice(index * self.each, (index + 1) * self.each)
            chosen += self._pick(asked, self.solved[cut], scores[cut], kind) == asked.answer
        return chosen / len(self.problems)

    def _pick(self, asked: Problem, solved: list[Any], scores: list[Score], kind: str) -> str:
        answers = [steps[-1].partition("=")[2] for _, steps, _ in solved]
        given = [Score(0.0 if kind in ("min", "product", "last") and score.value is None else
                       aggregate([step.value or 0.0 for step in score.steps], "min" if kind == "weighted" else kind)
                       if kind not in ("first", "majority") else 0.0, answer=answer)
                 for score, answer in zip(scores, answers, strict=True)]  # fmt: skip
        group = Group(asked.text, answers, asked.answer)
        if kind == "first":
            return answers[0]
        if kind in ("majority", "weighted"):
            equal = answer().equal
            select = Majority(equal) if kind == "majority" else Weighted(equal, weights="raw")
            return answers[select.select(group, given)[0]]
        return answers[max(range(len(given)), key=lambda at: given[at].value or 0.0)]


def over_paths(score: Score, count: int) -> Score:
    """The same review with its first paths only."""
    steps = []
    for step in score.steps:
        rewards = [part.value for part in list(step.parts.values())[:count] if part.value is not None]
        steps.append(Score(statistics.fmean(rewards)) if rewards else Score.error("no verdict"))
    return Score(0.0, steps=tuple(steps))


def index_vote(score: Score, count: int) -> int:
    """The first error most paths name (ProcessBench's majority), -1 for none."""
    said = []
    for number in range(count):
        rewards = [list(step.parts.values())[number].value for step in score.steps]
        said.append(next((at for at, reward in enumerate(rewards) if reward is not None and reward < 0.5), -1))
    return statistics.mode(said)


def f1(case: Case, predicted: list[int]) -> float:
    """ProcessBench's F1 of first-error indices."""
    hits: dict[bool, list[bool]] = {True: [], False: []}
    for (_, _, wrong), index in zip(case.solved, predicted, strict=True):
        right = labels(wrong)
        truth = right.index(False) if False in right else -1
        hits[truth == -1].append(index == truth)
    a, b = (statistics.fmean(hits[kind]) for kind in (True, False))
    return 2 * a * b / (a + b) if a + b else 0.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--short", action="store_true", help="Temperature 0 only, on fewer solutions.")
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--problems", type=int, default=40)
    asked = parser.parse_args()
    if asked.out.exists() and any(asked.out.iterdir()):
        parser.error(f"{asked.out} is not empty")
    asked.out = asked.out.resolve()
    asked.out.mkdir(parents=True, exist_ok=True)
    began = time.process_time()
    make_model(asked.out / "untrained", WORDS, asked.seed)
    rows = reviews(asked.seed, asked.steps * 8)
    run = train(asked.out / "trained", asked.out / "untrained", rows, asked.seed, asked.steps)
    model = export(run, asked.steps)
    case = Case(asked.seed, asked.problems // 2 if asked.short else asked.problems, each=8)
    engine = load_engine(f"hf:{model}")
    found: dict[str, Any] = {"seed": asked.seed}

    def scored(mode: str, paths: int, temperature: float) -> list[Score]:
        judge = GenPRM(engine, paths, mode=mode, protocol=str(HERE / "tiny.toml"), temperature=temperature, top_p=1.0,
                       seed=asked.seed)  # fmt: skip
        start = time.perf_counter()
        scores = judge.score(case.samples())
        name = f"{mode}, {'T=0' if not temperature else f'{paths} paths'}"
        found[name] = case.metrics(scores) | {"seconds": time.perf_counter() - start}
        found[name]["no verdict"] = sum(step.value is None for score in scores for step in score.steps)
        print(name, json.dumps(found[name]), flush=True)
        return scores

    greedy = scored("full", 1, 0.0)
    scored("unexecuted", 1, 0.0)
    votes = greedy
    if not asked.short:
        votes = scored("full", 8, 1.0)
        scored("unexecuted", 8, 1.0)
        for count in PATHS:
            some = [over_paths(score, count) for score in votes]
            found[f"{count} paths"] = {
                "AUC": case.metrics(some)["AUC"], "index-vote F1": f1(case, [index_vote(vote, count) for vote in votes])
            }  # fmt: skip
            print(f"{count} paths", json.dumps(found[f"{count} paths"]), flush=True)
    found["best of 8"] = {
        kind: case.best_of(votes, kind) for kind in ("first", "majority", "min", "product", "weighted")
    }
    print("best of 8", json.dumps(found["best of 8"]))
    found["cpu seconds"] = time.process_time() - began
    (asked.out / "metrics.json").write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
