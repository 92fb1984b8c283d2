"""What training does to a pretrained model of 135 million parameters, on a CPU: GRPO, LoRA, best of 8, retrieval.

    python benchmarks/proofs.py start                  # SmolLM2-135M-Instruct, shown the form of a reply
    python benchmarks/proofs.py grpo answer 0          # arm (answer, form, LoRA, longer) and seed
    python benchmarks/proofs.py samples                # eight replies of the start to each question
    python benchmarks/proofs.py best 0                 # a process reward model of them, against the majority
    python benchmarks/proofs.py retrieval MULTIHOP     # the folder with 2wiki_corpus.jsonl and 2wiki_101_gold.jsonl
    python benchmarks/proofs.py page docs/proofs.md

Each writes one JSON file to `WORK/results`, and does nothing where that is there; `page` makes the tables and curves of
what there is. A training run that was stopped goes on. Everything runs by verikit's own commands, on one thread each.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

import proofs_page

from verikit import answer, load
from verikit.retrieval import load_retriever
from verikit.retrieval.metrics import report
from verikit.select import Best, Majority, Weighted
from verikit.types import Group, Message, Sample, Score

ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "examples/train"
CONFIG = EXAMPLES / "word_sums.toml"
FORM = r"regex('^\d+ [+-] \d+ = \d+(\n\d+ [+-] \d+ = \d+)*$')"
ARMS: dict[str, dict[str, Any]] = {
    "answer": {},
    "form": {"options.reward": f"{FORM} + 0*answer"},
    "LoRA": {"precision.lora_rank": 16, "optimizer.lr": 1e-4},
    "longer": {"run.steps": 50},
}
"""What is changed of the config; `form` rewards the form whatever the numbers are."""
SAMPLES, TRAIN_QUESTIONS, STEP_ROWS = 8, 250, 960

JsonObject = dict[str, Any]


def main() -> None:
    """Do one part."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--work", type=Path, default=Path("runs/proofs"))
    parts = parser.add_subparsers(dest="part", required=True)
    parts.add_parser("start")
    grpo_part = parts.add_parser("grpo")
    grpo_part.add_argument("arm", choices=ARMS)
    grpo_part.add_argument("seed", type=int)
    parts.add_parser("samples")
    parts.add_parser("best").add_argument("seed", type=int)
    parts.add_parser("retrieval").add_argument("folder", type=Path)
    parts.add_parser("page").add_argument("file", type=Path)
    given = parser.parse_args()
    work = given.work.resolve()
    if given.part == "page":
        proofs_page.write_page(work / "results", given.file)
    elif given.part == "start":
        once(work, "start", start)
    elif given.part == "samples":
        once(work, "samples", samples)
    elif given.part == "grpo":
        once(work, f"grpo-{given.arm}-{given.seed}", lambda home: grpo(home, given.arm, given.seed))
    elif given.part == "best":
        once(work, f"best-{given.seed}", lambda home: best(home, given.seed))
    else:
        once(work, "retrieval", lambda home: retrieval(home, given.folder))


def once(work: Path, name: str, make: Callable[[Path], JsonObject]) -> None:
    """Write what a part found, unless that was done."""
    result = work / "results" / f"{name}.json"
    if result.exists():
        print(f"{result} is there")
        return
    result.parent.mkdir(parents=True, exist_ok=True)
    found = make(work)
    result.write_text(json.dumps(found, indent=1) + "\n", "utf-8")
    print(json.dumps({key: value for key, value in found.items() if not isinstance(value, list)}))


def start(work: Path) -> JsonObject:
    """Make the problems, show the model the form of a reply, and score it before and after."""
    smollm2 = pretrained().smollm2
    if not (work / "start").exists():
        make_start(work, smollm2())
    before = accuracy(greedy(smollm2(), held_out(work), max_tokens=96), held_out(work))
    return {"before": before, "held_out": accuracy(greedy(work / "start", held_out(work)), held_out(work))}


def make_start(work: Path, model: Path, held_out_size: int = 200) -> None:
    """Make the problems, and train for eight steps on the demonstrations."""
    run([sys.executable, str(EXAMPLES / "word_sums.py"), str(work / "sums"), f"--held-out={held_out_size}"])
    settings = {
        "model.path": model, "model.dtype": "float32", "options.data": work / "sums/demonstrations.jsonl",
        "options.batch": 16, "optimizer.lr": 2e-5, "optimizer.warmup_steps": 2, "batch.tokens": 2048, "run.steps": 8,
        "run.evaluate_every": 0, "optimizer.schedule": "constant",
    }  # fmt: skip
    train("sft", settings, work / "form")
    export(work / "form", work / "start.part")
    (work / "start.part").rename(work / "start")


def grpo(work: Path, arm: str, seed: int) -> JsonObject:
    """Train one arm from the start, and score its greedy replies to the held-out questions."""
    folder = work / f"grpo-{arm}-{seed}"
    settings = {
        "model.path": work / "start", "options.data": work / "sums/train.jsonl",
        "options.held_out": "", "options.held_out_size": 0, "run.evaluate_every": 0, "seed": seed,
    }  # fmt: skip
    train(str(CONFIG), settings | ARMS[arm], folder)
    export(folder, folder / "model-out")
    said = greedy(folder / "model-out", held_out(work))
    shutil.rmtree(folder / "model-out")
    shutil.rmtree(folder / "checkpoints")
    rows = [json.loads(line) for line in (folder / "metrics.jsonl").read_text("utf-8").splitlines()]
    steps = [row for row in rows if "reward" in row]
    kept = {"step": "step", "reward": "reward", "right": "part/answer", "form": "part/regex", "length": "length"}
    curve = [{name: row.get(key) for name, key in kept.items()} for row in steps]
    peak = max(row["memory_mb"] for row in steps)
    return {"held_out": accuracy(said, held_out(work)), "curve": curve, "seconds": rows[-1]["seconds"], "MB": peak}


def samples(work: Path) -> JsonObject:
    """Sample eight replies of the start to training and to held-out questions, and mark the right ones."""
    asked = {"train": read(work / "sums/train.jsonl")[-TRAIN_QUESTIONS:], "held_out": held_out(work)}
    found = {}
    for name, rows in asked.items():
        texts = replies(work / "start", rows, SAMPLES, 1.0)
        made = [row | {"replies": said} for row, said in zip(rows, texts, strict=True)]
        write(work / f"samples-{name}.jsonl", made)
        found[name] = share(is_right(text, row) for row in made for text in row["replies"])
    return found


def best(work: Path, seed: int) -> JsonObject:
    """Train a reward model on the start's samples, and let it choose among eight held-out replies."""
    folder = work / f"best-{seed}"
    folder.mkdir(exist_ok=True)
    write(folder / "steps.jsonl", step_rows(read(work / "samples-train.jsonl"), STEP_ROWS, seed))
    settings = {
        "recipe": "step-labels", "model.path": work / "start", "model.dtype": "float32", "seed": seed,
        "options.data": folder / "steps.jsonl", "options.batch": 16, "options.separator": "\n",
        "optimizer.lr": 2e-5, "optimizer.warmup_steps": 4, "optimizer.schedule": "cosine", "batch.tokens": 2048,
        "run.steps": STEP_ROWS // 16, "run.evaluate_every": 0, "run.save_every": 25,
    }  # fmt: skip
    train("sft", settings, folder / "run")
    export(folder / "run", folder / "model")
    found = choose(read(work / "samples-held_out.jsonl"), str(folder / "model"))
    shutil.rmtree(folder / "model")
    shutil.rmtree(folder / "run/checkpoints")
    return found


def step_rows(asked: Sequence[JsonObject], count: int, seed: int) -> list[JsonObject]:
    """Return replies as solutions of one step with its label, half of them right where there are, none twice."""
    kinds: tuple[list[JsonObject], list[JsonObject]] = ([], [])
    for row in asked:
        for text in dict.fromkeys(row["replies"]):
            right = is_right(text, row)
            kinds[right].append({"prompt": row["prompt"], "steps": [text], "labels": [int(right)]})
    rng = random.Random(seed)
    for kind in kinds:
        rng.shuffle(kind)
    rights = min(len(kinds[1]), max(count // 2, count - len(kinds[0])))
    chosen = kinds[1][:rights] + kinds[0][: count - rights]
    rng.shuffle(chosen)
    return chosen


def choose(asked: Sequence[JsonObject], model: str) -> JsonObject:
    """Return the shares of right answers: of one reply, of the majority, of the model's choice, of any."""
    from verikit.judges.genprm import Classifier

    judge = Classifier(model, separator="\n")
    pairs = list(dict.fromkeys((row["prompt"], text) for row in asked for text in row["replies"]))
    judged = judge.score([Sample(prompt, text, meta={"steps": [text]}) for prompt, text in pairs])
    scores = dict(zip(pairs, judged, strict=True))
    chosen: dict[str, list[float]] = {
        name: [] for name in ("mean of 8", "majority of 8", "best of 8", "weighted", "any of 8")
    }
    hits = []
    for row in asked:
        texts = row["replies"]
        right = [is_right(text, row) for text in texts]
        given = [Score(scores[row["prompt"], text].value, answer=last_number(text)) for text in texts]
        group = Group(row["prompt"], tuple(texts))
        hits += [((score.value or 0) >= 0.5) == ok for score, ok in zip(given, right, strict=True)]
        chosen["mean of 8"].append(share(right))
        chosen["any of 8"].append(float(any(right)))
        for name, selector in {
            "majority of 8": Majority(),
            "best of 8": Best(),
            "weighted": Weighted(weights="raw"),
        }.items():
            chosen[name].append(float(right[selector.select(group, given)[0]]))
    return {name: fmean(values) for name, values in chosen.items()} | {"judged right": share(hits), "n": len(asked)}


def is_right(text: str, row: JsonObject) -> bool:
    """Whether a reply's last number is the answer."""
    return last_number(text) == str(row["answer"])


def retrieval(work: Path, folder: Path) -> JsonObject:
    """Index the 6,119 passages by BM25 and MiniLM, and measure what is found for the 35 questions."""
    minilm = pretrained().minilm
    index = work / "wiki"
    run([*VERIKIT, "index", "build", str(folder / "2wiki_corpus.jsonl"), "-o", str(index), "--encoder", str(minilm())])
    rows = read(folder / "2wiki_101_gold.jsonl")
    found: JsonObject = {"n": len(rows)}
    for name in ("bm25", "dense", "hybrid"):
        for spec in (name, f"two-step:{name}"):
            ranked = load_retriever(f"{spec}:{index}").retrieve([row["question"] for row in rows], 100)
            titles = [[passage.title for passage in passages] for passages in ranked]
            found[spec] = report(titles, [row["gold_titles"] for row in rows], (2, 5, 10, 20, 100))
    return found


def pretrained() -> Any:
    """Return the module that unpacks the models."""
    sys.path.insert(0, str(ROOT))
    from tests.real import models

    return models


def held_out(work: Path) -> list[JsonObject]:
    """Return the held-out problems."""
    return read(work / "sums/held_out.jsonl")


def greedy(model: Path, rows: Sequence[JsonObject], max_tokens: int = 48) -> list[str]:
    """Return a model's most probable reply to each problem."""
    return [texts[0] for texts in replies(model, rows, 1, 0.0, max_tokens)]


def replies(
    model: Path, rows: Sequence[JsonObject], n: int, temperature: float, max_tokens: int = 48
) -> list[list[str]]:
    """Sample n replies to each problem."""
    import torch

    from verikit.engines import Request, load_engine

    torch.set_num_threads(1)
    engine = load_engine(f"hf:{model}", dtype="float32")
    system = Message(role="system", content=system_text())
    requests = [
        Request(
            [system, Message(role="user", content=row["prompt"])],
            n=n,
            max_tokens=max_tokens,
            temperature=temperature,
            seed=seed,
        )
        for seed, row in enumerate(rows)
    ]
    return [[output.text for output in generation.outputs] for generation in engine.generate(requests)]


def system_text() -> str:
    """The system message that the config gives."""
    from verikit.trainers.config import load_config

    return str(load_config(str(CONFIG)).options["system"])


def accuracy(texts: Sequence[str], rows: Sequence[JsonObject]) -> JsonObject:
    """Shares of right replies: by `answer`, by their last number whatever stands around it, and by steps asked."""
    verifier = answer()
    right = [verifier(text, row["answer"]).value == 1 for text, row in zip(texts, rows, strict=True)]
    loose = [last_number(text) == row["answer"] for text, row in zip(texts, rows, strict=True)]
    formed = [(load(FORM)(text).value or 0) == 1 for text in texts]
    found = {"answer": share(right), "last number": share(loose), "form": share(formed), "n": len(rows)}
    for steps in (1, 2):
        found[f"last number, {steps}"] = share(ok for ok, row in zip(loose, rows, strict=True) if row["steps"] == steps)
    return found


def last_number(text: str) -> str:
    """The last number of a reply, or ""; blind to form and length."""
    found = re.findall(r"\d+", text[-1000:])
    return str(found[-1]) if found else ""


def share(flags: Iterable[bool]) -> float:
    """The share that is true."""
    known = list(flags)
    return sum(known) / len(known) if known else 0.0


def train(config: str, settings: JsonObject, out: Path) -> None:
    """Run `verikit train`, or go on with it where it stopped."""
    if (out / "checkpoints").exists():
        run([*VERIKIT, "train", "--resume", str(out)])
        return
    shutil.rmtree(out, ignore_errors=True)
    changes = [
        f"--set={key}={json.dumps(str(value) if isinstance(value, Path) else value)}" for key, value in settings.items()
    ]
    run([*VERIKIT, "train", config, *changes, "-o", str(out)])


def export(folder: Path, out: Path) -> None:
    """Write a run's model as a folder of transformers."""
    run([*VERIKIT, "export", str(folder), "-o", str(out)])


VERIKIT = [sys.executable, "-m", "verikit"]


def run(command: Sequence[str]) -> None:
    """Run a command on one thread; its failure is ours."""
    subprocess.run(command, check=True, env=os.environ | {"OMP_NUM_THREADS": "1"})


def read(path: Path) -> list[JsonObject]:
    """Read JSON lines."""
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def write(path: Path, rows: Iterable[JsonObject]) -> None:
    """Write JSON lines."""
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")


if __name__ == "__main__":
    main()
