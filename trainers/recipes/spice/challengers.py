"""A Challenger that is not the policy: any engine, asked in texts or conversations, whose replies are never trained on.

The paper's Strong Challenger is a larger model behind a server; a frozen Challenger is the policy's start, loaded again
(`hf:PATH`) or served.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from verikit.engines.types import Engine, EnginePrompt, Generation, Request
from verikit.errors import VerikitError
from verikit.trainers.recipe import Result, Sampler
from verikit.types import Message

AT_ONCE = 16
"""Requests that a process sends together; the next ones are another process's, where there are several."""
SEEDS = 2**31
"""Servers take seeds below it."""


class OtherChallenger:
    """Asks another model than the policy."""

    engine: Engine
    chat: bool

    def __init__(self, engine: Engine, *, chat: bool) -> None:
        self.engine, self.chat = engine, chat

    def prompt(self, question: str, transcript: str) -> EnginePrompt:
        """Return a question as a conversation, or as the text of a transcript."""
        message: Message = {"role": "user", "content": question}
        return [message] if self.chat else transcript

    def generate_then(
        self, sampler: Sampler, requests: Sequence[Request], then: Callable[[int, Generation], Result]
    ) -> list[tuple[Generation, Result]]:
        """Generate, each request on one process, and hand every (index, result) to `then`.

        Raises:
            VerikitError: no request was answered.
        """
        sent = [
            replace(request, logprobs=None, seed=None if request.seed is None else request.seed % SEEDS)
            for request in requests
        ]

        def ask(piece: range) -> list[tuple[Generation, Result]]:
            done = self.engine.generate([sent[index] for index in piece])
            return [(generation, then(index, generation)) for index, generation in zip(piece, done, strict=True)]

        pieces = [range(first, min(first + AT_ONCE, len(sent))) for first in range(0, len(sent), AT_ONCE)]
        found = [pair for part in sampler.map(ask, pieces) for pair in part]
        if found and all(generation.error is not None for generation, _ in found):
            hint = "`verikit train --resume` goes on when it does"
            raise VerikitError(f"the Challenger {self.engine.name} can't answer: {found[0][0].error}", hint=hint)
        return found
