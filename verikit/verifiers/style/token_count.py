"""How long a completion is: in characters, in words, or in tokens, which the sample carries or a tokenizer counts."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, get_args

from verikit.errors import MissingExtra, UsageError
from verikit.replies.unseen import without_unseen
from verikit.types import Sample
from verikit.verifiers.column import value_at

LengthUnit = Literal["chars", "words", "tokens"]
UNITS: tuple[LengthUnit, ...] = get_args(LengthUnit)
"""What lengths are counted in."""
COUNT_KEYS = (
    "completion_tokens", "usage.completion_tokens", "response_length", "completion_length", "num_tokens", "n_tokens",
    "output_tokens",
)  # fmt: skip
"""Keys of a sample with the number of tokens that the model wrote."""
IDS_KEYS = ("completion_ids", "token_ids", "output_token_ids", "response_ids")
"""Keys that contain the tokens themselves."""


class NoCount(Exception):
    """The length can't be determined: an infrastructure or data error."""


def length_of(sample: Sample, unit: LengthUnit, tokenizer: str = "") -> int:
    """The length of a sample's completion.

    Args:
        sample: With `tokens` and no tokenizer, its own count is used. It covers all the model wrote, including
            thoughts.
        unit: Characters, words (by space) or tokens. Invisible characters do not count.
        tokenizer: A folder or `tokenizer.json`; with it, the tokens of the completion's text are counted.

    Raises:
        NoCount: The sample carries no count, and there is no tokenizer.
        MissingExtra: There is a tokenizer, and no package to read it.
        UsageError: The tokenizer can't be read.
    """
    if unit != "tokens":
        text = without_unseen(sample.completion)
        return len(text) if unit == "chars" else len(text.split())
    if tokenizer:
        return len(_tokenizer(tokenizer).encode(sample.completion, add_special_tokens=False).ids)
    count = _carried(sample.meta)
    if count is None:
        raise NoCount(f"the sample carries no count of tokens ({', '.join(COUNT_KEYS)}), and there is no tokenizer")
    return count


def _carried(meta: Mapping[str, Any]) -> int | None:
    for key in COUNT_KEYS:
        try:
            count = value_at(meta, key)
        except KeyError:
            continue
        if isinstance(count, int | float) and not isinstance(count, bool) and 0 <= count < 1e12:
            return int(count)
    held = (meta[key] for key in IDS_KEYS if key in meta)
    return next((len(ids) for ids in held if isinstance(ids, list | tuple)), None)


@lru_cache(maxsize=4)
def _tokenizer(path: str) -> Any:
    try:
        from tokenizers import Tokenizer
    except ImportError:
        raise MissingExtra("counting tokens", "hf") from None
    file = Path(path)
    file = file / "tokenizer.json" if file.is_dir() else file
    try:
        text = file.read_text("utf-8")
        if "model" not in json.loads(text):
            raise ValueError("key 'model' not found")
    except (OSError, ValueError, TypeError) as error:
        raise UsageError(f"can't read the tokenizer {path!r}: {str(error)[:200]}") from None
    return Tokenizer.from_str(text)
