"""A reviewer that follows a script, with tokens and log-probabilities as an engine gives them."""

from __future__ import annotations

import math
import re
import threading
from collections.abc import Callable, Sequence
from typing import Any

from verikit.engines import Engine, Generation, Output, Request, TopLogprob

JUDGED = "<output>\n**Judgement**: $\\boxed{Yes}$\n"
TOKENS = re.compile(r"\\boxed|\w+|\s|[^\w\s]|\\")


def output(text, yes=0.6, no=0.3, finish="stop", tokens=None, tops=None):
    """A reply; the tokens Yes and No, wherever they stand, have these probabilities (or those of `tops`, by index)."""
    tokens = TOKENS.findall(text) if tokens is None else tokens
    listed = []
    for index, token in enumerate(tokens):
        shares = (tops or {}).get(index) or ({"Yes": yes, "No": no} if token in ("Yes", "No") else {token: 1.0})
        ranked = sorted(shares.items(), key=lambda pair: -pair[1])
        listed.append(tuple(TopLogprob(name, math.log(share)) for name, share in ranked if share))
    logprobs = tuple(
        next((candidate.logprob for candidate in top if candidate.token == token), -20.0)
        for token, top in zip(tokens, listed, strict=True)
    )
    return Output(text, tuple(range(len(tokens))), tuple(tokens), logprobs, tuple(listed), finish)


class Reviewer(Engine):
    """Answers by a rule of (what the turn holds so far, which paragraph it reviews, the request).

    The rule gives a text, an output, or an error.
    """

    name = "reviewer"

    def __init__(self, rule: Callable[[str, int, Request], Any]) -> None:
        self.rule = rule
        self.calls: list[int] = []
        self.requests: list[Request] = []
        self._lock = threading.Lock()

    def generate(self, requests: Sequence[Request]) -> list[Generation]:
        with self._lock:
            self.calls.append(len(requests))
            self.requests += requests
        return [self.reply(request) for request in requests]

    def reply(self, request: Request) -> Generation:
        paragraph = sum(message["role"] == "user" for message in request.prompt)
        answer = self.rule(begun(request), paragraph, request)
        if isinstance(answer, Exception):
            return Generation(error=answer)
        answer = answer if isinstance(answer, Output) else output(answer)
        return Generation((answer,), usage={"completion_tokens": float(len(answer.ids)), "calls": 1.0})


def begun(request: Request) -> str:
    """The reviewer's turn so far."""
    return request.prompt[-1]["content"]


def careful(verdict: Callable[[int, Request], float], code: str = "print(1)") -> Callable[..., Any]:
    """A reviewer that analyses, runs code and gives each paragraph the probability of Yes that `verdict` says."""

    def rule(turn: str, paragraph: int, request: Request) -> Any:
        if turn.endswith("step by step: "):
            return f"Paragraph {paragraph} it is.\n"
        if turn.endswith("```python\n"):
            return code
        yes = verdict(paragraph, request)
        word = "Yes" if yes >= 0.5 else "No"
        return output(f"So.\n</verify>\n<output>\n**Judgement**: $\\boxed{{{word}}}$\n", yes, 1 - yes)

    return rule
