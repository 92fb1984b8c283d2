"""Make a tiny GenPRM from a tiny policy's own solutions, and let it help the policy: python policy.py OUT [--seed 0].

Nobody labels a step here. A policy is trained until it solves some problems and slips in others; `verikit synth genprm`
labels its steps by completing them (relative progress), lets a reviewer write rationales with code that runs, and keeps
those whose verdicts are the labels; a GenPRM is trained on these alone. It is then measured on held-out solutions of
the policy, used to choose among eight of them, and as a critic whose doubts the policy thinks over. The world's true
labels are read for measuring only, and by the reviewer's warm-up, which stands for a model that can follow
instructions: reviews of a program's solutions.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from prove import auc
from tiny import TEMPLATE, export, make_model, train, verikit
from world import STEPS, WORDS, Problem, labels, problem, review, solution, written

from verikit import Group, Sample, Score, answer
from verikit.engines import Engine, Request, load_engine
from verikit.guided.critic import DOUBT
from verikit.judges.genprm import Critic, GenPRM
from verikit.judges.genprm.protocol import Mode
from verikit.judges.genprm.steps import split_steps
from verikit.judges.genprm.stepwise import StepVerifier
from verikit.select import Best, First, Majority, Selector, Weighted

HERE = Path(__file__).parent
PROTOCOL = str(HERE / "tiny.toml")
LEADS = tuple(f"Step {number}:" for number in range(1, STEPS + 1))
REVIEWER = (*WORDS, *LEADS)
POLICY = (*REVIEWER, *map(str, range(10, 100)), "\n\n", ">", DOUBT)
"""The policy's numbers are whole tokens: it learns results by heart, as the reviewer, which reads digits, does not."""
TURNS = 3
EVERY = 50
"""Steps between the policy's checkpoints."""


@dataclass(frozen=True)
class Sizes:
    """How much of everything."""

    operations: int
    """Steps of a problem."""
    operands: int
    """Different ones in all problems."""
    policy_steps: int
    """Most of them."""
    reviewer_steps: int
    problems: int
    """That labels are made from."""
    completions: str
    """Of a step, for problems seldom, sometimes and mostly solved."""
    genprm_steps: int
    held_out: int
    """Problems to measure on."""


FULL = Sizes(
    operations=4, operands=6, policy_steps=700, reviewer_steps=500, problems=160, completions="64,32,16",
    genprm_steps=500, held_out=24,
)  # fmt: skip
SHORT = Sizes(
    operations=2, operands=4, policy_steps=400, reviewer_steps=250, problems=80, completions="32,16,8",
    genprm_steps=100, held_out=12,
)  # fmt: skip


class Problems:
    """The policy's problems: few operands, so that results can be learnt by heart."""

    def __init__(self, seed: int, sizes: Sizes) -> None:
        self.draw = random.Random(f"{seed} policy")
        self.operands = self.draw.sample(range(11, 100), sizes.operands)
        self.operations = sizes.operations

    def next(self) -> Problem:
        """Draw a problem."""
        return problem(self.draw, self.operands, self.operations, sharing=0)

    def lessons(self) -> Iterator[dict[str, str]]:
        """What the policy learns: right solutions, and for a fifth of the rows, to mend a wrong one."""
        while True:
            asked = self.next()
            right = "\n\n".join(written(asked.steps))
            prompt = f"<u>{asked.text}<a>"
            if self.draw.random() < 0.2:
                prompt += self.doubted(asked)
            yield {"prompt": prompt, "completion": right}

    def doubted(self, asked: Problem) -> str:
        """A wrong solution by a program and what a critic says of it: mostly its first wrong step, else any."""
        wrong: list[str] = []
        while not any(wrong):
            steps, wrong = solution(asked, self.draw, slip=0.3, copying=0.1)
        lines = written(steps)
        index = labels(wrong).index(False) if self.draw.random() < 0.8 else self.draw.randrange(len(lines))
        said = review(asked, lines, wrong)[2 * index + 1]["content"]
        analysis = said.removeprefix("<analyze>").partition("</analyze>")[0] if self.draw.random() < 0.9 else ""
        doubt = f"{DOUBT}>{lines[index]}" + (f"\n\n{analysis}" if analysis else "")
        return "\n\n".join(lines) + f"<eos><u>{doubt}<a>"


def train_policy(out: Path, problems: Problems, seed: int, steps: int) -> Path:
    """Train the policy on solutions and refinements, and take it as soon as it solves half of what it practises on."""
    make_model(out / "untrained", POLICY, seed, TEMPLATE.replace("<a>{{ m.content }}", "<a>{{ m.content }}<eos>"))
    rows = list(islice(problems.lessons(), steps * 16))
    run = train(out / "trained", out / "untrained", rows, seed, steps, batch=64, tokens=2048, save_every=EVERY)
    practice = [problems.next() for _ in range(64)]
    for step in range(EVERY, steps + 1, EVERY):
        model = export(run, step)
        if share_solved(practice, load_engine(f"hf:{model}"), seed) >= 0.5:
            return model
    raise SystemExit(f"the policy does not solve half of its problems after {steps} steps")


def share_solved(asked: Sequence[Problem], engine: Engine, seed: int) -> float:
    """Share of problems whose sampled solution has the right answer."""
    samples = sample(asked, engine, seed, 1)
    return statistics.fmean(score.filled(0.0) for score in answer().score(samples))


def sample(asked: Sequence[Problem], engine: Engine, seed: int, each: int) -> list[Sample]:
    """Let the policy solve problems, each begun with "Step 1:"."""
    requests = [
        Request([{"role": "user", "content": problem.text}, {"role": "assistant", "content": LEADS[0]}],
                n=each, max_tokens=48, temperature=1.0, seed=10**6 * seed + number)
        for number, problem in enumerate(asked)
    ]  # fmt: skip
    return [
        Sample(problem.text, LEADS[0] + output.text, problem.answer)
        for problem, generation in zip(asked, engine.generate(requests), strict=True)
        for output in generation.outputs
    ]


def train_reviewer(out: Path, seed: int, sizes: Sizes) -> Path:
    """Warm a reviewer up on reviews of a program's solutions to problems of all operands."""
    draw = random.Random(f"{seed} reviewer")
    make_model(out / "untrained", REVIEWER, seed)
    rows = []
    for _ in range(sizes.reviewer_steps * 8):
        asked = problem(draw, steps=sizes.operations)
        steps, wrong = solution(asked, draw, slip=0.35, copying=0.65)
        rows.append({"messages": review(asked, written(steps), wrong)})
    run = train(out / "trained", out / "untrained", rows, seed, sizes.reviewer_steps)
    return export(run, sizes.reviewer_steps)


def synthesise(out: Path, problems: Problems, policy: Path, reviewer: Path, seed: int, sizes: Sizes) -> None:
    """Label the policy's own solutions by Monte Carlo, and write rationales that agree."""
    asked = [problems.next() for _ in range(sizes.problems)]
    rows = [
        {"id": f"p{number}", "prompt": problem.text, "answer": problem.answer} for number, problem in enumerate(asked)
    ]
    file = out.parent / "problems.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    verikit(
        "synth", "genprm", file, "-q", "-o", out, "--policy", f"hf:{policy}", "--reviewer", f"hf:{reviewer}",
        "--protocol", PROTOCOL, "--paths", 8, "--attempts", 64, "--draws", 16, "--completions", sizes.completions,
        "--drafts", 1, "--temperature", 1, "--max-tokens", 48, "--seed", seed,
    )  # fmt: skip


class HeldOut:
    """Held-out problems with eight of the policy's own solutions each, and the truth about their steps."""

    def __init__(self, problems: Problems, engine: Engine, seed: int, count: int, each: int = 8) -> None:
        self.each = each
        asked = [problems.next() for _ in range(count)]
        self.samples = sample(asked, engine, seed, each)
        self.right = [truth(Problem.read(str(sample.prompt)), sample.completion) for sample in self.samples]
        self.answers = [score.filled(0.0) for score in answer().score(self.samples)]

    def metrics(self, scores: Sequence[Score]) -> dict[str, Any]:
        """AUC over all steps and over those up to the first error, and how many steps have no verdict."""
        whole, first, lost = [], [], 0
        for right, score in zip(self.right, scores, strict=True):
            for index, (step, good) in enumerate(zip(score.steps, right, strict=True)):
                if step.value is None:
                    lost += 1
                    continue
                whole.append((step.value, good))
                if index == 0 or right[index - 1]:
                    first.append((step.value, good))
        return {
            "AUC": auc(*map(list, zip(*whole, strict=True))),
            "AUC up to the first error": auc(*map(list, zip(*first, strict=True))),
            "no verdict": lost,
        }

    def best_of(self, scores: Sequence[Score], selector: Selector) -> float:
        """Share of problems whose chosen solution has the right answer."""
        chosen = []
        for start in range(0, len(self.samples), self.each):
            cut = slice(start, start + self.each)
            group = Group(self.samples[start].prompt, [sample.completion for sample in self.samples[cut]])
            chosen.append(self.answers[start + selector.select(group, scores[cut])[0]])
        return statistics.fmean(chosen)


def truth(asked: Problem, completion: str) -> list[bool]:
    """Whether each step, and all before it, is that of the one right solution."""
    right = written(asked.steps)
    steps = split_steps(completion)
    return [list(steps[: index + 1]) == right[: index + 1] for index in range(len(steps))]


@dataclass(frozen=True, repr=False)
class Misled(StepVerifier):
    """A critic that doubts a step drawn at random: of every solution, or of those that `reviewer` doubts."""

    reviewer: GenPRM | None
    seed: int

    def score_steps(self, solutions: Sequence[Any], samples: Sequence[Sample]) -> list[list[Score] | Score]:
        """Doubt one step of each."""
        if self.reviewer is None:
            found: list[list[Score] | Score] = [[Score(0.0) for _ in solution.steps] for solution in solutions]
        else:
            found = self.reviewer.score_steps(solutions, samples)
        return [self._moved(steps, sample) for steps, sample in zip(found, samples, strict=True)]

    def criticism(self, index: int, score: Score) -> str:
        """The reviewer's analysis of that step."""
        return self.reviewer.criticism(index, score) if self.reviewer else ""

    def _moved(self, steps: list[Score] | Score, sample: Sample) -> list[Score] | Score:
        if isinstance(steps, Score) or all(step.value is None or step.passed for step in steps):
            return steps
        index = random.Random(f"{self.seed} {sample.completion}").randrange(len(steps))
        return [Score(float(number != index), parts=step.parts) for number, step in enumerate(steps)]


def refine(held: HeldOut, policy: Engine, critic: StepVerifier, seed: int) -> dict[str, list[float]]:
    """Share of right answers after 0, 1, 2 and 3 turns, and of solutions that are doubted."""
    loop = Critic(policy, critic, turns=TURNS, truth=answer(), temperature=1.0, top_p=1.0, max_tokens=48, seed=seed)
    found = loop.refine(held.samples)
    at = [[refinement.turns[min(turn, len(refinement.turns) - 1)] for refinement in found] for turn in range(TURNS + 1)]
    return {
        "right": [statistics.fmean(float(turn.truth.value or 0) for turn in turns if turn.truth) for turns in at],
        "doubted": [statistics.fmean(turn.doubtful >= 0 for turn in turns) for turns in at],
    }


def agreement(out: Path) -> dict[str, float]:
    """How the labels by Monte Carlo compare with the truth, for all labelled paths and for those kept."""
    paths = [json.loads(line) for line in (out / "steps.jsonl").read_text().splitlines()]
    kept = {json.loads(line)["id"] for line in (out / "train.jsonl").read_text().splitlines()}
    found = {}
    for name, some in (("labelled", paths), ("kept", [path for path in paths if path["id"] in kept])):
        true = [truth(Problem.read(path["prompt"]), "\n\n".join(path["steps"])) for path in some]
        same = [[bool(a) is b for a, b in zip(path["labels"], right, strict=True)]
                for path, right in zip(some, true, strict=True)]  # fmt: skip
        found |= {
            f"{name}: steps": statistics.fmean(step for steps in same for step in steps),
            f"{name}: whole solutions": statistics.fmean(all(steps) for steps in same),
        }
    return found


class Report:
    """The figures of one run, printed and written as they are found, with the CPU seconds of each stage."""

    def __init__(self, file: Path) -> None:
        self.file, self.found, self.last = file, dict[str, Any](), 0.0

    def add(self, name: str, metrics: Any) -> None:
        """Put down a stage's figures."""
        now = sum(os.times()[:4])
        self.found[name] = metrics
        self.found.setdefault("CPU seconds", {})[name] = round(now - self.last, 1)
        self.last = now
        self.file.write_text(json.dumps(self.found, indent=2) + "\n", encoding="utf-8")
        print(f"{name} [{self.found['CPU seconds'][name]} s]", json.dumps(metrics), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--short", action="store_true", help="Smaller, and the GenPRM goes on from the reviewer.")
    asked = parser.parse_args()
    out, seed, sizes = asked.out.resolve(), asked.seed, SHORT if asked.short else FULL
    if out.exists() and any(out.iterdir()):
        parser.error(f"{out} is not empty")
    out.mkdir(parents=True, exist_ok=True)
    os.environ["VERIKIT_CACHE"] = str(out / "generations.sqlite")
    report = Report(out / "metrics.json")
    problems = Problems(seed, sizes)
    policy = train_policy(out / "policy", problems, seed, sizes.policy_steps)
    engine = load_engine(f"hf:{policy}")
    held = HeldOut(problems, engine, seed, sizes.held_out)
    report.add("policy", {"steps": int(policy.name.partition("-")[2]), "right": statistics.fmean(held.answers)})
    reviewer = train_reviewer(out / "reviewer", seed, sizes)
    report.add("reviewer", {})
    synthesise(out / "data", problems, policy, reviewer, seed, sizes)
    report.add("synthesis", json.loads((out / "data/report.json").read_text()))
    report.add("labels against the truth", agreement(out / "data"))
    make_model(out / "untrained", REVIEWER, seed + 1)
    start = reviewer if asked.short else out / "untrained"
    run = train(out / "genprm", start, out / "data/train.jsonl", seed, sizes.genprm_steps)
    model = export(run, sizes.genprm_steps)
    report.add("training", {})

    measure(report, held, engine, reviewer, model, seed)


def measure(report: Report, held: HeldOut, policy: Engine, reviewer: Path, model: Path, seed: int) -> None:
    """Measure the steps' rewards, the choice among eight, and the critic's turns."""

    def judge(model: Path, mode: Mode = "full") -> GenPRM:
        return GenPRM(load_engine(f"hf:{model}"), 1, mode=mode, protocol=PROTOCOL, temperature=0, seed=seed)

    run, read = judge(model), judge(model, "unexecuted")
    judges = {"the reviewer, executed": judge(reviewer), "executed": run, "unexecuted": read}
    equal = answer().equal
    kinds = {"first": First(), "majority": Majority(equal), "min": Best(), "weighted": Weighted(equal, weights="raw")}
    for name, reviewing in judges.items():
        scores = reviewing.score(held.samples)
        best = {kind: held.best_of(scores, selector) for kind, selector in kinds.items()}
        report.add(name, held.metrics(scores) | {"best of 8": best})
    critics: dict[str, StepVerifier] = {
        "executed": run, "unexecuted": read, "doubted by the executed, at a random step": Misled(run, seed),
        "random step of every solution": Misled(None, seed),
    }  # fmt: skip
    for name, critic in critics.items():
        report.add(f"critic: {name}", refine(held, policy, critic, seed))


if __name__ == "__main__":
    main()
