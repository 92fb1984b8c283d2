"""Does a verifier agree with an environment's own rewards?"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, TypeGuard, cast

from verikit.base import Verifier
from verikit.env.rollouts import Paths, Rollout, read
from verikit.errors import SchemaError
from verikit.names.spec import load
from verikit.types import Score

TOLERANCE = 1e-3
"""Rewards that are nearer are equal, because some are stored rounded."""
CHUNK = 256


@dataclass(frozen=True, slots=True)
class Disagreement:
    """A rollout that the two judge differently."""

    where: str
    id: str
    reward: float
    score: Score

    def as_dict(self) -> dict[str, Any]:
        """As plain data."""
        found = {"where": self.where, "id": self.id, "reward": self.reward, "value": self.score.value}
        return found | {"status": self.score.status, "reason": self.score.reason, "answer": self.score.answer}


@dataclass(slots=True)
class Agreement:
    """How often a verifier's values are the environment's rewards."""

    equal: int = 0
    differ: list[Disagreement] = field(default_factory=list)
    unscored: list[Disagreement] = field(default_factory=list)
    """Rewarded by the environment, but unscored here."""
    unrewarded: list[tuple[str, str]] = field(default_factory=list)
    """Rollouts that the environment didn't reward, each with the reason."""
    unreadable: list[SchemaError] = field(default_factory=list)

    @property
    def compared(self) -> int:
        """Rollouts with both a reward and a score."""
        return self.equal + len(self.differ)

    @property
    def share(self) -> float | None:
        """The fraction of compared rollouts that are equal; None: nothing could be compared."""
        return self.equal / self.compared if self.compared else None

    def as_dict(self) -> dict[str, Any]:
        """As plain data, for JSON."""
        return {
            "compared": self.compared,
            "equal": self.equal,
            "share": self.share,
            "differ": [item.as_dict() for item in self.differ],
            "unscored": [item.as_dict() for item in self.unscored],
            "unrewarded": [{"where": where, "why": why} for where, why in self.unrewarded],
            "unreadable": [str(error) for error in self.unreadable],
        }


def check(
    source: Paths | Iterable[Rollout | SchemaError],
    verifier: str | Verifier,
    *,
    gold: str | None = None,
    tasks: Paths | None = None,
    mapping: Mapping[str, str] | None = None,
    tolerance: float = TOLERANCE,
    limit: int | None = None,
) -> Agreement:
    """Score stored rollouts and compare with the rewards that their environment gave.

    Args:
        source: Any source of `read`, or rollouts themselves.
        verifier: A verifier or its spec.
        gold: The field with the gold answer; None: the usual ones.
        tasks: The data file of the rollouts, with the fields that they lack: your own rows, or NeMo-Gym's tasks.
        mapping: From prompt, answer and id to the keys of your rows; None: the usual ones.
        tolerance: Rewards and values within it are equal.
        limit: Only this many rollouts are read. None reads all.

    Raises:
        SpecError: The spec can't be read.
        UsageError: A file can't be read.
    """
    loaded = load(verifier)
    found = islice(_rollouts(source, gold, tasks, mapping), limit)
    agreement = Agreement()
    while chunk := list(islice(found, CHUNK)):
        _compare(agreement, loaded, chunk, tolerance)
    return agreement


def _rollouts(
    source: Paths | Iterable[Rollout | SchemaError],
    gold: str | None,
    tasks: Paths | None,
    mapping: Mapping[str, str] | None,
) -> Iterator[Rollout | SchemaError]:
    if _are_paths(source):
        return read(source, gold=gold, tasks=tasks, mapping=mapping)
    return iter(cast("Iterable[Rollout | SchemaError]", source))


def _are_paths(source: Paths | Iterable[Rollout | SchemaError]) -> TypeGuard[Paths]:
    if isinstance(source, (str, Path)):
        return True
    return isinstance(source, Sequence) and bool(source) and isinstance(source[0], (str, Path))


def _compare(
    agreement: Agreement, verifier: Verifier, chunk: Sequence[Rollout | SchemaError], tolerance: float
) -> None:
    agreement.unreadable += [item for item in chunk if isinstance(item, SchemaError)]
    rollouts = [item for item in chunk if isinstance(item, Rollout)]
    agreement.unrewarded += [(item.where, item.why) for item in rollouts if item.reward is None]
    rewarded = [(item, item.reward) for item in rollouts if item.reward is not None]
    scores = verifier.score([item.sample for item, _ in rewarded])
    for (item, reward), score in zip(rewarded, scores, strict=True):
        told = Disagreement(item.where, item.sample.id, reward, score)
        if score.value is None:
            agreement.unscored.append(told)
        elif abs(score.value - reward) > tolerance:
            agreement.differ.append(told)
        else:
            agreement.equal += 1
