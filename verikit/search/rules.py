"""Rules for a trace's format: R1-Searcher's paper and the two variants of its repository (631167c).

The repository counts tags in the whole text, so a policy may invent a block of documents. `paper` checks the author of
each piece, and does not have that hole.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from verikit.search.format import (
    BEGIN_ANSWER,
    BEGIN_DOCUMENTS,
    BEGIN_QUERY,
    BEGIN_THINK,
    END_ANSWER,
    END_DOCUMENTS,
    END_QUERY,
    END_THINK,
    answer_of,
)
from verikit.search.trace import SearchTrace

Preset = Literal["paper", "repo-llama", "repo-qwen"]
MOST_ANSWER_WORDS = 10


def faults(
    trace: SearchTrace, preset: Preset = "paper", *, must_search: bool = False, thinks: bool = True
) -> tuple[str, ...]:
    """List all errors in a trace's format. () means that it is right.

    Args:
        trace: The trace.
        preset: Which rules to apply. `paper` adds to the repository's: the model writes no documents tag, the answer
            follows the thinking and ends the text, and all of the Qwen server's rules on the answer are satisfied.
        must_search: Whether at least one query is required.
        thinks: Whether the prompt opened the thinking (base prompt). False: the completion must open it, once.
    """
    text, own = trace.text, trace.own
    found = [] if balanced(text, must_search) else ["query and documents tags don't match"]
    openings = 0 if thinks else 1
    if text.count(END_THINK) != 1 or text.count(BEGIN_THINK) != openings:
        found.append("thinking is not closed once")
    if any(text.count(tag) != 1 for tag in (BEGIN_ANSWER, END_ANSWER)):
        found.append("not one answer")
    if any(map(_cjk_or_broken, own)):
        found.append("garbled text")
    if preset != "repo-llama":
        found += _answer_faults(answer_of(text))
    if preset == "repo-qwen" and "assistant" in text.replace("Assistant", "assistant"):
        found.append("another turn")
    if preset == "paper":
        found += _paper_faults(trace)
    return tuple(found)


def _paper_faults(trace: SearchTrace) -> Iterator[str]:
    text, own = trace.text, trace.own
    if BEGIN_DOCUMENTS in own or END_DOCUMENTS in own or own.count(END_QUERY) != len(trace.evidence_spans):
        yield "invented documents"
    if not 0 <= text.find(END_THINK) < text.find(BEGIN_ANSWER) or own.partition(END_ANSWER)[2].strip():
        yield "the answer does not follow the thinking and end the text"
    if not trace.finished:
        yield "cut off"


def balanced(text: str, must_search: bool) -> bool:
    """Whether the repository's counts of tags are all equal, and at least one if a search is required."""
    parts = (f"{BEGIN_DOCUMENTS}\n", f"{END_DOCUMENTS}\n\n", BEGIN_QUERY, END_QUERY, BEGIN_DOCUMENTS, END_DOCUMENTS)
    counts = {text.count(part) for part in parts}
    opened = text.count(f"{BEGIN_DOCUMENTS}\n(1)") + text.count(f"{BEGIN_DOCUMENTS}\nNone")
    return counts == {opened} and opened >= must_search


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
