"""An OpenEnv environment rehearsed: a reply is the action of an episode, repeated until the episode ends.

No format tells where the expected values are. The environment knows them after a reset, so the values of its state are
tried as replies. The right ones are the values at the path that gives most tasks the largest reward.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Any

from verikit.env.audit.running.box import Files, RunSurroundings
from verikit.env.audit.running.findings import RunFindings
from verikit.env.audit.running.packages.forms import reply_forms
from verikit.env.audit.running.packages.rehearsed import PackageRehearsal
from verikit.env.audit.running.rehearsal import GradedRun, Rehearsal
from verikit.env.audit.running.repeated import check_replay
from verikit.env.audit.running.reward import WrittenReward
from verikit.env.audit.running.solved import TOLERANCE
from verikit.platform.numbers import number

MAX_TRIES = 300
"""Replies that are tried for a task."""
_LIKE_GOLD = ("answer", "expected", "gold", "target", "solution", "correct", "secret", "truth", "label")
_STRING = re.compile(r':\s*"((?:[^"\\]|\\["\\/bfnrt]|\\u[0-9a-f]{4}){1,20000})"')
"""The strings in JSON that are no keys."""
Form = tuple[str, str]
"""The path of a value in the state, and a reply with it."""
_UNDONE: Form = ("", "")


@dataclass
class EpisodeRehearsal(PackageRehearsal):
    """Episodes with the same action at each step. Create it with `of`."""

    full: float = 1.0
    """The largest reward of any tried reply, if it is above 1."""
    path: str = ""
    """Of the right values in the state."""
    _unpaid: list[bool] = field(default_factory=list)
    """Whether all values of a row at the path were tried, and earn no more than undone work."""

    def _best_forms(self) -> list[str]:
        forms = [[_UNDONE, *state_forms(row)] for row in self.rows]
        rewards = self.rewards_of([[reply for _, reply in one] for one in forms])
        graded = [_graded(*pair) for pair in zip_longest(forms, rewards[: len(forms)])]
        undone = [row.pop(_UNDONE, None) for row in graded]
        self.full = max([1.0, *(one for row in graded for one in row.values())])
        solving = [[form for form, one in row.items() if one >= self.full * (1 - TOLERANCE)] for row in graded]
        self.path = _usual_path(solving)
        right = [[form for form in row[1:] if form[0] == self.path] for row in forms]
        self._unpaid = [_is_unpaid(*of_row) for of_row in zip(right, graded, undone, strict=True)]
        best = [dict(reversed(row)).get(self.path, "") for row in solving]
        self.rows = [{**row, "answer": one} for row, one in zip(self.rows, best, strict=True)]
        return best

    def _unlike(self, solved: list[int]) -> list[int]:
        """The rows that have a value where the others have the right one, and no reward for it.

        The largest reward may differ from row to row, so any reward above that of undone work counts.
        """
        if "[]" in self.path:  # values of other tasks may be in the list
            return []
        return [at for at in super()._unlike(solved) if self._unpaid[at]]

    @property
    def prompt(self) -> str:
        """The strings of the first observation."""
        told = str(self.rows[self.picked[0]].get("prompt", "")) if self.picked else ""
        return "\n".join(json.loads(f'"{text}"', strict=False) for text in _STRING.findall(told))

    def _mean(self, told: Any) -> WrittenReward:
        rewards = [number(one) for one in told] if isinstance(told, list) else []
        return super()._mean([None if one is None else one / self.full for one in rewards])

    def _grade(self, files: Files, surroundings: RunSurroundings) -> GradedRun:
        before = len(self.odd)
        graded = super()._grade(files, surroundings)
        if not self.right and any(one > 1 for one in self.odd[before:]):
            missing = "a right reply, to know the full reward: a reward is above 1"
            return GradedRun(WrittenReward(), graded.run, missing)
        return graded

    def other_values(self) -> tuple[str, str]:
        """Different right values for the same seed, and what is missing to know."""
        if not self.right:
            return "", ""
        told = self._told("seed", path=self.path)
        missing = "; ".join(self.needs)
        self.needs.clear()
        return (told if isinstance(told, str) else ""), missing


def state_forms(row: Mapping[str, Any]) -> Iterator[Form]:
    """Replies with the values of a state: each as it is, and those with the names of expected values in other forms."""
    values = [(str(path), str(text)) for path, text in _pairs(row.get("values"))]
    forms = dict.fromkeys(values)
    named = [one for one in values if _is_like_gold(one[0])] or values[:4]
    for path, text in named[:6]:
        forms.update(dict.fromkeys((path, form) for form in reply_forms({"answer": text})))
    yield from list(forms)[:MAX_TRIES]


def _pairs(told: Any) -> Iterator[tuple[Any, Any]]:
    for one in told if isinstance(told, list) else ():
        if isinstance(one, list) and len(one) == 2:
            yield one[0], one[1]


def _is_like_gold(path: str) -> bool:
    last = path.rpartition(".")[2].lower()
    return any(name in last for name in _LIKE_GOLD)


def _usual_path(solving: list[list[Form]]) -> str:
    """The path that has a right value for the most rows. A path with the name of an expected value wins a tie."""
    paths = Counter(path for row in solving for path in dict.fromkeys(path for path, _ in row))
    return max(paths, key=lambda one: (paths[one], _is_like_gold(one)), default="")


def _graded(forms: list[Form], rewards: Any) -> dict[Form, float]:
    """The reward of each form that was graded."""
    told = rewards if isinstance(rewards, list) else []
    found = zip(forms, map(number, told), strict=False)
    return {form: one for form, one in found if one is not None}


def _is_unpaid(right: list[Form], graded: Mapping[Form, float], undone: float | None) -> bool:
    """Whether each form was graded, and has no more than undone work."""
    if not right or undone is None:
        return False
    return all(form in graded and graded[form] <= undone + TOLERANCE for form in right)


def check_episodes_replay(rehearsal: Rehearsal, found: RunFindings) -> None:
    """As `replay`, and the same seed gives the same task."""
    assert isinstance(rehearsal, EpisodeRehearsal)
    other, missing = rehearsal.other_values()
    if other:
        found.add("task", f"reset(seed=1) gives tasks with different right values: {other[:300]}", "reset")
    found.undecided.append(missing)
    check_replay(rehearsal, found)
    rehearsal.repeats = not any(one.kind in ("reward", "solution") for one in found.findings)
