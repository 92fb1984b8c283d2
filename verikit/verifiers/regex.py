"""Does a pattern occur?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from verikit.base import TextVerifier
from verikit.errors import UsageError
from verikit.replies.text import accepted
from verikit.types import Sample, Score


@dataclass(frozen=True)
class Regex(TextVerifier):
    """1.0 if the pattern occurs in the completion; its first group (or the whole match) is the extracted answer."""

    pattern: str
    """In the syntax of the `regex` package, a superset of `re`'s."""
    match_answer: bool = False
    """Whether the extracted text must also equal the gold, ignoring surrounding space. The last match is used."""
    timeout_s: float = 1.0
    """Seconds per completion. One that takes longer is 0.0, because the candidate wrote it."""
    name = "regex"

    def __post_init__(self) -> None:
        super().__post_init__()
        import regex

        if not self.timeout_s > 0:
            raise UsageError(f"timeout_s must be greater than 0, got {self.timeout_s!r}")
        try:
            regex.compile(self.pattern)
        except regex.error as error:
            raise UsageError(f"bad pattern {self.pattern!r}: {error}") from None

    @cached_property
    def _compiled(self) -> Any:
        import regex

        return regex.compile(self.pattern)

    def score_batch(self, samples: Sequence[Sample]) -> list[Score]:
        """Score each sample separately."""
        return [self._score_sample(sample) for sample in samples]

    def _found(self, text: str) -> Any:
        """The match that counts: the last if compared with the gold answer, otherwise the first; None if no match."""
        last = None
        for last in self._compiled.finditer(text, timeout=self.timeout_s):  # noqa: B007
            if not self.match_answer:
                break
        return last

    def _score_sample(self, sample: Sample) -> Score:
        golds = accepted(sample.answer)
        if self.match_answer and not golds:
            return Score.error("the row has no gold answer")
        try:
            last = self._found(sample.completion)
        except TimeoutError:
            return Score(0.0, reason=f"the pattern ran out of {self.timeout_s} s on this text")
        if last is None:
            return Score(0.0, reason="the pattern does not occur")
        found = (last[1] if last.re.groups else last[0]) or ""
        if self.match_answer:
            right = found.strip() in {gold.strip() for gold in golds}
            return Score(
                float(right), answer=found, reason=f"last match {'equals' if right else 'differs from'} the gold"
            )
        return Score(1.0, answer=found, reason="the pattern occurs")
