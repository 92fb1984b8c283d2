"""Learning with each prompt computed once beside learning row by row: CPU seconds, and how far the gradients differ.

    python benchmarks/shared_prompts.py                     SmolLM2-135M's shape, fp32 and bf16 products, one thread
    python benchmarks/shared_prompts.py --formats fp32 --groups 8 --rounds 3

A random model of SmolLM2-135M's shape (30 layers, 576 wide, 9 heads, 3 of keys and values, vocabulary 49,152) learns
from groups of 8 completions of 23 tokens to a prompt of 45: one GRPO update with clip and AdamW. Both sides take the
same rows from the same weights in one process, alternating; each round's order is the reverse of the last. The figures
are medians of CPU seconds of the process; the difference of the gradients, before they are clipped, is over their norm.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import torch
from transformers import LlamaConfig, LlamaForCausalLM

from verikit.trainers.batch import TrainRow
from verikit.trainers.config import Config
from verikit.trainers.distributed import World
from verikit.trainers.learner import Learner
from verikit.trainers.policy import PolicyModel

VOCABULARY = 49_152
BAR, AIM = 1.8, 2.4


def make_model() -> Any:
    """Make the random model."""
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=VOCABULARY, hidden_size=576, intermediate_size=1536, num_hidden_layers=30, num_attention_heads=9,
        num_key_value_heads=3, max_position_embeddings=8192, tie_word_embeddings=True,
    )  # fmt: skip
    return LlamaForCausalLM(config).eval()


def make_rows(groups: int, samples: int, prompt: int, completion: int) -> list[TrainRow]:
    """Make groups of rows, each group with a prompt of its own, and advantages that are nowhere zero."""
    draw = torch.Generator().manual_seed(0)

    def tokens(count: int) -> list[int]:
        drawn: list[int] = torch.randint(0, VOCABULARY, (count,), generator=draw).tolist()
        return drawn

    rows: list[TrainRow] = []
    for number in range(groups * samples):
        asked = tokens(prompt) if number % samples == 0 else rows[-1].ids[:prompt]
        targets = tokens(completion)
        where = list(range(prompt - 1, prompt + completion - 1))
        advantage = torch.full((completion,), 1.0 if number % 2 else -1.0)
        sampled = torch.full((completion,), -10.8)
        rows.append(TrainRow(number, [*asked, *targets[:-1]], where, targets, sampled, advantage))
    return rows


class Gradients(World):
    """The lone process; keeps each update's gradient as it was before it was clipped."""

    last: list[torch.Tensor]

    def clip_gradients(self, policy: Any, limit: float) -> float:
        """Copy the gradient, then clip it."""
        self.last = [parameter.grad.clone() for parameter in policy.parameters()]
        return super().clip_gradients(policy, limit)


def learn(model: PolicyModel, rows: list[TrainRow], start: list[torch.Tensor], share: bool) -> tuple[float, Any]:
    """Take one update from the same weights; return its CPU seconds and the gradient."""
    with torch.no_grad():
        for parameter, value in zip(model.parameters(), start, strict=True):
            parameter.copy_(value)
    config = Config.model_validate({"recipe": "math", "batch": {"share_prompts": share}})
    world = Gradients()
    world.device = torch.device("cpu")
    learner = Learner(model, world, config, config.optimizer, config.loss, 1)
    began = time.process_time()
    learner.learn(rows, 1)
    return time.process_time() - began, world.last


def difference(left: list[torch.Tensor], right: list[torch.Tensor]) -> float:
    """Return |left - right| / |right| over all weights."""
    apart = sum(float((a - b).double().square().sum()) for a, b in zip(left, right, strict=True))
    return float((apart / sum(float(b.double().square().sum()) for b in right)) ** 0.5)


def main() -> None:
    """Run the formats asked for and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--formats", nargs="+", default=["fp32", "bf16"], choices=["fp32", "bf16"])
    parser.add_argument("--groups", type=int, default=4)
    parser.add_argument("--samples", type=int, default=8)
    parser.add_argument("--prompt", type=int, default=45)
    parser.add_argument("--completion", type=int, default=23)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    torch.set_num_threads(1)
    model = make_model()
    rows = make_rows(options.groups, options.samples, options.prompt, options.completion)
    start = [parameter.detach().clone() for parameter in model.parameters()]
    print("format   row by row   shared   ratio   gradient's difference")
    for name in options.formats:
        policy = PolicyModel(model, bf16=name == "bf16")
        assert policy.shares_prompts
        seconds: dict[bool, list[float]] = {False: [], True: []}
        gradients = {}
        for number in range(options.rounds):
            for share in (False, True) if number % 2 == 0 else (True, False):
                spent, gradients[share] = learn(policy, rows, start, share)
                seconds[share].append(spent)
        alone, shared = (statistics.median(seconds[share]) for share in (False, True))
        apart = difference(gradients[True], gradients[False])
        print(f"{name:6} {alone:10.2f} s {shared:6.2f} s {alone / shared:6.2f}x   {apart:.1e}")
    print(f"bar {BAR}x, aim {AIM}x; the gradient within 1e-6 in fp32")


if __name__ == "__main__":
    main()
