"""The trained model, as a module from token ids to the log-probabilities of given tokens.

Logits are never stored. The body's hidden states at the required positions go through the head in chunks, forward and
backward. Sequences are padded on the right (no real token sees the padding), packed, or laid out with each prompt once.
There is no padding token and no padding mask. If a family scales or caps its logits (`SCALES`, `CAPPED`), so do the
chunks. A comparison detects models whose logits need more than that. Those run in full.
"""

from __future__ import annotations

from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.nn import functional

from verikit.engines.hf.device import logits_at_once
from verikit.engines.hf.head import body_of, head_of, is_head_of_body, shape_of_logits
from verikit.errors import ConfigError
from verikit.platform.folders import nearest_path
from verikit.platform.network import why_no_model
from verikit.trainers.config import Config
from verikit.trainers.experts import round_experts
from verikit.trainers.merge import plain_of
from verikit.trainers.recipe import Recipe
from verikit.trainers.sharing import can_share, gather_rows, shared_options


class LinearLogProb(torch.autograd.Function):
    """log softmax(hidden @ weight.T + bias) at `targets`, and optionally the entropy, in chunks over the tokens.

    The backward pass recomputes each chunk's logits. d logp / d logits = onehot - p, and d H / d logits = -p (log p +
    H). Capped logits y = c tanh(x / c) / t have dy / dx = (1 - (y t / c)^2) / t. The weight's gradient is an ordinary
    one, so tied embeddings and FSDP work.
    """

    @staticmethod
    def forward(
        ctx: Any,
        hidden: Tensor,
        weight: Tensor,
        bias: Tensor | None,
        targets: Tensor,
        entropy: bool,
        cap: float | None = None,
        temperature: Tensor | None = None,
    ) -> tuple[Tensor, Tensor | None]:
        """Take hidden (n, d), weight (v, d), bias (v) and targets (n); return logp (n) and entropy (n).

        `cap` bounds the logits. After that, `temperature` (n) divides them.
        """
        exact = torch.float64 if hidden.dtype == torch.float64 else torch.float32
        logp, norm = (torch.empty(len(hidden), dtype=exact, device=hidden.device) for _ in range(2))
        spread = torch.empty_like(logp) if entropy else None
        for part in _chunks(hidden, weight):
            logits = _capped(functional.linear(hidden[part], weight, bias).to(exact), cap, temperature, part)
            norm[part] = logits.logsumexp(-1)
            logp[part] = logits.gather(1, targets[part, None]).squeeze(1) - norm[part]
            if spread is not None:
                logits -= norm[part, None]
                spread[part] = -(logits.exp() * logits).sum(-1)
        ctx.save_for_backward(hidden, weight, bias, targets, norm, spread, temperature)
        ctx.cap = cap
        return logp, spread

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor | None) -> tuple[Tensor | None, ...]:
        """Return the gradients of hidden, weight and bias."""
        hidden, weight, bias, targets, norm, spread, temperature = ctx.saved_tensors
        of_logp, of_entropy = gradients
        to_hidden = torch.empty_like(hidden) if ctx.needs_input_grad[0] else None
        to_weight = torch.zeros_like(weight, dtype=norm.dtype) if ctx.needs_input_grad[1] else None
        to_bias = torch.zeros_like(bias, dtype=norm.dtype) if bias is not None and ctx.needs_input_grad[2] else None
        for part in _chunks(hidden, weight):
            change = _capped(functional.linear(hidden[part], weight, bias).to(norm.dtype), ctx.cap, temperature, part)
            slope = _slope(change, ctx.cap, temperature, part)
            change = change.sub_(norm[part, None])
            if of_entropy is None or spread is None:
                change = change.exp_().mul_(-_column(of_logp, part))
            else:
                more = (change + spread[part, None]) * _column(of_entropy, part)
                change = change.exp_().mul_(more.add_(_column(of_logp, part)).neg_())
            change.scatter_add_(1, targets[part, None], _column(of_logp, part))
            if slope is not None:
                change *= slope
            change = change.to(hidden.dtype)
            if to_hidden is not None:
                torch.mm(change, weight, out=to_hidden[part])
            if to_weight is not None:
                _add_product(to_weight, change.T, hidden[part])
            if to_bias is not None:
                to_bias += change.sum(0)
        return (
            to_hidden,
            None if to_weight is None else to_weight.to(weight.dtype),
            None if to_bias is None else to_bias.to(bias.dtype),
            *[None] * 4,
        )


def _chunks(hidden: Tensor, weight: Tensor) -> list[slice]:
    size = max(1, logits_at_once(weight.device) // len(weight))
    return [slice(start, start + size) for start in range(0, len(hidden), size)]


def _capped(logits: Tensor, cap: float | None, temperature: Tensor | None, part: slice) -> Tensor:
    """Cap the logits of some tokens, then divide them by their temperatures; in place."""
    if cap is not None:
        logits = logits.div_(cap).tanh_().mul_(cap)
    return logits if temperature is None else logits.div_(temperature[part, None])


def _slope(capped: Tensor, cap: float | None, temperature: Tensor | None, part: slice) -> Tensor | None:
    """Return the derivative of the output of `_capped` with respect to its input; None for 1."""
    if cap is None:
        return None if temperature is None else 1 / temperature[part, None].to(capped.dtype)
    if temperature is None:
        return 1 - (capped / cap).square_()
    heat = temperature[part, None]
    return (1 - (capped * heat / cap).square_()).div_(heat)


def _column(gradient: Tensor | None, part: slice) -> Tensor:
    assert gradient is not None
    return gradient[part, None]


def _add_product(total: Tensor, left: Tensor, right: Tensor) -> None:
    if total.dtype == right.dtype:
        total.addmm_(left, right)
    else:
        total += left @ right


class PolicyModel(nn.Module):
    """A transformers model with a head over tokens (or over classes); the module that DDP and FSDP wrap.

    With `bf16`, its products are in bf16 and its weights keep their format.
    """

    model: Any
    bf16: bool
    chunked: bool | None
    shares_prompts: bool
    scale: float
    cap: float | None

    def __init__(self, model: Any, bf16: bool = False) -> None:
        super().__init__()
        self.model, self.bf16 = model, bf16
        if bf16:
            round_experts(model)
        self.scale, self.cap = shape_of_logits(plain_of(model).config)
        self.chunked = None
        """Whether the logits are only head(body(ids)), scaled and capped. None: unknown until weights are loaded."""
        self.shares_prompts = False
        """Whether rows may be laid out with each prompt once (see `sharing`)."""
        if not any(parameter.is_meta for parameter in model.parameters()):
            self.find_head()

    def find_head(self) -> None:
        """Determine by comparison how the logits are computed, and whether prompts can be shared.

        Prompts are shared only if the body is called directly, because a whole model may treat its options differently.
        """
        inner = plain_of(self.model)
        once = self.scale == 1 or getattr(head_of(inner), "bias", None) is None  # the bias would be scaled too
        self.chunked = once and is_head_of_body(inner, self.scale, self.cap, self.model)
        self.shares_prompts = self.chunked and can_share(inner, body_of(inner))

    def forward(
        self,
        ids: Tensor,
        where: Tensor,
        targets: Tensor,
        positions: Tensor | None = None,
        temperature: Tensor | None = None,
        entropy: bool = False,
        layout: tuple[Tensor, Tensor] | None = None,
    ) -> tuple[Tensor, Tensor | None]:
        """Return log-probabilities of `targets`, and optionally the entropies there.

        Args:
            ids: (rows, length), padded on the right with any id.
            where: (n,) positions in the flattened `ids` whose hidden states predict.
            targets: (n,) token ids (or classes).
            positions: (rows, length), for packed sequences or shared prompts.
            temperature: (n,) divisors of the logits; None is 1.
            entropy: Also compute it.
            layout: `MicroBatch.layout`, for rows with shared prompts; `ids` is then (1, tokens), each prefix once.
        """
        options = {"input_ids": ids, "position_ids": positions, "use_cache": False}
        if layout is not None:
            options |= shared_options(*layout)
        # Weights that FSDP2 gathered in bf16 need no autocast. Residuals are then in bf16, as in the sampler.
        enabled = self.bf16 and head_of(plain_of(self.model)).weight.dtype != torch.bfloat16
        # Each weight is used once, so a cache would only store the rounded copies of all of them until the end.
        with torch.autocast(ids.device.type, torch.bfloat16, enabled=enabled, cache_enabled=False):
            return self._logprobs(options, where, targets, temperature, entropy)

    def _logprobs(
        self, options: dict[str, Any], where: Tensor, targets: Tensor, temperature: Tensor | None, entropy: bool
    ) -> tuple[Tensor, Tensor | None]:
        inner = plain_of(self.model)
        head = head_of(inner)
        if not self.chunked:
            logits = self.model(**options).logits.flatten(0, 1).index_select(0, where).float()
            logprobs = (logits if temperature is None else logits / temperature[:, None]).log_softmax(-1)
            spread = -(logprobs.exp() * logprobs).sum(-1) if entropy else None
            return logprobs.gather(1, targets[:, None]).squeeze(1), spread
        # All rows of a group may predict their first token from the same state. Its gradients are added up in fp32.
        hidden = gather_rows(body_of(inner)(**options)[0].flatten(0, 1), where)
        if self.scale != 1:
            hidden = hidden * self.scale
        weight, bias = head.weight, head.bias
        if self.bf16:
            hidden, weight = hidden.bfloat16(), weight.bfloat16()
            bias = None if bias is None else bias.bfloat16()
        apply: Any = LinearLogProb.apply
        return cast(tuple[Tensor, Tensor | None], apply(hidden, weight, bias, targets, entropy, self.cap, temperature))


def load_model(config: Config, recipe: type[Recipe], options: Any) -> tuple[Any, Any]:
    """Return the model and tokenizer that a config names, or that its recipe makes.

    Raises:
        ConfigError: There is no model, it can't be loaded, or it has no end token.
    """
    made = None if config.model.path else recipe.make_model(options, config.seed)
    model, tokenizer = made or _load(config, recipe.model_class)
    with_end(tokenizer, config.model.path or config.recipe)
    return without_dropout(model), tokenizer


def without_dropout(model: Any) -> Any:
    """Return the model in evaluation mode, with dropout off in both modes."""
    for module in model.modules():
        if isinstance(module, nn.Dropout):
            module.p = 0.0
    return model.eval()


def load_tokenizer(config: Config) -> Any:
    """Return the tokenizer of the model that a config names.

    Raises:
        ConfigError: It can't be loaded, or has no end token.
    """
    import transformers

    path = config.model.path
    if reason := why_no_model(path):
        raise ConfigError(f"model.path {path!r}: {reason}", hint=nearest_path(path, ""))
    try:
        tokenizer = transformers.AutoTokenizer.from_pretrained(path, trust_remote_code=False)
    except (OSError, ValueError) as error:
        raise ConfigError(f"model.path {path!r}: {' '.join(str(error).split())[:300]}") from None
    return with_end(tokenizer, path)


def with_end(tokenizer: Any, name: str) -> Any:
    """Return a tokenizer that has an end token.

    Raises:
        ConfigError: It has no end token.
    """
    if tokenizer.eos_token_id is None:
        raise ConfigError(f"{name}: its tokenizer has no eos token, so no completion would end")
    return tokenizer


def refuse_quantised(settings: Any, path: str) -> None:
    """Reject a model with quantised weights (fewer bits and separate scales), which can't be trained here.

    Raises:
        ConfigError: The model's config marks it as quantised.
    """
    if getattr(settings, "quantization_config", None) is not None:
        hint = "take the model in bf16, or save what transformers makes of it with `dequantize`"
        raise ConfigError(f"model.path {path!r}: its weights are quantised, and can't be trained", hint=hint)


def _load(config: Config, model_class: str) -> tuple[Any, Any]:
    import transformers

    path = config.model.path
    if not path:
        raise ConfigError(f"recipe {config.recipe} does not build a model", hint="set model.path")
    options = {"attn_implementation": config.model.attention} if config.model.attention else {}
    tokenizer = load_tokenizer(config)
    try:
        settings = transformers.AutoConfig.from_pretrained(path, trust_remote_code=False)
        refuse_quantised(settings, path)
        loader = getattr(transformers, model_class)
        model = loader.from_pretrained(
            path, dtype=config.model.dtype, attention_dropout=0.0, trust_remote_code=False, **options
        )
    except (OSError, ValueError) as error:
        raise ConfigError(f"model.path {path!r}: {' '.join(str(error).split())[:300]}") from None
    return model, tokenizer
