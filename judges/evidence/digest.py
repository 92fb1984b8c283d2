"""Entries cut down to a budget: the last words and every change of a file first, then calls, then results.

Nothing goes unsaid: a text that is cut has a note, and the judge is told how many of the entries it sees.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from verikit.judges.evidence.content import Evidence, Turn
from verikit.judges.evidence.entries import ACTIONS, RunEntry
from verikit.judges.evidence.fold import MOST, fold, forms, head_and_tail, with_gaps
from verikit.judges.shown import NotShown, visible

TOKEN = 4
"""Bytes that count as one token."""
LEAST = 160
"""Characters that every shown entry gets."""
_HEAD = 40
"""Characters of an entry's own line, about."""
_WEIGHTS = {"file": 4, "calls": 2, "error": 2}
_TURNS = ("says", "user")
_NOTE = (
    "The answer is a run of {total} entries: {what}. Each begins with a line that has its number and the code. You see "
    "{seen} of the {total} entries{folded}. Name the entries that decide by their numbers, like [#3]. A number that no "
    "entry has makes your verdict void."
)


class DigestBudget(NamedTuple):
    """How much of a run is shown."""

    tokens: int
    clear: Callable[[str], str]
    """Breaks special tokens."""


def digest(found: Sequence[RunEntry], budget: DigestBudget, *, actions: bool = True) -> Evidence:
    """The evidence of a run's entries; without `actions` only what was said."""
    chosen = [entry for entry in found if actions or entry.kind in _TURNS]
    texts = [_legible(entry.text, budget.clear) for entry in chosen]
    room = _characters(budget.tokens, texts)
    must = len(texts[-1]) + _HEAD if texts and chosen[-1].kind == "says" else 0
    if must > room:
        problem = f"the answer ends in {must:,} characters, over a budget of {budget.tokens:,} tokens for the whole run"
        return Evidence(error=NotShown(problem, hint="raise budget", too_long="answer"))
    kept = _kept(chosen, texts, room - must)
    cap = _cap(chosen, texts, kept, room - must)
    rooms = [_WEIGHTS.get(entry.kind, 1) * cap for entry in chosen]
    if must:
        rooms[-1] = len(texts[-1])
    shown = {number: fold(texts[number], rooms[number]) for number in kept}
    cut = sum(len(shown[number]) < len(texts[number]) for number in kept)
    what = "what was said and called, the results, and changes of files" if actions else "what was said"
    note = _NOTE.format(total=len(chosen), seen=len(kept), what=what, folded=f", {cut} of them in part" if cut else "")
    return Evidence(
        tuple(_rows(chosen, shown)),
        note,
        entries=len(chosen),
        seen=len(kept),
        acts=any(e.kind in ACTIONS for e in chosen),
    )


def _rows(chosen: Sequence[RunEntry], shown: dict[int, str]) -> list[Turn]:
    """The shown entries in order, with a note for each run of others."""
    return with_gaps(
        len(chosen),
        shown,
        lambda at: Turn(chosen[at].kind, shown[at], number=at + 1, of=chosen[at].of),
        lambda count: Turn("", f"⟨{count:,} entries left out⟩"),
    )


def _kept(chosen: Sequence[RunEntry], texts: Sequence[str], room: int) -> list[int]:
    """The entries that are shown: all, or as many as fit with `LEAST` characters each.

    The last words, files and errors come first, then calls, results and words of the rarest form, late before early.
    """
    heads = [_HEAD + min(len(text), LEAST) for text in texts]
    if sum(heads) <= room:
        return list(range(len(texts)))
    counts = forms([text.replace("\n", " ") for text in texts])
    first = {"file": 0, "error": 0, "calls": 1}
    order = sorted(range(len(texts)), key=lambda i: (first.get(chosen[i].kind, 2), *counts[i], -i))
    kept = {len(texts) - 1} if chosen[-1].kind == "says" else set()
    for number in order:
        if heads[number] <= room and number not in kept:
            kept.add(number)
            room -= heads[number]
    return sorted(kept)


def _cap(chosen: Sequence[RunEntry], texts: Sequence[str], kept: Sequence[int], room: int) -> int:
    """The most characters that an entry of weight 1 may have so that all that are kept fit."""
    low, high = LEAST // max(_WEIGHTS.values()), max(LEAST, room)
    while low < high:
        middle = (low + high + 1) // 2
        used = sum(_HEAD + min(len(texts[i]), _WEIGHTS.get(chosen[i].kind, 1) * middle) for i in kept)
        low, high = (middle, high) if used <= room else (low, middle - 1)
    return low


def _legible(text: str, clear: Callable[[str], str]) -> str:
    """A text as a judge may see it, in which no entry is cited."""
    text = head_and_tail(text, MOST)
    return visible(text, max(len(text), 1) * 8, clear).replace("[#", "[ #")


def _characters(tokens: int, texts: Sequence[str]) -> int:
    """How many characters of these texts so many tokens are, at four bytes a token."""
    characters = sum(map(len, texts))
    size = sum(len(text.encode("utf-8", "replace")) for text in texts)
    return tokens * TOKEN * characters // size if size else tokens * TOKEN
