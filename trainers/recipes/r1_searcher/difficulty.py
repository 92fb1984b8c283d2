"""Difficulty of a question by rollouts to the first right answer, and a training set mixed by difficulty.

Paper, section 3.1: easy below 10 rollouts, medium 10 to 20, hard above 20 (including never right). Stage 1 uses medium
questions, stage 2 medium and hard ones.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Literal

from verikit.engines.types import Engine, EnginePrompt
from verikit.errors import ConfigError
from verikit.replies.text import accepted
from verikit.retrieval.types import Retriever
from verikit.search import EVALUATION, SearchLimits, search, search_messages
from verikit.trainers.recipes.r1_searcher.rewards import measure
from verikit.types import Group

Attempt = Callable[[Sequence[Group], int], Sequence[bool]]
"""Maps (the questions still open, the rollout's number) to whether each was answered right."""
Difficulty = Literal["easy", "medium", "hard"]
EASY_BELOW, MEDIUM_TO = 10, 20


def difficulty(first_success: int | None) -> Difficulty:
    """Return the difficulty of a question whose n-th rollout (1-based) was the first right one; None: never right."""
    if first_success is None or first_success > MEDIUM_TO:
        return "hard"
    return "easy" if first_success < EASY_BELOW else "medium"


def graded(questions: Sequence[Group], attempt: Attempt) -> list[Group]:
    """Add `meta["difficulty"]` and `meta["rollouts"]` (0: never right) to each question.

    Args:
        questions: The questions to grade.
        attempt: Makes one rollout of each.
    """
    first: dict[int, int] = {}
    for rollout in range(1, MEDIUM_TO + 1):
        waiting = [index for index in range(len(questions)) if index not in first]
        if not waiting:
            break
        right = attempt([questions[index] for index in waiting], rollout)
        first |= {index: rollout for index, good in zip(waiting, right, strict=True) if good}
    return [
        replace(
            question,
            meta={**question.meta, "difficulty": difficulty(first.get(index)), "rollouts": first.get(index, 0)},
        )
        for index, question in enumerate(questions)
    ]


def by_searching(
    engine: Engine,
    retriever: Retriever,
    ask: Callable[[str], EnginePrompt] = search_messages,
    limits: SearchLimits = EVALUATION,
    seed: int = 0,
) -> Attempt:
    """Return an attempt for `graded`: one sampled rollout that searches for an answer, graded by cover-EM.

    Args:
        engine: The model that grades questions; the paper uses Qwen-2.5-7B-Instruct.
        retriever: Answers its queries.
        ask: Returns a question's prompt.
        limits: Limits of the rollouts; they are sampled at temperature 1.
        seed: Random seed of the sampling.
    """

    def attempt(questions: Sequence[Group], rollout: int) -> list[bool]:
        done = search(
            engine,
            retriever,
            [ask(str(question.prompt)) for question in questions],
            replace(limits, temperature=1.0),
            seeds=lambda index, leg: _seed(seed, str(questions[index].prompt), rollout, leg),
        )
        if failure := next((trace.error for trace in done if trace.error is not None), None):
            raise failure  # an infrastructure failure would make the question look hard
        return [
            measure(trace.answer or "", accepted(question.answer), "cover-em") == 1.0
            for trace, question in zip(done, questions, strict=True)
        ]

    return attempt


def mixed(questions: Sequence[Group], counts: Mapping[str, int], seed: int, option: str = "options.mix") -> list[Group]:
    """Sample the requested number per `source/difficulty`, such as {"hotpotqa/medium": 200}, and shuffle.

    Args:
        questions: The questions; `meta` has their source and difficulty.
        counts: Number of questions per `source/difficulty`.
        seed: Random seed.
        option: The setting that has the counts.

    Raises:
        ConfigError: A `source/difficulty` has too few questions.
    """
    draw = random.Random(f"{seed} mix")
    chosen: list[Group] = []
    for name, count in counts.items():
        source, _, level = name.partition("/")
        fitting = [
            question
            for question in questions
            if question.meta.get("source") == source and question.meta.get("difficulty") == level
        ]
        if len(fitting) < count:
            raise ConfigError(
                f"{option} requires {count} questions of {name}, and the data has {len(fitting)}",
                hint=f"train on all questions with --set {option}={{}}, or grade yours with `verikit synth difficulty`",
            )
        chosen += draw.sample(fitting, count)
    draw.shuffle(chosen)
    return chosen


def _seed(*key: int | str) -> int:
    return int.from_bytes(hashlib.blake2b(repr(key).encode(), digest_size=8).digest(), "big") >> 1
