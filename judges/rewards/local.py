"""Reward heads of transformers, in this process."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from verikit.judges.heads import forward, labels_of
from verikit.judges.rewards.encode import Encoded
from verikit.judges.rewards.reward import Numbers

CLASS = "AutoModelForSequenceClassification"


def numbers_of(model: Any, rows: Sequence[Encoded], most: int) -> list[Numbers]:
    """The outputs of the model's head for each row, in order.

    A model's own code may return more than logits: `score`, its sum, and `rewards`, the numbers that form it (ArmoRM,
    Wang et al. 2024, and likewise QRM and URM).
    """
    found: list[Numbers] = [Numbers(())] * len(rows)
    for batch, output in forward(model, [row.text for row in rows], most=most, last=True):
        values = _table(_held(output, "rewards"), output.logits)
        score = _held(output, "score")
        names = labels_of(model, len(values[0]))
        for line, index in enumerate(batch):
            own = None if score is None else float(score[line].float().reshape(-1)[0])
            found[index] = Numbers(values[line], names, own)
    return found


def _held(output: Any, name: str) -> Any:
    """A field of a model's output. None if it is missing."""
    return output.get(name) if hasattr(output, "get") else getattr(output, name, None)


def _table(rewards: Any, logits: Any) -> list[list[float]]:
    shown = logits if rewards is None else rewards
    return [list(map(float, row)) for row in shown.float().reshape(shown.shape[0], -1).cpu()]
