"""TRL: `GRPOTrainer(reward_funcs=to_trl("answer"))`, for single-turn and conversational datasets.

TRL passes the keywords `prompts`, `completions` and `completion_ids`, a list for every other dataset column,
`trainer_state`, `log_extra` and `log_metric`. It accepts None for an unscored completion (TRL 1.16,
`GRPOTrainer._calculate_rewards`). If all functions return None, the completion is excluded from its group. If another
function returns a value, None counts 0 in the weighted sum, and `unscored="mean"` keeps it from changing the advantage.
Unsloth and Axolotl use TRL's interface, and ms-swift a similar one (`verikit.adapters.swift`).
"""

from __future__ import annotations

import asyncio
import threading
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Literal, overload

from verikit.adapters.reward import GOLD_KEYS, Awaited, Reward, WhenUnscored, gold_of, prompt_of, tokens_in
from verikit.base import Verifier
from verikit.compose.combine import Combined
from verikit.errors import UsageError, nearest
from verikit.names.spec import load
from verikit.types import Sample, Score
from verikit.verifiers.echo import refusals

_NOT_COLUMNS = frozenset(("trainer_state", "log_extra", "log_metric", "environments"))


def _values_of_parts(scores: Sequence[Score]) -> dict[str, list[float]]:
    """The values of scores' parts by the parts' names."""
    parts: dict[str, list[float]] = defaultdict(list)
    for score in scores:
        for name, part in score.parts.items():
            if part.value is not None:
                parts[name].append(part.value)
    return parts


class TRLReward(Reward):
    """Called by TRL with a batch."""

    def __init__(
        self,
        verifier: str | Verifier,
        name: str | None,
        unscored: WhenUnscored,
        answer: str | None,
        *,
        echoes: bool,
        tries: int = 1,
    ) -> None:
        super().__init__(verifier, name, unscored, echoes=echoes, tries=tries)
        self.answer = answer

    def __call__(
        self, prompts: Sequence[Any], completions: Sequence[Any], completion_ids: Any = None, **columns: Any
    ) -> list[float | None]:
        """Reward every completion. The reward is None for an unscored completion unless `unscored` sets another value.

        Raises:
            Unscored: Two consecutive steps are unscored, or `unscored` is `raise`.
        """
        return self.rewards(*self.scored(prompts, completions, completion_ids, columns))

    def scored(
        self, prompts: Sequence[Any], completions: Sequence[Any], ids: Sequence[Any] | None, columns: dict[str, Any]
    ) -> tuple[list[Sample], list[Score]]:
        """Return the samples and scores of a batch, and log them.

        Raises:
            Unscored: Two consecutive steps are unscored.
        """
        samples = self.samples(prompts, completions, ids, columns)
        scores = self.score(samples)
        self.log(scores, columns.get("log_extra"), columns.get("log_metric"))
        step = getattr(columns.get("trainer_state"), "global_step", None)
        if step is not None:
            self.watch(samples, scores, step)
        return samples, scores

    def samples(
        self, prompts: Sequence[Any], completions: Sequence[Any], ids: Sequence[Any] | None, columns: dict[str, Any]
    ) -> list[Sample]:
        """Build one sample per completion, with all columns but the gold answer and the token count as meta."""
        rows = {key: value for key, value in columns.items() if key not in _NOT_COLUMNS}
        golds = self._take_golds(rows, len(completions))
        return [
            Sample(
                prompt_of(prompt),
                completion,
                gold_of(gold),
                meta={name: rows[name][i] for name in rows} | tokens_in(None if ids is None else ids[i]),
            )
            for i, (prompt, completion, gold) in enumerate(zip(prompts, completions, golds, strict=True))
        ]

    def _take_golds(self, rows: dict[str, Any], count: int) -> Sequence[Any]:
        """Remove the column of gold answers from the rows' columns and return it."""
        if self.answer is None:
            key = next((key for key in GOLD_KEYS if key in rows), None)
            return [None] * count if key is None else rows.pop(key)
        if self.answer not in rows:
            raise UsageError(f"the dataset has no column {self.answer!r}", hint=nearest(self.answer, rows))
        return rows.pop(self.answer)

    def log(
        self,
        scores: Sequence[Score],
        log_extra: Callable[[str, list[Any]], None] | None,
        log_metric: Callable[[str, float], None] | None,
    ) -> None:
        """Add reasons to the completions table, and the means of the parts and the unscored fraction to the metrics."""
        if log_extra is not None:
            reasons = [self.reason(s) if s.scored else f"{s.status}: {s.reason}" for s in scores]
            log_extra(f"{self.__name__}_reason", reasons)
        if log_metric is not None and scores:
            log_metric(f"{self.__name__}/unscored", sum(not score.scored for score in scores) / len(scores))
            for name, values in _values_of_parts(scores).items():
                log_metric(f"{self.__name__}/{name}", sum(values) / len(values))


class AsyncTRLReward(Awaited, TRLReward):
    """The same as a coroutine: TRL awaits all such rewards together."""

    async def __call__(  # type: ignore[override]
        self, prompts: Sequence[Any], completions: Sequence[Any], completion_ids: Any = None, **columns: Any
    ) -> list[float | None]:
        """Reward every completion in a thread, so other rewards can run in the meantime."""
        return self.rewards(*await asyncio.to_thread(self.scored, prompts, completions, completion_ids, columns))


class ScoredBatch:
    """The whole reward's scores of the current batch, shared by the functions of its parts. The first one scores it."""

    def __init__(self, reward: TRLReward) -> None:
        self.reward = reward
        self._lock = threading.Lock()
        self._batch: Any = None
        self._asked: set[str] = set()
        self._scored: tuple[list[Sample], list[Score]] = ([], [])

    def scored(
        self,
        part: str,
        prompts: Sequence[Any],
        completions: Sequence[Any],
        ids: Sequence[Any] | None,
        columns: dict[str, Any],
    ) -> tuple[list[Sample], list[Score]]:
        """Return samples and scores. If a part passes the same list again, it is scored again."""
        with self._lock:
            if self._batch is not completions or part in self._asked:
                self._scored = self.reward.scored(prompts, completions, ids, columns)
                self._batch, self._asked = completions, set()
            self._asked.add(part)
            return self._scored

    def __reduce__(self) -> tuple[Any, ...]:
        return ScoredBatch, (self.reward,)


class TRLPart(TRLReward):
    """One part of a combined reward as a separate function."""

    def __init__(self, batch: ScoredBatch, part: str, name: str) -> None:
        whole = batch.reward
        super().__init__(whole.verifier, name, whole.unscored, whole.answer, echoes=True)
        self.part = part
        self.batch = batch

    def __call__(
        self, prompts: Sequence[Any], completions: Sequence[Any], completion_ids: Any = None, **columns: Any
    ) -> list[float | None]:
        """The part's value for every completion."""
        return self.own(*self.batch.scored(self.part, prompts, completions, completion_ids, columns))

    def own(self, samples: Sequence[Sample], scores: Sequence[Score]) -> list[float | None]:
        """The part's rewards of the whole's scores."""
        return self.rewards(samples, self._noted([_part(score, self.part) for score in scores]))


class AsyncTRLPart(Awaited, TRLPart):
    """The same as a coroutine."""

    async def __call__(  # type: ignore[override]
        self, prompts: Sequence[Any], completions: Sequence[Any], completion_ids: Any = None, **columns: Any
    ) -> list[float | None]:
        """The part's value for every completion, scored in a thread."""
        asked = self.part, prompts, completions, completion_ids, columns
        return self.own(*await asyncio.to_thread(self.batch.scored, *asked))


class TRLParts(list[TRLPart]):
    """The functions of a combined reward's parts, for `reward_funcs`."""

    def __init__(self, parts: Sequence[TRLPart], weights: Sequence[float]) -> None:
        super().__init__(parts)
        self.weights: list[float] = list(weights)
        """Their weights, for `GRPOConfig(reward_weights=…)`."""


def _part(score: Score, name: str) -> Score:
    """Return a part's score: without a value if the whole has no parts, at most 0.0 if the whole's guard rejects it."""
    part = score.parts.get(name)
    if part is None:
        return score if score.value is None else Score.abstained("the part was not scored")
    whole = refusals(score) > sum(map(refusals, score.parts.values()))
    return replace(part, value=min(part.value, 0.0)) if whole and part.value is not None else part


def _split(whole: TRLReward, verifier: Verifier, name: str | None, asynchronous: bool) -> TRLParts:
    if not isinstance(verifier, Combined) or verifier.name not in ("sum", "mean"):
        raise UsageError(f"only a weighted sum or a mean can be split into parts, got {verifier!r}")
    batch = ScoredBatch(whole)
    made = AsyncTRLPart if asynchronous else TRLPart
    weights = verifier.weights if verifier.name == "sum" else (1 / len(whole.parts),) * len(whole.parts)
    return TRLParts([made(batch, part, f"{name}/{part}" if name else part) for part in whole.parts], weights)


@overload
def to_trl(
    verifier: str | Verifier,
    *,
    answer: str | None = ...,
    unscored: WhenUnscored = ...,
    tries: int = ...,
    name: str | None = ...,
    asynchronous: bool = ...,
    echoes: bool = ...,
    split: Literal[False] = ...,
) -> TRLReward: ...


@overload
def to_trl(
    verifier: str | Verifier,
    *,
    answer: str | None = ...,
    unscored: WhenUnscored = ...,
    tries: int = ...,
    name: str | None = ...,
    asynchronous: bool = ...,
    echoes: bool = ...,
    split: Literal[True],
) -> TRLParts: ...


def to_trl(
    verifier: str | Verifier,
    *,
    answer: str | None = None,
    unscored: WhenUnscored = None,
    tries: int = 1,
    name: str | None = None,
    asynchronous: bool = False,
    echoes: bool = False,
    split: bool = False,
) -> TRLReward | TRLParts:
    """Make a reward function for TRL's GRPO trainer.

    Args:
        verifier: A verifier or its spec.
        answer: The column with the gold answer. None uses the first of answer, ground_truth, solution, gold, target,
            label.
        unscored: The reward of an unscored completion. None excludes it from TRL's statistics, but counts 0 if another
            function gives it a value. `mean` is the mean of the prompt's scored completions in the batch, and leaves
            the advantage to the other functions. `raise` ends the run. A number is used as is.
        tries: Maximum attempts to score a completion whose score is a timeout or an error.
        name: The name in TRL's logs. None uses the verifier's.
        asynchronous: Return a coroutine, which TRL runs in parallel with other rewards.
        echoes: Whether to reward a formula copied from the question or an uncomputed answer; see `echo_guard`.
        split: Return a list with one function per part of a weighted sum or a mean. Its `weights` are for
            `reward_weights`. TRL then has a curve for each part and can normalise each separately (GDPO). A batch is
            scored once for all of them.

    Raises:
        SpecError: The spec can't be parsed.
        UsageError: There are no parts to split.
    """
    if split:
        loaded = load(verifier)
        whole = TRLReward(loaded, name, unscored, answer, echoes=echoes, tries=tries)
        return _split(whole, loaded, name, asynchronous)
    made = AsyncTRLReward if asynchronous else TRLReward
    return made(verifier, name, unscored, answer, echoes=echoes, tries=tries)
