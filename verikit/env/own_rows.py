"""Rows of your data file, for rollouts that were stored without the reference and the row's other fields."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from verikit.errors import SchemaError, UsageError
from verikit.messages import content_text
from verikit.readers.paths import Paths
from verikit.readers.problems import iter_problems
from verikit.types import Group, Prompt, Sample


class OwnRows:
    """The rows of a file by their prompts.

    Args:
        file: Rows with a prompt, as `verikit sample` reads them.
        mapping: From prompt, answer and id to the rows' keys.

    Raises:
        ConfigError: An unknown field is mapped.
        SchemaError: A row has no prompt.
        UsageError: The file can't be read.
    """

    def __init__(self, file: Paths, mapping: Mapping[str, str]) -> None:
        self._by_prompt: dict[str, list[Group]] = {}
        for _, row in iter_problems(file, mapping):
            if isinstance(row, SchemaError):
                raise row
            self._by_prompt.setdefault(_asked(row.prompt), []).append(row)

    def completed(self, sample: Sample) -> Sample | None:
        """A sample with the answer and the other fields of the row that has its prompt; None if there is no such row.

        The row's values replace the sample's. Rows with the same prompt are distinguished by their ids.

        Raises:
            UsageError: Several rows fit, and they differ.
        """
        same = self._by_prompt.get(_asked(sample.prompt), [])
        if len(same) > 1:
            same = [row for row in same if row.id == sample.id] or same
        if not same:
            return None
        row = same[0]
        if any((other.answer, other.meta) != (row.answer, row.meta) for other in same):
            raise UsageError(f"{len(same)} rows have this prompt and differ", hint="give the rows the rollouts' ids")
        answer = sample.answer if row.answer is None else row.answer
        return replace(sample, answer=answer, meta={**sample.meta, **row.meta})


def _asked(prompt: Prompt) -> str:
    """The words of a prompt without its system message, which verifiers stores apart."""
    if isinstance(prompt, str):
        return "".join(prompt.split())
    texts = [content_text(turn.get("content")) for turn in prompt if turn.get("role") != "system"]
    return "\n".join("".join(text.split()) for text in texts)
