"""Memory of the `-8gpu` configs on each of 8 GPUs, by `expected_memory`: nothing is loaded, no GPU is needed.

    python -m benchmarks.eight_gpus      # the table of docs/recipes.md

Shapes of Qwen2.5 in bf16 products over fp32 weights. vLLM holds the whole model in bf16 on each GPU while it samples.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
import transformers

from verikit.trainers.config import load_config
from verikit.trainers.memory import expected_memory
from verikit.trainers.precision import prepare_model

SHAPES = {
    "7B": {"hidden_size": 3584, "num_hidden_layers": 28, "intermediate_size": 18944, "num_attention_heads": 28},
    "14B": {"hidden_size": 5120, "num_hidden_layers": 48, "intermediate_size": 13824, "num_attention_heads": 40},
    "32B": {"hidden_size": 5120, "num_hidden_layers": 64, "intermediate_size": 27648, "num_attention_heads": 40},
}
HEADS = {"7B": 4, "14B": 8, "32B": 8}
CONFIGS = ("spice", "absolute-zero", "elo-evolve", "r1-searcher")
WAYS = {
    "as shipped": [],
    "`optimizer.kind = adamw8bit`": ["optimizer.kind=adamw8bit"],
    "`engine.kind = server`, adamw8bit": ["optimizer.kind=adamw8bit", "engine.kind=server", "engine.options={}"],
}
PROCESSES, GIB = 8, 2**30
CARD = 74.5
"""GiB of an 80 GB card."""


def needs(name: str, size: str, changes: list[str]) -> tuple[float, float]:
    """Return (most GiB while learning, activations included; GiB while sampling, before the cache)."""
    config = load_config(f"{name}-paper-8gpu", changes)
    more = {"vocab_size": 152064, "num_key_value_heads": HEADS[size], "tie_word_embeddings": False}
    shape: dict[str, Any] = {**SHAPES[size], **more}
    settings = transformers.Qwen2Config(**shape)
    with torch.device("meta"):
        model = transformers.AutoModelForCausalLM.from_config(settings, dtype=torch.bfloat16)
    weights = sum(parameter.numel() for parameter in model.parameters())
    paper = expected_memory(prepare_model(model, config), config, PROCESSES, bf16=True)
    engine = 2.0 * weights if config.engine.kind == "vllm" else 0.0
    return (paper.learning + paper.activations) / GIB, (paper.sampling + engine) / GIB


def table() -> Iterator[str]:
    """Yield the table's lines; what an 80 GB card has no room for is in brackets."""
    yield f"| | {' | '.join(SHAPES)} |"
    yield f"|---|{'---|' * len(SHAPES)}"
    for name in CONFIGS:
        for way, changes in WAYS.items():
            cells = [" / ".join(map(_cell, needs(name, size, changes))) for size in SHAPES]
            yield f"| `{name}-paper-8gpu`, {way} | {' | '.join(cells)} |"


def _cell(gib: float) -> str:
    return f"({gib:.0f})" if gib > CARD else f"{gib:.0f}"


if __name__ == "__main__":
    print("\n".join(table()))
