"""OpenRLHF: `--reward.remote_url reward.py`, whose `reward_func = to_openrlhf("answer")`.

OpenRLHF calls it with `queries` (prompt and response, decoded with special tokens), `prompts` and `labels`. It passes
one sample at a time in threads and expects tensors (OpenRLHF 0.11, `utils/agent.py`). An exception would silently leave
the reward None, so none is raised: an unscored sample gets the reward that `unscored` sets. `extra_logs` has the number
of unscored samples and the values of a combination's parts (`part/answer`, NaN if a part has no value).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal

from verikit.adapters.reward import NumberReward, gold_of
from verikit.base import Verifier
from verikit.errors import MissingExtra
from verikit.types import Sample, Score

_ENDS = ("</s>", "<eos>", "<pad>", "[PAD]", "[EOS]", "<end_of_turn>", "<s>", "<bos>")
"""Special tokens in plain brackets. All tokens of the form `<|…|>` are recognised too."""
_BOS = 40
"""Maximum length of a beginning-of-sequence token in characters."""
_HEAD = 24
"""Number of characters used to locate a prompt that was truncated on the left."""


class OpenRLHFReward(NumberReward):
    """Called by OpenRLHF."""

    def __call__(
        self, queries: Sequence[str], prompts: Sequence[str], labels: Sequence[Any], **kwargs: Any
    ) -> dict[str, Any]:
        """Reward every query: `rewards`, `scores` within 0 to 1, and `extra_logs`, as tensors of the batch's length.

        Raises:
            MissingExtra: torch is not installed.
        """
        try:
            import torch
        except ImportError:
            raise MissingExtra("a reward for OpenRLHF", "hf") from None
        asked = samples(queries, prompts, labels)
        reply = self.reply(asked, self.rate(asked))
        reply["extra_logs"] = {name: torch.tensor(values) for name, values in reply["extra_logs"].items()}
        return reply | {name: torch.tensor(reply[name]) for name in ("rewards", "scores")}

    def rate(self, asked: Sequence[Sample | Score]) -> list[Score]:
        """Score every sample, batched with those of other threads."""
        futures = [sample if isinstance(sample, Score) else self.gather.submit(sample) for sample in asked]
        return self._noted([future if isinstance(future, Score) else future.result() for future in futures])

    def reply(self, asked: Sequence[Sample | Score], scores: Sequence[Score]) -> dict[str, Any]:
        """Return the reply as plain numbers, as in the HTTP protocol."""
        known = [Sample("", "") if isinstance(sample, Score) else sample for sample in asked]
        rewards = self.numbers(known, scores)
        return {
            "rewards": rewards,
            "scores": [min(1.0, max(0.0, reward)) for reward in rewards],
            "extra_logs": {"scored": [float(score.scored) for score in scores]} | self._parts(scores),
        }

    def _parts(self, scores: Sequence[Score]) -> dict[str, list[float]]:
        rows = [self.part_values(score) for score in scores]
        # OpenRLHF requires the same keys with numbers for every sample, and would count a missing one as 0.
        return {
            name: [math.nan if (value := row[name]) is None else value for row in rows]
            for name in (f"part/{part}" for part in self.parts)
        }


def samples(queries: Sequence[str], prompts: Sequence[str], labels: Sequence[Any] | None) -> list[Sample | Score]:
    """Convert OpenRLHF's data to samples. The response is the query without its prompt and closing special tokens.

    If the prompt is not found, the sample is an error. Scoring the prompt as if the model had written it could reward
    an answer that it contains.
    """
    golds = labels if labels else [None] * len(queries)
    found: list[Sample | Score] = []
    for query, prompt, gold in zip(queries, prompts, golds, strict=True):
        response = response_of(query, prompt)
        lost = Score.error("the query must start with its prompt, or the response can't be separated")
        found.append(lost if response is None else Sample(prompt, response, gold_of(gold)))
    return found


def response_of(query: str, prompt: str) -> str | None:
    """Return the response in a decoded query, without the prompt and trailing special tokens. None if it is not found.

    Decoding may add a beginning-of-sequence token before the prompt and change whitespace in it. A prompt that was too
    long has lost its start.
    """
    end = _end_of_prompt(query, prompt)
    if end is None:
        return None
    return without_closing_tokens(query[end:])


def without_closing_tokens(response: str) -> str:
    """A decoded response without the special tokens that close it."""
    response = response.rstrip()
    while cut := _special_at_end(response):
        response = response[:-cut].rstrip()
    return response.strip()


def _end_of_prompt(query: str, prompt: str) -> int | None:
    exact = query.find(prompt, 0, len(prompt) + _BOS)
    if exact >= 0:
        return exact + len(prompt)
    begin = next((len(mark) for mark in _ENDS if query.startswith(mark)), 0)
    end = _aligned(query, begin, prompt, 0)
    if end is not None:
        return end
    head = query[begin : begin + _HEAD]  # of a prompt that was cut from the left
    at = prompt.find(head) if len(head) == _HEAD else -1
    return _aligned(query, begin, prompt, at) if at >= 0 else None


def _aligned(query: str, i: int, prompt: str, j: int) -> int | None:
    """Return the query's position after the prompt's rest from `j`, ignoring whitespace. None if they differ."""
    while True:
        while j < len(prompt) and prompt[j].isspace():
            j += 1
        if j == len(prompt):
            return i
        while i < len(query) and query[i].isspace():
            i += 1
        if i == len(query) or query[i] != prompt[j]:
            return None
        i, j = i + 1, j + 1


def _special_at_end(text: str) -> int:
    """Length of the special token at the end of a text. 0 if there is none."""
    for mark in _ENDS:
        if text.endswith(mark):
            return len(mark)
    if text.endswith(("|>", "｜>")):
        start = max(text.rfind("<|", -60), text.rfind("<｜", -60))
        return len(text) - start if start >= 0 and " " not in text[start:] else 0
    return 0


def to_openrlhf(
    verifier: str | Verifier,
    *,
    unscored: float | Literal["mean", "raise"] = "mean",
    tries: int = 1,
    name: str | None = None,
    echoes: bool = False,
) -> OpenRLHFReward:
    """Make a `reward_func` for OpenRLHF.

    Args:
        verifier: A verifier or its spec.
        unscored: The reward of an unscored sample, whose `extra_logs["scored"]` is then 0. Either a number, `mean` for
            the mean of the prompt's scored samples, or `raise`, which OpenRLHF logs, leaving the reward None.
        tries: Maximum attempts to score a sample whose score is a timeout or an error.
        name: The function's `__name__`. None uses the verifier's.
        echoes: Whether to reward a formula copied from the question or an uncomputed answer; see `echo_guard`.

    Raises:
        SpecError: The spec can't be parsed.
    """
    return OpenRLHFReward(verifier, name, unscored, echoes=echoes, tries=tries)
