"""The trainer beside TRL's GRPOTrainer: tokens per second, memory, and the whole recipe to the same accuracy.

    python benchmarks/grpo_trl.py                 all but `pretrained`, 3 rounds, sides alternating, one process a run
    python benchmarks/grpo_trl.py --cases vocabulary --rounds 5
    python benchmarks/grpo_trl.py --cases pretrained --rounds 1       SmolLM2-135M-Instruct in fp32 (extra `real`)

Both sides start from the same weights and prompts and take one optimizer step for each batch sampled, at temperature 1
with beta 0 and DAPO's token mean. The reward differs between all completions, so no row has a zero advantage and both
sides learn from every token they sample; each run checks that, and the sides' tokens must agree. Times are CPU seconds
of the process, which has one thread; the first step is left out. Memory is the peak over what the process had before
the first step.
Needs the extras train, and trl and datasets (a benchmark peer only).
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

CASES: dict[str, dict[str, Any]] = {
    "8 rows": {"prompts": 2, "samples": 4, "new": 32, "steps": 9, "bar": 1.75, "aim": 3.0},
    "128 rows": {"prompts": 8, "samples": 16, "new": 32, "steps": 9, "bar": 1.3, "aim": 2.0},
    "vocabulary": {"prompts": 2, "samples": 8, "new": 96, "steps": 3, "vocabulary": 32_000, "bar": 2.8, "aim": 5.0},
    "pretrained": {"prompts": 8, "samples": 8, "new": 24, "steps": 2, "bar": 2.5, "aim": 4.0},
}
"""`8 rows` and `128 rows` sample from the warmed-up arithmetic model, `vocabulary` from a random one of 32k tokens,
`pretrained` from SmolLM2-135M-Instruct, whose prompts are chats."""
RATES = {"pretrained": 1e-6}
RATE = 2e-4
TARGET = 0.90
CHAT = (
    "<|im_start|>system\nReply with the number alone.<|im_end|>\n"
    "<|im_start|>user\n{}<|im_end|>\n<|im_start|>assistant\n"
)


_asked = itertools.count(1)


def jitter() -> float:
    """A reward that differs from all others: the golden ratio's multiples."""
    return next(_asked) * 0.6180339887 % 1


def cpu() -> float:
    return time.process_time()


def peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def resident_mb() -> float:
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4 / 1024


def make_models(folder: Path) -> None:
    """Write the models that both sides load: arithmetic after its warm-up, and a random one of a large vocabulary."""
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    run = [sys.executable, "-m", "verikit", "train", "arithmetic", "-q", "-o", str(folder / "run")]
    subprocess.run(
        [*run, "--set", "run.steps=1", "--set", "run.evaluate_every=0", "--set", "optimizer.lr=1e-12"], check=True
    )
    subprocess.run([*run[:3], "export", str(folder / "run"), "-o", str(folder / "arithmetic")], check=True)
    size = CASES["vocabulary"]["vocabulary"]
    words = {f"w{number}": number for number in range(size - 2)} | {"<eos>": size - 2, "<pad>": size - 1}
    raw = Tokenizer(models.WordLevel(words, unk_token="w0"))
    raw.pre_tokenizer, raw.decoder = pre_tokenizers.WhitespaceSplit(), decoders.Fuse()
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=raw, eos_token="<eos>", pad_token="<pad>")
    torch.manual_seed(0)
    config = LlamaConfig(vocab_size=size, hidden_size=128, intermediate_size=384, num_hidden_layers=2,
                         num_attention_heads=2, max_position_embeddings=256, tie_word_embeddings=True,
                         eos_token_id=size - 2, pad_token_id=size - 1, bos_token_id=None)  # fmt: skip
    LlamaForCausalLM(config).save_pretrained(folder / "vocabulary")
    tokenizer.save_pretrained(folder / "vocabulary")


def model_of(case: str, folder: Path) -> Path:
    """Return the folder of the model that both sides of a case load."""
    if case == "pretrained":
        from tests.real.models import smollm2

        return smollm2()
    return folder / ("vocabulary" if case == "vocabulary" else "arithmetic")


def prompts_of(case: str) -> list[dict[str, str]]:
    if case == "vocabulary":
        return [{"prompt": " ".join(f"w{17 * n + at}" for at in range(8)), "answer": ""} for n in range(64)]
    pairs = [(a, b) for a in range(10, 100) for b in range(10, 100) if (a * 7 + b * 13) % 29 != 0]
    if case == "pretrained":
        return [{"prompt": CHAT.format(f"What is {a} plus {b}?"), "answer": str(a + b)} for a, b in pairs[::64]]
    return [{"prompt": f"{a}+{b}=", "answer": str(a + b)} for a, b in pairs[:: max(1, len(pairs) // 2_000)]]


def held_out() -> list[tuple[str, str]]:
    return [(f"{a}+{b}=", str(a + b)) for a in range(10, 100) for b in range(10, 100) if (a * 7 + b * 13) % 29 == 0][
        :256
    ]


def accuracy(model: Any, tokenizer: Any, seed: int) -> float:
    """The sampled accuracy on problems that neither side trains on."""
    from verikit.engines import Request
    from verikit.engines.hf.engine import HF

    problems = held_out()
    engine = HF.of(model, tokenizer)
    asked = [
        Request(prompt, max_tokens=32, temperature=1.0, seed=seed * 1000 + n) for n, (prompt, _) in enumerate(problems)
    ]
    texts = [generation.outputs[0].text for generation in engine.generate(asked)]
    return statistics.fmean(f"\\boxed{{{gold}}}" in text for text, (_, gold) in zip(texts, problems, strict=True))


def ours(case: str, folder: Path, micro: str, recipe_steps: int) -> dict[str, Any]:
    """Our side in this process."""
    import torch

    from verikit.trainers.config import load_config
    from verikit.trainers.distributed import World
    from verikit.trainers.grpo import Trainer
    from verikit.trainers.run import RunFolder

    torch.set_num_threads(1)
    shape = CASES[case] if case in CASES else CASES["128 rows"] | {"prompts": 16, "steps": recipe_steps}
    data = folder / f"{case.replace(' ', '-')}.jsonl"
    reward = "answer" if case == "recipe" else f"{__file__}:reward"
    changes = {
        "model.path": str(model_of(case, folder)), "options.data": str(data),
        "options.prompts": shape["prompts"], "options.samples": shape["samples"], "options.max_tokens": shape["new"],
        "options.chat": False, "options.system": "", "options.held_out_size": 1, "options.reward": reward,
        "options.reward_timeout": 0, "options.max_prompt_tokens": 64, "advantage.kind": "grpo", "loss.overlong": "keep",
        "optimizer.lr": RATES.get(case, RATE), "optimizer.warmup_steps": 0, "precision.checkpointing": False,
        "run.steps": 10**6,
        "run.evaluate_every": 0, "run.save_every": 10**6, "run.samples_every": 0,
        "batch.tokens": {"whole": 10**6}.get(micro, {"vocabulary": 1024, "pretrained": 4096}.get(case, 2048)),
    }  # fmt: skip
    config = load_config("math", [f"{key}={json.dumps(value)}" for key, value in changes.items()])
    opened = RunFolder(folder / f"ours-{os.getpid()}")
    rows: list[dict[str, Any]] = []
    trainer = Trainer(config, opened, World(), rows.append)
    start, times, curve = resident_mb(), [], []
    for step in range(1, shape["steps"] + 1):
        began = cpu()
        trainer._train_step(step)
        times.append(cpu() - began)
        if case == "recipe" and step % 10 == 0:
            curve.append((sum(times), accuracy(trainer.policy.model, trainer.sampler.tokenizer, step)))
    told = [row for row in rows if "reward" in row]
    tokens = [row["tokens"] for row in told]
    sampled = [row["length"] * row["trajectories"] for row in told]
    if case != "recipe":
        assert all(abs(a - b) < 0.5 for a, b in zip(tokens, sampled, strict=True)), (tokens, sampled)
    return {"times": times, "tokens": tokens, "peak": peak_mb() - start, "curve": curve}


def theirs(case: str, folder: Path, micro: str, recipe_steps: int) -> dict[str, Any]:
    """TRL's side in this process."""
    import torch
    from datasets import Dataset
    from transformers import AutoModelForCausalLM, AutoTokenizer, TrainerCallback
    from trl import GRPOConfig, GRPOTrainer

    torch.set_num_threads(1)
    shape = CASES[case] if case in CASES else CASES["128 rows"] | {"prompts": 16, "steps": recipe_steps}
    path = model_of(case, folder)
    lines = (folder / f"{case.replace(' ', '-')}.jsonl").read_text("utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    count = shape["prompts"] * shape["samples"]
    tokens: list[float] = []
    model, tokenizer = (
        AutoModelForCausalLM.from_pretrained(path),
        AutoTokenizer.from_pretrained(path, padding_side="left"),
    )

    def reward(completions: list[str], completion_ids: list[list[int]], answer: list[str], **_: Any) -> list[float]:
        tokens.append(sum(map(len, completion_ids)))
        if case == "recipe":
            return [float(f"\\boxed{{{gold}}}" in text) for text, gold in zip(completions, answer, strict=True)]
        return [jitter() for _ in completions]

    config = GRPOConfig(
        output_dir=str(folder / f"trl-{os.getpid()}"), per_device_train_batch_size=count,
        num_generations=shape["samples"], max_completion_length=shape["new"], max_steps=shape["steps"], temperature=1.0,
        top_k=0, beta=0.0, epsilon=0.2, epsilon_high=0.28, loss_type="dapo", learning_rate=RATES.get(case, RATE),
        lr_scheduler_type="constant", adam_beta2=0.99, use_cpu=True, report_to="none", save_strategy="no",
        logging_strategy="no" if case == "recipe" else "steps", logging_steps=1, disable_tqdm=True, bf16=False,
        gradient_checkpointing=False, shuffle_dataset=True,
    )  # fmt: skip
    times: list[float] = []
    curve: list[tuple[float, float]] = []
    clock = {"began": 0.0}

    class Clock:
        def on_step_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            clock["began"] = clock["began"] or cpu()

        def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            times.append(cpu() - clock["began"])
            if case == "recipe" and state.global_step % 10 == 0:
                model.eval()
                curve.append((sum(times), accuracy(model, tokenizer, state.global_step)))
                model.train()
            clock["began"] = cpu()

    trainer = GRPOTrainer(model=model, processing_class=tokenizer, reward_funcs=reward, args=config,
                          train_dataset=Dataset.from_list(rows),
                          callbacks=[type("Callback", (Clock, TrainerCallback), {})()])  # fmt: skip
    start = resident_mb()
    trainer.train()
    return {"times": times, "tokens": tokens[: len(times)], "peak": peak_mb() - start, "curve": curve}


try:
    from verikit import verifier

    @verifier
    def reward(sample: Any) -> float:
        return jitter()

except ImportError:  # TRL's side alone
    pass


def run(side: str, case: str, folder: Path, micro: str = "default", recipe_steps: int = 60) -> dict[str, Any]:
    """One side in a process of its own."""
    command = [sys.executable, __file__, "--side", side, "--case", case, "--folder", str(folder), "--micro", micro]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"}
    environment["PYTHONPATH"] = os.pathsep.join([str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run([*command, "--steps", str(recipe_steps)], env=environment, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(done.stderr[-4000:])
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def rate(found: dict[str, Any]) -> float:
    return float(sum(found["tokens"][1:]) / sum(found["times"][1:]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", nargs="*", default=[*(case for case in CASES if case != "pretrained"), "recipe"])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--side", choices=("ours", "trl"))
    parser.add_argument("--case")
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--micro", default="default")
    parser.add_argument("--steps", type=int, default=60)
    asked = parser.parse_args()
    if asked.side:
        warnings.simplefilter("ignore")
        side = ours if asked.side == "ours" else theirs
        print(json.dumps(side(asked.case, asked.folder, asked.micro, asked.steps)))
        return
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        if asked.cases != ["pretrained"]:
            make_models(folder)
        for case in asked.cases:
            rows = "".join(json.dumps(row) + "\n" for row in prompts_of(case))
            (folder / f"{case.replace(' ', '-')}.jsonl").write_text(rows)
            if case == "recipe":
                whole_recipe(folder, asked.steps)
            else:
                throughput(case, folder, asked.rounds)


def throughput(case: str, folder: Path, rounds: int) -> None:
    """Print tokens per CPU second of both sides, and the ratio of medians over interleaved rounds."""
    found: dict[str, list[dict[str, Any]]] = {"ours": [], "trl": [], "ours, one micro-batch": []}
    for _ in range(rounds):
        found["ours"].append(run("ours", case, folder))
        found["trl"].append(run("trl", case, folder))
        if case == "vocabulary":
            found["ours, one micro-batch"].append(run("ours", case, folder, "whole"))
    speed = {side: statistics.median(map(rate, runs)) for side, runs in found.items() if runs}
    memory = {side: statistics.median(run["peak"] for run in runs) for side, runs in found.items() if runs}
    count = {side: statistics.fmean(sum(measured["tokens"]) for measured in found[side]) for side in ("ours", "trl")}
    assert abs(count["ours"] / count["trl"] - 1) < 0.08, count
    bar, aim = CASES[case]["bar"], CASES[case]["aim"]
    ratio = speed["ours"] / speed["trl"]
    print(
        f"{case}: {speed['ours']:,.0f} against TRL {speed['trl']:,.0f} tokens/s = {ratio:.2f}x (bar {bar}x, aim {aim}x)"
    )
    print(f"  tokens learnt: {count['ours']:,.0f} against {count['trl']:,.0f}", flush=True)
    if case == "pretrained":
        print(f"  peak over start: {memory['ours']:.0f} against {memory['trl']:.0f} MB = "
              f"{memory['ours'] / memory['trl']:.2f} (bar 0.5)", flush=True)  # fmt: skip
    if case == "vocabulary":
        whole = memory["ours, one micro-batch"]
        print(f"  peak over start: TRL {memory['trl']:.0f} MB; ours in the same micro-batch {whole:.0f} MB = "
              f"1/{memory['trl'] / whole:.1f} (bar 1/3); by default {memory['ours']:.0f} MB = "
              f"1/{memory['trl'] / memory['ours']:.1f} (bar 1/6)", flush=True)  # fmt: skip


def whole_recipe(folder: Path, steps: int) -> None:
    """Print the CPU seconds each side takes to the target accuracy, from the same warm-up."""
    needed: dict[str, float] = {}
    for side in ("ours", "trl"):
        curve = run(side, "recipe", folder, "default", steps)["curve"]
        print(f"recipe, {side}: " + ", ".join(f"{seconds:.1f} s {value:.3f}" for seconds, value in curve), flush=True)
        if reached := [seconds for seconds, value in curve if value >= TARGET]:
            needed[side] = reached[0]
    if len(needed) < 2:
        print(f"recipe: not both reached {TARGET}: {needed}")
    else:
        print(f"recipe to {TARGET}: TRL {needed['trl']:.1f} s, ours {needed['ours']:.1f} s = "
              f"{needed['trl'] / needed['ours']:.2f}x less CPU (bar 1.5x, aim 2.5x)")  # fmt: skip


if __name__ == "__main__":
    main()
