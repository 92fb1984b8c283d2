"""Every family of the own decoder, on random models of transformers' classes: what it samples is what they compute."""

import copy
from dataclasses import replace
from functools import cache

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from tests.engines import tiny  # noqa: E402
from tests.engines.test_hf import distance  # noqa: E402
from verikit.engines import Request  # noqa: E402
from verikit.engines.hf import decoder as decoding  # noqa: E402
from verikit.engines.hf.batch import Batch  # noqa: E402
from verikit.engines.hf.decoder import Decoder, supports  # noqa: E402
from verikit.engines.hf.engine import HF  # noqa: E402
from verikit.engines.hf.families import FAMILIES, family_of  # noqa: E402
from verikit.engines.hf.generate import GenerateDecoder  # noqa: E402
from verikit.engines.hf.prefixes import Prefixes  # noqa: E402
from verikit.engines.hf.sampler import SamplingGroup  # noqa: E402

torch.set_num_threads(1)
WINDOW = 9
SLIDING = {"use_sliding_window": True, "sliding_window": WINDOW}
LLAMA3 = {"rope_type": "llama3", "rope_theta": 1e4, "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
          "original_max_position_embeddings": 32}  # fmt: skip
TWO_TYPES = {"sliding_window": WINDOW, "layer_types": ["sliding_attention", "full_attention", "sliding_attention"]}
MOE = {"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 24, "mlp_only_layers": [1]}
LONG = {"rope_type": "longrope", "rope_theta": 1e4, "short_factor": [1.0, 1.5], "long_factor": [2.0, 8.0]}
SHAPES = {
    "llama with scaled rope": ("Llama", {"rope_parameters": LLAMA3, "attention_bias": True}),
    "mistral": ("Mistral", {"sliding_window": None}),
    "mistral with a window": ("Mistral", {"sliding_window": WINDOW, "head_dim": 12}),
    "qwen2 with windows": ("Qwen2", SLIDING | {"max_window_layers": 1}),
    "qwen3": ("Qwen3", {"head_dim": 12}),
    "qwen3 with windows": ("Qwen3", SLIDING | {"max_window_layers": 2}),
    "qwen3 moe": ("Qwen3Moe", MOE | {"norm_topk_prob": True}),
    "qwen3 moe with a window": ("Qwen3Moe", MOE | SLIDING),
    "gemma2": (
        "Gemma2",
        TWO_TYPES
        | {"head_dim": 12, "query_pre_attn_scalar": 5, "final_logit_softcapping": 2.0, "attn_logit_softcapping": 0.7},
    ),
    "gemma2 without caps": ("Gemma2", TWO_TYPES | {"final_logit_softcapping": None, "attn_logit_softcapping": None}),
    "gemma3": ("Gemma3Text", TWO_TYPES | {"head_dim": 12, "query_pre_attn_scalar": 20}),
    "gemma3 with a cap": ("Gemma3Text", TWO_TYPES | {"head_dim": 12, "final_logit_softcapping": 2.0}),
    "phi3": ("Phi3", {"rope_parameters": {"rope_type": "default", "rope_theta": 1e4, "partial_rotary_factor": 0.5}}),
    "phi3 with a window": ("Phi3", {"sliding_window": WINDOW}),
    "phi3 with long rope": (
        "Phi3",
        {"rope_parameters": LONG | {"partial_rotary_factor": 0.5}, "original_max_position_embeddings": 128},
    ),
    "olmo2": ("Olmo2", {}),
    "smollm3": ("SmolLM3", {"no_rope_layers": [1, 0, 1]}),
    "smollm3 with windows": ("SmolLM3", SLIDING | {"no_rope_layers": [1, 0, 1]}),
}


@cache
def model(name):
    kind, options = SHAPES[name]
    torch.manual_seed(0)
    size = {
        "vocab_size": 97, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 3, "num_attention_heads": 4,
        "num_key_value_heads": 2, "max_position_embeddings": 256, "initializer_range": 0.3, "pad_token_id": 0,
        "bos_token_id": 1, "eos_token_id": 2, "tie_word_embeddings": False,
    }  # fmt: skip
    config = getattr(transformers, f"{kind}Config")(**size | options)
    made = getattr(transformers, f"{kind.removesuffix('Text')}ForCausalLM")(config).eval()
    with torch.no_grad():  # a norm that does nothing would hide a wrong one, a bias of zero a forgotten one
        for key, weight in made.named_parameters():
            if "norm" in key or key.endswith("bias"):
                weight.add_(torch.randn_like(weight) * 0.3)
    return made


def groups(**options):
    generator = torch.Generator().manual_seed(1)
    lengths = [(5, 3, 24), (21, 4, 21), (12, 1, 18), (1, 2, 30), (21, 2, 3)]
    return [
        SamplingGroup(
            torch.randint(3, 97, (length,), generator=generator).tolist(), (7, i), n=n, max_tokens=steps, **options
        )
        for i, (length, n, steps) in enumerate(lengths)
    ]


@pytest.fixture(params=["copied", "shared"])
def prompts_are(request, monkeypatch):
    monkeypatch.setattr(decoding, "COPIED_BELOW", 2**19 if request.param == "copied" else 0)
    monkeypatch.setattr(decoding, "FIRST_STEPS", 8)


@pytest.mark.parametrize("name", SHAPES)
def test_log_probabilities_are_those_of_transformers_own_forward(name, prompts_are):
    assert supports(model(name), 60)
    asked = groups()
    result = Decoder(model(name), range(8)).decode(asked)
    assert {"stop", "length"} == {row.finish for rows in result for row in rows}
    assert max(len(row.ids) for rows in result for row in rows) > WINDOW
    assert distance(model(name), asked, result) <= 1e-4


@pytest.mark.parametrize("name", SHAPES)
def test_greedy_tokens_are_those_of_generate(name, prompts_are):
    asked = groups(temperature=0.0)
    longest, steps = max(len(group.ids) for group in asked), max(group.max_tokens for group in asked)
    padded = [[0] * (longest - len(group.ids)) + group.ids for group in asked]
    mask = [[0] * (longest - len(group.ids)) + [1] * len(group.ids) for group in asked]
    with torch.no_grad():
        made = model(name).generate(
            torch.tensor(padded), attention_mask=torch.tensor(mask), do_sample=False, max_new_tokens=steps,
            eos_token_id=None, pad_token_id=0,
        )  # fmt: skip
    for group, rows, wanted in zip(asked, Decoder(model(name), []).decode(asked), made[:, longest:], strict=True):
        assert all(row.ids == wanted[: group.max_tokens].tolist() for row in rows)


@pytest.mark.parametrize("name", SHAPES)
def test_a_prompt_that_goes_on_from_a_known_text_is_decoded_the_same(name, prompts_are):
    known = Prefixes(2**24)
    first = SamplingGroup(groups()[1].ids, (1,), n=2, max_tokens=20, stop=lambda ids: False)
    [rows] = Decoder(model(name), [], known).decode([first])
    turn = [SamplingGroup([*first.ids, *row.ids, 5, 6], (2,), n=2, max_tokens=12) for row in rows]
    turn.append(SamplingGroup([8, 9, 10], (3,), n=1, max_tokens=12))
    assert known.find(turn[0].ids) is not None
    result = Decoder(model(name), [], known).decode(turn)
    assert distance(model(name), turn, result) <= 1e-4


@pytest.mark.parametrize(
    ("name", "trait"),
    [
        ("mistral with a window", {"window": ""}),
        ("qwen3", {"norm_heads": ""}),
        ("qwen2 with windows", {"window": ""}),
        ("gemma2", {"score_cap": False}),
        ("gemma2", {"logit_cap": False}),
        ("gemma2", {"after_mlp": ""}),
        ("gemma3", {"norm_heads": ""}),
        ("gemma3 with a cap", {"logit_cap": False}),
        ("olmo2", {"norm_heads": ""}),
        ("olmo2", {"after_attention": ""}),
    ],
)
def test_each_trait_of_a_family_shows_in_its_models(name, trait, monkeypatch):
    """What the other tests compare can tell a family with the trait from one without it."""
    kind = model(name).config.model_type
    wrong = replace(FAMILIES[kind], **trait)
    monkeypatch.setattr(decoding, "family_of", lambda model: wrong)
    if "window" in trait:
        monkeypatch.setattr(decoding, "windows", lambda config, family: [None] * 3)
    assert family_of(model(name)) == FAMILIES[kind]
    asked = groups()
    assert distance(model(name), asked, Decoder(model(name), []).decode(asked)) > 1e-2


@pytest.mark.parametrize(
    ("name", "field", "value"),
    [
        ("llama with scaled rope", "sliding_window", 8),  # another class's option, which caches read
        ("llama with scaled rope", "is_causal", False),
        ("llama with scaled rope", "rope_parameters", LLAMA3 | {"rope_type": "dynamic"}),
        ("llama with scaled rope", "rope_parameters", LLAMA3 | {"partial_rotary_factor": 0.5}),
        ("llama with scaled rope", "model_type", "llama_of_tomorrow"),
        ("mistral with a window", "layer_types", ["sliding_attention"] * 3),
        ("qwen2 with windows", "layer_types", ["full_attention", "chunked_attention", "full_attention"]),
        ("qwen2 with windows", "layer_types", ["full_attention"] * 2),
        ("qwen2 with windows", "sliding_window", None),
        ("smollm3 with windows", "use_sliding_window", False),
        ("gemma2", "use_bidirectional_attention", True),
        ("gemma3", "attn_logit_softcapping", 30.0),
        ("gemma3", "rope_parameters", {"full_attention": {"rope_type": "default"}}),
        ("phi3", "rope_parameters", {"rope_type": "llama3"}),
    ],
)
def test_an_option_that_a_family_does_not_know_leaves_the_model_to_generate(name, field, value):
    changed = copy.copy(model(name))
    changed.config = copy.deepcopy(model(name).config)
    assert supports(changed, 60)
    object.__setattr__(changed.config, field, value)
    assert not supports(changed)


def test_an_option_of_a_later_class_counts_only_where_it_is_on():
    class LaterConfig(transformers.LlamaConfig):
        def __init__(self, residual_multiplier=None, **options):
            super().__init__(**options)
            self.residual_multiplier = residual_multiplier

    changed = copy.copy(model("llama with scaled rope"))
    options = changed.config.to_dict()
    changed.config = LaterConfig(**options)
    assert supports(changed)
    changed.config = LaterConfig(**options, residual_multiplier=0.5)
    assert not supports(changed)
    changed.config = copy.deepcopy(model("llama with scaled rope").config)
    changed.config.model_max_length = 7  # a stray key of a checkpoint's config.json, which no class reads
    assert supports(changed)


def test_a_module_or_weight_that_a_family_does_not_know_leaves_the_model_to_generate():
    def norm(layer):
        layer.post_feedforward_layernorm = torch.nn.Identity()

    def sinks(layer):
        layer.self_attn.sinks = torch.nn.Parameter(torch.zeros(4))

    def scale(layer):
        layer.register_buffer("layer_scalar", torch.ones(1))

    def no_norm(layer):
        del layer.input_layernorm

    for change in (norm, sinks, scale, no_norm):
        changed = copy.deepcopy(model("llama with scaled rope"))
        change(changed.model.layers[2])
        assert not supports(changed)


def test_long_rope_is_decoded_only_while_texts_stay_short():
    long = model("phi3 with long rope")
    assert supports(long, 128)
    assert not supports(long, 129)
    asked = [SamplingGroup([5] * 100, (0,), max_tokens=29)]
    with pytest.raises(ValueError, match="rotary"):
        Decoder(long, []).decode(asked)
    engine = HF.of(long, tiny.tokenizer())
    for tokens, kind in ((28, Decoder), (29, GenerateDecoder)):
        batch = Batch(long, engine.tokenizer, [Request((5,) * 100, max_tokens=tokens)])
        assert type(batch._decoder) is kind


def test_half_precision_stays_near_the_model_in_fp32():
    for name in SHAPES:
        halved = copy.deepcopy(model(name)).to(torch.bfloat16)
        asked = groups()
        rows = [row for rows in Decoder(halved, []).decode(asked) for row in rows]
        prompts = [group.ids for group in asked for _ in range(group.n)]
        off = []
        for prompt, row in zip(prompts, rows, strict=True):
            with torch.no_grad():
                logits = halved(torch.tensor([[*prompt, *row.ids]])).logits[0, len(prompt) - 1 : -1].float()
            wanted = logits.log_softmax(-1).gather(1, torch.tensor(row.ids)[:, None]).squeeze(1)
            off += (wanted - torch.tensor(row.logprobs)).abs().tolist()
        assert sum(off) / len(off) <= 0.1, name
