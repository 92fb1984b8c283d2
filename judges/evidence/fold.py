"""Shorten texts to a budget by rule: keep the head, the tail, and the lines with a rare form.

The form of a line is its words with names, numbers and paths replaced, so one failure among 500 passes is rare.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Sequence
from typing import TypeVar

Item = TypeVar("Item")
_LINE = 400
"""Maximum characters of a line that is never shortened."""
_WORDS = 24
"""Number of words of a line that determine its form."""
_GAP = 34
"""Approximate characters of a note about omitted lines."""
_FEW = 12
"""Maximum number of lines that are all shown, each as far as there is room."""
MOST = 2_000_000
"""Maximum characters that are read. Of a longer text, only the start and the end are read, half each."""


def fold(text: str, room: int) -> str:
    """A text of at most `room` characters (but at least its notes), with a note for each omission."""
    if len(text) <= room:
        return text
    lines = head_and_tail(text, MOST).split("\n")
    longest = room // len(lines) - 1 if len(lines) <= _FEW else min(_LINE, room // 4)
    lines = [head_and_tail(line, max(_GAP, longest)) for line in lines]
    if sum(map(len, lines)) + len(lines) - 1 <= room:
        return "\n".join(lines)
    kept = _chosen(lines, room)
    shown = with_gaps(len(lines), kept, lines.__getitem__, lambda count: f"⟨{count:,} lines left out⟩")
    return "\n".join(shown)


def forms(lines: Sequence[str]) -> list[tuple[int, int]]:
    """For each line, how many lines share its coarse form (which treats plain words as equal) and its fine form."""
    made = [(_form(line, coarse=True), _form(line, coarse=False)) for line in lines]
    coarse, fine = Counter(form for form, _ in made), Counter(form for _, form in made)
    return [(coarse[first], fine[second]) for first, second in made]


def _chosen(lines: Sequence[str], room: int) -> set[int]:
    """The lines that are shown: the first, the last, and between them those with the rarest form."""
    kept: set[int] = set()
    used = _GAP
    for order, share in ((range(len(lines)), 0.3), (range(len(lines) - 1, -1, -1), 0.6)):
        for number in order:
            if used + len(lines[number]) + 1 > room * share:
                break
            kept.add(number)
            used += len(lines[number]) + 1
    counts = forms(lines)
    for number in sorted(set(range(len(lines))) - kept, key=lambda i: (*counts[i], i)):
        cost = len(lines[number]) + 1 + _GAP
        if used + cost <= room:
            kept.add(number)
            used += cost
    return kept


def with_gaps(total: int, kept: Container[int], item: Callable[[int], Item], gap: Callable[[int], Item]) -> list[Item]:
    """The kept items in order, with the result of `gap` for each run of omitted items."""
    found: list[Item] = []
    left_out = 0
    for number in range(total):
        if number not in kept:
            left_out += 1
            continue
        if left_out:
            found.append(gap(left_out))
            left_out = 0
        found.append(item(number))
    return [*found, gap(left_out)] if left_out else found


def head_and_tail(text: str, most: int) -> str:
    """The start and the end of a text of more than `most` characters, with a note between them."""
    if len(text) <= most:
        return text
    half = max(0, most - _GAP) // 2
    return f"{text[:half]}⟨{len(text) - 2 * half:,} characters left out⟩{text[len(text) - half :]}"


def _form(line: str, *, coarse: bool) -> str:
    words = line[: _LINE * 4].split()[:_WORDS]
    return " ".join(_plain(word, coarse=coarse) for word in words)


def _plain(word: str, *, coarse: bool) -> str:
    bare = word.strip("()[]{}<>,;!?\"'`*.:")
    if not bare.isalpha():
        return "0" if bare.isdigit() else "x"
    return "w" if coarse and not bare.isupper() else word
