"""A policy whose replies a test writes: what a sampler does, with bytes for tokens."""

import random

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

    def generate_then(self, requests, then):
        done = []
        for index, request in enumerate(requests):
            self.requests.append(request)
            if self.failing and len(self.requests) % self.failing == 0:
                lost = Generation(error=EngineError("down"), prompt_ids=tuple(request.prompt))
                done.append((lost, then(index, lost)))
                continue
            texts = [self.reply(self.decode(request.prompt), number) for number in range(request.n)]
            outputs = tuple(
                Output(text, tuple(text.encode()), logprobs=(0.0,) * len(text.encode()), finish_reason="stop")
                for text in texts
            )
            generation = Generation(outputs, prompt_ids=tuple(request.prompt))
            done.append((generation, then(index, generation)))
        return done

    def map(self, function, items):
        return [function(item) for item in items]
