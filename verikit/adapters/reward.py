"""What the adapters have in common: a verifier with a name and a policy for what has no score, and texts as samples."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from types import CodeType
from typing import Any

from verikit.adapters.gather import Gather, gathered
from verikit.base import Verifier, score_all, unique_names
from verikit.echo import echo_guard
from verikit.errors import UsageError
from verikit.messages import as_mapping, content_text
from verikit.spec import load
from verikit.types import Prompt, Sample, Score

GOLD_KEYS = ("answer", "ground_truth", "solution", "gold", "target", "label")
"""Columns a gold answer is looked for in, in this order."""
_log = logging.getLogger("verikit")


class Reward:
    """A verifier as another stack's callable: it has a `__name__`, can be pickled, and works in any thread.

    With `echoes` off, as in training, an answer copied from the question gets 0.0.
    """

    def __init__(
        self, verifier: str | Verifier, name: str | None, unscored: float | None, *, echoes: bool = True
    ) -> None:
        loaded = load(verifier)
        self.verifier: Verifier = loaded if echoes else echo_guard(loaded)
        self.unscored = unscored
        self.__name__: str = name or loaded.name
        self.parts: list[str] = unique_names(part.name for part in getattr(loaded, "parts", ()))
        """The names of the parts of a weighted sum, a mean or the like."""
        self._told = False

    def score(self, samples: Sequence[Sample]) -> list[Score]:
        """Score a batch."""
        return self._noted(score_all(self.verifier, samples))

    async def score_sample(self, sample: Sample) -> Score:
        """Score one sample, gathered into a batch with what other callers wait for."""
        return self._noted([await self.gather.score(sample)])[0]

    @property
    def gather(self) -> Gather:
        """Makes batches of single calls."""
        return gathered(self.verifier, self.fingerprint)

    @cached_property
    def fingerprint(self) -> str:
        """The verifier's."""
        return self.verifier.fingerprint

    def value(self, score: Score) -> float | None:
        """The reward: the score's value, or what stands for none."""
        return self.unscored if score.value is None else score.value

    def part_values(self, score: Score) -> dict[str, float]:
        """The value of every part under `part/NAME`, the same names for every sample.

        A part without a value counts as `unscored`, one that was not asked as 0.0.
        """
        found = {name: score.parts.get(name) for name in self.parts}
        return {f"part/{name}": float((part and self.value(part)) or 0.0) for name, part in found.items()}

    def _noted(self, scores: list[Score]) -> list[Score]:
        """Log the first sample that has no score: a run where that happens should be looked at."""
        if not self._told and (lost := next((score for score in scores if not score.scored), None)):
            self._told = True
            _log.warning("%s could not score a sample (%s): %s", self.__name__, lost.status, lost.reason)
        return scores

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.verifier!r}, name={self.__name__!r}, unscored={self.unscored!r})"


class Awaited:
    """Lets an object whose `__call__` is a coroutine pass `inspect.iscoroutinefunction`, by which stacks decide.

    That asks what looks like a function; a real one, made in a factory, could not be pickled.
    """

    __defaults__ = None
    __kwdefaults__ = None
    __annotations__: Any = {}

    @property
    def __code__(self) -> CodeType:
        return type(self).__call__.__code__  # type: ignore[no-any-return, attr-defined, operator]

    @property
    def __signature__(self) -> inspect.Signature:
        return inspect.signature(self.__call__)  # type: ignore[operator]


def prompt_of(prompt: Any) -> Prompt:
    """A prompt as a text or plain messages.

    Raises:
        UsageError: it is neither.
    """
    if prompt is None or isinstance(prompt, str):
        return prompt or ""
    if isinstance(prompt, Mapping) or not isinstance(prompt, Iterable):
        raise UsageError(f"a prompt is a text or a list of messages, not a {type(prompt).__name__}")
    turns = list(prompt)
    for turn in turns:
        if not (isinstance(turn, dict) and isinstance(turn.get("content"), str) and "role" in turn):
            break
    else:
        return turns  # as nearly all come
    return [
        {"role": str(message.get("role", "user")), "content": content_text(message.get("content"))}
        for message in map(as_mapping, turns)
    ]


def gold_of(gold: Any) -> str | list[str] | None:
    """A gold as a verifier takes it: a text, accepted texts, or None; numbers become text."""
    if gold is None or isinstance(gold, str):
        return gold
    if isinstance(gold, Mapping):
        return gold_of(next((gold[key] for key in ("target", *GOLD_KEYS) if key in gold), None))
    if hasattr(gold, "tolist"):  # numpy, as read from parquet
        gold = gold.tolist()
    if isinstance(gold, (list, tuple)):
        return [str(answer) for answer in gold if answer is not None]
    return str(gold)
