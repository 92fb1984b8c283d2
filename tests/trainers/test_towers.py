"""Models that read pictures and sounds too: what text never reaches is frozen, in its own number format, unadapted."""

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from verikit.trainers.config import load_config  # noqa: E402
from verikit.trainers.memory import expected_memory  # noqa: E402
from verikit.trainers.policy import PolicyModel  # noqa: E402
from verikit.trainers.precision import beside_text, prepare_model  # noqa: E402
from verikit.trainers.weights import sampling_dtype  # noqa: E402

TEXT = {
    "vocab_size": 128, "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2,
    "num_key_value_heads": 1, "head_dim": 16, "sliding_window": 16,
}  # fmt: skip
VISION = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 1, "num_attention_heads": 2}
SHAPES = {
    "Gemma3": {
        "text_config": TEXT, "vision_config": VISION | {"image_size": 28, "patch_size": 14}, "mm_tokens_per_image": 4,
        "image_token_index": 127, "boi_token_index": 125, "eoi_token_index": 126,
    },
    "Gemma4": {
        "text_config": TEXT
        | {"global_head_dim": 16, "hidden_size_per_layer_input": 8, "vocab_size_per_layer_input": 128},
        "vision_config": VISION | {"num_key_value_heads": 2, "head_dim": 16, "position_embedding_size": 16},
        "image_token_id": 127, "boi_token_id": 125, "eoi_token_id": 126, "video_token_id": 124, "audio_token_id": 123,
    },
}  # fmt: skip
TOWERS = {
    "Gemma3": ["model.vision_tower", "model.multi_modal_projector"],
    "Gemma4": ["model.vision_tower", "model.embed_vision"],
}


@pytest.fixture(params=SHAPES)
def family(request):
    if not hasattr(transformers, f"{request.param}Config"):
        pytest.skip(f"this transformers has no {request.param}")
    return request.param


def made(family):
    """The model that `AutoModelForCausalLM` makes, in bf16 as it is published."""
    config = getattr(transformers, f"{family}Config")(**SHAPES[family])
    torch.manual_seed(0)
    model = transformers.AutoModelForCausalLM.from_config(config, dtype=torch.bfloat16)
    assert type(model).__name__ == f"{family}ForConditionalGeneration"
    return model.eval()


def settings(*changes):
    return load_config("arithmetic", ['precision.master="float32"', *changes])


def test_ddp_learns_from_rows_of_text_more_than_once(family, alone):
    """DDP ends at the second backward pass if a weight that is to learn got no gradient in the first."""
    module = alone.wrap(PolicyModel(prepare_model(made(family), settings()), True))
    for _ in range(2):
        ids = torch.arange(8)[None]
        logp, _ = module(ids, torch.arange(7), ids[0, 1:])
        logp.sum().backward()
    learns = [weight for weight in module.parameters() if weight.requires_grad]
    assert learns
    assert all(weight.grad is not None for weight in learns)


def test_what_text_never_reaches_is_frozen_and_takes_no_fp32_weights(family):
    model = prepare_model(made(family), settings())
    assert beside_text(model) == TOWERS[family]
    for name, weight in model.named_parameters():
        beside = name.startswith(tuple(f"{tower}." for tower in TOWERS[family]))
        assert weight.requires_grad == (not beside), name
        assert weight.dtype == (torch.bfloat16 if beside else torch.float32), name
    numbers = sum(weight.numel() for weight in model.parameters() if weight.requires_grad)
    paper = expected_memory(model, settings(), 1, bf16=True)
    assert paper.gradients == 4 * numbers
    assert paper.weights < 4 * sum(weight.numel() for weight in model.parameters())
    assert sampling_dtype(PolicyModel(model)) == torch.float32


def test_adapters_are_put_over_what_text_reaches(family):
    pytest.importorskip("peft")
    model = prepare_model(made(family), settings("precision.lora_rank=4"))
    adapted = [name for name, weight in model.named_parameters() if weight.requires_grad]
    assert adapted
    assert all("lora_" in name and "language_model" in name for name in adapted)


def test_all_of_a_model_of_text_alone_learns():
    config = transformers.Gemma3TextConfig(**TEXT)
    model = prepare_model(transformers.AutoModelForCausalLM.from_config(config), settings())
    assert all(weight.requires_grad for weight in model.parameters())
