"""A policy whose replies a test writes: what a sampler does, with bytes for tokens."""

import random

from verikit.engines.rollouts import run_rollouts
from verikit.engines.types import Generation, Output
from verikit.errors import EngineError
from verikit.trainers.recipe import Sampler


class Scripted(Sampler):
    """`reply(prompt, number)` gives the text of a request's output; every request is kept in `requests`.

    Every `failing`-th request fails, as an engine's may.
    """

    def __init__(self, reply, failing=0):
        self.reply, self.requests, self.name, self.failing = reply, [], "scripted", failing

    @property
    def local(self):
        return self

    def encode(self, prompt):
        text = prompt if isinstance(prompt, str) else "".join(f"{m['role']}: {m['content']}\n" for m in prompt)
        return list(text.encode())

    def decode(self, ids):
        return bytes(ids).decode()

    def seed(self, *key):
        return random.Random(repr(key)).getrandbits(31)

    def roll_out(self, rollouts):
        return run_rollouts(self, rollouts)

    def stream(self, requests):
        yield from enumerate(map(self.generation, requests))

    def generation(self, request):
        self.requests.append(request)
        if self.failing and len(self.requests) % self.failing == 0:
            return Generation(error=EngineError("down"), prompt_ids=tuple(request.prompt))
        texts = [self.reply(self.decode(request.prompt), number) for number in range(request.n)]
        outputs = tuple(
            Output(text, tuple(text.encode()), logprobs=(0.0,) * len(text.encode()), finish_reason="stop")
            for text in texts
        )
        return Generation(outputs, prompt_ids=tuple(request.prompt))
