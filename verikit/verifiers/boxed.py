"""Is there a boxed answer?"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from verikit.base import TextVerifier
from verikit.replies.text import boxes
from verikit.replies.unseen import shows_nothing, without_unseen
from verikit.types import Sample, Score

_PLACEHOLDER = re.compile(
    r"\.{3}|…|\\[lc]?dots|\?|_+|(?:\\text\s?\{\s?)?[\[<]?(?:your |the |final ){0,3}(?:answer|result|number|solution)"
    r"(?: here)?[\]>]?\}?",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Boxed(TextVerifier):
    r"""1.0 if the completion closes a non-empty `\boxed{…}`; the last one is the extracted answer.

    `\fbox` and `\framebox` are boxes too. One with a placeholder (`\boxed{...}`, `\boxed{answer}`) is not. A box whose
    content is invisible (`\boxed{\,}`, `\boxed{\phantom{1}}`, a zero-width space) is empty.
    """

    once: bool = False
    """Whether a second, different box gives 0.0."""
    name = "boxed"

    def score_batch(self, samples: Sequence[Sample]) -> list[Score]:
        """Score each sample separately."""
        return [self._score_text(sample.completion) for sample in samples]

    def _score_text(self, text: str) -> Score:
        found = [content for content in boxes(text) if not _PLACEHOLDER.fullmatch(without_unseen(content).strip())]
        if not found or shows_nothing(found[-1].replace("~", " ")):
            return Score(0.0, reason="no closed box" if not found else "the last box is empty")
        answer, different = found[-1].strip(), {without_unseen(content).strip() for content in found}
        if self.once and len(different) > 1:
            return Score(0.0, answer=answer, reason=f"{len(different)} different boxes")
        return Score(1.0, answer=answer, reason="last box")
