"""R1-Searcher's search rewards: does the completion follow the format, and did it search?

A row's `meta` separates evidence from the model's text. `evidence` has [start, end) of each evidence block in the
completion, in characters (`SearchTrace.evidence_spans`). `finished` is false if a limit cut the text off. Without
`evidence`, a block is treated as evidence if it directly follows a closed query, which a model can imitate.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, get_args

from verikit.base import Verifier
from verikit.replies.split import Reads
from verikit.search.rules import Preset, faults
from verikit.search.trace import SearchTrace, read_trace
from verikit.types import Sample, Score
from verikit.verifiers.reading.gold import check_choice


@dataclass(frozen=True)
class _RolloutVerifier(Verifier):
    reads: ClassVar[Reads | None] = "all"

    def score_batch(self, samples: Sequence[Sample]) -> list[Score]:
        """Score each sample separately."""
        return [self._score_sample(sample) for sample in samples]

    def _score_sample(self, sample: Sample) -> Score:
        spans = sample.meta.get("evidence")
        if spans is not None and not _are_spans(spans, len(sample.completion)):
            return Score.error("meta.evidence must be a list of consecutive [start, end) spans in the completion")
        return self.judge(read_trace(sample.completion, spans, finished=sample.meta.get("finished") is not False))

    @abstractmethod
    def judge(self, rollout: SearchTrace) -> Score:
        """Score one rollout."""


@dataclass(frozen=True)
class SearchFormat(_RolloutVerifier):
    """1.0 if a completion that searches follows R1-Searcher's format, otherwise 0.0 with every error."""

    preset: Preset = "paper"
    """`paper`, or the repository's formats `repo-llama` and `repo-qwen`, which invented documents pass."""
    must_search: bool = False
    """Whether a completion without a search is wrong."""
    thinks: bool = True
    """Whether the prompt opened `<think>`. False: the completion must open it."""
    name = "search_format"

    def __post_init__(self) -> None:
        check_choice("preset", self.preset, get_args(Preset))

    def judge(self, rollout: SearchTrace) -> Score:
        """Apply the rules."""
        wrong = faults(rollout, self.preset, must_search=self.must_search, thinks=self.thinks)
        return Score(float(not wrong), answer=rollout.answer, reason="; ".join(wrong) or "the format is kept")


@dataclass(frozen=True)
class Searched(_RolloutVerifier):
    """1.0 if at least `least` searches were answered, otherwise 0.0 (R1-Searcher, stage 1)."""

    least: int = 1
    """Required number of answered searches."""
    name = "searched"

    def judge(self, rollout: SearchTrace) -> Score:
        """Count the evidence."""
        count = len(rollout.evidence_spans)
        return Score(float(count >= self.least), reason=f"{count} searches were answered")


def _are_spans(value: Any, length: int) -> bool:
    """Whether it is a list of pairs in order, without overlap, within text of `length` characters."""
    if not isinstance(value, (list, tuple)):
        return False
    flat = [0]
    for pair in value:
        if not isinstance(pair, (list, tuple)) or len(pair) != 2 or not all(type(bound) is int for bound in pair):
            return False
        flat += pair
    return flat == sorted(flat) and flat[-1] <= length
