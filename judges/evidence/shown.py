"""Candidates as a judge may see them: texts that can't leave their place, hide anything, or fill the context.

A candidate is hostile: it may try to close its own quotation and speak as the prompt. So each text stands between marks
that hold a hash of the question, or another if any text has this one: no text can contain the mark. Equal questions
give equal prompts (caches, recordings), and prompts about answers to one question begin alike (prefix caches).
Invisible characters are taken out, other controls and direction marks are shown, special tokens are broken by a space
(`special_tokens.py`), and a note tells the judge. A text that is too long is not shown at all (`NotShown`).
"""

from __future__ import annotations

import hashlib
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from verikit.errors import VerikitError
from verikit.judges.evidence.special_tokens import Clear, without_specials

MAX_CHARS = 32_000
_INVISIBLE = (0x00AD, 0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x180E, 0x3164, 0xFFA0, 0x2800)
_BROKEN = "\n⟨special tokens are shown with a space⟩"


class NotShown(VerikitError):
    """A judge can't be shown what it is to judge, so it was not asked."""

    def __init__(self, message: str, *, hint: str = "", too_long: str = "", nothing: str = "") -> None:
        super().__init__(message, hint=hint)
        self.too_long = too_long
        """Name of a text that is too long; "" where something else is wrong."""
        self.nothing = nothing
        """Name of an answer whose agent left nothing to judge; "" where something else is wrong."""

    def named(self, name: str) -> NotShown:
        """The same of a text of this name."""
        too_long, nothing = (name if which else "" for which in (self.too_long, self.nothing))
        return NotShown(str(self), hint=self.hint, too_long=too_long, nothing=nothing)


def _odd(character: str) -> str | None:
    """What a character that may hide something becomes; None where it stays."""
    code, kind = ord(character), unicodedata.category(character)
    if character in "\n\t":
        return None
    if kind == "Cs":
        return "\ufffd"
    if 0xE0000 <= code < 0xE0080:
        return "⟨tag⟩"
    if (
        code in _INVISIBLE
        or 0xE0100 <= code < 0xE01F0
        or (kind == "Cf" and unicodedata.bidirectional(character) == "BN")
    ):
        return ""
    return f"⟨U+{code:04X}⟩" if kind in ("Cf", "Cc") else None


def visible(text: str, max_chars: int = MAX_CHARS, clear: Clear = without_specials) -> str:
    """A text with nothing hidden, no special token, and at most `max_chars` of its characters.

    Args:
        text: What is shown.
        max_chars: Characters of it.
        clear: Breaks the special tokens of the model that reads it.
    """
    shown, cut = _legible(text, max_chars)
    return clear(shown)[:max_chars] + cut  # cut again: what replaces a character is longer than it


def visible_to_judge(text: str, max_chars: int = MAX_CHARS, clear: Clear = without_specials) -> str:
    """A visible text, with a note where special tokens in it were broken: the spaces are not the candidate's.

    Raises:
        ValueError: it has more than `max_chars` characters, or would have as it is shown.
    """
    if len(text) > max_chars:
        raise ValueError(f"{len(text):,} characters, over max_chars={max_chars:,}")
    shown, _ = _legible(text, max_chars)
    cleared = clear(shown)
    if len(cleared) > max_chars:
        raise ValueError(f"{len(cleared):,} characters after conversion, over max_chars={max_chars:,}")
    return cleared + (_BROKEN if cleared != shown else "")


def _legible(text: str, max_chars: int) -> tuple[str, str]:
    """The beginning of a text with nothing hidden in it, and the note that it was cut, if it was."""
    cut = f"\n⟨cut here: {len(text):,} characters in all⟩" if len(text) > max_chars else ""
    shown = text[:max_chars].replace("\r\n", "\n")
    odd = {ord(character): instead for character in set(shown) if (instead := _odd(character)) is not None}
    return shown.translate(odd), cut


def fence(texts: Sequence[str], apart_from: Sequence[str] = ()) -> str:
    """A mark made from these texts that occurs neither in them nor in others; the same texts get the same mark."""
    seed = hashlib.sha256("\0".join(f"{len(text)}:{text}" for text in texts).encode("utf-8", "replace"))
    everything = "\n".join((*texts, *apart_from)).lower()
    while (mark := seed.hexdigest()[:12]) in everything:
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
