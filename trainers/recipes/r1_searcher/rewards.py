"""The rewards of both stages, with paper and repository as presets. The format's rules are `verikit.search.rules`.

Paper: stage 1 = 0.5 for searching + 0.5 for the right format; stage 2 = F1, less 2 for a wrong format. The repository
also rewards the answer in stage 1, and its Llama run subtracts only 1 in stage 2.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from verikit.replies.text import token_f1
from verikit.search import SearchTrace, answer_of
from verikit.search.format import BEGIN_THINK, END_THINK
from verikit.search.rules import Preset, balanced, faults
from verikit.verifiers.overlap.cover_em import CoverEM
from verikit.verifiers.overlap.exact import Exact

Measure = Literal["f1", "cover-em", "em"]
COVER = CoverEM(extract="whole")
SAME = Exact(normalizer="r1-searcher", extract="whole")


@dataclass(frozen=True, slots=True)
class StageReward:
    """A stage's verdict on one rollout."""

    value: float
    answer: str = ""
    faults: tuple[str, ...] = ()
    parts: dict[str, float] = field(default_factory=dict)


def stage1_reward(
    rollout: SearchTrace, golds: Sequence[str], preset: Preset = "paper", *, thinks: bool = True
) -> StageReward:
    """Reward searching and the format (paper), and also the answer (repository, Llama).

    `repo-qwen` has no first stage: its single run is the second.
    """
    if preset == "repo-qwen":
        return stage2_reward(rollout, golds, preset, thinks=thinks)
    wrong = faults(rollout, preset, thinks=thinks)
    answer = answer_of(rollout.text)
    if preset == "paper":
        parts = {"searched": 0.5 * (len(rollout.searches) >= 1), "format": 0.5 * (not wrong)}
    else:
        written = answer is not None and rollout.text.count(END_THINK) == 1 and BEGIN_THINK not in rollout.text
        covered = answer is not None and measure(answer, golds, "cover-em") == 1
        parts = {
            "answer": 1.0 if covered else -1.0,
            "searched": 0.5 * balanced(rollout.text, must_search=True),
            "format": 0.5 * written,
        }
    return StageReward(sum(parts.values()), answer or "", wrong, parts)


def stage2_reward(
    rollout: SearchTrace, golds: Sequence[str], preset: Preset = "paper", how: Measure = "f1", *, thinks: bool = True
) -> StageReward:
    """Reward the answer (0 without one), and subtract 2 (repository's Llama: 1) for a wrong format."""
    wrong = faults(rollout, preset, thinks=thinks)
    answer = answer_of(rollout.text)
    penalty = 0.0
    if wrong:
        penalty = -1.0 if preset == "repo-llama" else -2.0
    parts = {"answer": 0.0 if answer is None else measure(answer, golds, how), "format": penalty}
    return StageReward(sum(parts.values()), answer or "", wrong, parts)


def measure(answer: str, golds: Sequence[str], how: Measure) -> float:
    """Return the best match with any gold answer: word F1, cover-EM (ignoring order) or exact match, normalised."""
    if how == "f1":
        return max(token_f1(answer, gold, "r1-searcher") for gold in golds)
    if how == "cover-em":
        return max(COVER.compare(answer, gold) for gold in golds)
    return max(float(SAME.equal(answer, gold)) for gold in golds)
