"""A number that came with the candidate."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from typing import Any, ClassVar

from verikit.base import Verifier
from verikit.errors import UsageError, nearest, with_hint
from verikit.platform.numbers import number
from verikit.replies.split import Reads
from verikit.types import Sample, Score

_MAX_NUMERAL = 40
_COMPARED = 100
"""Keys of a row that are compared with a missing one, to suggest the nearest."""
_WORDS = {"true": True, "false": False}


@dataclass(frozen=True)
class Column(Verifier):
    """The candidate's own key, or its row's, as the score: a stored reward, a label, a length.

    A string is read as a number if it is one, or as `true` or `false`, because tables of text have only strings.
    """

    key: str
    """Name of the key. `a.b` reads inside objects if there is no key of that exact name."""
    mean: bool = False
    """Whether the key has a list of numbers, such as `logprobs`, whose mean is the score."""
    name = "column"
    reads: ClassVar[Reads | None] = None

    def __post_init__(self) -> None:
        if not isinstance(self.key, str) or not self.key:
            raise UsageError(f"column requires the name of a key, got {self.key!r}")
        if not isinstance(self.mean, bool):
            raise UsageError(f"column: mean must be True or False, got {self.mean!r:.80}")

    def score_batch(self, samples: Sequence[Sample]) -> list[Score]:
        """Read the key of each sample; a missing or non-numeric one has no score."""
        return [self._score_sample(sample) for sample in samples]

    def _score_sample(self, sample: Sample) -> Score:
        try:
            value = value_at(sample.meta, self.key)
        except KeyError:
            hint = nearest(self.key, islice(sample.meta, _COMPARED), "" if sample.meta else "the row has no other keys")
            return Score.error(with_hint(f"key {self.key!r} not found", hint))
        if value is None:
            return Score.abstained(f"{self.key} is null")
        if self.mean:
            return self._mean(value)
        if isinstance(value, str) and len(value) <= _MAX_NUMERAL:  # a cell of a table of text
            value = _WORDS.get(value.strip().lower(), value)
            with suppress(ValueError):
                value = float(value) if isinstance(value, str) else value
        if not isinstance(value, (bool, int, float)):
            return Score.error(f"{self.key} is a {type(value).__name__}, not a number")
        try:
            return Score(float(value), reason=self.key)
        except (ValueError, OverflowError):
            return Score.error(f"{self.key} is {str(value)[:20]}, not a finite number")

    def _mean(self, value: object) -> Score:
        """Return the mean of a list of finite numbers, and no score for anything else."""
        if not isinstance(value, (list, tuple)):
            return Score.error(f"{self.key} is a {type(value).__name__}, not a list of numbers")
        if not value:
            return Score.abstained(f"{self.key} is empty")
        known = [found for found in map(number, value) if found is not None]
        if len(known) < len(value):
            return Score.error(f"{self.key} has an item that is not a finite number")
        try:
            mean = math.fsum(known) / len(known)
        except OverflowError:  # the sum of huge numbers: their parts of the mean fit
            mean = math.fsum(found / len(known) for found in known)
        return Score(mean, reason=f"mean of {self.key}")


def value_at(meta: Mapping[str, Any], key: str) -> object:
    """The value under a key; `a.b` looks into objects if there isn't a key of that exact name.

    Raises:
        KeyError: The key is missing.
    """
    value: object = meta
    for part in [key] if key in meta else key.split("."):
        if not isinstance(value, Mapping) or part not in value:
            raise KeyError(key)
        value = value[part]
    return value
