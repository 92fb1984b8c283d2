"""Shared by the verifiers of YAML, TOML and CSV: the document in a reply, caps, and a JSON Schema for its value."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from verikit.base import TextVerifier
from verikit.errors import UsageError
from verikit.types import Sample, Score
from verikit.verifiers.documents.json_schema import JsonSchema
from verikit.verifiers.reading.fences import fenced


@dataclass(frozen=True)
class StructuredText(TextVerifier):
    """1.0 if the document in the completion is well-formed and the schema accepts it.

    The document is the last fence with the format's label. Without one it is the only fence, or the whole completion.
    """

    schema: str | Mapping[str, Any] = field(default_factory=dict, hash=False)
    """A JSON Schema for the document's value, or the path of a JSON file that contains it; {} accepts any document."""
    max_chars: int = 100_000
    """A longer completion is 0.0 unread."""
    timeout_s: float = 1.0
    """CPU seconds for the check against the schema. A document that needs more is 0.0."""
    local_files = ("schema",)
    labels: ClassVar[frozenset[str]] = frozenset()
    """Labels of fences that contain such a document."""
    _schema: JsonSchema = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.max_chars < 1:
            raise UsageError(f"max_chars must be at least 1, got {self.max_chars!r}")
        checker = JsonSchema(self.schema, timeout_s=self.timeout_s)
        object.__setattr__(self, "_schema", checker)
        object.__setattr__(self, "schema", checker.schema)

    def score_batch(self, samples: Sequence[Sample]) -> list[Score]:
        """Score each sample separately."""
        return [self._score_sample(sample.completion) for sample in samples]

    def _score_sample(self, reply: str) -> Score:
        if len(reply) > self.max_chars:
            return Score(0.0, reason=f"{len(reply)} characters, over the cap of {self.max_chars}")
        body = fenced_or_whole(reply, self.labels)
        if not body.strip():
            return Score(0.0, reason="no document in the reply")
        try:
            value = self.parse(body)
        except (ValueError, RecursionError, ArithmeticError) as problem:
            told = " ".join(str(problem).split()) or type(problem).__name__
            return Score(0.0, answer=body, reason=f"not {self.name}: {told[:200]}")
        return self.check(value, body)

    def check(self, value: Any, body: str) -> Score:
        """The score of a document that was read, by the schema."""
        return self._schema.check(value, body)

    @abstractmethod
    def parse(self, text: str) -> Any:
        """The document as JSON's types.

        Raises:
            ValueError: It is not well-formed.
        """


def fenced_or_whole(reply: str, labels: frozenset[str]) -> str:
    """The last fence with one of these labels, or else the only fence, or else the whole reply."""
    blocks = fenced(reply)
    marked = [content for label, content in blocks if label in labels]
    if marked:
        return marked[-1]
    return blocks[0][1] if len(blocks) == 1 else reply
