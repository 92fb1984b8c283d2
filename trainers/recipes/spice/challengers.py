"""A Challenger other than the policy: any engine, whose replies are never trained on.

It receives strings or conversations. The paper's Strong Challenger is a larger model behind a server. A frozen
Challenger is the policy's initial model, loaded again (`hf:PATH`) or served.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from verikit.engines.rollouts import Ask
from verikit.engines.types import Engine, EnginePrompt, Request
from verikit.errors import VerikitError
from verikit.trainers.recipes.spice.rounds import DocumentRound
from verikit.types import Message

SEEDS = 2**31
"""Servers accept seeds below it."""


class OtherChallenger:
    """Queries a model other than the policy."""

    engine: Engine
    chat: bool

    def __init__(self, engine: Engine, *, chat: bool) -> None:
        self.engine, self.chat = engine, chat

    def prompt(self, question: str, transcript: str) -> EnginePrompt:
        """Return a question as a conversation, or as the transcript."""
        message: Message = {"role": "user", "content": question}
        return [message] if self.chat else transcript

    def ask(self, request: Request) -> Ask:
        """Return the rollout step that sends a request for a reply."""
        seed = None if request.seed is None else request.seed % SEEDS
        return Ask(self.engine, replace(request, logprobs=None, seed=seed))

    def check(self, rounds: Sequence[DocumentRound]) -> None:
        """Raise if no document of a step got a reply.

        Raises:
            VerikitError: No document did.
        """
        lost = [error for found in rounds for error in found.lost]
        if lost and not any(found.attempts for found in rounds):
            hint = "then run `verikit train --resume`"
            raise VerikitError(f"the Challenger {self.engine.name} can't answer: {lost[0]}", hint=hint)
