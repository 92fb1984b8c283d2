"""Entries reduced to a budget: final messages, file changes and errors first, then pictures, calls and results.

Nothing is cut silently: a text that is cut has a note, and the judge sees the number of shown entries. The files of a
workspace are never cut. If they don't fit, nothing is shown.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import NamedTuple

from verikit.judges.evidence.cited import PLACEHOLDER, Citable
from verikit.judges.evidence.content import Evidence, Turn
from verikit.judges.evidence.entries import ACTIONS, RunEntry
from verikit.judges.evidence.fold import MOST, fold, forms, head_and_tail, with_gaps
from verikit.judges.evidence.media import MOST_TOLD, pictures_told, with_places
from verikit.judges.evidence.shown import NotShown, visible

TOKEN = 4
"""Bytes that count as one token."""
LEAST = 160
"""Minimum characters of every shown entry."""
_HEAD = 40
"""Approximate characters of an entry's header line."""
_WEIGHTS = {"file": 4, "calls": 2, "error": 2}
_TURNS = ("says", "user")
_FILES = ("manifest", "file")
_NOTE = (
    "The answer is a run of {total} entries: {what}. Each begins with a line that has its number and the code. You see "
    "{seen} of the {total} entries{folded}. Name the entries that decide by their numbers, like [#3]. A number that no "
    "entry has makes your verdict void."
)
_QUOTING = (
    f' Quote them like [#N "words"], and name files by their paths like [@{PLACEHOLDER}] or [@{PLACEHOLDER} "words"]. '
    "A file that does not exist or words that are not there make your verdict void."
)


class DigestBudget(NamedTuple):
    """How much of a run is shown."""

    tokens: int
    clear: Callable[[str], str]
    """Breaks special tokens."""
    whole: bool = False
    """Whether files are shown whole or not at all."""
    pictures: int = 0
    """How many pictures the judge may be shown. Their entries come after files and errors, before all others."""


def digest(found: Sequence[RunEntry], budget: DigestBudget, *, actions: bool = True) -> Evidence:
    """The evidence of a run's entries. Without `actions` it includes only messages."""
    chosen = [entry for entry in found if actions or entry.kind in _TURNS]
    texts = [legible(entry.text, budget.clear) for entry in chosen]
    must = _must(chosen, whole=budget.whole)
    room = _characters(budget.tokens, texts) - sum(len(texts[number]) + _head(chosen[number]) for number in must)
    # A file longer than `MOST` is already cut, whatever the budget.
    if room < 0 or (budget.whole and any(len(chosen[number].text) > MOST for number in must)):
        return _too_long(chosen, texts, must, budget)
    kept = _kept(chosen, texts, room, must, budget.pictures)
    cap = _cap(chosen, texts, [number for number in kept if number not in must], room)
    shown = {
        number: texts[number] if number in must else fold(texts[number], _WEIGHTS.get(chosen[number].kind, 1) * cap)
        for number in kept
    }
    return Evidence(
        tuple(_rows(chosen, shown)),
        _note(chosen, texts, shown, actions=actions),
        entries=len(chosen),
        seen=len(kept),
        pictures=_pictures(chosen),
        acts=_acts(chosen),
        citable=_citable(chosen, texts, budget.clear),
    )


def _must(chosen: Sequence[RunEntry], *, whole: bool) -> set[int]:
    """The entries that are never cut: the final message, and optionally all files."""
    ends = {len(chosen) - 1} if chosen and chosen[-1].kind == "says" else set()
    return ends | {number for number, entry in enumerate(chosen) if whole and entry.kind in _FILES}


def _note(chosen: Sequence[RunEntry], texts: Sequence[str], shown: Mapping[int, str], *, actions: bool) -> str:
    """The note to the judge about the entries."""
    cut = sum(len(text) < len(texts[number]) for number, text in shown.items())
    what = "what was said and called, the results, and changes of files" if actions else "what was said"
    note = _NOTE.format(total=len(chosen), seen=len(shown), what=what, folded=f", {cut} of them in part" if cut else "")
    return note + (_QUOTING if any(entry.kind == "manifest" for entry in chosen) else "")


def _acts(chosen: Sequence[RunEntry]) -> bool:
    return any(entry.kind in ACTIONS for entry in chosen)


def _pictures(chosen: Sequence[RunEntry]) -> int:
    return sum(len(entry.pictures) for entry in chosen)


def _head(entry: RunEntry) -> int:
    """Approximate characters that verikit adds to an entry's text."""
    return _HEAD + (MOST_TOLD if entry.pictures else 0)


def _too_long(
    chosen: Sequence[RunEntry], texts: Sequence[str], must: AbstractSet[int], budget: DigestBudget
) -> Evidence:
    """Evidence of entries that don't fit. If it has files, it may be read in pieces."""
    needed = sum(len(texts[number]) + _head(chosen[number]) for number in must)
    what = "ends in" if not budget.whole else "has files and last words of"
    problem = f"the answer {what} {needed:,} characters, over a budget of {budget.tokens:,} tokens for the whole run"
    cut = any(len(entry.text) > MOST for entry in chosen)
    numbered = [
        "\n".join((f"#{number} {entry.kind}", text, *pictures_told(Counter([""] * len(entry.pictures)))))
        for number, (entry, text) in enumerate(zip(chosen, texts, strict=True), 1)
    ]
    return Evidence(
        error=NotShown(problem, hint="raise budget", too_long="answer"),
        pictures=_pictures(chosen),
        acts=_acts(chosen),
        citable=_citable(chosen, texts, budget.clear),
        whole="\n\n".join(numbered) if budget.whole and not cut else "",
    )


def _citable(chosen: Sequence[RunEntry], texts: Sequence[str], clear: Callable[[str], str]) -> Citable:
    """What may be cited of entries: their text as shown, and for files also their sources."""
    entries: list[tuple[str, ...]] = []
    paths: dict[str, tuple[str, ...]] = {}
    for entry, text in zip(chosen, texts, strict=True):
        entries.append((text, *(legible(source, clear) for source in entry.sources)))
        if entry.path:
            paths[entry.path] = (*paths.get(entry.path, ()), *entries[-1])
    return Citable(entries, paths, pictures=[entry.pictures for entry in chosen])


def _rows(chosen: Sequence[RunEntry], shown: dict[int, str]) -> list[Turn]:
    """The shown entries in order, with a note for each gap."""
    return with_gaps(
        len(chosen),
        shown,
        lambda at: Turn(chosen[at].kind, shown[at], chosen[at].pictures, number=at + 1, of=chosen[at].of),
        lambda count: Turn("", f"⟨{count:,} entries left out⟩"),
    )


def _kept(
    chosen: Sequence[RunEntry], texts: Sequence[str], room: int, must: AbstractSet[int], pictures: int
) -> list[int]:
    """The entries that are shown: all, or the required ones and as many others as fit with `LEAST` characters each.

    Files and errors come first, then entries of the `pictures` that may be shown, then calls, then results and messages
    of the rarest form. Later entries precede earlier ones.
    """
    heads = [
        0 if number in must else _head(chosen[number]) + min(len(text), LEAST) for number, text in enumerate(texts)
    ]
    if sum(heads) <= room:
        return list(range(len(texts)))
    counts = forms([text.replace("\n", " ") for text in texts])
    first = {"file": 0, "error": 0, "calls": 1}
    pictured = [(number, item) for number, entry in enumerate(chosen) for item in entry.pictures]
    seen = [pictured[at][0] for at in with_places([item for _, item in pictured], pictures)]
    order = sorted(range(len(texts)), key=lambda i: (first.get(chosen[i].kind, 2), *counts[i], -i))
    urgent = [i for i in order if chosen[i].kind in ("file", "error")]
    kept = set(must)
    for number in (*urgent, *seen, *order):
        if heads[number] <= room and number not in kept:
            kept.add(number)
            room -= heads[number]
    return sorted(kept)


def _cap(chosen: Sequence[RunEntry], texts: Sequence[str], kept: Sequence[int], room: int) -> int:
    """Maximum characters for an entry of weight 1, such that all chosen entries fit."""
    low, high = LEAST // max(_WEIGHTS.values()), max(LEAST, room)
    while low < high:
        middle = (low + high + 1) // 2
        used = sum(_head(chosen[i]) + min(len(texts[i]), _WEIGHTS.get(chosen[i].kind, 1) * middle) for i in kept)
        low, high = (middle, high) if used <= room else (low, middle - 1)
    return low


def legible(text: str, clear: Callable[[str], str]) -> str:
    """A text as a judge may see it, with any citations of entries and files broken."""
    text = head_and_tail(text, MOST)
    return uncited(visible(text, max(len(text), 1) * 8, clear))


def uncited(text: str) -> str:
    """A text with any citations of entries and files broken."""
    return text.replace("[#", "[ #").replace("[@", "[ @")


def within_tokens(text: str, tokens: float) -> str:
    """The start of a text that these tokens cover, at four bytes per token."""
    return text.encode("utf-8", "replace")[: int(tokens * TOKEN)].decode("utf-8", "ignore")


def _characters(tokens: int, texts: Sequence[str]) -> int:
    """The number of characters of these texts that `tokens` tokens cover, at four bytes per token."""
    characters = sum(map(len, texts))
    size = sum(len(text.encode("utf-8", "replace")) for text in texts)
    return tokens * TOKEN * characters // size if size else tokens * TOKEN
