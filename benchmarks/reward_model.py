"""`rm`: replies scored in batches of 64 beside one by one, and beside transformers' own forward pass, in one run.

    python -m benchmarks.reward_model [--model DIR] [--replies 64] [--prompts 64] [--device cpu]

Without --model a Llama of some 3M parameters is made on the spot; `--model smollm2` is SmolLM2-135M with a head
(`tests/real/models.py` says which packages it wants). Batch and single passes alternate, so that a busy machine
slows both; printed are the medians, their ratio (the bar is 4x) and the largest difference from transformers (1e-3 in
fp32). Beside it stands the most that any batch could give: the arithmetic of the replies at the rate of this machine's
matrix products, over what one by one takes. `--hidden 64 --layers 2` is a model whose calls cost more than its
arithmetic.
"""

from __future__ import annotations

import argparse
import random
import statistics
import time
from collections.abc import Callable
from typing import Any

import torch
import transformers

from tests.engines import tiny
from tests.real import models
from verikit.judges.rewards import RewardModel
from verikit.types import Sample


def made(hidden: int = 256, layers: int = 4) -> tuple[Any, Any]:
    """A small Llama with a head."""
    torch.manual_seed(0)
    config: Any = transformers.LlamaConfig(
        vocab_size=len(tiny.tokenizer()), hidden_size=hidden, intermediate_size=hidden * 43 // 16,
        num_hidden_layers=layers,
        num_attention_heads=4, num_key_value_heads=4, max_position_embeddings=2048,
    )  # fmt: skip
    config.num_labels = 1
    model: Any = transformers.LlamaForSequenceClassification(config)
    return model.eval(), tiny.tokenizer()


def smollm2() -> tuple[Any, Any]:
    """SmolLM2-135M's body with an untrained head.

    Raises:
        MissingModel: its package is not installed.
    """
    folder = models.smollm2()
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    body: Any = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    body.config.num_labels = 1
    torch.manual_seed(0)
    model: Any = transformers.LlamaForSequenceClassification(body.config).float()
    model.model.load_state_dict(body.model.state_dict())
    return model.eval(), tokenizer


def alone(model: Any, tokenizer: Any, sample: Sample) -> float:
    """What transformers gives for one reply, unpadded."""
    turns = [{"role": "user", "content": sample.prompt}, {"role": "assistant", "content": sample.completion}]
    ids = tokenizer.apply_chat_template(turns, tokenize=True, return_dict=False)
    with torch.inference_mode():
        return float(model(torch.tensor([list(ids)], device=model.device)).logits[0, 0])


def product_rate(device: str, rows: int, hidden: int = 256) -> float:
    """Operations a second of matrix products of as many rows, the best of a few: the roof of what a model can do."""
    left, right = torch.randn(rows, hidden, device=device), torch.randn(hidden * 43 // 16, hidden, device=device)
    seconds = []
    for _ in range(20):
        start = time.perf_counter()
        (left @ right.T).sum().item()
        seconds.append(time.perf_counter() - start)
    return float(2 * rows * right.numel() / min(seconds))


def most_gain(model: Any, tokens: int, single_s: float, rate: float) -> float:
    """How much less time than one by one the arithmetic alone would take: no batch of distinct texts gains more."""
    weights = sum(parameter.numel() for name, parameter in model.named_parameters() if "embed" not in name)
    return float(single_s / (2 * weights * tokens / rate))


def timed(run: Callable[[], Any]) -> tuple[float, Any]:
    """Seconds of a call, and what it gives."""
    start = time.perf_counter()
    found = run()
    return time.perf_counter() - start, found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="")
    parser.add_argument("--replies", type=int, default=64)
    parser.add_argument("--prompts", type=int, default=64, help="how many there are; replies to one share its tokens")
    parser.add_argument("--prompt-words", type=int, default=60)
    parser.add_argument("--words", type=int, nargs=2, default=(5, 20))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--hidden", type=int, default=256, help="of the model made on the spot")
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    options = parser.parse_args()
    if options.model in ("", "smollm2"):
        model, tokenizer = smollm2() if options.model else made(options.hidden, options.layers)
    else:
        tokenizer = transformers.AutoTokenizer.from_pretrained(options.model)
        model = transformers.AutoModelForSequenceClassification.from_pretrained(options.model, dtype=torch.float32)
    model = model.eval().to(options.device)
    rng, words = random.Random(0), "the quick brown fox jumps over the lazy dog yes no maybe".split()
    prompts = [" ".join(rng.choices(words, k=options.prompt_words)) for _ in range(options.prompts)]
    samples = [
        Sample(prompts[index % len(prompts)], " ".join(rng.choices(words, k=rng.randint(*options.words))))
        for index in range(options.replies)
    ]
    reward = RewardModel("hf:m", loaded=(model, tokenizer))
    reward.score(samples[:2])
    together, single = [], []
    for _ in range(options.rounds):
        seconds, scores = timed(lambda: reward.score(samples))
        together.append(seconds)
        single.append(timed(lambda: [reward.score([sample])[0] for sample in samples])[0])
    worst = max(
        abs(float(score) - alone(model, tokenizer, sample)) for score, sample in zip(scores, samples, strict=True)
    )
    size = sum(parameter.numel() for parameter in model.parameters()) / 1e6
    batch_s, single_s = statistics.median(together), statistics.median(single)
    print(f"{size:.1f}M parameters, {options.device}, {torch.get_num_threads()} threads, {len(samples)} replies")
    print(f"a batch {len(samples) / batch_s:,.0f} replies/s, one by one {len(samples) / single_s:,.0f}")
    encoder = reward._encoder(tokenizer, 2**31)  # the tokens that are run
    tokens = sum(len(encoder(sample).text.ids) for sample in samples)
    rate = product_rate(options.device, min(tokens, 2048), options.hidden)
    gain = most_gain(model, tokens, single_s, rate)
    print(f"{tokens} tokens; matrix products {rate / 1e9:.0f} GFLOP/s: {gain:.1f}x at most for distinct texts")
    print(f"ratio {single_s / batch_s:.2f}; largest difference from transformers {worst:.2g}")


if __name__ == "__main__":
    main()
