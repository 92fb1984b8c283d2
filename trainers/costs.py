"""The cost of a training step, from the settings only: completions, tokens, requests to judges, searches."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from statistics import fmean
from typing import Any

from verikit.base import Verifier, walk
from verikit.judges.asking.judge import Judge
from verikit.types import Group

LOOKED_AT = 64
"""Problems whose prompts are measured."""
Range = tuple[int, int]
"""Minimum and maximum."""


@dataclass(frozen=True, slots=True)
class StepCost:
    """Bounds of one training step. Evaluation and a warm-up are extra."""

    completions: Range
    tokens: int
    """Maximum tokens of a completion, with all its legs or turns."""
    prompts: Range
    prompt_tokens: float
    """Approximate mean tokens of a prompt."""
    calls: Mapping[str, Range] = field(default_factory=dict)
    """Requests to other services by kind: `judge requests`, `searches`, `tool calls`, `programs`."""

    def told(self, steps: int) -> str:
        """Describe the cost in words, per step and in total."""
        most = self.completions[1] * self.tokens
        parts = [
            f"a step samples {_between(self.completions)} completions of at most {self.tokens:,} tokens, {_short(most)}"
            f" at most, from {_between(self.prompts)} prompts of about {self.prompt_tokens:,.0f} tokens"
        ]
        parts += [f"{_between(count)} {name}" for name, count in self.calls.items() if count[1]]
        parts.append(f"{steps:,} steps sample at most {_short(most * steps)} tokens")
        return "; ".join(parts)


def judge_requests(verifier: Verifier) -> int:
    """Return the judge requests per completion of a verifier, with one request per judge and order."""
    return sum(2 if getattr(part, "order", "") == "both" else 1 for part in walk(verifier) if isinstance(part, Judge))


def prompt_length(tokenizer: Any, problems: Sequence[Group]) -> float:
    """Return the mean tokens of the first problems' prompts, excluding the chat template."""
    return fmean(len(tokenizer.encode(text)) for text in islice(_texts(problems), LOOKED_AT)) if problems else 0.0


def _texts(problems: Sequence[Group]) -> Iterator[str]:
    for problem in problems:
        prompt = problem.prompt
        yield prompt if isinstance(prompt, str) else "\n".join(str(turn.get("content")) for turn in prompt)


def exactly(count: int) -> Range:
    """Bounds that are equal."""
    return count, count


def _between(count: Range) -> str:
    return f"{count[0]:,}" if count[0] == count[1] else f"{count[0]:,} to {count[1]:,}"


def _short(count: int) -> str:
    for unit, name in ((10**9, "billion"), (10**6, "million")):
        if count >= unit:
            return f"{count / unit:,.1f} {name}"
    return f"{count:,}"
