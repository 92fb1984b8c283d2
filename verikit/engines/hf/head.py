"""How a model computes its logits: its head's outputs on the body's hidden states, scaled, capped, or more than that.

Code that knows this can run the head over some positions at a time, and never has a long text's logits in memory.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn

SCALES: dict[str, Callable[[Any], float]] = {
    **dict.fromkeys(("cohere", "cohere2"), lambda config: config.logit_scale),
    **dict.fromkeys(
        ("granite", "granitemoe", "granitemoeshared", "granitemoehybrid"), lambda config: 1 / config.logits_scaling
    ),
}
"""The factor of the head's outputs, by `config.model_type`."""
CAPPED = frozenset({"gemma2", "gemma3_text"})
"""Values of `config.model_type` whose logits x become c tanh(x / c), c being `final_logit_softcapping` where set."""
WIDE = 100.0
"""Size of the logits at which a model's are compared with the head's. Small logits would not reveal a cap."""


def shape_of_logits(config: Any) -> tuple[float, float | None]:
    """Return a family's factor for its head's outputs, and their cap after scaling."""
    scale = SCALES[config.model_type](config) if config.model_type in SCALES else 1.0
    return scale, config.final_logit_softcapping if config.model_type in CAPPED else None


def body_of(model: Any) -> Any:
    """Return a transformers model's part from ids to hidden states."""
    return model.get_decoder() if model.get_output_embeddings() is not None else model.base_model


def head_of(model: Any) -> Any:
    """Return its part from hidden states to logits, over tokens or over classes."""
    return model.get_output_embeddings() or getattr(model, "score", None) or model.classifier


@torch.no_grad()
def is_head_of_body(model: Any, scale: float = 1.0, cap: float | None = None, whole: Any = None) -> bool:
    """Whether a model's logits are exactly head(body(ids)), scaled and capped. Determined by comparing them.

    They are compared twice: with the weights unchanged, and with hidden states so large that logits reach `WIDE`.

    Args:
        model: The transformers model.
        scale: Factor of the head's outputs.
        cap: Their cap after scaling. None: no cap.
        whole: Called for the logits if that isn't the model itself (peft's wrapper).
    """
    head = head_of(model)
    if not isinstance(head, nn.Linear):
        return False
    ids = torch.arange(4, device=head.weight.device)[None]
    hidden = body_of(model)(input_ids=ids, use_cache=False)[0]
    tolerance = 1e-4 if hidden.dtype in (torch.float32, torch.float64) else 2e-2
    for factor in (1.0, WIDE / max(1e-6, float(head(hidden).abs().max()))):
        hook = head.register_forward_pre_hook(lambda _, given, by=factor: (given[0] * by,))
        try:
            logits = (whole or model)(input_ids=ids, use_cache=False).logits
        finally:
            hook.remove()
        parts = head(hidden * factor) * scale
        parts = parts if cap is None else torch.tanh(parts / cap) * cap
        if logits.shape != parts.shape or not torch.allclose(logits, parts, rtol=tolerance, atol=tolerance):
            return False
    return True
