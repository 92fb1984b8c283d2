"""LoRA beside full training, and bf16 products beside fp32: CPU seconds of a GRPO step and peak memory.

    python benchmarks/lora.py MODEL [--steps 2] [--cases 'full;LoRA']

MODEL is a transformers folder. 8 prompts x 8 samples x 24 new tokens, every row learnt from (a reward by the row's
length), each case in a process of its own, one after the other. Memory is the most resident over what Python and torch
take before the model is loaded.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

CASES: dict[str, dict[str, Any]] = {
    "full fp32": {"precision.master": "same"},
    "full": {},
    "LoRA fp32": {"precision.master": "same", "precision.lora_rank": 16},
    "LoRA": {"precision.lora_rank": 16},
    "LoRA, not merged": {"precision.lora_rank": 16, "precision.lora_merged": False},
    "full, checkpointed": {"precision.checkpointing": True},
    "LoRA, checkpointed": {"precision.checkpointing": True, "precision.lora_rank": 16},
}
"""Settings; without `master` it is `auto`. Configs that come with verikit have checkpointing on."""


def reward(sample: Any) -> float:
    """Some reward that differs within a group."""
    return float(len(sample.completion) % 7) / 7


def measure(model: str, changes: dict[str, Any], steps: int, folder: Path) -> dict[str, float]:
    """Train for some steps in this process; the first is not counted."""
    import torch

    from verikit.engines.hf.load import import_transformers

    import_transformers("the benchmark", "train")
    from verikit.trainers.config import load_config
    from verikit.trainers.distributed import World
    from verikit.trainers.grpo import Trainer
    from verikit.trainers.run import RunFolder

    torch.set_num_threads(1)
    data = folder / "sums.jsonl"
    sums = [{"prompt": f"What is {n} plus {n + 2}?", "answer": str(2 * n + 2)} for n in range(32)]
    data.write_text("".join(json.dumps(row) + "\n" for row in sums))
    settings = {
        "model.path": model, "model.dtype": "float32", "options.data": str(data), "options.prompts": 8,
        "options.samples": 8, "options.max_tokens": 24, "options.held_out_size": 1, "options.max_prompt_tokens": 64,
        "options.reward": f"{__file__}:reward", "options.reward_timeout": 0, "advantage.kind": "grpo",
        "loss.overlong": "keep", "optimizer.lr": 1e-5, "optimizer.warmup_steps": 0, "precision.checkpointing": False,
        "run.steps": 10**6, "run.evaluate_every": 0, "run.save_every": 10**6, "run.samples_every": 0,
        "batch.tokens": 4096,
    } | changes  # fmt: skip
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    config = load_config("math", [f"{key}={json.dumps(value)}" for key, value in settings.items()])
    rows: list[dict[str, Any]] = []
    trainer = Trainer(config, RunFolder(folder / "run"), World(), rows.append)
    spent = []
    for step in range(1, steps + 2):
        began = time.process_time()
        trainer._train_step(step)
        spent.append(time.process_time() - began)
    told = [row for row in rows if "mismatch" in row]
    return {
        "step": sum(spent[1:]) / steps,
        "sampling": sum(row["seconds_collect"] for row in told[1:]) / steps,
        "GB": (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 2**20,
        "mismatch": max(row["mismatch"] for row in told),
    }


def main() -> None:
    """Run each case in a process of its own and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model")
    parser.add_argument("--steps", type=int, default=2)
    parser.add_argument("--cases", default=";".join(CASES))
    parser.add_argument("--case", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.case:
        with tempfile.TemporaryDirectory() as folder:
            print(json.dumps(measure(given.model, CASES[given.case], given.steps, Path(folder))))
        return
    print("| | CPU s a step | s sampling | GB | mismatch |\n|---|---|---|---|---|")
    for case in given.cases.split(";"):
        command = [sys.executable, __file__, given.model, "--steps", str(given.steps), "--case", case]
        done = subprocess.run(command, env=os.environ | {"OMP_NUM_THREADS": "1"}, capture_output=True, text=True)
        if done.returncode:
            sys.exit(done.stderr)
        found = json.loads(done.stdout.splitlines()[-1])
        print(
            f"| {case} | {found['step']:.1f} | {found['sampling']:.1f} | {found['GB']:.2f} | {found['mismatch']:.2g} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
