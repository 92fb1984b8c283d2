"""verl: `custom_reward_function.path=reward.py`, whose `compute_score = to_verl("answer")`.

The naive, DAPO and reward-loop managers call it for one sample (`data_source, solution_str, ground_truth, extra_info`),
and the batch manager for many, under plural names. The reward loop awaits coroutines (verl 0.9.1,
`workers/reward_manager`, `experimental/reward_loop`). verl does not support missing scores, so `unscored` sets the
replacement. The dict has `scored`, which verl stores as a column, and the parts of a combination (`part/answer`). A
part without a value is None, which verl excludes from its validation metrics.

The reward loop assigns each sample to any worker process, so a prompt's samples are scored in several processes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from verikit.adapters.reward import Awaited, NumberReward, WhenUnscored, gold_of, prompt_of
from verikit.base import Verifier
from verikit.errors import UsageError
from verikit.messages import continuation
from verikit.types import Sample, Score


class VerlReward(NumberReward):
    """Called by verl for one sample or for a batch."""

    one_process = False

    def __init__(
        self,
        verifier: str | Verifier,
        name: str | None,
        unscored: WhenUnscored,
        messages: str | None = None,
        *,
        echoes: bool = True,
        tries: int = 1,
    ) -> None:
        super().__init__(verifier, name, unscored, echoes=echoes, tries=tries)
        self.messages = messages

    def __call__(
        self,
        data_source: Any = None,
        solution_str: str | None = None,
        ground_truth: Any = None,
        extra_info: Mapping[str, Any] | None = None,
        *,
        data_sources: Sequence[Any] | None = None,
        solution_strs: Sequence[str] | None = None,
        ground_truths: Sequence[Any] | None = None,
        extra_infos: Sequence[Mapping[str, Any] | None] | None = None,
        **kwargs: Any,
    ) -> Any:
        """Reward one sample, or under the plural names a list of them; a dict each, with `score` and `scored`."""
        if solution_strs is None:
            sample = self.sample(data_source, solution_str, ground_truth, extra_info)
            return self.result(sample, self.score([sample])[0])
        many = len(solution_strs)
        columns = (
            column if column is not None else [None] * many for column in (data_sources, ground_truths, extra_infos)
        )
        samples = [
            self.sample(source, text, gold, info)
            for text, source, gold, info in zip(solution_strs, *columns, strict=True)
        ]
        scores = self.score(samples)
        self.watch(samples, scores)
        return [self.columns(*row) for row in zip(scores, self.numbers(samples, scores), strict=True)]

    def sample(self, source: Any, text: Any, gold: Any, info: Mapping[str, Any] | None) -> Sample:
        """Build a sample. `data_source` and `extra_info` become its meta, and a question among them its prompt."""
        if text is None:
            raise UsageError("verl passed no solution_str")
        info = dict(info or {})
        prompt = prompt_of(info.get("prompt", info.get("question", info.get("problem", ""))))
        if self.messages is not None and (told := info.pop(self.messages, None)) is not None:
            told = told.get("messages", told) if isinstance(told, Mapping) else told
            text = continuation(told, prompt) or text
        return Sample(prompt, text, gold_of(gold), meta={**info, "data_source": source})

    def result(self, sample: Sample, score: Score) -> dict[str, float | str | None]:
        """Return the dict that verl receives for one sample."""
        return self.columns(score, self.number(sample, score))

    def columns(self, score: Score, value: float) -> dict[str, float | str | None]:
        """The same keys for every sample: verl collects them as columns."""
        told = {"pred": score.answer or "", "reason": self.reason(score)}
        return {"score": value, "scored": float(score.scored), **told, **self.part_values(score)}


class AsyncVerlReward(Awaited, VerlReward):
    """The same for verl's reward loop: single calls are gathered into batches."""

    async def __call__(  # type: ignore[override]
        self,
        data_source: Any = None,
        solution_str: str | None = None,
        ground_truth: Any = None,
        extra_info: Mapping[str, Any] | None = None,
        **kwargs: Any,
    ) -> dict[str, float | str | None]:
        """Reward one sample."""
        sample = self.sample(data_source, solution_str, ground_truth, extra_info)
        return self.result(sample, await self.score_sample(sample))


def to_verl(
    verifier: str | Verifier,
    *,
    unscored: float | Literal["mean", "raise"] = "mean",
    tries: int = 1,
    name: str | None = None,
    messages: str | None = None,
    asynchronous: bool = False,
    echoes: bool = False,
) -> VerlReward:
    """Make a `compute_score` for verl.

    Args:
        verifier: A verifier or its spec.
        unscored: The `score` of an unscored sample, whose `scored` is then 0.0. Either a number, `mean` of the prompt's
            scored samples (0.0 if there are none), or `raise`, which ends the run.
        tries: Maximum attempts to score a sample whose score is a timeout or an error.
        name: The function's `__name__`. None uses the verifier's.
        messages: The key of `extra_info` under which an agent loop stores the rollout's messages (its `extra_fields`).
            None scores the decoded text, including tool calls as the model writes them.
        asynchronous: Return a coroutine, for the reward loop. Waiting calls are scored as one batch. The `batch` and
            `remote` managers do not accept coroutines.
        echoes: Whether to reward a formula copied from the question or an uncomputed answer; see `echo_guard`.

    Raises:
        SpecError: The spec can't be parsed.
    """
    made = AsyncVerlReward if asynchronous else VerlReward
    return made(verifier, name, unscored, messages, echoes=echoes, tries=tries)
