"""A solution's steps, and the tagged format that shows a critic all of them together."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Literal, get_args

from verikit.errors import UsageError

Splitting = Literal["auto", "numbered", "blank", "tagged"]
"""How a solution is split into steps.

`numbered`: at lines that start with "Step k:". `blank`: at blank lines. `tagged`: `<paragraph_k>`. `auto`: tagged if
the whole text is tagged, otherwise numbered if any line is numbered, otherwise blank.
"""
_NUMBERED = re.compile(
    r"^[ \t]*(?:#{1,6}[ \t]*)?(?:\*\*[ \t]*)?Step[ \t]{1,4}\d{1,4}[ \t]*(?:[:.)]|\*\*|$)", re.MULTILINE
)
_BLANK = re.compile(r"\n(?:[ \t\r]*\n)+")
_OPENING = re.compile(r"<paragraph_(\d{1,6})>\n")
_TAG = re.compile(r"<(?=/?paragraph_\d)")


def split_steps(text: str, how: Splitting = "auto") -> tuple[str, ...]:
    """Split a solution into stripped, non-empty steps that cover all of the text.

    Text before "Step 1:" belongs to the first step.

    Raises:
        UsageError: The way to split is unknown.
    """
    if how not in get_args(Splitting):
        raise UsageError(f"the splitting of steps must be one of {', '.join(get_args(Splitting))}, got {how!r}")
    if how in ("auto", "tagged") and (found := untagged(text)) is not None:
        return tuple(step.strip() for step in found if step.strip())
    parts = _by_numbers(text) if how in ("auto", "numbered") else []
    return tuple(part.strip() for part in parts or _BLANK.split(text) if part.strip())


def _by_numbers(text: str) -> list[str]:
    """A solution cut before each "Step 2:" and later ones. Empty if no step has a number."""
    marks = [match.start() for match in _NUMBERED.finditer(text)]
    if not marks:
        return []
    return [text[start:end] for start, end in pairwise([0, *marks[1:], len(text)])]


def tagged(steps: Sequence[str], *, first: int = 1) -> str:
    """All steps as `<paragraph_k>` blocks, counted from `first`: 1 for GenPRM's rationales, 0 for ProcessBench.

    If a step contains such a tag, the tag is broken by a space.
    """
    return "\n\n".join(
        f"<paragraph_{number}>\n{_TAG.sub('< ', step)}\n</paragraph_{number}>"
        for number, step in enumerate(steps, first)
    )


def untagged(text: str) -> tuple[str, ...] | None:
    """The unstripped steps of a tagged text. None unless the text is only such blocks, in order."""
    text = text.strip()
    steps: list[str] = []
    opening = _OPENING.match(text)
    first, position = (int(opening[1]) if opening else 0), 0
    while opening is not None and int(opening[1]) == first + len(steps):
        closing = f"\n</paragraph_{opening[1]}>"
        end = text.find(closing, opening.end() - 1)
        if end < 0:
            return None
        steps.append(text[opening.end() : end])
        position = end + len(closing)
        while position < len(text) and text[position].isspace():
            position += 1
        opening = _OPENING.match(text, position)
    return tuple(steps) if steps and position == len(text) else None
