"""The trainer beside TRL's on a GPU: a random model of Qwen2.5-1.5B's shape in bf16, 8 x 8 samples, 1,024 new tokens.

    python benchmarks/gpu_grpo.py            everything, under 8 minutes on one GPU
    python benchmarks/gpu_grpo.py --tiny     the same path with a toy shape, also without a GPU

Cases: ours and TRL decoding by transformers; ours under FSDP2 on one rank; both by vLLM where it is installed; and the
chunked loss alone at the full vocabulary against materialised logits. Each side is a process of its own, takes one
optimizer step a batch from the same weights with fp32 masters, bf16 products and activation checkpointing, and learns
from every token it samples; the sides' tokens must agree. Times are wall seconds, the first step left out; memory is
the peak that torch allocated (on a CPU: resident).
Needs the extras train, and trl and datasets (a benchmark peer only).
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from importlib.util import find_spec
from pathlib import Path
from typing import Any

SHAPES: dict[str, dict[str, int]] = {
    "gpu": {"hidden_size": 1536, "intermediate_size": 8960, "num_hidden_layers": 28, "num_attention_heads": 12,
            "num_key_value_heads": 2, "vocab_size": 151_936, "new": 1024, "steps": 2, "loss_tokens": 8192},
    "tiny": {"hidden_size": 64, "intermediate_size": 192, "num_hidden_layers": 2, "num_attention_heads": 2,
             "num_key_value_heads": 2, "vocab_size": 8192, "new": 24, "steps": 3, "loss_tokens": 512},
}  # fmt: skip
PROMPTS = SAMPLES = 8
RATE = 1e-6
_asked = itertools.count(1)


def jitter() -> float:
    """A reward that differs from all others, so that no row is skipped: the golden ratio's multiples."""
    return next(_asked) * 0.6180339887 % 1


try:
    from verikit import verifier

    @verifier
    def reward(sample: Any) -> float:
        return jitter()

except ImportError:  # TRL's side alone
    pass


def now() -> float:
    import torch

    if torch.cuda.is_available():
        torch.cuda.synchronize()
    return time.perf_counter()


def peak_mb() -> float:
    import torch

    if torch.cuda.is_available():
        return float(torch.cuda.max_memory_allocated() / 2**20)
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def make_model(folder: Path, shape: dict[str, int]) -> None:
    """Write the random model and a tokenizer of as many words."""
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    size = shape["vocab_size"]
    words = {f"w{number}": number for number in range(size - 2)} | {"<eos>": size - 2, "<pad>": size - 1}
    raw = Tokenizer(models.WordLevel(words, unk_token="w0"))
    raw.pre_tokenizer, raw.decoder = pre_tokenizers.WhitespaceSplit(), decoders.Fuse()
    PreTrainedTokenizerFast(tokenizer_object=raw, eos_token="<eos>", pad_token="<pad>").save_pretrained(folder)
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=size, hidden_size=shape["hidden_size"], intermediate_size=shape["intermediate_size"],
        num_hidden_layers=shape["num_hidden_layers"], num_attention_heads=shape["num_attention_heads"],
        num_key_value_heads=shape["num_key_value_heads"], max_position_embeddings=4096, tie_word_embeddings=True,
        eos_token_id=size - 2, pad_token_id=size - 1, bos_token_id=None,
    )  # fmt: skip
    LlamaForCausalLM(config).save_pretrained(folder)
    rows = ({"prompt": " ".join(f"w{17 * n + at}" for at in range(64)), "answer": "0"} for n in range(64))
    (folder / "prompts.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def ours(folder: Path, shape: dict[str, int], engine: str, fsdp2: bool) -> dict[str, Any]:
    """Our side in this process."""
    from verikit.trainers.config import load_config
    from verikit.trainers.distributed import join
    from verikit.trainers.grpo import Trainer
    from verikit.trainers.run import RunFolder

    changes = {
        "model.path": str(folder), "options.data": str(folder / "prompts.jsonl"), "options.prompts": PROMPTS,
        "options.samples": SAMPLES, "options.max_tokens": shape["new"], "options.chat": False, "options.system": "",
        "options.held_out_size": 1, "options.reward": f"{__file__}:reward", "options.reward_timeout": 0,
        "options.max_prompt_tokens": 256, "advantage.kind": "grpo", "loss.overlong": "keep", "optimizer.lr": RATE,
        "precision.checkpointing": True, "precision.master": "float32", "run.steps": 10**6, "run.evaluate_every": 0,
        "run.save_every": 10**6, "run.samples_every": 0, "batch.tokens": 16 * (shape["new"] + 64),
        "engine.kind": engine, "distributed.kind": "fsdp2" if fsdp2 else "ddp",
    }  # fmt: skip
    config = load_config("math", [f"{key}={json.dumps(value)}" for key, value in changes.items()])
    rows: list[dict[str, Any]] = []
    world = join(config.distributed)
    trainer = Trainer(config, RunFolder(folder / f"run-{os.getpid()}"), world, rows.append)
    times = []
    for step in range(1, shape["steps"] + 1):
        began = now()
        trainer._train_step(step)
        times.append(now() - began)
    told = [row for row in rows if "reward" in row]
    found = {
        "times": times, "tokens": [row["tokens"] for row in told], "peak": peak_mb(),
        "collect": [row["seconds_collect"] for row in told], "mismatch": max(row["mismatch"] for row in told),
    }  # fmt: skip
    trainer.close()
    world.close()
    return found


def theirs(folder: Path, shape: dict[str, int], engine: str, unsloth: bool = False) -> dict[str, Any]:
    """TRL's side in this process, or Unsloth's, which replaces parts of TRL's and must be imported first."""
    if unsloth:
        from unsloth import FastLanguageModel  # before trl and transformers
    import torch
    from datasets import Dataset
    from transformers import AutoModelForCausalLM, AutoTokenizer, TrainerCallback
    from trl import GRPOConfig, GRPOTrainer

    gpu = torch.cuda.is_available()
    tokens: list[int] = []
    times: list[float] = []
    clock = {"began": 0.0}

    def reward(completions: list[str], completion_ids: list[list[int]], **_: Any) -> list[float]:
        tokens.append(sum(map(len, completion_ids)))
        return [jitter() for _ in completions]

    class Clock:
        def on_step_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            clock["began"] = clock["began"] or now()

        def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            times.append(now() - clock["began"])
            clock["began"] = now()

    count = PROMPTS * SAMPLES
    vllm = {"use_vllm": True, "vllm_mode": "colocate", "vllm_gpu_memory_utilization": 0.3} if engine == "vllm" else {}
    config = GRPOConfig(
        output_dir=str(folder / f"trl-{os.getpid()}"), per_device_train_batch_size=16 if gpu else count,
        gradient_accumulation_steps=count // 16 if gpu else 1, num_generations=SAMPLES, beta=0.0, top_k=0,
        max_completion_length=shape["new"], max_steps=shape["steps"], temperature=1.0, epsilon=0.2, epsilon_high=0.28,
        loss_type="dapo", learning_rate=RATE, lr_scheduler_type="constant", adam_beta2=0.99, use_cpu=not gpu, bf16=gpu,
        report_to="none", save_strategy="no", logging_strategy="no", disable_tqdm=True, gradient_checkpointing=True,
        **vllm,
    )  # fmt: skip
    if unsloth:
        model, _ = FastLanguageModel.from_pretrained(
            str(folder), max_seq_length=2048, dtype=torch.bfloat16, load_in_4bit=False, full_finetuning=True
        )
    else:
        model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    tokenizer = AutoTokenizer.from_pretrained(folder, padding_side="left")
    rows = [json.loads(line) for line in (folder / "prompts.jsonl").read_text().splitlines()]
    trainer = GRPOTrainer(model=model, processing_class=tokenizer, reward_funcs=reward, args=config,
                          train_dataset=Dataset.from_list(rows),
                          callbacks=[type("Callback", (Clock, TrainerCallback), {})()])  # fmt: skip
    trainer.train()
    return {"times": times, "tokens": tokens[: len(times)], "peak": peak_mb()}


def loss_alone(shape: dict[str, int]) -> dict[str, Any]:
    """Seconds and megabytes of forward and backward through the head, chunked and with the logits held."""
    import torch

    from verikit.trainers.policy import LinearLogProb

    device = "cuda" if torch.cuda.is_available() else "cpu"
    dtype = torch.bfloat16 if device == "cuda" else torch.float32
    torch.manual_seed(0)
    hidden = torch.randn(shape["loss_tokens"], shape["hidden_size"], device=device, dtype=dtype, requires_grad=True)
    weight = torch.randn(shape["vocab_size"], shape["hidden_size"], device=device, dtype=dtype) * 0.02
    weight.requires_grad_()
    targets = torch.randint(shape["vocab_size"], (shape["loss_tokens"],), device=device)

    apply: Any = LinearLogProb.apply

    def chunked() -> Any:
        return apply(hidden, weight, None, targets, False)[0]

    def held() -> Any:
        return (hidden @ weight.T).float().log_softmax(-1).gather(1, targets[:, None]).squeeze(1)

    found: dict[str, Any] = {}
    for name, function in (("chunked", chunked), ("held", held)):
        times = []
        for _ in range(4):
            hidden.grad = weight.grad = None
            if device == "cuda":
                torch.cuda.reset_peak_memory_stats()
            start, began = peak_mb(), now()
            function().sum().backward()
            times.append(now() - began)
            found[f"{name} MB"] = max(found.get(f"{name} MB", 0.0), peak_mb() - start)
        found[f"{name} s"] = min(times)
    return found


def run(
    side: str, folder: Path, shape: str, engine: str = "hf", fsdp2: bool = False, seconds: float | None = None
) -> dict[str, Any]:
    """One side in a process of its own."""
    start = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "1"] if fsdp2 else []
    command = [sys.executable, *start, __file__, "--side", side, "--folder", str(folder), "--shape", shape]
    command += ["--engine", engine, *(["--fsdp2"] if fsdp2 else [])]
    return launch(command, seconds)


def launch(command: list[str], seconds: float | None = None) -> dict[str, Any]:
    """Run a command and return the JSON object it prints last, or why there is none."""
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false", "VLLM_NO_USAGE_STATS": "1"}
    pipe = subprocess.PIPE
    process = subprocess.Popen(command, env=environment, stdout=pipe, stderr=pipe, text=True, start_new_session=True)
    try:
        out, errors = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        return {"failed": f"not done in {seconds:.0f} s"}
    if process.returncode:
        return {"failed": errors[-3000:]}
    found: dict[str, Any] = json.loads(next(line for line in reversed(out.splitlines()) if line[:1] == "{"))
    return found


def show(name: str, found: dict[str, Any]) -> float:
    """Print one side's figures and return its tokens per second."""
    if "failed" in found:
        print(f"{name}: failed\n{found['failed']}", flush=True)
        return 0.0
    rate = sum(found["tokens"][1:]) / sum(found["times"][1:])
    more = f", mismatch {found['mismatch']:.1e}" if "mismatch" in found else ""
    learnt = sum(found["tokens"])
    print(f"{name}: {rate:,.0f} tokens/s, peak {found['peak']:,.0f} MB, {learnt:,.0f} tokens learnt{more}", flush=True)
    return float(rate)


def compare(folder: Path, shape: str, engine: str) -> None:
    """Print both sides and their ratio, once their tokens agree."""
    mine, peer = run("ours", folder, shape, engine), run("trl", folder, shape, engine)
    speeds = show(f"ours, {engine}", mine), show(f"TRL, {engine}", peer)
    if all(speeds):
        assert abs(sum(mine["tokens"]) / sum(peer["tokens"]) - 1) < 0.05, (mine["tokens"], peer["tokens"])
        print(f"{engine}: {speeds[0] / speeds[1]:.2f}x TRL's tokens/s, 1/{peer['peak'] / mine['peak']:.2f} its memory")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tiny", action="store_true")
    parser.add_argument("--shape", default="gpu")
    parser.add_argument("--side", choices=("ours", "trl", "unsloth", "loss"))
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--engine", default="hf")
    parser.add_argument("--fsdp2", action="store_true")
    asked = parser.parse_args()
    if asked.side:
        warnings.simplefilter("ignore")
        shape = SHAPES[asked.shape]
        if asked.side == "loss":
            print(json.dumps(loss_alone(shape)))
        elif asked.side == "ours":
            print(json.dumps(ours(asked.folder, shape, asked.engine, asked.fsdp2)))
        else:
            print(json.dumps(theirs(asked.folder, shape, asked.engine, asked.side == "unsloth")))
        return
    kind = "tiny" if asked.tiny else asked.shape
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        make_model(folder, SHAPES[kind])
        found = run("loss", folder, kind)
        print(found.get("failed") or ", ".join(f"{name} {value:.3f}" for name, value in found.items()), flush=True)
        compare(folder, kind, "hf")
        show("ours, hf, FSDP2 on one rank", run("ours", folder, kind, fsdp2=True))
        if find_spec("vllm"):
            compare(folder, kind, "vllm")


if __name__ == "__main__":
    main()
