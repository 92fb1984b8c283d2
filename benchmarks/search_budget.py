"""Accuracy against tokens of each way to search, on SmolLM2-135M with a process reward model trained here, on a CPU.

    python benchmarks/search_budget.py start             # sums of two to four steps; the model is shown their form
    python benchmarks/search_budget.py prm               # its own replies, every step marked; a classifier learns them
    python benchmarks/search_budget.py search            # every arm on the held-out questions, or one: search ARM
    python benchmarks/search_budget.py table             # of the arms that are there

Each part goes on where it was stopped and does nothing where it is done; `--limit` takes fewer questions (for a look at
whether all works; such runs are kept apart), `--work` names the folder, `--model` another model to begin with.

A step is a line ("12 + 7 = 19"); it is marked right if it is that line of the problem's only working, which is what a
person would do. Right answers are told by the last number. Tokens are those the policy wrote and those the classifier
read, which reads all that is written so far after every step. *Vote*: the answer that most of an arm's solutions have;
*weighted*: with the reward model's values as weights.
"""

from __future__ import annotations

import argparse
import importlib.util
import math
import random
from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path
from statistics import fmean
from typing import Any

from proofs import EXAMPLES, JsonObject, export, last_number, pretrained, read, train, write

from verikit.stats import mean_interval

SIZES = {"demonstrations": 480, "train": 300, "held_out": 200}
CHANGES, MOST = (2, 4), 20
START_STEPS, PRM_STEPS, BATCH = 30, 90, 16
REPLIES, MAX_TOKENS, SEED = 8, 56, 0
SYSTEM = "Write each sum on a line."
LED = "step='\\n', step_tokens=24"
ARMS = {
    **{f"best_of({n})": f"best_of({n}, {LED}, prm=PRM)" for n in (1, 2, 4, 8, 16, 32)},
    **{f"stepwise({n})": f"stepwise({n}, {LED}, prm=PRM)" for n in (2, 4, 8)},
    **{f"beam{shape}": f"beam{shape[:-1]}, {LED}, prm=PRM)" for shape in ("(2, 2)", "(2, 4)", "(4, 4)")},
    **{f"dvts{shape}": f"dvts{shape[:-1]}, {LED}, prm=PRM)" for shape in ("(2, 2)", "(2, 4)", "(4, 4)")},
    **{f"critic({turns})": f"critic({turns}, 1, {LED}, prm=PRM)" for turns in (1, 3)},
}
"""What is searched by what spec; `PRM` is put in."""


def main() -> None:
    """Do one part."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("part", choices=("start", "prm", "search", "table"))
    parser.add_argument("arm", nargs="?", choices=ARMS, metavar="ARM", help="Of `search`; all if none is named.")
    parser.add_argument("--work", type=Path, default=Path("runs/search-budget"))
    parser.add_argument("--model", type=Path, help="Another one to begin with.")
    parser.add_argument("--limit", type=int, help="Only so many held-out questions.")
    given = parser.parse_args()
    work = given.work.resolve()
    work.mkdir(parents=True, exist_ok=True)
    if given.part == "start":
        make_start(work, given.model)
    elif given.part == "prm":
        make_prm(work)
    elif given.part == "search":
        for arm in [given.arm] if given.arm else ARMS:
            search(work, arm, given.limit)
    else:
        print(table(work, given.limit))


def make_start(work: Path, model: Path | None) -> None:
    """Make the problems, and show the model the form of a reply."""
    if not (work / "held_out.jsonl").exists():
        make_problems(work)
    if (work / "start").exists():
        return
    settings = {
        "model.path": model or pretrained().smollm2(), "model.dtype": "float32",
        "options.data": work / "demonstrations.jsonl", "options.batch": BATCH, "optimizer.lr": 2e-5,
        "optimizer.warmup_steps": 2, "optimizer.schedule": "constant", "batch.tokens": 2048, "run.steps": START_STEPS,
        "run.evaluate_every": 0, "run.save_every": 10, "seed": SEED,
    }  # fmt: skip
    train("sft", settings, work / "form")
    export(work / "form", work / "start.part")
    (work / "start.part").rename(work / "start")


def make_problems(work: Path) -> None:
    """Write three sets that share no question."""
    words = word_sums()
    rng, seen = random.Random(SEED), set[str]()
    for name, size in SIZES.items():
        rows: list[JsonObject] = []
        while len(rows) < size:
            row = problem(rng, words)
            if row["prompt"] not in seen:
                seen.add(row["prompt"])
                rows.append(row | {"id": f"{name}-{len(rows)}"})
        if name == "demonstrations":
            rows = [{"messages": [*conversation(row), said(row)]} for row in rows]
        write(work / f"{name}.jsonl", rows)


def problem(rng: random.Random, words: Any) -> JsonObject:
    """One problem with its working, worded as `examples/train/word_sums.py` does."""
    first = total = rng.randint(2, MOST)
    lines, changes = [], []
    for _ in range(rng.randint(*CHANGES)):
        add = total < 3 or rng.random() < 0.5
        change = rng.randint(1, MOST if add else min(total - 1, MOST))
        after = total + change if add else total - change
        lines.append(f"{total} {'+' if add else '-'} {change} = {after}")
        changes.append((add, change))
        total = after
    worded = words.plain if rng.random() < 0.5 else words.story
    return {"prompt": worded(rng, first, changes), "answer": str(total), "working": lines}


def word_sums() -> Any:
    """The example's module."""
    found = importlib.util.spec_from_file_location("word_sums", EXAMPLES / "word_sums.py")
    assert found is not None
    assert found.loader is not None
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


def conversation(row: JsonObject) -> list[JsonObject]:
    """A problem as it is asked."""
    return [{"role": "system", "content": SYSTEM}, {"role": "user", "content": row["prompt"]}]


def said(row: JsonObject) -> JsonObject:
    """The reply that is shown."""
    return {"role": "assistant", "content": "\n".join(row["working"])}


def make_prm(work: Path) -> None:
    """Mark the steps of the start's own replies to the training questions, and train a classifier of them."""
    if (work / "prm").exists():
        return
    sampled(work)
    rows = [marked(row, text) for row in read(work / "replies.jsonl") for text in distinct_texts(row)]
    random.Random(SEED).shuffle(rows)
    write(work / "steps.jsonl", [row for row in rows if row["steps"]])
    settings = {
        "recipe": "step-labels", "model.path": work / "start", "model.dtype": "float32", "seed": SEED,
        "options.data": work / "steps.jsonl", "options.batch": BATCH, "options.separator": "\n",
        "optimizer.lr": 2e-5, "optimizer.warmup_steps": 4, "optimizer.schedule": "cosine", "batch.tokens": 2048,
        "run.steps": PRM_STEPS, "run.evaluate_every": 0, "run.save_every": 30,
    }  # fmt: skip
    train("sft", settings, work / "labels")
    export(work / "labels", work / "prm.part")
    (work / "prm.part").rename(work / "prm")


def sampled(work: Path) -> None:
    """Sample the start's replies to the training questions; goes on as `verikit sample` does."""
    from verikit.engines import load_engine
    from verikit.readers.problems import iter_problems
    from verikit.sampling import SamplingSettings
    from verikit.sampling.run import SampleFile, SamplingRun

    settings = SamplingSettings(n=REPLIES, max_tokens=MAX_TOKENS, system=SYSTEM, seed=SEED)
    with (
        load_engine(f"hf:{work / 'start'}", dtype="float32") as engine,
        SampleFile(work / "replies.jsonl", {"n": REPLIES}) as out,
    ):
        for _ in SamplingRun(engine, settings).rows(iter_problems(work / "train.jsonl", {}), out):
            pass


def distinct_texts(row: JsonObject) -> list[str]:
    """A row's replies, none twice."""
    return list(dict.fromkeys(candidate["text"] for candidate in row["completions"]))


def marked(row: JsonObject, text: str) -> JsonObject:
    """A reply's steps with their labels: right as far as they are the working's, wrong from the first that is not."""
    steps = [line.strip() for line in text.split("\n") if line.strip()]
    working = row["meta"]["working"]
    right = 0
    while right < min(len(steps), len(working)) and steps[right] == working[right]:
        right += 1
    return {"prompt": row["prompt"], "steps": steps, "labels": [int(at < right) for at in range(len(steps))]}


def searched(work: Path, arm: str, limit: int | None) -> Path:
    """Where an arm's rows are."""
    name = "".join(char if char.isalnum() else "-" for char in arm).strip("-").replace("--", "-")
    return work / ("rows" if limit is None else f"rows-{limit}") / f"{name}.jsonl"


def search(work: Path, arm: str, limit: int | None, policy: Path | None = None, prm: Path | None = None) -> None:
    """Search for the answers of the held-out questions, or go on with that."""
    import torch

    from verikit.engines import load_engine
    from verikit.guided import guided_search, load_strategy
    from verikit.guided.files import SearchFile
    from verikit.readers.problems import iter_problems
    from verikit.sampling import SamplingSettings
    from verikit.sampling.run import SamplingRun

    torch.set_num_threads(1)
    spec = ARMS[arm].replace("PRM", f"prm({str(prm or work / 'prm')!r}, separator='\\n')")
    settings = SamplingSettings(max_tokens=MAX_TOKENS, system=SYSTEM, seed=SEED)
    questions = list(iter_problems(work / "held_out.jsonl", {}))[:limit]
    sampler = partial(guided_search, strategy=load_strategy(spec))
    with (
        load_engine(f"hf:{policy or work / 'start'}", dtype="float32") as engine,
        SearchFile(searched(work, arm, limit), {"n": 1, "arm": arm}) as out,
    ):
        run = SamplingRun(engine, settings, sampler=sampler)
        for _ in run.rows(questions, out):
            pass
    print(f"{arm}: {run.done} questions, {run.completion_tokens + run.judged_tokens:,} tokens in this run")


def table(work: Path, limit: int | None) -> str:
    """Accuracy and tokens of the arms, and what best of n reaches with as many tokens, of all or of the written."""
    whole = len(read(work / "held_out.jsonl")[:limit])
    rows = {arm: read(path) for arm in ARMS if (path := searched(work, arm, limit)).exists()}
    found = {arm: measured(own) for arm, own in rows.items() if len(own) == whole}  # others are not done
    best = [arm for name, arm in found.items() if name.startswith("best_of")]
    plain = {by: sorted((arm[by], arm["right"]) for arm in best) for by in ("tokens", "generated")}
    lines = [
        "| search | right | any of its solutions | their vote | weighted | tokens a question: written | judged | all | "
        "best of n at as many tokens | at as many written |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for name, arm in found.items():
        peers = [percent(at_tokens(curve, arm[by])) for by, curve in plain.items() if not name.startswith("best_of")]
        low, high = arm["interval"]
        lines.append(
            f"| `{name}` | {percent(arm['right'])} ({percent(low)} to {percent(high)}) | {percent(arm['any'])} | "
            f"{percent(arm['vote'])} | {percent(arm['weighted'])} | "
            f"{arm['generated']:.0f} | {arm['judged']:.0f} | {arm['tokens']:.0f} | {' | '.join(peers or ['', ''])} |"
        )
    if best:
        most = max((arm for arm in found if arm.startswith("best_of")), key=lambda arm: found[arm]["tokens"])
        told = f"Of two solutions of a question in `{most}` the reward model puts the right one first: "
        lines += ["", told + pairs(rows[most])]
    return "\n".join(lines)


def pairs(rows: Sequence[JsonObject]) -> str:
    """How often a right solution's value is above a wrong one's of the same question (ties half), over questions."""
    shares = []
    for row in rows:
        values: dict[bool, list[float]] = {True: [], False: []}
        for found in row["completions"]:
            values[last_number(found["text"]) == row["answer"]].append(found["value"])
        above = [(right > wrong) + (right == wrong) / 2 for right in values[True] for wrong in values[False]]
        shares += [fmean(above)] if above else []
    return (
        f"{percent(fmean(shares))} (mean over {len(shares)} questions with both)" if shares else "no question has both"
    )


def measured(rows: Sequence[JsonObject]) -> JsonObject:
    """An arm's figures: whether the first solution is right, whether any is, and tokens a question."""
    rows = [row for row in rows if row["completions"]]  # a request that failed is no wrong answer
    right = [[last_number(found["text"]) == row["answer"] for found in row["completions"]] for row in rows]
    first = mean_interval([float(flags[0]) for flags in right])
    votes = {
        "vote": fmean(float(voted(row, lambda found: 1.0) == row["answer"]) for row in rows),
        "weighted": fmean(float(voted(row, lambda found: found["value"]) == row["answer"]) for row in rows),
    }
    spent = {name: fmean(row["search"][name] for row in rows) for name in ("generated", "judged")}
    return {
        "right": first.value,
        "interval": (first.low, first.high),
        "any": fmean(float(any(flags)) for flags in right),
        **votes,
        **spent,
        "tokens": sum(spent.values()),
    }


def voted(row: JsonObject, weight: Callable[[JsonObject], float]) -> str:
    """The answer with the most weight among a row's solutions; of equal ones the first."""
    weights: dict[str, float] = defaultdict(float)
    for found in row["completions"]:
        weights[last_number(found["text"])] += weight(found)
    return max(weights, key=lambda answer: weights[answer])


def at_tokens(plain: Sequence[tuple[float, float]], tokens: float) -> float | None:
    """What best of n reaches with so many tokens, between the n that were run; by the logarithm of the tokens."""
    for (fewer, below), (more, above) in pairwise(plain):
        if fewer <= tokens <= more:
            share = math.log(tokens / fewer) / math.log(more / fewer) if more > fewer else 0.0
            return below + share * (above - below)
    return None


def percent(value: float | None) -> str:
    """As in 43.5 %."""
    return "" if value is None else f"{100 * value:.1f} %"


if __name__ == "__main__":
    main()
