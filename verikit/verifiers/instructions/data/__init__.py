"""Word lists of the English language, read when they are first needed."""

from __future__ import annotations

from functools import cache
from pathlib import Path


@cache
def word_lists(name: str) -> dict[str, frozenset[str]]:
    """The lists of one file by their headings; words before the first heading are under ""."""
    lists: dict[str, list[str]] = {"": []}
    heading = ""
    for line in Path(__file__).with_name(name).read_text("utf-8").splitlines():
        if line.startswith("["):
            heading = line[1:-1]
            lists[heading] = []
        elif not line.startswith("# "):
            lists[heading] += line.split()
    return {heading: frozenset(words) for heading, words in lists.items()}
