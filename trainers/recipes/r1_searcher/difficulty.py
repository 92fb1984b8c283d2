"""How hard a question is, by rollouts to the first right answer; and a training set mixed by that.

Paper, section 3.1: easy below 10 rollouts, medium 10 to 20, hard above 20 (also if none was right). Stage 1 takes
medium questions, stage 2 medium and hard ones.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Literal

from verikit.errors import ConfigError
from verikit.types import Group

Difficulty = Literal["easy", "medium", "hard"]
EASY_BELOW, MEDIUM_TO = 10, 20


def difficulty(first_success: int | None) -> Difficulty:
    """Return the class of a question whose n-th rollout (1-based) was the first right one; None: none was."""
    if first_success is None or first_success > MEDIUM_TO:
        return "hard"
    return "easy" if first_success < EASY_BELOW else "medium"


def graded(questions: Sequence[Group], attempt: Callable[[Sequence[Group], int], Sequence[bool]]) -> list[Group]:
    """Give each question `meta["difficulty"]` and `meta["rollouts"]` (0: none was right).

    Args:
        questions: What is graded.
        attempt: Takes the questions still open and the rollout's number, and says which were answered right.
    """
    first: dict[int, int] = {}
    for rollout in range(1, MEDIUM_TO + 1):
        waiting = [place for place in range(len(questions)) if place not in first]
        if not waiting:
            break
        right = attempt([questions[place] for place in waiting], rollout)
        first |= {place: rollout for place, good in zip(waiting, right, strict=True) if good}
    return [
        replace(one, meta={**one.meta, "difficulty": difficulty(first.get(place)), "rollouts": first.get(place, 0)})
        for place, one in enumerate(questions)
    ]


def mixed(questions: Sequence[Group], counts: Mapping[str, int], seed: int) -> list[Group]:
    """Draw the counts wanted of each `source/difficulty`, such as {"hotpotqa/medium": 200}, and shuffle.

    Raises:
        ConfigError: there are too few of one.
    """
    draw = random.Random(f"{seed} mix")
    chosen: list[Group] = []
    for name, count in counts.items():
        source, _, level = name.partition("/")
        fitting = [one for one in questions if one.meta.get("source") == source and one.meta.get("difficulty") == level]
        if len(fitting) < count:
            raise ConfigError(f"options.mix asks for {count} questions of {name}, and there are {len(fitting)}")
        chosen += draw.sample(fitting, count)
    draw.shuffle(chosen)
    return chosen
