"""A policy that a function dictates, behind the trainer's `Sampler`: what a recipe's rollouts are tested with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from verikit.engines.prompts import prompt_ids
from verikit.engines.rollouts import run_rollouts
from verikit.engines.types import Generation, Output, Request
from verikit.trainers.recipe import Sampler
from verikit.trainers.rollout import hash_text


class Writer(Sampler):
    """Continues each prompt's text by `write(text)`; what it writes may be an error."""

    name = "writer"

    def __init__(self, tokenizer: Any, write: Callable[[str], str | Exception]) -> None:
        self.tokenizer, self.write, self.local = tokenizer, write, self
        self.requests: list[Request] = []
        self.step = 0

    def encode(self, prompt):
        return prompt_ids(self.tokenizer, Request(prompt))

    def decode(self, ids: Sequence[int]) -> str:
        return self.tokenizer.decode(list(ids), skip_special_tokens=True)

    def seed(self, *key: int | str) -> int:
        return hash_text(repr((self.step, *key)))

    def generate(self, requests: Sequence[Request]) -> list[Generation]:
        self.requests += requests
        return [self._generation(request) for request in requests]

    def stream(self, requests):
        yield from enumerate(self.generate(requests))

    def roll_out(self, rollouts):
        return run_rollouts(self, rollouts)

    def _generation(self, request: Request) -> Generation:
        ids = tuple(self.encode(request.prompt))
        if request.prompt_logprobs is not None:
            return Generation((), ids, (None, *[-1.5] * (len(ids) - 1)))
        outputs = []
        for _ in range(request.n):
            text = self.write(self.decode(ids))
            if isinstance(text, Exception):
                return Generation(error=text)
            outputs.append(self._output(text, request))
        return Generation(tuple(outputs), ids)

    def _output(self, text: str, request: Request) -> Output:
        stops = [text.find(stop) + len(stop) for stop in request.stop if stop in text]
        own = self.tokenizer.encode(text[: min(stops)] if stops else text, add_special_tokens=False)
        own = own if stops else [*own, self.tokenizer.eos_token_id]
        reason = "stop" if len(own) <= request.max_tokens else "length"
        own = own[: request.max_tokens]
        return Output(self.decode(own), tuple(own), logprobs=(-0.5,) * len(own), finish_reason=reason)
