"""PrimeIntellect verifiers: a reward for a v1 task (`fn = "reward.py:reward"` in its config) or the older `Rubric`.

Both select arguments by name: v1 has `task` and `trace`, the older one `prompt`, `completion`, `answer`, `state`,
`info`. An unscored sample raises `Unscored`. v1 stores that as the trace's error, and the reward is missing. The older
`Rubric` would log it and count 0.0, so set `unscored` for it, and check `state["verikit"]`. In v1 the parts of a score
are the trace's metrics `part/NAME`. A part without a value is missing there too.
"""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping
from typing import Any

from verikit.adapters.reward import GOLD_KEYS, Reward, WhenUnscored, gold_of, prompt_of
from verikit.base import Verifier
from verikit.errors import Unscored
from verikit.messages import continuation, thoughts_of
from verikit.types import WORKSPACE, Sample


class VerifiersReward(Reward):
    """Awaited by verifiers for one rollout; single calls are gathered into batches."""

    async def __call__(
        self,
        prompt: Any = None,
        completion: Any = None,
        answer: Any = None,
        state: Any = None,
        task: Any = None,
        info: Any = None,
        trace: Any = None,
    ) -> float:
        """Reward one rollout.

        Raises:
            Unscored: The rollout is unscored, and `unscored` is not a number.
        """
        sample = _of_trace(task, trace) if trace is not None else _of_rollout(prompt, completion, answer, info, state)
        score = await self.score_sample(sample)
        if isinstance(state, MutableMapping):
            state["verikit"] = {"status": score.status, "reason": score.reason, "answer": score.answer}
        if isinstance(metrics := getattr(trace, "metrics", None), MutableMapping):
            metrics.update(self.part_values(score))
        [value] = self.rewards([sample], [score])
        if value is None:
            raise Unscored(f"{self.__name__}: {score.status}: {score.reason}")
        return value


def _of_rollout(prompt: Any, completion: Any, answer: Any, info: Any, state: Any) -> Sample:
    meta = dict(info) if isinstance(info, Mapping) else {}
    if isinstance(state, Mapping) and WORKSPACE in state:  # the files of this rollout; `info` is the task's
        meta[WORKSPACE] = state[WORKSPACE]
    return Sample(prompt_of(prompt), "" if completion is None else completion, gold_of(answer), meta=meta)


def _of_trace(task: Any, trace: Any) -> Sample:
    data = task.model_dump() if hasattr(task, "model_dump") else dict(vars(task))
    key = next((key for key in GOLD_KEYS if data.get(key) is not None), None)
    gold = gold_of(data.pop(key)) if key else None
    prompt = prompt_of(data.pop("prompt", None))
    turns = continuation(getattr(trace, "messages", None) or (), prompt)
    return Sample(prompt, str(trace.last_reply), gold, meta=data, thoughts=thoughts_of(turns), messages=turns)


def to_verifiers(
    verifier: str | Verifier,
    *,
    unscored: WhenUnscored = None,
    tries: int = 1,
    name: str | None = None,
    echoes: bool = False,
) -> VerifiersReward:
    """Make a reward for PrimeIntellect verifiers (and so for prime-rl).

    Args:
        verifier: A verifier or its spec.
        unscored: The reward of an unscored rollout: a number, or `mean` of the prompt's scored rollouts. None and
            `raise` raise `Unscored`, which v1 does not count as a reward.
        tries: Maximum attempts to score a sample whose score is a timeout or an error.
        name: The name in logs. None uses the verifier's.
        echoes: Whether to reward a formula copied from the question or an uncomputed answer; see `echo_guard`.

    Raises:
        SpecError: The spec can't be parsed.
    """
    return VerifiersReward(verifier, name, unscored, echoes=echoes, tries=tries)
