"""What a step of a recipe costs, from its settings alone: completions, tokens, requests to judges, searches."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import singledispatch
from itertools import islice
from statistics import fmean
from typing import Any

from verikit.base import Verifier, walk
from verikit.judges.judge import Judge
from verikit.trainers.recipe import Recipe
from verikit.trainers.recipes.absolute_zero.recipe import AbsoluteZero
from verikit.trainers.recipes.elo_evolve.recipe import EloEvolve
from verikit.trainers.recipes.r1_searcher.recipe import R1Searcher
from verikit.trainers.recipes.single_turn import SingleTurn
from verikit.trainers.recipes.spice.recipe import Spice
from verikit.trainers.recipes.tools.recipe import ToolRecipe
from verikit.types import Group

LOOKED_AT = 64
"""Problems whose prompts are measured."""
Range = tuple[int, int]
"""The least and the most."""


@dataclass(frozen=True, slots=True)
class StepCost:
    """Bounds of one training step; evaluation and a warm-up come on top."""

    completions: Range
    tokens: int
    """Most tokens of a completion, all its legs or turns together."""
    prompts: Range
    prompt_tokens: float
    """Of a prompt, about."""
    calls: Mapping[str, Range] = field(default_factory=dict)
    """Requests to others, by what they are: `judge requests`, `searches`, `tool calls`, `programs`."""

    def told(self, steps: int) -> str:
        """In words, for a step and for all."""
        most = self.completions[1] * self.tokens
        parts = [
            f"a step samples {_between(self.completions)} completions of at most {self.tokens:,} tokens, {_short(most)}"
            f" at most, from {_between(self.prompts)} prompts of about {self.prompt_tokens:,.0f} tokens"
        ]
        parts += [f"{_between(count)} {name}" for name, count in self.calls.items() if count[1]]
        parts.append(f"{steps:,} steps sample at most {_short(most * steps)} tokens")
        return "; ".join(parts)


@singledispatch
def cost_of(recipe: Recipe) -> StepCost | None:
    """A step's cost; None for a recipe that is not known here."""
    return None


@cost_of.register
def _(recipe: SingleTurn) -> StepCost:
    options, judged = recipe.options, recipe.options.prompts * recipe.options.samples
    return StepCost(
        _exactly(judged),
        options.max_tokens,
        _exactly(options.prompts),
        _length(recipe.setting.tokenizer, recipe.problems),
        {"judge requests": _exactly(judged * _requests(recipe.reward))},
    )


@cost_of.register
def _(recipe: ToolRecipe) -> StepCost:
    options, rollouts = recipe.options, recipe.options.prompts * recipe.options.samples
    calls = options.max_calls if options.turns > 1 else 0  # those of the last turn are not run
    return StepCost(
        _exactly(rollouts),
        min(options.total_tokens, options.turns * options.max_tokens),
        _exactly(options.prompts),
        _length(recipe.setting.tokenizer, recipe.problems),
        {"judge requests": _exactly(rollouts * _requests(recipe.reward)), "tool calls": (0, rollouts * calls)},
    )


@cost_of.register
def _(recipe: EloEvolve) -> StepCost:
    options = recipe.options
    judged, each = options.prompts * options.samples, _requests(recipe.judge)
    probed = min(options.probes, options.prompts) * options.samples
    return StepCost(
        _exactly(judged),
        options.max_tokens,
        _exactly(options.prompts),
        _length(recipe.setting.tokenizer, recipe.problems),
        # Outputs that are too long lose unasked, and a second opponent is met while that may matter.
        {"judge requests": (0 if options.max_longer else judged * each, (judged + probed) * each)},
    )


@cost_of.register
def _(recipe: R1Searcher) -> StepCost:
    options = recipe.options
    rollouts, searches = options.prompts * options.samples, options.prompts * options.samples * options.retrievals
    return StepCost(
        _exactly(rollouts),
        min(options.total_tokens, (options.retrievals + 1) * options.leg_tokens),
        _exactly(options.prompts),
        _length(recipe.setting.tokenizer, recipe.stages[1] or recipe.stages[0]),
        {"searches": (0, searches)},
    )


@cost_of.register
def _(recipe: Spice) -> StepCost:
    options = recipe.options
    chosen = options.documents if options.formats == "model" and options.use_documents else 0
    first = options.documents * min(options.group, options.attempts)
    answers = options.documents * options.group * options.group
    asked = options.documents * options.group
    return StepCost(
        (chosen + first, chosen + options.documents * options.attempts + answers),
        options.max_tokens,
        (chosen + options.documents, chosen + options.documents + asked),
        float(options.document_tokens if options.use_documents else 0),
    )


@cost_of.register
def _(recipe: AbsoluteZero) -> StepCost:
    options = recipe.options
    proposals = len(options.tasks) * options.batch
    # The first step also fills the buffers.
    least = proposals * (1 if options.reuse else 1 + options.rollouts)
    most = proposals * (1 + options.estimates + options.rollouts)
    return StepCost(
        (least, most),
        options.max_tokens,
        (proposals if options.reuse else 2 * proposals, 3 * proposals),
        float(options.max_prompt_tokens),
        {"programs": (0, most)},
    )


def _requests(verifier: Verifier) -> int:
    """Requests that the judges of a verifier make for one completion, if each is asked once for each order."""
    return sum(2 if getattr(part, "order", "") == "both" else 1 for part in walk(verifier) if isinstance(part, Judge))


def _length(tokenizer: Any, problems: Sequence[Group]) -> float:
    """The mean tokens of the first problems' prompts, without what a chat template adds."""
    return fmean(len(tokenizer.encode(text)) for text in islice(_texts(problems), LOOKED_AT)) if problems else 0.0


def _texts(problems: Sequence[Group]) -> Iterator[str]:
    for problem in problems:
        prompt = problem.prompt
        yield prompt if isinstance(prompt, str) else "\n".join(str(turn.get("content")) for turn in prompt)


def _exactly(count: int) -> Range:
    return count, count


def _between(count: Range) -> str:
    return f"{count[0]:,}" if count[0] == count[1] else f"{count[0]:,} to {count[1]:,}"


def _short(count: int) -> str:
    for unit, name in ((10**9, "billion"), (10**6, "million")):
        if count >= unit:
            return f"{count / unit:,.1f} {name}"
    return f"{count:,}"
