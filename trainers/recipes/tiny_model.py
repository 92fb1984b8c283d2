"""Models and tokenizers of the tiny worlds, created at the start of a run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def make_tokenizer(tokens: Sequence[str]) -> Any:
    """Make a tokenizer with `<eos>` and these pieces of text as tokens. The longest match has priority."""
    from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    vocabulary = ["<eos>", *dict.fromkeys(tokens)]
    raw = Tokenizer(models.WordLevel({token: number for number, token in enumerate(vocabulary)}, unk_token="<eos>"))
    pieces = "|".join(_escaped(token) for token in sorted(vocabulary, key=len, reverse=True))
    raw.pre_tokenizer = pre_tokenizers.Split(Regex(f"{pieces}|."), "isolated")
    raw.decoder = decoders.Fuse()
    return PreTrainedTokenizerFast(tokenizer_object=raw, eos_token="<eos>", pad_token="<eos>")


def make_llama(tokenizer: Any, seed: int, *, positions: int, heads: int = 4, width: int = 64, layers: int = 2) -> Any:
    """Make a small Llama. Two layers of width 64 have about 100,000 parameters."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=width,
        intermediate_size=3 * width,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        max_position_embeddings=positions,
        tie_word_embeddings=True,
        initializer_range=0.08,  # with transformers' 0.02, a width of 64 learns nothing for a long time
        bos_token_id=None,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.eos_token_id,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return LlamaForCausalLM(config)


def _escaped(token: str) -> str:
    """Return a token as an Oniguruma pattern. `re.escape` does not escape line ends correctly for it."""
    return "".join(f"\\x{{{ord(char):x}}}" if not char.isalnum() else char for char in token)
