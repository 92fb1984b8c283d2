"""Requests of the synthesis to a policy: solutions from the start, and completions of partial ones."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from verikit.engines.types import EnginePrompt, Request
from verikit.types import Message


@dataclass(frozen=True, slots=True)
class Asking:
    """The format of a request to the policy or the completer."""

    chat: bool = True
    """Send messages formatted by the model's chat template. Otherwise the problem is sent as text to continue."""
    system: str = "Please reason step by step, and put your final answer within \\boxed{}."
    lead: str = "Step 1:"
    """The start of every solution, to make the model write in steps."""
    joint: str = "\n\n"
    """The separator between two steps."""
    max_tokens: int = 2048
    temperature: float = 0.7
    top_p: float = 1.0
    seed: int = 0

    def request(self, problem: str, begun: str, n: int, *key: str | int) -> Request:
        """A request for `n` continuations of a partial solution. `key` identifies the request for its seed."""
        prompt: EnginePrompt = problem + begun
        if self.chat:
            messages = [
                Message(role="system", content=self.system),
                Message(role="user", content=problem),
                Message(role="assistant", content=begun),
            ]
            prompt = messages if self.system else messages[1:]
        return Request(
            prompt,
            n=n,
            max_tokens=self.max_tokens,
            temperature=self.temperature,
            top_p=self.top_p,
            seed=draw_seed(self.seed, *key),
        )

    def begun(self, steps: Sequence[str]) -> str:
        """A solution that stops after some steps, up to the start of the next one."""
        return self.joint.join(steps) + self.joint


def draw_seed(*key: str | int) -> int:
    """A seed that depends only on the key, so a resumed run samples the same as an uninterrupted one."""
    digest = hashlib.blake2b(repr(key).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") >> 1
