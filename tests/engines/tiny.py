"""Tiny models of real classes, made on the spot."""

from functools import cache
from typing import Any

import torch
import transformers
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

LINES = [
    "the quick brown fox jumps over the lazy dog",
    "Answer: A",
    "Answer: B",
    "0123456789 + - * / =",
    "yes no maybe",
]
TEMPLATE = (
    "{% for m in messages %}{% if m.role == 'tool' %}{{ raise_exception('no tools') }}{% endif %}"
    "<s>{{ m.role }}: {{ m.content }}</s>{% endfor %}{% if add_generation_prompt %}<s>assistant:{% endif %}"
)


@cache
def tokenizer(template: bool = True) -> Any:
    raw = Tokenizer(models.BPE())
    raw.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    raw.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    raw.train_from_iterator(
        LINES, trainers.BpeTrainer(vocab_size=384, special_tokens=["<s>", "</s>"], initial_alphabet=alphabet)
    )
    made = transformers.PreTrainedTokenizerFast(tokenizer_object=raw, bos_token="<s>", eos_token="</s>")
    made.chat_template = TEMPLATE if template else None
    return made


@cache
def model(kind: str = "Llama", **options: Any) -> Any:
    torch.manual_seed(0)
    size = {
        "vocab_size": len(tokenizer()),
        "hidden_size": 64,
        "intermediate_size": 128,
        "num_hidden_layers": 3,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "max_position_embeddings": 256,
        "initializer_range": 0.15,
        "eos_token_id": tokenizer().eos_token_id,
        "bos_token_id": tokenizer().bos_token_id,
    }
    if kind == "GPTNeoX":
        del size["num_key_value_heads"]
    config = getattr(transformers, f"{kind}Config")(**{**size, **options})
    return getattr(transformers, f"{kind}ForCausalLM")(config).eval()


def save(path: Any, kind: str = "Llama", template: bool = True, **options: Any) -> str:
    model(kind, **options).save_pretrained(path)
    tokenizer(template).save_pretrained(path)
    return str(path)
