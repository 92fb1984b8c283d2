"""Does the text keep to a format of tags?"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from verikit.base import Verifier
from verikit.errors import UsageError
from verikit.replies.split import Reads
from verikit.replies.unseen import shows_nothing, without_unseen
from verikit.types import Sample, Score


@dataclass(frozen=True, init=False)
class Tags(Verifier):
    r"""1.0 if the text is exactly `<a>…</a><b>…</b>…`, each tag once, in this order, only space between and around.

    The content of the last tag is the extracted answer. `strict=False` allows text between and around the tags. A tag
    is empty if its content is invisible, such as a zero-width space, `\,` or `{}`.
    """

    names: tuple[str, ...]
    strict: bool
    name = "tags"
    reads: ClassVar[Reads | None] = "all"

    def __init__(self, *names: str, strict: bool = True) -> None:
        """Set the tags.

        Args:
            *names: Names of the tags, in the required order.
            strict: Whether only whitespace may appear between and around them.

        Raises:
            UsageError: A name is invalid or occurs twice.
        """
        bad = [name for name in names if not re.fullmatch(r"[\w-]+", name)]
        if not names:
            raise UsageError("tags needs the names of its tags", hint="tags('think', 'answer')")
        if bad or len(set(names)) < len(names):
            raise UsageError(
                f"tags requires distinct tag names such as 'think', got {', '.join(map(repr, bad or names))}"
            )
        object.__setattr__(self, "names", names)
        object.__setattr__(self, "strict", strict)

    def score_batch(self, samples: Sequence[Sample]) -> list[Score]:
        """Score each sample separately."""
        return [self._score_text(sample.completion) for sample in samples]

    def _score_text(self, text: str) -> Score:
        position, content = 0, ""
        for name in self.names:
            opening, closing = f"<{name}>", f"</{name}>"
            for tag in (opening, closing):
                if text.count(tag) != 1:
                    return Score(0.0, reason=f"{tag} occurs {text.count(tag)} times, not once")
            start, end = text.index(opening), text.index(closing)
            if not position <= start < end:
                return Score(0.0, reason=f"{opening} is out of order")
            if self.strict and without_unseen(text[position:start]).strip():
                return Score(0.0, reason=f"text before {opening}")
            content = text[start + len(opening) : end]
            if shows_nothing(content):
                return Score(0.0, reason=f"{opening} is empty")
            position = end + len(closing)
        if self.strict and without_unseen(text[position:]).strip():
            return Score(0.0, reason=f"text after </{self.names[-1]}>")
        return Score(1.0, answer=content.strip(), reason="the format is kept")
