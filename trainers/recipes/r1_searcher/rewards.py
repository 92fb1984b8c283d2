"""The format predicate item by item, and the rewards of both stages; paper and repository as presets.

Paper: stage 1 = 0.5 if it searched + 0.5 if the format is right; stage 2 = F1, less 2 for a wrong format.
The repository rewards the answer in stage 1 too, and its Llama run takes only 1 off in stage 2. Its predicate counts
tags in the whole text, so a policy may invent a whole block of documents; `paper` looks at who wrote what, and does not
have that hole.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from verikit.search import Rollout, answer_of
from verikit.search.format import (
    BEGIN_ANSWER,
    BEGIN_DOCUMENTS,
    BEGIN_QUERY,
    BEGIN_THINK,
    END_ANSWER,
    END_DOCUMENTS,
    END_QUERY,
    END_THINK,
)
from verikit.text import token_f1
from verikit.verifiers.cover_em import CoverEM
from verikit.verifiers.exact import Exact

Preset = Literal["paper", "repo-llama", "repo-qwen"]
Measure = Literal["f1", "cover-em", "em"]
MOST_ANSWER_WORDS = 10
COVER = CoverEM()
SAME = Exact(normalizer="r1-searcher")


@dataclass(frozen=True, slots=True)
class Reward:
    """A stage's verdict on one rollout."""

    value: float
    answer: str = ""
    faults: tuple[str, ...] = ()
    parts: dict[str, float] = field(default_factory=dict)


def faults(
    one: Rollout, preset: Preset = "paper", *, must_search: bool = False, thinks: bool = True
) -> tuple[str, ...]:
    """Name everything that is wrong with a rollout's format; () is right.

    Args:
        one: The rollout.
        preset: Whose rules. `paper` adds to the repository's that the policy writes no documents tag, that the answer
            follows the thinking and ends the text, and that all of the Qwen server's rules on the answer hold.
        must_search: Whether at least one query is asked for.
        thinks: Whether the prompt opened the thinking (base prompt); False: the completion must open it, once.
    """
    text, own = one.text, one.own
    found = [] if _balanced(text, must_search) else ["query and documents tags don't match"]
    if text.count(END_THINK) != 1 or text.count(BEGIN_THINK) != (0 if thinks else 1):
        found.append("thinking is not closed once")
    if text.count(BEGIN_ANSWER) != 1 or text.count(END_ANSWER) != 1:
        found.append("not one answer")
    if any(_cjk_or_broken(char) for char in own):
        found.append("garbled text")
    answer = answer_of(text)
    if preset != "repo-llama":
        found += _answer_faults(answer)
    if preset == "repo-qwen" and "assistant" in text.replace("Assistant", "assistant"):
        found.append("another turn")
    if preset == "paper":
        if BEGIN_DOCUMENTS in own or END_DOCUMENTS in own or own.count(END_QUERY) != len(one.searches):
            found.append("invented documents")
        if not 0 <= text.find(END_THINK) < text.find(BEGIN_ANSWER) or own.partition(END_ANSWER)[2].strip():
            found.append("the answer does not follow the thinking and end the text")
        if not one.finished:
            found.append("cut off")
    return tuple(found)


def stage_one(one: Rollout, golds: Sequence[str], preset: Preset = "paper", *, thinks: bool = True) -> Reward:
    """Reward searching and the format (paper), the answer too (repository, Llama).

    `repo-qwen` has no first stage: its single run is the second.
    """
    if preset == "repo-qwen":
        return stage_two(one, golds, preset, thinks=thinks)
    wrong = faults(one, preset, thinks=thinks)
    answer = answer_of(one.text)
    if preset == "paper":
        parts = {"searched": 0.5 * (len(one.searches) >= 1), "format": 0.5 * (not wrong)}
    else:
        written = answer is not None and one.text.count(END_THINK) == 1 and BEGIN_THINK not in one.text
        covered = answer is not None and measure(answer, golds, "cover-em") == 1
        parts = {
            "answer": 1.0 if covered else -1.0,
            "searched": 0.5 * _balanced(one.text, must_search=True),
            "format": 0.5 * written,
        }
    return Reward(sum(parts.values()), answer or "", wrong, parts)


def stage_two(
    one: Rollout, golds: Sequence[str], preset: Preset = "paper", how: Measure = "f1", *, thinks: bool = True
) -> Reward:
    """Reward the answer (0 without one), and take 2 (repository's Llama: 1) off for a wrong format."""
    wrong = faults(one, preset, thinks=thinks)
    answer = answer_of(one.text)
    penalty = 0.0 if not wrong else -1.0 if preset == "repo-llama" else -2.0
    parts = {"answer": 0.0 if answer is None else measure(answer, golds, how), "format": penalty}
    return Reward(sum(parts.values()), answer or "", wrong, parts)


def measure(answer: str, golds: Sequence[str], how: Measure) -> float:
    """Return the best over the golds of word F1, cover-EM (order ignored) or exact match, all normalised."""
    if how == "f1":
        return max(token_f1(answer, gold, "r1-searcher") for gold in golds)
    if how == "cover-em":
        return max(COVER.compare(answer, gold) for gold in golds)
    return max(float(SAME.equal(answer, gold)) for gold in golds)


def _balanced(text: str, must_search: bool) -> bool:
    """The repository's six counts, all equal; at least one where a search is asked for."""
    counts = {
        text.count(part)
        for part in (
            f"{BEGIN_DOCUMENTS}\n",
            f"{END_DOCUMENTS}\n\n",
            BEGIN_QUERY,
            END_QUERY,
            BEGIN_DOCUMENTS,
            END_DOCUMENTS,
        )
    }
    opened = text.count(f"{BEGIN_DOCUMENTS}\n(1)") + text.count(f"{BEGIN_DOCUMENTS}\nNone")
    return len(counts) == 1 and opened in counts and (not must_search or opened >= 1)


def _answer_faults(answer: str | None) -> list[str]:
    if answer is None:
        return []
    found = []
    if len(answer.split()) > MOST_ANSWER_WORDS:
        found.append("long answer")
    if any(tag in answer for tag in (BEGIN_QUERY, END_QUERY, BEGIN_DOCUMENTS, END_DOCUMENTS)):
        found.append("tags in the answer")
    return found


def _cjk_or_broken(char: str) -> bool:
    return "\u4e00" <= char <= "\u9fff" or "\u3400" <= char <= "\u4dbf" or char == "\ufffd"
