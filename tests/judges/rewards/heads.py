"""Tiny reward models of real classes, and what transformers itself gives for one text at a time."""

import torch
import transformers

from tests.engines import tiny

SIZE = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4}


def head(kind="Llama", labels=1, pad=None, names=None, **more):
    torch.manual_seed(0)
    own = {"max_position_embeddings": 128, "initializer_range": 0.2, "pad_token_id": pad, **SIZE, **more}
    if kind != "Bert":
        own["num_key_value_heads"] = 2
    config = getattr(transformers, f"{kind}Config")(vocab_size=len(tiny.tokenizer()), num_labels=labels, **own)
    if names:
        config.id2label = dict(enumerate(names))
    return getattr(transformers, f"{kind}ForSequenceClassification")(config).eval()


def alone(model, prompt, completion):
    """The logits of one conversation, by the chat template, unpadded."""
    messages = [{"role": "user", "content": prompt}] if isinstance(prompt, str) else list(prompt)
    messages.append({"role": "assistant", "content": completion})
    ids = tiny.tokenizer().apply_chat_template(messages, tokenize=True, return_dict=False)
    with torch.no_grad():
        return model(torch.tensor([list(ids)])).logits[0].tolist()
