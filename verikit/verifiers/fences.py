"""Fenced blocks of a completion, found by one pass over its lines."""

from __future__ import annotations


def fenced(text: str) -> list[tuple[str, str]]:
    """(label, content) of each fenced block, in order; labels are lower-case.

    An open block at the end counts: what was cut off there fails by itself.
    """
    found: list[tuple[str, str]] = []
    label: str | None = None
    block: list[str] = []
    for line in text.split("\n"):
        mark = line.strip()
        if not mark.startswith("```"):
            block.append(line)
        elif label is None:
            label, block = mark.strip("`").strip().lower(), []
        else:
            found.append((label, "\n".join(block)))
            label = None
    if label is not None:
        found.append((label, "\n".join(block)))
    return found


def last(text: str, *labels: str) -> str | None:
    """Content of the last block with one of these labels."""
    return next((content for label, content in reversed(fenced(text)) if label in labels), None)
