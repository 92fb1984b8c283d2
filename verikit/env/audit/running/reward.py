"""The reward that a test script wrote, read as hostile text."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import Any

from verikit.env.audit.running.box import Files
from verikit.env.audit.scripts import REWARDS
from verikit.platform.numbers import number, refuse_constant

MAX_REWARD = 1 << 16
"""Bytes of a file with a reward."""


@dataclass(frozen=True, slots=True)
class WrittenReward:
    """A reward, or why there isn't one."""

    value: float | None = None
    problem: str = ""
    """Why the file has no reward; empty if there is a reward or no file."""


def read_reward(files: Files) -> WrittenReward:
    """The reward among the files of a grader. `reward.json` comes before `reward.txt`, as in Harbor."""
    for name in ("reward.json", "reward.txt"):
        found = files.get(f"{REWARDS}/{name}")
        if found is None:
            continue
        if found.link or len(found.content) > MAX_REWARD:
            return WrittenReward(problem=f"{name} is {'a link' if found.link else 'too large'}")
        text = found.content.decode("utf-8", "replace").strip()
        return _of_json(text) if name.endswith("json") else _of_text(text)
    return WrittenReward()


def _of_text(text: str) -> WrittenReward:
    try:
        value = float(text)
    except ValueError:
        return WrittenReward(problem=f"reward.txt has {text[:60]!r}")
    return WrittenReward(value) if math.isfinite(value) else WrittenReward(problem=f"reward.txt has {text[:60]!r}")


def _of_json(text: str) -> WrittenReward:
    try:
        told: Any = json.loads(text, parse_constant=refuse_constant)
    except (ValueError, RecursionError):
        return WrittenReward(problem=f"reward.json has {text[:60]!r}")
    if isinstance(told, dict):
        if "reward" not in told and len(told) != 1:
            return WrittenReward(problem="reward.json has several rewards and none called 'reward'")
        told = told.get("reward", next(iter(told.values()), None))
    value = number(told)
    if value is None or isinstance(told, bool):
        return WrittenReward(problem=f"reward.json has {text[:60]!r}")
    return WrittenReward(value)
