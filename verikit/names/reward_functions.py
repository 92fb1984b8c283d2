"""Uses reward functions of other stacks as verifiers, calling them by the names of their parameters.

TRL's functions take a batch, `(prompts, completions, answer, **columns)`, with one list per column of the dataset.
verl's take one completion, `(data_source, solution_str, ground_truth, extra_info)`. Both read the whole completion,
including thoughts. A function with a single parameter takes a `Sample`.
"""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, cast

from verikit.base import FunctionVerifier, Scorer, verifier
from verikit.errors import SpecError
from verikit.types import Sample, Score

GOLD_KEYS = ("answer", "ground_truth", "solution", "gold", "target", "label")
"""Columns searched for a gold answer, in this order."""
_COMPLETION = ("completion", "response", "solution_str")
"""Parameter names of a single completion."""
_BATCH = "completions"
_LOGGING: Mapping[str, Any] = MappingProxyType(
    {"trainer_state": None, "log_extra": lambda column, values: None, "log_metric": lambda name, value: None}
)
"""Arguments that TRL passes in addition to columns, for functions that name them. They log nothing here."""


def function_verifier(function: Callable[..., Any]) -> FunctionVerifier:
    """Create a verifier from a function of a sample, or from a reward function for TRL or verl.

    Raises:
        SpecError: Its parameters match neither.
    """
    parameters = _Parameters.of(function)
    if _BATCH in parameters.names:
        return BatchReward(function, parameters)
    if parameters.takes_sample:
        return verifier(cast(Scorer, function))
    if not set(parameters.names) & set(_COMPLETION):
        name = getattr(function, "__name__", "the function")
        raise SpecError(
            f"{name} takes {', '.join(parameters.names)}, and none of them is a completion",
            hint=f"write {name}(sample), or {name}(prompts, completions, answer, **columns) as for TRL",
        )
    return CompletionReward(function, parameters)


@dataclass(frozen=True)
class _Parameters:
    """The parameter names of a function."""

    names: tuple[str, ...]
    required: tuple[str, ...]
    open: bool
    """Whether it also accepts any other name (`**columns`)."""

    @classmethod
    def of(cls, function: Callable[..., Any]) -> _Parameters:
        """Read a function's signature."""
        taken = inspect.signature(function).parameters.values()
        named = [item for item in taken if item.kind not in (item.VAR_POSITIONAL, item.VAR_KEYWORD)]
        return cls(
            tuple(item.name for item in named),
            tuple(item.name for item in named if item.default is item.empty),
            any(item.kind is item.VAR_KEYWORD for item in taken),
        )

    @property
    def takes_sample(self) -> bool:
        """Whether it takes a `Sample`: it requires at most one parameter, and none is named like a completion.

        For compatibility, `(completion)` as the only parameter takes a sample.
        """
        first = self.required[0] if self.required else ""
        return len(self.required) < 2 and not (self.open and first in _COMPLETION)


class CompletionReward(FunctionVerifier):
    """A function of one completion, its gold answer and the row's other columns."""

    def __init__(self, function: Callable[..., Any], parameters: _Parameters) -> None:
        super().__init__(cast(Scorer, function), reads="all")
        self._call: Callable[..., Any] = function
        self._parameters = parameters

    def score_batch(self, samples: Sequence[Sample]) -> list[Score]:
        """Call the function on the samples that have all required columns. The others become errors."""
        columns = [self._columns(sample) for sample in samples]
        problems = [self._problem(own) for own in columns]
        sound = [index for index, problem in enumerate(problems) if not problem]
        scored = dict(zip(sound, self._scored([columns[index] for index in sound]), strict=True))
        return [scored[index] if index in scored else Score.error(problem) for index, problem in enumerate(problems)]

    def _columns(self, sample: Sample) -> dict[str, Any]:
        """All values that a sample can pass to parameters, by name. The row's own columns override the gold's names."""
        golds = {} if sample.answer is None else dict.fromkeys(GOLD_KEYS, sample.answer)
        texts = dict.fromkeys(_COMPLETION, sample.completion)
        return {"question": sample.prompt, "prompt": sample.prompt} | golds | dict(sample.meta) | texts

    def _problem(self, columns: Mapping[str, Any]) -> str:
        missing = [name for name in self._parameters.required if name not in columns and name not in _LOGGING]
        return f"{self.name} requires {missing[0]!r}, and the row has no such column" if missing else ""

    def _scored(self, rows: Sequence[Mapping[str, Any]]) -> list[Score]:
        return [score for own in rows for score in self._timed(own, lambda reward: [reward])]

    def _chosen(self, columns: Mapping[str, Any]) -> dict[str, Any]:
        """The columns that the function accepts."""
        known = {**_LOGGING, **columns}
        named = {name: known[name] for name in self._parameters.names if name in known}
        return {**columns, **named} if self._parameters.open else named

    def _timed(self, columns: Mapping[str, Any], rewards: Callable[[Any], Sequence[Any]]) -> list[Score]:
        """Call the function once and convert its rewards to scores. Each score gets an equal part of the time."""
        start = time.perf_counter()
        found = rewards(self._call(**self._chosen(columns)))
        seconds = (time.perf_counter() - start) / max(1, len(found))
        return [self._read(reward, seconds) for reward in found]

    def _read(self, reward: Any, seconds: float) -> Score:
        value = reward["score"] if isinstance(reward, dict) else reward  # verl's functions may return a dict
        if value is None:
            return Score.abstained(f"{self.name} does not apply", seconds=seconds)
        return value if isinstance(value, Score) else Score(float(value), seconds=seconds)

    def __reduce__(self) -> tuple[Any, ...]:
        return (function_verifier, (self._call,))


class BatchReward(CompletionReward):
    """A function of a batch, one list per column."""

    def _columns(self, sample: Sample) -> dict[str, Any]:
        one = super()._columns(sample)
        for name in _COMPLETION:
            one.pop(name)
        text = sample.completion
        # As in TRL, a conversational prompt gets a conversational completion.
        completion = text if isinstance(sample.prompt, str) else [{"role": "assistant", "content": text}]
        return one | dict(sample.meta) | {"prompts": sample.prompt, _BATCH: completion}

    def _scored(self, rows: Sequence[Mapping[str, Any]]) -> list[Score]:
        if not rows:
            return []
        names = dict.fromkeys(name for row in rows for name in row)
        lists = {name: [row.get(name) for row in rows] for name in names}
        scores = self._timed(lists, list)
        if len(scores) != len(rows):
            raise ValueError(f"{self.name} returned {len(scores)} rewards for {len(rows)} completions")
        return scores
