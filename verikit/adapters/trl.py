"""TRL: `GRPOTrainer(reward_funcs=to_trl("answer"))`, for single-turn and conversational data sets.

TRL calls with keywords, `prompts`, `completions`, `completion_ids`, a list for every other column of the data set,
`trainer_state`, `log_extra` and `log_metric`, and takes None for a completion that has no score (TRL 1.16,
`GRPOTrainer._calculate_rewards`).
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any

from verikit.adapters.reward import GOLD_KEYS, Awaited, Reward, gold_of, prompt_of
from verikit.base import Verifier
from verikit.errors import UsageError
from verikit.types import Sample, Score

_NOT_COLUMNS = frozenset(("trainer_state", "log_extra", "log_metric", "environments"))


class TRLReward(Reward):
    """Called by TRL with a batch."""

    def __init__(
        self, verifier: str | Verifier, name: str | None, unscored: float | None, answer: str | None, *, echoes: bool
    ) -> None:
        super().__init__(verifier, name, unscored, echoes=echoes)
        self.answer = answer

    def __call__(
        self, prompts: Sequence[Any], completions: Sequence[Any], completion_ids: Any = None, **columns: Any
    ) -> list[float | None]:
        """Reward every completion; None where there is no score and `unscored` says nothing else."""
        scores = self.score(self.samples(prompts, completions, columns))
        self.log(scores, columns.get("log_extra"), columns.get("log_metric"))
        return [self.value(score) for score in scores]

    def samples(self, prompts: Sequence[Any], completions: Sequence[Any], columns: dict[str, Any]) -> list[Sample]:
        """One sample a completion; all columns but the gold go to its meta."""
        rows = {key: value for key, value in columns.items() if key not in _NOT_COLUMNS}
        key = self.answer or next((key for key in GOLD_KEYS if key in rows), None)
        if self.answer is not None and self.answer not in rows:
            raise UsageError(f"the data set has no column {self.answer!r}", hint=f"it has {', '.join(rows) or 'none'}")
        golds = rows.pop(key) if key is not None else [None] * len(completions)
        return [
            Sample(
                prompt_of(prompt),
                completion,
                gold_of(gold),
                meta={name: rows[name][i] for name in rows},
            )
            for i, (prompt, completion, gold) in enumerate(zip(prompts, completions, golds, strict=True))
        ]

    def log(
        self,
        scores: Sequence[Score],
        log_extra: Callable[[str, list[Any]], None] | None,
        log_metric: Callable[[str, float], None] | None,
    ) -> None:
        """Reasons into the completions table; the means of the parts and the unscored share into the metrics."""
        if log_extra is not None:
            log_extra(
                f"{self.__name__}_reason", [f"{s.status}: {s.reason}" if not s.scored else s.reason for s in scores]
            )
        if log_metric is not None and scores:
            log_metric(f"{self.__name__}/unscored", sum(not score.scored for score in scores) / len(scores))
            parts: dict[str, list[float]] = defaultdict(list)
            for score in scores:
                for name, part in score.parts.items():
                    if part.value is not None:
                        parts[name].append(part.value)
            for name, values in parts.items():
                log_metric(f"{self.__name__}/{name}", sum(values) / len(values))


class AsyncTRLReward(Awaited, TRLReward):
    """The same as a coroutine: TRL awaits all such rewards together."""

    async def __call__(  # type: ignore[override]
        self, prompts: Sequence[Any], completions: Sequence[Any], completion_ids: Any = None, **columns: Any
    ) -> list[float | None]:
        """Reward every completion, in a thread, so that other rewards go on meanwhile."""
        samples = self.samples(prompts, completions, columns)
        scores = await asyncio.to_thread(self.score, samples)
        self.log(scores, columns.get("log_extra"), columns.get("log_metric"))
        return [self.value(score) for score in scores]


def to_trl(
    verifier: str | Verifier,
    *,
    answer: str | None = None,
    unscored: float | None = None,
    name: str | None = None,
    asynchronous: bool = False,
    echoes: bool = False,
) -> TRLReward:
    """Make a reward function for TRL's GRPO trainer.

    Args:
        verifier: A verifier or its spec.
        answer: The column with the gold; None: the first of answer, ground_truth, solution, gold, target, label.
        unscored: The reward of a completion without a score; None leaves it out of TRL's statistics.
        name: Under which TRL logs it; None: the verifier's.
        asynchronous: A coroutine, which TRL runs beside other rewards.
        echoes: Whether a formula copied from the question may be paid; see `verikit.echo`.

    Raises:
        SpecError: the spec can't be read.
    """
    return (AsyncTRLReward if asynchronous else TRLReward)(verifier, name, unscored, answer, echoes=echoes)
