"""Everything that wants a GPU, in one table, in under nine minutes.

    python benchmarks/gpu.py -o gpu.md                    on a machine with a GPU
    python benchmarks/gpu.py --device cpu --small         the same path with a toy shape, without one

Parts: log-probabilities of one text under the hf engine, the trainer and vLLM; a GRPO step of ours beside TRL's and
Unsloth's, in tokens a second and megabytes (see `gpu_grpo.py`); ours under FSDP2; the head alone; and how long vLLM in
the trainer takes to sleep and to wake with new weights. Each part is a process of its own with a share of the time.
What lacks a package, fails or runs out of time is a row that says so. Needs the extra train, and trl, datasets, unsloth
and vllm for their parts.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import gpu_grpo

LIMIT = 530.0
"""Seconds in all; a CPU gets three times as many."""
Row = tuple[str, str]


def log_probabilities(folder: Path, tokens: int) -> dict[str, Any]:
    """Mean and largest difference of a text's log-probabilities from those of the trainer."""
    import torch
    from transformers import AutoModelForCausalLM

    from verikit.engines import Request, load_engine
    from verikit.trainers.policy import PolicyModel

    device = "cuda" if torch.cuda.is_available() else "cpu"
    dtype = torch.bfloat16 if device == "cuda" else torch.float32
    ids = torch.randint(1, 500, (tokens,), generator=torch.Generator().manual_seed(0)).tolist()
    model: Any = AutoModelForCausalLM.from_pretrained(folder, dtype=dtype)
    model = model.to(device).eval()
    where = torch.arange(tokens - 1, device=device)
    text = torch.tensor(ids, device=device)
    with torch.no_grad():
        trained = PolicyModel(model)(text[None], where, text[1:])[0].float().cpu()
    del model
    specs = {"hf": f"hf:{folder}"} | ({"vllm": f"vllm:{folder}"} if find_spec("vllm") else {})
    options: dict[str, dict[str, Any]] = {
        "hf": {"dtype": str(dtype).removeprefix("torch.")}, "vllm": {"gpu_memory_utilization": 0.4},
    }  # fmt: skip
    found: dict[str, Any] = {}
    for name, spec in specs.items():
        engine = load_engine(spec, **options[name])
        made = engine.generate([Request(ids, max_tokens=1, prompt_logprobs=0)])[0]
        if made.error is not None:
            raise made.error
        apart = (torch.tensor(made.prompt_logprobs[1:]) - trained).abs()
        found[name] = {"mean": apart.mean().item(), "largest": apart.max().item()}
        engine.close()
    return found


def sleep_and_wake(folder: Path) -> dict[str, Any]:
    """Seconds until vLLM in the trainer sleeps, and until it has new weights; megabytes in use meanwhile."""
    import torch

    from verikit.trainers.config import load_config
    from verikit.trainers.distributed import join
    from verikit.trainers.grpo import Trainer
    from verikit.trainers.run import RunFolder

    changes = {
        "model.path": str(folder), "options.data": str(folder / "prompts.jsonl"), "options.chat": False,
        "options.reward": f"{gpu_grpo.__file__}:reward", "engine.kind": "vllm", "precision.master": "float32",
    }  # fmt: skip
    config = load_config("math", [f"{key}={json.dumps(value)}" for key, value in changes.items()])
    trainer = Trainer(config, RunFolder(folder / "sleep"), join(config.distributed))

    def used() -> float:
        free, whole = torch.cuda.mem_get_info() if torch.cuda.is_available() else (0, 0)
        return (whole - free) / 2**20

    found: dict[str, Any] = {"awake MB": used()}
    for name, act in (("sleep s", trainer.engine.rest), ("wake s", trainer.engine.refresh)):
        began = gpu_grpo.now()
        act()
        found[name] = gpu_grpo.now() - began
        found.setdefault("asleep MB", used())
    trainer.close()
    return found


def grpo(name: str, found: dict[str, Any]) -> Row:
    """One side of the comparison as a row."""
    if "failed" in found:
        return name, "failed: " + last_line(found["failed"])
    rate = sum(found["tokens"][1:]) / sum(found["times"][1:])
    mismatch = f", mismatch {found['mismatch']:.1e} nats a token" if "mismatch" in found else ""
    return name, f"{rate:,.0f} tokens/s, peak {found['peak']:,.0f} MB{mismatch}"


def numbers(name: str, found: dict[str, Any]) -> list[Row]:
    """A part's figures as rows."""
    if "failed" in found:
        return [(name, "failed: " + last_line(found["failed"]))]
    nested = {key: value for key, value in found.items() if isinstance(value, dict)} or {"": found}
    shown = {key: ", ".join(f"{what} {value:.3g}" for what, value in part.items()) for key, part in nested.items()}
    return [(f"{name} {key}".strip(), text) for key, text in shown.items()]


def last_line(text: str) -> str:
    return next((line.strip() for line in reversed(text.splitlines()) if line.strip()), "no reason given")[:200]


def part(name: str, folder: Path, shape: str, seconds: float) -> dict[str, Any]:
    """One of this file's parts in a process of its own."""
    return gpu_grpo.launch(
        [sys.executable, __file__, "--part", name, "--folder", str(folder), "--shape", shape], seconds
    )


def measure(folder: Path, shape: str, limit: float, say: Callable[[Row], None]) -> None:
    """Run every part, the most telling first, and hand over each row as soon as it is known."""
    ends = time.monotonic() + limit

    def left(share: float) -> float:
        return max(5.0, min(share * limit, ends - time.monotonic()))

    def missing(name: str, *packages: str) -> bool:
        lacking = [package for package in packages if not find_spec(package)]
        if lacking:
            say((name, f"skipped: no package {', '.join(lacking)}"))
        return bool(lacking)

    def side(name: str, share: float, who: str, engine: str = "hf", fsdp2: bool = False) -> None:
        say(grpo(name, gpu_grpo.run(who, folder, shape, engine, fsdp2, left(share))))

    for row in numbers("log-probabilities against the trainer:", part("logprobs", folder, shape, left(0.2))):
        say(row)
    missing("log-probabilities against the trainer: vllm", "vllm")
    side("GRPO, ours, hf", 0.25, "ours")
    if not missing("GRPO, TRL", "trl", "datasets"):
        side("GRPO, TRL", 0.25, "trl")
    if not missing("GRPO, Unsloth", "unsloth", "trl", "datasets"):
        side("GRPO, Unsloth", 0.25, "unsloth")
    side("GRPO, ours, FSDP2 on one rank", 0.2, "ours", fsdp2=True)
    for row in numbers("head alone", gpu_grpo.run("loss", folder, shape, seconds=left(0.1))):
        say(row)
    if not missing("vLLM sleeps and wakes", "vllm"):
        for row in numbers("vLLM sleeps and wakes", part("sleep", folder, shape, left(0.25))):
            say(row)
        side("GRPO, ours, vllm", 0.25, "ours", "vllm")


def device_name() -> str:
    import torch

    return torch.cuda.get_device_name() if torch.cuda.is_available() else "a CPU"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    parser.add_argument("--small", action="store_true", help="a toy shape")
    parser.add_argument("-o", "--out", type=Path, help="write the table here too")
    parser.add_argument("--part", choices=("logprobs", "sleep"), help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--shape", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.part:
        tokens = 200 if asked.shape == "tiny" else 2000
        found = log_probabilities(asked.folder, tokens) if asked.part == "logprobs" else sleep_and_wake(asked.folder)
        print(json.dumps(found))
        return
    if asked.device == "cpu":
        os.environ["CUDA_VISIBLE_DEVICES"] = ""
    shape = "tiny" if asked.small else "gpu"
    began = time.monotonic()
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as scratch:
        gpu_grpo.make_model(Path(scratch), gpu_grpo.SHAPES[shape])

        def say(row: Row) -> None:
            rows.append(row)
            print(f"{row[0]}: {row[1]}", file=sys.stderr, flush=True)

        measure(Path(scratch), shape, LIMIT if asked.device == "cuda" else 3 * LIMIT, say)
    table = [
        f"On {device_name()}, shape {shape}, {time.monotonic() - began:.0f} s.",
        "",
        "| what | found |",
        "|---|---|",
    ]
    table += [f"| {name} | {found.replace('|', '/')} |" for name, found in rows]
    print("\n".join(table))
    if asked.out:
        asked.out.write_text("\n".join([*table, ""]), "utf-8")


if __name__ == "__main__":
    main()
