"""Sampling by transformers' own `generate`, for models of any architecture. `TokenSampler` samples the tokens."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any

import torch
from torch import Tensor
from transformers import GenerationConfig, LogitsProcessor, LogitsProcessorList, StoppingCriteria, StoppingCriteriaList

from verikit.engines.hf.sampler import DecodedRow, SamplingGroup, TokenSampler


class GenerateDecoder:
    """Like `Decoder`, without the shared prompts and with finished rows kept until the last ends."""

    def __init__(self, model: Any, eos_ids: Collection[int]) -> None:
        self._model, self._eos_ids = model, eos_ids

    @torch.no_grad()
    def decode(
        self, groups: Sequence[SamplingGroup], *, top_k: int = 0, tempered: bool = False
    ) -> list[list[DecodedRow]]:
        """Sample every group's completions in one batch; see `Decoder.decode`."""
        device = self._model.get_input_embeddings().weight.device
        sampler = TokenSampler(groups, self._eos_ids, device, top_k=top_k, tempered=tempered)
        longest = max(len(group.ids) for group in groups)
        prompts = [row.group.ids for row in sampler.rows]
        ids = torch.tensor([[0] * (longest - len(prompt)) + list(prompt) for prompt in prompts], device=device)
        mask = torch.tensor([[0] * (longest - len(prompt)) + [1] * len(prompt) for prompt in prompts], device=device)
        draw = _Draw(sampler)
        options = GenerationConfig(
            max_new_tokens=max(group.max_tokens for group in groups), do_sample=False, pad_token_id=0, use_cache=True
        )
        # The model's own defaults (penalties, forced tokens, end tokens) would be merged into the options.
        own, self._model.generation_config = self._model.generation_config, GenerationConfig()
        # A model that is being trained with checkpointed activations drops its cache, and would sample another policy.
        training = self._model.training
        self._model.eval()
        try:
            self._model.generate(
                ids,
                attention_mask=mask,
                generation_config=options,
                logits_processor=LogitsProcessorList([draw]),
                stopping_criteria=StoppingCriteriaList([_Finished(sampler)]),
            )
        finally:
            self._model.generation_config = own
            self._model.train(training)
        rows = iter(sampler.rows)
        return [[next(rows) for _ in range(group.n)] for group in groups]

    def stream(
        self, groups: Sequence[SamplingGroup], *, top_k: int = 0, tempered: bool = False
    ) -> Iterator[tuple[int, list[DecodedRow]]]:
        """Yield (index, rows) of every group, all at the end."""
        yield from enumerate(self.decode(groups, top_k=top_k, tempered=tempered))


class _Draw(LogitsProcessor):
    """Samples the tokens and masks all others."""

    def __init__(self, sampler: TokenSampler) -> None:
        self._sampler = sampler

    def __call__(self, input_ids: Tensor, scores: Tensor) -> Tensor:
        tokens = self._sampler.step(scores)
        return torch.full_like(scores, float("-inf")).scatter(1, tokens[:, None], 0.0)


class _Finished(StoppingCriteria):
    """Ends the rows that the sampler has ended."""

    def __init__(self, sampler: TokenSampler) -> None:
        self._sampler = sampler

    def __call__(self, input_ids: Tensor, scores: Any, **options: Any) -> Any:
        return torch.tensor([bool(row.finish) for row in self._sampler.rows], device=input_ids.device)
