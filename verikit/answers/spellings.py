"""Other spellings of mathematics, rewritten into the parser's own: asked only where the parser can't read a text."""

from __future__ import annotations

from collections.abc import Callable, Iterator

SPELLINGS: tuple[Callable[[str], str | None], ...] = ()
"""Each gives what a text says in the parser's notation, None where the spelling is not its own."""


def respelled(text: str) -> Iterator[str]:
    """What a text the parser can't read may say in its notation."""
    for spelling in SPELLINGS:
        if (other := spelling(text)) is not None and other != text:
            yield other
