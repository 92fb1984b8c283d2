"""Read a head's outputs: one reward, and each number by its name."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from verikit.errors import ConfigError, nearest

Activation = Literal["none", "sigmoid", "softmax"]
Output = str | int | Mapping[str, float]
"""A number's index or name, `mean` of all, or weights by name. "": the model's own score, or its only number."""


@dataclass(frozen=True, slots=True)
class Numbers:
    """A head's outputs for one text."""

    values: Sequence[float]
    names: Sequence[str] = ()
    """Names of the values. Empty if they are unknown."""
    score: float | None = None
    """The model's own combination of them, if it computes one (ArmoRM's gated score)."""


@dataclass(frozen=True)
class HeadReader:
    """Reduces a head's numbers to one reward."""

    output: Any = ""
    activation: Activation = "none"

    def __post_init__(self) -> None:
        if self.activation not in get_args(Activation):
            raise ConfigError(f"activation must be one of {', '.join(get_args(Activation))}, got {self.activation!r}")
        if isinstance(self.output, Mapping):
            if not (self.output and all(_finite(weight) for weight in self.output.values())):
                raise ConfigError("output's weights are finite numbers, and at least one")
        elif isinstance(self.output, bool) or not isinstance(self.output, str | int):
            raise ConfigError(f"output must be a name, an index, or a table of weights, got {self.output!r}")

    def __call__(self, numbers: Numbers) -> float:
        """The reward.

        Raises:
            ConfigError: The head has no such number, or has several and `output` selects none. Also if softmax is set
                for the model's own score, which is a single number.
        """
        if self.output == "" and numbers.score is not None:
            return self._own(numbers.score)
        values = self._activated(numbers.values)
        names = list(numbers.names or map(str, range(len(values))))
        if isinstance(self.output, Mapping):
            return float(sum(weight * values[_index(name, names)] for name, weight in self.output.items()))
        if self.output == "":
            if len(values) == 1:
                return values[0]
            told = ", ".join(names[:20])
            raise ConfigError(
                f"the head has {len(values)} numbers ({told})",
                hint="set output=NAME, an index, 'mean', or {NAME: weight, …}. For classes set activation='softmax'",
            )
        if self.output == "mean" and "mean" not in names:
            return sum(values) / len(values)
        return values[_index(self.output, names)]

    def _own(self, score: float) -> float:
        """The model's own score."""
        if self.activation == "softmax":
            raise ConfigError(
                "this model returns its own score, and softmax does not apply",
                hint="output=NAME, an index, 'mean', or {NAME: weight, …} to weight its numbers",
            )
        return _sigmoid(score) if self.activation == "sigmoid" else score

    def _activated(self, values: Sequence[float]) -> list[float]:
        if self.activation == "sigmoid":
            return [_sigmoid(value) for value in values]
        if self.activation == "softmax":
            top = max(values)
            powers = [math.exp(value - top) for value in values]
            return [power / sum(powers) for power in powers]
        return list(values)


def _index(name: str | int, names: Sequence[str]) -> int:
    if isinstance(name, int) and -len(names) <= name < len(names):
        return name
    if name in names:
        return names.index(str(name))
    raise ConfigError(f"the head has no number {name!r}", hint=nearest(str(name), names))


def _sigmoid(value: float) -> float:
    return 1 / (1 + math.exp(-value)) if value >= 0 else math.exp(value) / (1 + math.exp(value))


def _finite(weight: object) -> bool:
    return isinstance(weight, int | float) and not isinstance(weight, bool) and math.isfinite(weight)
