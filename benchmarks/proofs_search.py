"""R1-Searcher on a pretrained model of 135 million parameters, on a CPU: a cold start, then two stages of rewards.

    python benchmarks/proofs_search.py start MULTIHOP    # the folder with 2wiki_corpus.jsonl
    python benchmarks/proofs_search.py train 0           # seed
    python benchmarks/proofs.py page docs/proofs.md

`start` makes an index, questions and transcripts from the corpus (`verikit synth search`: no person is in two sets),
shows SmolLM2-135M-Instruct the transcripts, half of which guess, and asks it the held-out questions; `train` goes on
from there by `examples/train/two_hop.toml`. Results are kept and runs go on as with `proofs.py`.
"""

from __future__ import annotations

import argparse
import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from proofs import EXAMPLES, VERIKIT, JsonObject, export, once, pretrained, read, run, train

CONFIG = EXAMPLES / "two_hop.toml"
WORDS, DEMONSTRATIONS, HELD_OUT = 25, 160, 48
COLD_STEPS, COLD_BATCH = 12, 8


def main() -> None:
    """Do one part."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--work", type=Path, default=Path("runs/proofs"))
    parts = parser.add_subparsers(dest="part", required=True)
    start_part = parts.add_parser("start")
    start_part.add_argument("folder", type=Path)
    start_part.add_argument("--model", type=Path, help="Another one.")
    train_part = parts.add_parser("train")
    train_part.add_argument("seed", type=int)
    train_part.add_argument("--steps", type=int, help="Other than the config's.")
    given = parser.parse_args()
    work = given.work.resolve()
    if given.part == "start":
        once(work, "search-start", lambda home: start(home, given.folder, given.model or pretrained().smollm2()))
    else:
        once(work, f"search-{given.seed}", lambda home: learn(home, given.seed, given.steps))


def start(work: Path, folder: Path, model: Path) -> JsonObject:
    """Make the index, the questions and the transcripts, imitate these for some steps, and ask what is held out."""
    corpus, index, made = folder / "2wiki_corpus.jsonl", work / "wiki-short", work / "two-hop"
    cut = ["--words", str(WORDS)]
    run([*VERIKIT, "index", "build", str(corpus), "-o", str(index), *cut, "-q"])
    run([
        *VERIKIT, "synth", "search", str(corpus), *cut, "-r", f"bm25:{index}", "--tokenizer", str(model), "-k", "1",
        "--prompt", "instruct", "--guesses", "0.5", "--demonstrations", str(DEMONSTRATIONS),
        "--held-out", str(HELD_OUT), "-o", str(made),
    ])  # fmt: skip
    settings = {
        "model.path": model, "model.dtype": "float32", "options.data": made / "demonstrations.jsonl",
        "options.batch": COLD_BATCH, "optimizer.lr": 5e-5, "optimizer.warmup_steps": 2,
        "optimizer.schedule": "constant", "batch.tokens": 2048, "run.steps": COLD_STEPS, "run.evaluate_every": 0,
        "run.save_every": 4,
    }  # fmt: skip
    if not (work / "search-start").exists():
        train("sft", settings, work / "cold-start")
        export(work / "cold-start", work / "search-start.part")
        (work / "search-start.part").rename(work / "search-start")
    return {"held_out": asked(work, work / "search-start")}


def learn(work: Path, seed: int, steps: int | None) -> JsonObject:
    """Train from the cold start, and ask what is held out."""
    folder = work / f"search-run-{seed}"
    settings = {
        "model.path": work / "search-start", "options.data": work / "two-hop/train.jsonl", "options.held_out": "",
        "options.retriever": f"bm25:{work / 'wiki-short'}", "run.evaluate_every": 0, "seed": seed,
    } | ({"run.steps": steps} if steps else {})  # fmt: skip
    train(str(CONFIG), settings, folder)
    export(folder, folder / "model-out")
    found = asked(work, folder / "model-out")
    shutil.rmtree(folder / "model-out")
    shutil.rmtree(folder / "checkpoints")
    rows = [row for row in read(folder / "metrics.jsonl") if "reward" in row]
    kept = ("step", "stage", "reward", "searches", "searched", "format_right", "part/answer", "length")
    curve = [{name: row.get(name) for name in kept} for row in rows]
    return {"held_out": found, "curve": curve, "MB": max(row["memory_mb"] for row in rows)}


def asked(work: Path, model: Path) -> JsonObject:
    """Greedy answers to the held-out questions: F1, exact match, searches, as the recipe's own evaluation has them."""
    import torch

    from verikit.engines import load_engine
    from verikit.retrieval import load_retriever
    from verikit.search import SearchLimits, search, search_messages, search_metrics
    from verikit.trainers.config import load_config
    from verikit.trainers.recipes.r1_searcher.accuracy import PredictedAnswer, report
    from verikit.trainers.recipes.r1_searcher.recipe import UNKNOWN

    torch.set_num_threads(1)
    options: dict[str, Any] = load_config(str(CONFIG)).options
    limits = SearchLimits(
        options["evaluate_k"], options["evaluate_retrievals"], options["leg_tokens"], options["total_tokens"],
        temperature=0.0, stop_at_answer=True,
    )  # fmt: skip
    questions = read(work / "two-hop/held_out.jsonl")
    prompts = [search_messages(row["prompt"]) for row in questions]
    retriever = load_retriever(f"bm25:{work / 'wiki-short'}")
    with load_engine(f"hf:{model}", dtype="float32") as engine:
        traces = search(engine, retriever, prompts, limits)
    if failure := next((trace.error for trace in traces if trace.error is not None), None):
        raise failure
    answered = [
        PredictedAnswer(row["prompt"], [row["answer"]], trace.answer or UNKNOWN)
        for row, trace in zip(questions, traces, strict=True)
    ]
    write_samples(model, questions, [trace.text for trace in traces])
    return report(answered, None) | search_metrics(traces) | {"n": len(questions)}


def write_samples(model: Path, questions: Sequence[JsonObject], texts: Sequence[str]) -> None:
    """Keep what was written beside the model, to read."""
    rows = [
        {"prompt": row["prompt"], "answer": row["answer"], "text": text}
        for row, text in zip(questions, texts, strict=True)
    ]
    path = model.with_name(f"{model.name}-answers.jsonl")
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")


if __name__ == "__main__":
    main()
