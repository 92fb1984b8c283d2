"""Candidates as a judge may see them: text that can't leave its place, hide anything, or fill the context.

A candidate is hostile: it may try to close its own quotation and speak as the prompt. So each text is placed between
marks that contain a hash of the question. If any text contains this hash, another is used, so no text can contain the
mark. Equal questions give equal prompts (caches, recordings). Prompts about answers to one question start alike (prefix
caches).

Invisible characters are removed. Other control characters and direction marks are shown. Special tokens are broken by a
space (`special_tokens.py`), and a note informs the judge. A text that is too long is not shown at all (`NotShown`).
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
    """The material can't be shown to a judge, so no request was sent."""

    def __init__(self, message: str, *, hint: str = "", too_long: str = "", nothing: str = "") -> None:
        super().__init__(message, hint=hint)
        self.too_long = too_long
        """Name of a text that is too long. "" if the problem is different."""
        self.nothing = nothing
        """Name of an answer whose agent left nothing to judge. "" if the problem is different."""

    def named(self, name: str) -> NotShown:
        """The same error for a text with this name."""
        too_long, nothing = (name if which else "" for which in (self.too_long, self.nothing))
        return NotShown(str(self), hint=self.hint, too_long=too_long, nothing=nothing)


def _odd(character: str) -> str | None:
    """The replacement of a character that may hide something. None if the character stays."""
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
        text: The text to show.
        max_chars: Maximum characters.
        clear: Breaks the special tokens of the model that reads it.
    """
    shown, cut = _legible(text, max_chars)
    return clear(shown)[:max_chars] + cut  # cut again: replacements can be longer than the characters that they replace


def visible_to_judge(text: str, max_chars: int = MAX_CHARS, clear: Clear = without_specials) -> str:
    """A visible text, with a note if special tokens were broken: the spaces are not the candidate's.

    Raises:
        ValueError: The text has more than `max_chars` characters, before or after conversion.
    """
    if len(text) > max_chars:
        raise ValueError(f"{len(text):,} characters, over max_chars={max_chars:,}")
    shown, _ = _legible(text, max_chars)
    cleared = clear(shown)
    if len(cleared) > max_chars:
        raise ValueError(f"{len(cleared):,} characters after conversion, over max_chars={max_chars:,}")
    return cleared + (_BROKEN if cleared != shown else "")


def _legible(text: str, max_chars: int) -> tuple[str, str]:
    """The start of a text with nothing hidden in it, and a note if it was cut."""
    cut = f"\n⟨cut here: {len(text):,} characters in all⟩" if len(text) > max_chars else ""
    shown = text[:max_chars].replace("\r\n", "\n")
    odd = {ord(character): instead for character in set(shown) if (instead := _odd(character)) is not None}
    return shown.translate(odd), cut


def fence(texts: Sequence[str], apart_from: Sequence[str] = ()) -> str:
    """A mark derived from these texts that occurs neither in them nor in others. Equal texts get equal marks."""
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
    """How often a model's output is the same text, whatever the prompt."""

    distinct: int
    share: float
    """Fraction of prompts that got the most common answer."""
    text: str
    """The start of that answer."""
    suspicious: bool
    """Whether at least three prompts and one in twenty got it. An answer independent of the question is an attack."""


def repeats(answers: Mapping[str, str]) -> Repeats:
    """Count a model's equal answers to different prompts, ignoring case and spaces."""
    counts = Counter(" ".join(visible(text).lower().split()) for text in answers.values())
    if not counts:
        return Repeats(0, 0.0, "", False)
    text, times = counts.most_common(1)[0]
    share = times / len(answers)
    return Repeats(len(counts), share, text[:100], times >= 3 and share >= 0.05)
