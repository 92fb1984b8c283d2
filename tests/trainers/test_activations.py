"""The bytes of a micro-batch on paper are those that are counted when one is really learnt from."""

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from tests.trainers.conftest import settings  # noqa: E402
from tests.trainers.counted import LiveBytes  # noqa: E402
from verikit.trainers.activations import micro_batch_bytes  # noqa: E402
from verikit.trainers.policy import PolicyModel  # noqa: E402
from verikit.trainers.precision import prepare_model  # noqa: E402

SMALL = {"hidden_size": 64, "intermediate_size": 160, "num_attention_heads": 4, "num_key_value_heads": 4}
SHAPES = {
    "fp32": ("Qwen2", {"num_hidden_layers": 4, "vocab_size": 64}, {"master": "same"}, 1),
    "bf16": ("Qwen2", {"num_hidden_layers": 4, "vocab_size": 64}, {"master": "float32"}, 1),
    "bf16 checkpointed": (
        "Qwen2", {"num_hidden_layers": 6, "vocab_size": 64}, {"master": "float32", "checkpointing": True}, 4,
    ),
    "a large vocabulary": (
        "Llama", {"num_hidden_layers": 3, "vocab_size": 9000}, {"master": "float32", "checkpointing": True}, 2,
    ),
    "tied, wide": (
        "Qwen3", {"num_hidden_layers": 3, "vocab_size": 512, "intermediate_size": 640, "head_dim": 16,
                  "tie_word_embeddings": True}, {"master": "same"}, 2,
    ),
    "lora": ("Llama", {"num_hidden_layers": 4, "vocab_size": 64}, {"master": "float32", "lora_rank": 4}, 1),
}  # fmt: skip
"""Family, shape, number formats, rows of a micro-batch."""
TOKENS = 256


def counted(model, config, length):
    policy = PolicyModel(prepare_model(model, config), config.precision.master == "float32")
    assert policy.chunked
    rows = TOKENS // length
    ids = torch.randint(64, (rows, length))
    where = torch.arange(rows * length).view(rows, length)[:, :-1].flatten()
    with LiveBytes() as counter:
        for _ in range(2):
            before = counter.peak = counter.now()
            logp, _ = policy(ids, where, ids[:, 1:].flatten())
            logp.sum().backward()
            del logp
    return counter.peak - before


@pytest.mark.parametrize("name", SHAPES)
def test_the_memory_of_a_micro_batch_on_paper_is_what_is_counted(name):
    family, shape, formats, rows = SHAPES[name]
    if "lora_rank" in formats:
        pytest.importorskip("peft")
    config = settings(batch__tokens=TOKENS, **{f"precision__{key}": value for key, value in formats.items()})
    model = getattr(transformers, f"{family}ForCausalLM")(getattr(transformers, f"{family}Config")(**SMALL | shape))
    bf16 = formats["master"] == "float32"
    paper = micro_batch_bytes(model, config, TOKENS // rows, bf16=bf16, device=torch.device("cpu"))
    assert paper == pytest.approx(counted(model, config, TOKENS // rows), rel=0.05)
