"""OpenRLHF: `--reward.remote_url reward.py`, whose `reward_func = to_openrlhf("answer")`.

It is called with `queries` (prompt and response, decoded with special tokens), `prompts` and `labels`, one sample at a
time in threads, and returns tensors (OpenRLHF 0.11, `utils/agent.py`). An exception would leave the reward None without
a word, so there is none: a sample without a score gets `unscored`, and `extra_logs` says how many.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from verikit.adapters.gather import gathered
from verikit.adapters.reward import Reward, gold_of
from verikit.errors import MissingExtra
from verikit.types import Sample, Score
from verikit.verifier import Verifier

_ENDS = ("</s>", "<eos>", "<pad>", "[PAD]", "[EOS]", "<end_of_turn>", "<s>", "<bos>")
"""Special tokens in plain brackets; all in the form `<|…|>` count too."""


class OpenRLHFReward(Reward):
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
            raise MissingExtra("hf", "torch") from None
        futures = [gathered(self.verifier).submit(sample) for sample in samples(queries, prompts, labels)]
        figures = self.figures(self._noted([future.result() for future in futures]))
        figures["extra_logs"] = {name: torch.tensor(values) for name, values in figures["extra_logs"].items()}
        return figures | {name: torch.tensor(figures[name]) for name in ("rewards", "scores")}

    def figures(self, scores: Sequence[Score]) -> dict[str, Any]:
        """The reply as plain numbers, as the HTTP protocol has it too."""
        rewards = [float(self.value(score) or 0.0) for score in scores]
        return {
            "rewards": rewards,
            "scores": [min(1.0, max(0.0, reward)) for reward in rewards],
            "extra_logs": {"scored": [float(score.scored) for score in scores]},
        }


def samples(queries: Sequence[str], prompts: Sequence[str], labels: Sequence[Any] | None) -> list[Sample]:
    """What OpenRLHF sends as samples: the response is the query without its prompt and closing special tokens."""
    golds = labels if labels else [None] * len(queries)
    return [
        Sample(prompt, response_of(query, prompt), gold_of(gold))
        for query, prompt, gold in zip(queries, prompts, golds, strict=True)
    ]


def response_of(query: str, prompt: str) -> str:
    """The response in a decoded query: the prompt's prefix and special tokens at the end are cut off.

    Decoding may put a beginning-of-sequence token before the prompt.
    """
    at = query.find(prompt, 0, len(prompt) + 40) if prompt else 0
    response = query[at + len(prompt) :] if at >= 0 else query
    while True:
        response = response.rstrip()
        end = _special_at_end(response)
        if not end:
            return response.strip()
        response = response[:-end]


def _special_at_end(text: str) -> int:
    """Characters of the special token that a text ends with; 0 if none."""
    for mark in _ENDS:
        if text.endswith(mark):
            return len(mark)
    if text.endswith(("|>", "｜>")):
        start = max(text.rfind("<|", -60), text.rfind("<｜", -60))
        return len(text) - start if start >= 0 and " " not in text[start:] else 0
    return 0


def to_openrlhf(verifier: str | Verifier, *, unscored: float = 0.0, name: str | None = None) -> OpenRLHFReward:
    """Make a `reward_func` for OpenRLHF.

    Args:
        verifier: A verifier or its spec.
        unscored: The reward of a sample without a score; `extra_logs["scored"]` is then 0.
        name: Its `__name__`; None: the verifier's.

    Raises:
        SpecError: the spec can't be read.
    """
    return OpenRLHFReward(verifier, name, unscored)
