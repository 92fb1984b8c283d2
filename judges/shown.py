"""Candidates as a judge may see them: texts that can't leave their place, hide anything, or fill the context.

A candidate is hostile: it may try to close its own quotation and speak as the prompt. So each text stands between marks
that hold a hash of all texts shown; no text can contain its own mark, and equal questions give equal prompts (caches,
recordings). Invisible characters are taken out, other controls and direction marks are shown, chat templates' special
tokens are broken by a space, and long texts are cut with a note that says so.
"""

from __future__ import annotations

import hashlib
import re
import sys
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

MAX_CHARS = 32_000
_INVISIBLE = (0x00AD, 0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x180E, 0x3164, 0xFFA0, 0x2800)
_SPECIAL = re.compile(
    r"<(?=[|\uff5c]|/?s>|bos>|eos>|unk>|pad>|start_of_turn>|end_of_turn>|</?SYS>)|\[(?=/?INST\]|/?SYSTEM_PROMPT\])|\|(?=>)"
)


@cache
def _table() -> dict[int, str]:
    """What each odd character becomes."""
    table: dict[int, str] = {}
    for code in range(sys.maxunicode + 1):
        kind = unicodedata.category(chr(code))
        if kind == "Cs":
            table[code] = "\ufffd"
        elif kind == "Cf" and unicodedata.bidirectional(chr(code)) == "BN" or code in _INVISIBLE:
            table[code] = ""
        elif kind in ("Cf", "Cc") and chr(code) not in "\n\t\r":
            table[code] = f"⟨U+{code:04X}⟩"
    table |= dict.fromkeys(range(0xE0000, 0xE0080), "⟨tag⟩") | dict.fromkeys(range(0xE0100, 0xE01F0), "")
    return table


def visible(text: str, max_chars: int = MAX_CHARS) -> str:
    """A text with nothing hidden and at most `max_chars` of its characters."""
    cut = f"\n⟨cut here: {len(text):,} characters in all⟩" if len(text) > max_chars else ""
    shown = text[:max_chars].replace("\r\n", "\n")
    if not shown.isascii() or not shown.isprintable():
        shown = shown.translate(_table())
    return _SPECIAL.sub(lambda match: match[0] + " ", shown) + cut


def fence(texts: Sequence[str]) -> str:
    """A mark that occurs in none of the texts; the same texts get the same mark."""
    seed = hashlib.sha256("\0".join(f"{len(text)}:{text}" for text in texts).encode("utf-8", "replace"))
    while any((mark := seed.hexdigest()[:12]) in text.lower() for text in texts):
        seed.update(b"again")
    return mark


def fenced(name: str, text: str, mark: str) -> str:
    """A text between its marks."""
    return f"<{name} {mark}>\n{text}\n</{name} {mark}>"


@dataclass(frozen=True, slots=True)
class Repeats:
    """How much of a model's output is the same text over again, whatever the prompt."""

    distinct: int
    share: float
    """Share of prompts that got the commonest answer."""
    text: str
    """The beginning of that answer."""
    suspicious: bool
    """At least three prompts and one in twenty got it: an answer that doesn't depend on the question is an attack."""


def repeats(answers: Mapping[str, str]) -> Repeats:
    """Count equal answers (but for case and spaces) of a model to different prompts."""
    counts = Counter(" ".join(visible(text).lower().split()) for text in answers.values())
    if not counts:
        return Repeats(0, 0.0, "", False)
    text, times = counts.most_common(1)[0]
    share = times / len(answers)
    return Repeats(len(counts), share, text[:100], times >= 3 and share >= 0.05)
