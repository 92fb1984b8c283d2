"""The model families that the decoder runs, each described by the differences in its layers.

A family is recognised by its modules' names and by its config. A model with a module, a weight or an option that isn't
listed here is left to transformers, however similar it looks.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

ROPES = frozenset({"default", "linear", "llama3", "yarn"})
"""Kinds of rotary embedding that don't depend on the length of the text."""
LONG_ROPE = "longrope"
"""Kind of rotary embedding whose frequencies change if a text is longer than `original_max_position_embeddings`."""
KNOWN = frozenset(
    "attention_bias attention_dropout bos_token_id eos_token_id head_dim hidden_act hidden_size initializer_range "
    "intermediate_size max_position_embeddings mlp_bias num_attention_heads num_hidden_layers num_key_value_heads "
    "pad_token_id pretraining_tp rms_norm_eps rope_parameters tie_word_embeddings use_cache vocab_size".split()
)
"""Options of any family: read by the decoder, by the modules it calls, or of no effect on logits."""
QKV = frozenset({"q_proj", "k_proj", "v_proj", "o_proj"})
NORMED_QKV = QKV | {"q_norm", "k_norm"}
FUSED_QKV = frozenset({"qkv_proj", "o_proj"})
TYPED = frozenset({"layer_types", "sliding_window", "use_sliding_window", "max_window_layers"})


@dataclass(frozen=True, slots=True)
class ModelFamily:
    """The structure of the decoder layers of one `config.model_type`."""

    attention: frozenset[str] = QKV
    """The modules of `self_attn`."""
    before_attention: str = "input_layernorm"
    """Name of the norm before attention. Empty: none. The same applies to the next three."""
    after_attention: str = ""
    before_mlp: str = "post_attention_layernorm"
    after_mlp: str = ""
    idle: frozenset[str] = frozenset()
    """Modules of a layer that do nothing outside of training."""
    norm_heads: Literal["", "each", "all"] = ""
    """Whether `q_norm` and `k_norm` work on each head's width or on all heads' numbers together."""
    centred: bool = False
    """Whether norms multiply by 1 + weight, in fp32."""
    window: Literal["", "all", "typed"] = ""
    """Which layers attend only to the last `sliding_window` tokens: none, all, or those that `layer_types` names."""
    ropes: frozenset[str] = ROPES
    typed_ropes: bool = False
    """Whether layers of each type have their own rotary embedding."""
    partial: bool = False
    """Whether only a part of each head may be rotated."""
    score_cap: bool = False
    """Whether attention scores are capped by `attn_logit_softcapping`."""
    logit_cap: bool = False
    """Whether logits are capped by `final_logit_softcapping`."""
    options: frozenset[str] = frozenset()
    """Supported config fields, in addition to `KNOWN`."""

    @property
    def layer(self) -> frozenset[str]:
        """The modules of a layer."""
        norms = {self.before_attention, self.after_attention, self.before_mlp, self.after_mlp} - {""}
        return frozenset({"self_attn", "mlp"} | norms | self.idle)


GEMMA = {
    "after_attention": "post_attention_layernorm",
    "before_mlp": "pre_feedforward_layernorm",
    "after_mlp": "post_feedforward_layernorm",
    "centred": True,
    "window": "typed",
    "logit_cap": True,
}
GEMMA_OPTIONS = frozenset(
    {"layer_types", "sliding_window", "hidden_activation", "query_pre_attn_scalar", "final_logit_softcapping"}
)
GEMMA3_OPTIONS = GEMMA_OPTIONS | {"_sliding_window_pattern"}  # `layer_types` is derived from it
MOE_OPTIONS = frozenset(
    "decoder_sparse_step mlp_only_layers moe_intermediate_size norm_topk_prob num_experts num_local_experts "
    "num_experts_per_tok output_router_logits router_aux_loss_coef sliding_window use_sliding_window".split()
)
FAMILIES: dict[str, ModelFamily] = {
    "llama": ModelFamily(),
    "mistral": ModelFamily(window="all", options=frozenset({"sliding_window"})),
    "qwen2": ModelFamily(window="typed", options=TYPED),
    "qwen3": ModelFamily(NORMED_QKV, norm_heads="each", window="typed", options=TYPED),
    "qwen3_moe": ModelFamily(NORMED_QKV, norm_heads="each", window="all", options=MOE_OPTIONS),
    "gemma2": ModelFamily(**GEMMA, score_cap=True, options=GEMMA_OPTIONS | {"attn_logit_softcapping"}),  # type: ignore[arg-type]
    "gemma3_text": ModelFamily(NORMED_QKV, **GEMMA, norm_heads="each", typed_ropes=True, options=GEMMA3_OPTIONS),  # type: ignore[arg-type]
    "phi3": ModelFamily(
        FUSED_QKV,
        idle=frozenset({"resid_attn_dropout", "resid_mlp_dropout"}),
        window="all",
        ropes=frozenset({"default", LONG_ROPE}),
        partial=True,
        options=frozenset({"embd_pdrop", "resid_pdrop", "original_max_position_embeddings", "sliding_window"}),
    ),
    "olmo2": ModelFamily(
        NORMED_QKV,
        before_attention="",
        after_attention="post_attention_layernorm",
        before_mlp="",
        after_mlp="post_feedforward_layernorm",
        norm_heads="all",
    ),
    "smollm3": ModelFamily(window="typed", options=TYPED | {"no_rope_layers", "no_rope_layer_interval"}),
}
"""By `config.model_type`."""


def family_of(model: Any) -> ModelFamily | None:
    """Return the family of a loaded model, or None if it deviates from the family in any way."""
    config = model.config
    family = FAMILIES.get(config.model_type)
    if family is None or not _has_modules(model, family) or not _has_options(config, family):
        return None
    if windows(config, family) is None or not _has_ropes(config, family):
        return None
    return family


def inner_model(model: Any) -> Any:
    """Return the model inside peft's wrapper if its adapters are in the model's linear modules, otherwise the input."""
    adapters = getattr(model, "peft_config", {}).values() if hasattr(model, "get_base_model") else ()
    plain = all(
        options.peft_type == "LORA" and not getattr(options, "alora_invocation_tokens", None) for options in adapters
    )
    return model.get_base_model() if adapters and plain else model


def windows(config: Any, family: ModelFamily) -> list[int | None] | None:
    """Return how many tokens each layer attends to, None for all. None as a whole if it can't be determined."""
    layers, window = config.num_hidden_layers, getattr(config, "sliding_window", None)
    types = getattr(config, "layer_types", None) or ["full_attention"] * layers
    if family.window == "typed":
        by_type: dict[str, int | None] = {"full_attention": None}
        if window and getattr(config, "use_sliding_window", True):
            by_type["sliding_attention"] = window
        known = len(types) == layers and by_type.keys() >= set(types)
        return list(map(by_type.__getitem__, types)) if known else None
    if set(types) != {"full_attention"} or (window and not family.window):
        return None
    return [window] * layers


def rope_kinds(config: Any, family: ModelFamily) -> list[str | None]:
    """Return each layer's rotary embedding: its type, or "" if all layers have the same. None for no rotation."""
    if family.typed_ropes:
        return list(config.layer_types)
    rotated = getattr(config, "no_rope_layers", None)  # despite its name, 1 for a layer that rotates
    return ["" if rotated is None or rotated[layer] else None for layer in range(config.num_hidden_layers)]


def longest_text(config: Any) -> int | None:
    """Return the length in tokens up to which rotations are known in advance. None: any length."""
    rope = config.rope_parameters
    return rope["original_max_position_embeddings"] if rope.get("rope_type") == LONG_ROPE else None


def _has_modules(model: Any, family: ModelFamily) -> bool:
    if set(model._modules) != {"model", "lm_head"}:
        return False
    body = model.model
    if set(body._modules) != {"embed_tokens", "layers", "norm", "rotary_emb"}:
        return False
    return len(body.layers) == model.config.num_hidden_layers and all(
        set(layer._modules) == family.layer
        and set(layer.self_attn._modules) == family.attention
        and not any(module._parameters or module._buffers for module in (body, layer, layer.self_attn))
        for layer in body.layers
    )


def _has_options(config: Any, family: ModelFamily) -> bool:
    """Whether every config option of the model's class that is not generic is known, or off."""
    kind: Any = type(config)
    unknown = _options(kind) - KNOWN - family.options
    return not any(getattr(config, name, None) for name in unknown) and getattr(config, "is_causal", True) is not False


@cache
def _options(kind: Any) -> frozenset[str]:
    from transformers import PretrainedConfig

    return frozenset(kind().to_dict().keys() - PretrainedConfig().to_dict().keys())


def _has_ropes(config: Any, family: ModelFamily) -> bool:
    ropes = config.rope_parameters or {}
    found = [ropes.get(kind) for kind in set(config.layer_types)] if family.typed_ropes else [ropes]
    return all(
        rope
        and rope.get("rope_type") in family.ropes
        and (family.partial or (rope.get("partial_rotary_factor") or 1.0) == 1.0)
        for rope in found
    )
