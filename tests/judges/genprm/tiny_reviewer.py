"""A tiny real reviewer: a Llama taught on the spot to review sums, with code, in a protocol of few tokens."""

from __future__ import annotations

import random
from functools import cache
from pathlib import Path
from typing import Any

import torch
import transformers
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

from verikit.judges.genprm import Solution, load_protocol

PROTOCOL = str(Path(__file__).with_name("tiny.toml"))
TEMPLATE = (
    "{% for m in messages %}<s>{{ m.role[0] }}\n{{ m.content }}</s>{% endfor %}"
    "{% if add_generation_prompt %}<s>a\n{% endif %}"
)


def solution(rng: random.Random, steps: int = 2) -> Solution:
    """Sums of two digits; a step in three is wrong."""
    lines = []
    for _ in range(steps):
        a, b = rng.randrange(10), rng.randrange(10)
        lines.append(f"{a}+{b}={a + b + (rng.randrange(3) == 0)}")
    return Solution("sums", tuple(lines))


def dialogue(solution: Solution) -> list[dict[str, Any]]:
    """A review of a solution as it should be."""
    protocol = load_protocol(PROTOCOL)
    messages = [dict(protocol.opening("full"))]
    for index, step in enumerate(solution.steps):
        total, claim = eval(step.partition("=")[0]), step.partition("=")[2]
        text = (
            f"{protocol.analysis_of(index)}{step}\n{protocol.analysis_end}{protocol.code}print({step.partition('=')[0]})"
            f"{protocol.code_end}{protocol.output_of(str(total))}{claim}\n{protocol.judgement}"
            f"{{{'Yes' if str(total) == claim else 'No'}}}\n{protocol.judgement_end}"
        )
        messages += [
            dict(protocol.asking(solution.problem, solution.steps, index)),
            {"role": "assistant", "content": text},
        ]
    return messages


@cache
def tokenizer() -> transformers.PreTrainedTokenizerFast:
    raw = Tokenizer(models.BPE())
    raw.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    raw.decoder = decoders.ByteLevel()
    protocol = load_protocol(PROTOCOL)
    texts = [protocol.code, protocol.code_output, protocol.judgement, "print(", "Yes", "No", "system sums review"] * 9
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    raw.train_from_iterator(
        texts, trainers.BpeTrainer(vocab_size=320, special_tokens=["<s>", "</s>"], initial_alphabet=alphabet)
    )
    made = transformers.PreTrainedTokenizerFast(
        tokenizer_object=raw, bos_token="<s>", eos_token="</s>", pad_token="</s>"
    )
    made.chat_template = TEMPLATE
    return made


@cache
def model(*, steps: int = 2, rows: int = 12, updates: int = 120) -> Any:
    """Teach it whole dialogues of so many steps."""
    torch.manual_seed(0)
    encode = tokenizer()
    config = transformers.LlamaConfig(
        vocab_size=len(encode), hidden_size=64, intermediate_size=128, num_hidden_layers=2, num_attention_heads=2,
        num_key_value_heads=2, max_position_embeddings=512, initializer_range=0.08, tie_word_embeddings=False,
        eos_token_id=encode.eos_token_id, bos_token_id=encode.bos_token_id,
    )  # fmt: skip
    made = transformers.LlamaForCausalLM(config)
    optimizer = torch.optim.AdamW(made.parameters(), lr=5e-3, betas=(0.9, 0.99))
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda n: min(1, (n + 1) / 10) * (1.05 - n / updates))
    rng = random.Random(0)
    for _ in range(updates):
        texts = [encode.apply_chat_template(dialogue(solution(rng, steps)), tokenize=False) for _ in range(rows)]
        batch = encode(texts, padding=True, padding_side="right", return_tensors="pt", add_special_tokens=False)
        labels = batch.input_ids.masked_fill(batch.attention_mask == 0, -100)
        loss = made(input_ids=batch.input_ids, attention_mask=batch.attention_mask, labels=labels).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        schedule.step()
    return made.eval()
